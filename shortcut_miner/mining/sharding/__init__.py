"""A search in parts: each mines the antecedents of a range of first items, anywhere, and all are put together."""
