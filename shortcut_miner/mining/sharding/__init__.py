"""A search in parts: ranges of first items, each mined alone, wherever, and put together as one result."""
