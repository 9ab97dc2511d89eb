"""The demo's folders, and small ones made of a few rows."""

from pathlib import Path

import pytest
from report.folders import Folders, demo_folders


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Return what the demo built and scored, in one folder, and the page about it."""
    for library in ("altair", "jinja2", "vl_convert"):
        pytest.importorskip(library)
    return demo_folders(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "report.html"
