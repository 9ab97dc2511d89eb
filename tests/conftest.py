"""Fixtures that tests of several folders share."""

import hashlib
import os
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "shortcut_miner"


def pytest_configure() -> None:
    """Forget compiled kernels of other sources: numba's disk cache looks at one file at a time.

    One digest for all kernels, and for the named tuples whose fields compiled code knows by place.
    """
    folders = sorted(PACKAGE.rglob("kernels_numba"))
    sources = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    sources.append(PACKAGE / "mining" / "arrays.py")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    for cache in (folder / "__pycache__" for folder in folders):
        stamp = cache / "kernel-sources.sha256"
        if cache.is_dir() and not (stamp.is_file() and stamp.read_text() == digest):
            for compiled in cache.glob("*.nb[ic]"):
                compiled.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(digest)


@pytest.fixture(scope="session")
def real_data() -> Path:
    beside_checkout = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SHORTCUT_MINER_DATA", beside_checkout))
    if not folder.is_dir():
        pytest.skip("no real data: set SHORTCUT_MINER_DATA")
    return folder
