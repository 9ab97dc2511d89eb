"""Slices: where a model fails, and where another one got worse; the front is :mod:`.slices`."""
