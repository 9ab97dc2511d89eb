import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Load = Callable[[str, str], Any]


@pytest.fixture(scope="session")
def golden_vqa_ce(real_data: Path) -> Load:
    """Return a function that loads one of the reference program's outputs: (case, name)."""
    folder = real_data.parent / "golden" / "vqa_ce"
    if not folder.is_dir():
        pytest.skip(f"no golden files at {folder}")

    def load(case: str, name: str) -> Any:
        with gzip.open(folder / case / f"{name}.json.gz", "rt", encoding="utf-8") as file:
            return json.load(file)

    return load
