"""The demo's folder, in which what the documentation shows is run."""

from pathlib import Path

import pytest

from shortcut_miner.demo.run import run_demo


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder; with it all kernels are compiled, for processes that don't wait for one another."""
    folder = tmp_path_factory.mktemp("demo")
    run_demo(folder)
    return folder
