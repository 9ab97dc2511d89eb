"""Compiled kernels on flat arrays: integers in, integers out. They assume what their callers checked.

numba keeps compiled code on disk, per file: it does not notice a change in a function that another file
calls. After editing a kernel delete ``__pycache__`` here (the tests do it by themselves).
"""
