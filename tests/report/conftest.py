"""The demo's folders, and small ones made of a few rows."""

from pathlib import Path

import pytest
from report.folders import Folders


@pytest.fixture(scope="session")
def folders(demo: Path) -> Folders:
    """Return what the demo built and scored, in one folder, and the page about it."""
    for library in ("altair", "jinja2", "vl_convert"):
        pytest.importorskip(library)
    return Folders(demo)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "report.html"
