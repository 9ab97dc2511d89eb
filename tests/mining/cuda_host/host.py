"""A device on the host: kernels compiled by g++ (see cuda_host.h), arrays like CuPy's (see arrays.py)."""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_host import arrays

from shortcut_miner.mining.jobs_cupy.device import Device, kernel_source

HEADER = Path(__file__).with_name("cuda_host.h")
CACHE = Path(tempfile.gettempdir()) / f"shortcut-miner-cuda-host-{os.getuid()}"
FLAGS = ("-x", "c++", "-std=c++17", "-O2", "-g", "-shared", "-fPIC", "-Wall", "-Wno-unknown-pragmas")
# longjmp between stacks is what the threads are made of; fortified libraries take it for an attack.
FLAGS += ("-U_FORTIFY_SOURCE", "-Wno-unused-function", "-Wno-clobbered")
_KERNEL = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')
_DTYPES = {"Number": "int32", "Count": "int64", "Key": "uint64", "Byte": "uint8"}


def host_device(free_bytes: int = 1 << 32, *, descending: bool = False, atomics_a_turn: int = 0) -> Device:
    """Return a device that computes here; skips the test where there is no g++.

    Parameters
    ----------
    free_bytes : int
        The memory it says to have.
    descending : bool
        Whether the last threads and blocks go first.
    atomics_a_turn : int
        After how many atomic operations another thread goes on, in the middle of a kernel; 0 is never.
    """
    if shutil.which("g++") is None:
        pytest.skip("no g++ to compile the kernels for the host")

    def launch(source: str, kernel: str, blocks: int, block_size: int, arguments: tuple[Any, ...]) -> None:
        library, parameters = compiled(source)
        bits = as_bits(kernel, parameters[kernel], arguments)
        run_grid(library, kernel, blocks, block_size, bits, descending, atomics_a_turn)

    return Device(
        name="host",
        xp=arrays,
        launch=launch,
        free_bytes=lambda: free_bytes,
        to_host=arrays.to_host,
        out_of_memory=MemoryError,
        release=lambda: None,
    )


def run_grid(
    library: ctypes.CDLL,
    kernel: str,
    blocks: int,
    block_size: int,
    bits: list[int],
    descending: bool = False,
    atomics_a_turn: int = 0,
) -> None:
    """Run a kernel; raise RuntimeError if its threads do what a device does not define."""
    run = getattr(library, f"run_{kernel}")
    given = (ctypes.c_uint64 * max(1, len(bits)))(*bits)
    problem = run(given, blocks, block_size, descending, ctypes.c_uint64(atomics_a_turn))
    if problem:
        raise RuntimeError(f"{kernel}: {problem.decode()}")


def as_bits(kernel: str, parameters: list[str], arguments: tuple[Any, ...]) -> list[int]:
    """Return the arguments as 64 bits each, or raise TypeError where one isn't what the kernel takes."""
    if len(parameters) != len(arguments):
        raise TypeError(f"{kernel} takes {len(parameters)} arguments, not {len(arguments)}")
    bits = []
    for parameter, value in zip(parameters, arguments, strict=True):
        words = [word for word in re.findall(r"\w+|\*", parameter) if word not in ("const", "__restrict__")]
        if words[1] != "*":
            if words[0] != "Count" or type(value) is not int:
                raise TypeError(f"{kernel}: {parameter} is given {value!r}; whole numbers are of type Count")
            bits.append(value & (1 << 64) - 1)
            continue
        if not isinstance(value, arrays.DeviceArray):
            raise TypeError(f"{kernel}: {parameter} is given {type(value)}, not an array of the device")
        memory = value._memory
        dtype = "uint8" if memory.dtype == np.bool_ else memory.dtype.name
        if dtype != _DTYPES[words[0]] or not memory.flags.c_contiguous:
            raise TypeError(f"{kernel}: {parameter} is given {memory.dtype}, strides {memory.strides}")
        bits.append(memory.ctypes.data)
    return bits


@cache
def compiled(source: str) -> tuple[ctypes.CDLL, dict[str, list[str]]]:
    """Return the library of ``kernels_cupy/source.cu``, and the parameters of each of its kernels."""
    return compiled_text(source, kernel_source(source, header=HEADER.read_text(encoding="utf-8")))


def compiled_text(source: str, text: str) -> tuple[ctypes.CDLL, dict[str, list[str]]]:
    parameters = {name: listed.split(",") for name, listed in _KERNEL.findall(text)}
    text += "".join(f"CUDA_HOST_EXPORT({name})\n" for name in parameters)
    digest = hashlib.sha256(f"{FLAGS}{text}".encode()).hexdigest()[:20]
    CACHE.mkdir(mode=0o700, exist_ok=True)
    library = CACHE / f"{source}-{digest}.so"
    if not library.is_file():
        made = library.with_name(f"{library.name}.{os.getpid()}")
        done = subprocess.run(["g++", *FLAGS, "-o", made, "-"], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000]
        assert not done.stderr, done.stderr[:4000]
        made.rename(library)
    loaded = ctypes.CDLL(str(library))
    for name in parameters:
        getattr(loaded, f"run_{name}").restype = ctypes.c_char_p
    return loaded, parameters
