"""Compiled kernels on flat arrays: integers in, integers out. They assume what their callers checked."""
