"""The files of a model's answers in a folder, as evaluators write one a subset or task."""

from pathlib import Path

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.answers.formats import PREDICTIONS
from shortcut_miner.sources.opening.files import system_errors
from shortcut_miner.sources.opening.kinds import PACKED_ENDINGS, TABLE_ENDINGS, ending_of
from shortcut_miner.sources.recognise import recognise

_KINDS = {one.kind for one in PREDICTIONS}


def files_in(folder: Path, *, take_tables: bool = False) -> tuple[list[Path], list[str]]:
    """Return the files of answers right in a folder, by name, and the names of its other files and folders.

    A folder with nothing but a folder in it stands for that one: evaluators name one by the model.

    Parameters
    ----------
    folder : Path
        Names that start with a point are passed over.
    take_tables : bool
        Take tables of other columns too, as the user names them.

    Raises
    ------
    SourceError
        The folder has no file of answers; or a data file in it can't be read: it may be one.
    """
    with system_errors(str(folder), folder):
        entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    if len(entries) == 1 and entries[0].is_dir():
        return files_in(entries[0], take_tables=take_tables)
    found, others = list[Path](), list[Path]()
    for entry in entries:
        is_taken = entry.is_file() and _is_data(entry) and _holds_answers(entry, take_tables)
        (found if is_taken else others).append(entry)
    names = [one.name for one in others]
    if not found:
        raise SourceError(
            f"{folder}: got a folder with {examples(names) or 'nothing'} and no file of answers, expected at "
            "least one right in it. Give the folder where they are, or the files."
        )
    return found, names


def _is_data(file: Path) -> bool:
    """Return whether a file's name is that of data, packed or not."""
    ending = ending_of(file)
    return ending in (*TABLE_ENDINGS, ".eval") or (not ending and file.suffix.lower() in PACKED_ENDINGS)


def _holds_answers(file: Path, take_tables: bool) -> bool:
    found = recognise(file)
    return found.kind in _KINDS or (take_tables and found.is_table)
