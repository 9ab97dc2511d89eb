"""Charts as functions of tables: each takes a Polars table and returns an Altair chart without a width."""
