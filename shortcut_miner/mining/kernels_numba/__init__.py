"""Compiled kernels on flat arrays: integers in, integers out. They assume what their callers checked.

numba keeps compiled code on disk, per file: it does not notice a change in a function that another file
calls. After editing a kernel delete ``__pycache__`` here (the tests do it by themselves).
"""

from pathlib import Path

from shortcut_miner import kernel_cache

# Before the first kernel looks for its cache.
kernel_cache.prepare(Path(__file__).parent)
