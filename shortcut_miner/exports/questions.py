"""The questions of any built folder, by the room that wrote it."""

from importlib import import_module
from pathlib import Path

from shortcut_miner import rooms
from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.datasets.question_sets import QuestionSets

# What a room builds, and the images that some draw.
BUILDS = {f"{word} build": name for word, name in zip(rooms.WORDS, rooms.NAMES, strict=True)}
BUILDS |= {f"{name} images": name for name in ("fpvg", "swapmix")}


def read_question_sets(path: Path) -> QuestionSets:
    """Return what a folder offers to evaluators.

    Raises
    ------
    SourceError
        Nothing that a room built, or a folder without questions.
    """
    folder = open_folder(path, *BUILDS)
    exported = import_module(f"shortcut_miner.diagnostics.{BUILDS[folder.command]}.exported")
    is_drawn = folder.command.endswith("images")
    found: QuestionSets = exported.drawn_sets(folder) if is_drawn else exported.question_sets(path)
    return found
