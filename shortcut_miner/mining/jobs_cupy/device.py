"""The device that the jobs run on: its array module, its kernels, its memory.

Everything else here is written against :class:`Device`. So where there is no GPU the same steps run with
NumPy for the array module and with kernels that the host's C++ compiler made (see tests/mining/cuda_host).
"""

import dataclasses
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from shortcut_miner.errors import reason_of
from shortcut_miner.mining.jobs_cupy import plans

SOURCES = Path(__file__).parents[1] / "kernels_cupy"
# Before, a sort that ran out of memory went on in none and gave back rubbish.
_LEAST_CUPY = (14, 1)
_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)

# (source, kernel, blocks, threads of a block, arguments)
Launch = Callable[[str, str, int, int, tuple[Any, ...]], None]
# An array of the device: CuPy's, or NumPy's on the host.
Array = Any


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device to run kernels on.

    Attributes
    ----------
    name : str
        What it calls itself.
    xp : module
        CuPy, or what has its functions.
    launch : callable
        See :meth:`run`, which is how to call it.
    free_bytes : callable
        Returns how many bytes can be taken.
    to_host : callable
        Returns an array of the device as NumPy's.
    out_of_memory : type
        What the array module raises where memory is short.
    release : callable
        Gives back memory, of the device and of the host, that is kept for later arrays.
    """

    name: str
    xp: Any
    launch: Launch
    free_bytes: Callable[[], int]
    to_host: Callable[[Array], Any]
    out_of_memory: type[Exception]
    release: Callable[[], None]

    def room(self) -> int:
        """Return how many bytes a plan may take."""
        return int(self.free_bytes() * plans.SHARE)

    def run(
        self,
        source: str,
        kernel: str,
        threads: int,
        *arguments: Any,
        block_size: int = plans.BLOCK_SIZE,
    ) -> None:
        """Launch a kernel for so many threads; on fewer it strides over its work.

        Parameters
        ----------
        source, kernel : str
            The function `kernel` of ``kernels_cupy/source.cu``.
        threads : int
            How many threads have work; 0 launches nothing.
        *arguments
            Arrays of the device, contiguous, or Python's whole numbers.
        block_size : int
            Threads of a block.
        """
        if threads:
            blocks = plans.grid_size(threads, block_size)
            self.launch(source, kernel, blocks, block_size, arguments)


def kernel_source(name: str, header: str | None = None) -> str:
    """Return a kernel's source as one text, with `header` in place of ``threads.cuh`` if it is given."""

    def included(found: re.Match[str]) -> str:
        if header is not None and found[1] == "threads.cuh":
            return header
        return (SOURCES / found[1]).read_text(encoding="utf-8")

    return _INCLUDE.sub(included, (SOURCES / f"{name}.cu").read_text(encoding="utf-8"))


@cache
def cuda_device() -> Device:
    """Return the first CUDA device, as CuPy sees it; :func:`no_device_reason` says whether there is one.

    Kernels are compiled when first launched.
    """
    cupy = import_module("cupy")

    def launch(source: str, kernel: str, blocks: int, block_size: int, arguments: tuple[Any, ...]) -> None:
        given = tuple(np.int64(value) if isinstance(value, int) else value for value in arguments)
        _compiled(source, kernel)((blocks,), (block_size,), given)

    pool, pinned = cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()

    def free_bytes() -> int:
        free = int(cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())
        limit = pool.get_limit()  # 0: CuPy may take all there is
        return min(free, limit - pool.used_bytes()) if limit else free

    def release() -> None:
        pool.free_all_blocks()
        pinned.free_all_blocks()

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return Device(
        name=properties["name"].decode(),
        xp=cupy,
        launch=launch,
        free_bytes=free_bytes,
        to_host=cupy.asnumpy,
        out_of_memory=MemoryError,  # CuPy's own is one, and what its sorts raise is a plain one
        release=release,
    )


def no_device_reason() -> str:
    """Return why no CUDA device can be used, or "" if one can; CuPy is imported for that.

    The words follow "got": "no CuPy", "no CUDA device (...)".
    """
    try:
        cupy = import_module("cupy")
    except ImportError as error:
        return "no CuPy" if error.name == "cupy" else "a CuPy that can't be imported"
    version = str(cupy.__version__)
    if tuple(map(int, version.split(".")[:2])) < _LEAST_CUPY:
        return f"CuPy {version}"
    try:
        if not cupy.cuda.runtime.getDeviceCount():
            return "no CUDA device"
    except Exception as error:  # CuPy's own, whose type is only there with CUDA
        return f"no CUDA device ({reason_of(error)})"
    try:
        cupy.arange(1)  # compiled and launched: that takes NVRTC, CUDA's headers and memory of the device
    except Exception as error:
        return f"no CUDA device that computes ({reason_of(error)})"
    return ""


@cache
def _compiled(source: str, kernel: str) -> Any:
    return _module(source).get_function(kernel)


@cache
def _module(source: str) -> Any:
    return import_module("cupy").RawModule(code=kernel_source(source), options=("-std=c++17",))
