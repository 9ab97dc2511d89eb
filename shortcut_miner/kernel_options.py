"""How kernels are compiled: what numba is told about each kind, so that the first run waits for little.

numba compiles a function once more as a Python function and as a C callback, and counts references to every
array that it passes on. What is called by other kernels alone needs neither, and what allocates nothing
needs no counting; both together take more than half of the time. So kernels fill arrays that their callers
allocate, and set them element by element: a slice costs as much to compile as ten loops. ``min`` and ``max``
are functions to numba, compiled by themselves for all types that they get: a condition takes no time.
"""

from typing import Any

from numba import version_info

# Called from Python.
KERNEL: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "error_model": "numpy",
}
# Called by kernels alone, whose compiled code holds it.
STEP: dict[str, Any] = {
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "error_model": "numpy",
}
# What is changed in numba is as these versions have it; others take a little longer.
IS_NUMBA_KNOWN = version_info.short <= (0, 68)
if IS_NUMBA_KNOWN:
    from shortcut_miner.kernel_compilers import KernelCompiler, StepCompiler

    KERNEL["pipeline_class"] = KernelCompiler
    STEP["pipeline_class"] = StepCompiler
# The same where it is called for every node of a search: passing all arrays of a working memory takes longer
# than what is done with them.
INLINED = {**STEP, "forceinline": True}
