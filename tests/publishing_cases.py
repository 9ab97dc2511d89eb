"""Small folders of results, for the tests of publishing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shortcut_miner.publishing import staged_folder
from shortcut_miner.storage import write_json
from shortcut_miner.version import __version__

COMMAND = "test build"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def manifest(command: str = COMMAND, **config: object) -> dict[str, Any]:
    made = {"package": "shortcut_miner", "version": __version__, "command": command}
    return made | {"config": config, "inputs": []}


def write(out: Path, files: Mapping[str, str], *, force: bool = False, **config: object) -> None:
    with staged_folder(out, force=force) as folder:
        for name, text in files.items():
            (folder / name).write_text(text)
        write_json(manifest(**config), folder / "manifest.json")
