"""Opening files: their bytes, containers, JSON text and flat tables, and what is wrong with their records."""
