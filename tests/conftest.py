"""Fixtures that tests of several folders share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    beside_checkout = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SHORTCUT_MINER_DATA", beside_checkout))
    if not folder.is_dir():
        pytest.skip("no real data: set SHORTCUT_MINER_DATA")
    return folder
