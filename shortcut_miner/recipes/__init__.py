"""Published datasets from their sources: a recipe says what to download, build and expect.

A recipe is a TOML file: those in ``data_recipes/`` at the top of the repository travel inside the package,
others are given by their path.
"""
