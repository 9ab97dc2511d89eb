"""Every kernel compiles for real devices, by whichever of CUDA's compilers is there."""

import ctypes
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from shortcut_miner.mining.jobs_cupy.device import SOURCES, kernel_source

KERNELS = sorted(path.stem for path in SOURCES.glob("*.cu"))
ARCHITECTURES = (80, 90)


def nvrtc() -> ctypes.CDLL | None:
    """Return the compiler that CuPy uses, from the wheel that brings it."""
    spec = find_spec("nvidia.cuda_nvrtc") if find_spec("nvidia") else None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for library in sorted(Path(folder).glob("lib/libnvrtc.so.*")):
            return ctypes.CDLL(str(library))
    return None


def compile_with_nvrtc(library: ctypes.CDLL, name: str, architecture: int) -> None:
    program = ctypes.c_void_p()
    source = kernel_source(name).encode()
    assert library.nvrtcCreateProgram(ctypes.byref(program), source, name.encode(), 0, None, None) == 0
    given = ("-std=c++17", f"-arch=sm_{architecture}", "--device-as-default-execution-space")  # as CuPy does
    options = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
    status = library.nvrtcCompileProgram(program, len(given), options)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log.value.decode()


def test_there_are_kernels() -> None:
    assert "mine" in KERNELS


@pytest.mark.sample(2)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", KERNELS)
def test_nvcc(name: str, architecture: int, tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    # The text that a device is given, so that what replaces the header is compiled too.
    source = tmp_path / f"{name}.cu"
    source.write_text(kernel_source(name), encoding="utf-8")
    command = ["nvcc", f"-arch=sm_{architecture}", "-std=c++17", "-cubin", "-Werror", "all-warnings"]
    done = subprocess.run(
        [*command, "-o", tmp_path / "kernel.cubin", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", KERNELS)
def test_nvrtc(name: str, architecture: int) -> None:
    library = nvrtc()
    if library is None:
        pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc-cu12")
    compile_with_nvrtc(library, name, architecture)
