"""The questions of any built folder, by the room that wrote it."""

from importlib import import_module
from pathlib import Path

from shortcut_miner import rooms
from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.datasets.question_sets import QuestionSets

BUILDS = {f"{name.replace('_', '-')} build": name for name in rooms.NAMES}


def read_question_sets(path: Path) -> QuestionSets:
    """Return what a folder offers to evaluators.

    Raises
    ------
    SourceError
        Nothing that a room built, or a folder without questions.
    """
    room = BUILDS[open_folder(path, *BUILDS).command]
    found: QuestionSets = import_module(f"shortcut_miner.diagnostics.{room}.exported").question_sets(path)
    return found
