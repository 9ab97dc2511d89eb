import os
import warnings
from pathlib import Path

import pytest

from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.jobs_cupy.device import no_device_reason


@pytest.fixture(scope="session")
def cupy_backend() -> Backend:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what CuPy says of itself when it is imported is not ours
        reason = no_device_reason()
    if reason:
        pytest.skip(f"backend cupy: {reason}")
    return resolve_backend("cupy")


@pytest.fixture(scope="session")
def inputs() -> list[Path]:
    """Return the files of rows that benchmarks/gpu_inputs.py wrote."""
    folder = os.environ.get("SHORTCUT_MINER_GPU_INPUTS")
    if folder is None:
        pytest.skip("no rows: write some with benchmarks/gpu_inputs.py and set SHORTCUT_MINER_GPU_INPUTS")
    found = sorted(Path(folder).glob("*.npz"))
    assert found, f"no .npz in {folder}"
    return found
