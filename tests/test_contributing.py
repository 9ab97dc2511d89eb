"""The map of the house in CONTRIBUTING.md is true: what it names is there, and what is there it names."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "shortcut_miner"
MAP = [
    line.split("|")[1]
    for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]
NAMED = {name for cell in MAP for name in re.findall(r"`([^`]+)`", cell)}


def test_every_module_and_folder_is_on_the_map() -> None:
    modules = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    folders = {f"{path.name}/" for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert modules | folders <= NAMED


def test_what_is_on_the_map_is_there() -> None:
    assert len(NAMED) > 40
    missing = [name for name in NAMED if not (PACKAGE / name).exists() and not (ROOT / name).exists()]
    assert missing == []
