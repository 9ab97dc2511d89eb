"""Tables in several files: shards in a folder, and the splits of a Hugging Face dataset's folder."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.class_labels import Classes
from shortcut_miner.sources.opening.files import open_source, system_errors
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS
from shortcut_miner.sources.opening.kinds import TABLE_ENDINGS, ending_of
from shortcut_miner.sources.questions.dataset_cards import (
    GIVE_FILES,
    INFO,
    declared_classes,
    default_config,
)

Part = Literal["training", "validation"]
# What splits are called; those of the second group are tests, which stand in where there is no validation.
TRAINING = ("train", "training")
VALIDATION = (("validation", "valid", "val", "dev", "development"), ("test", "testing", "eval", "evaluation"))
_SPLITS = (*TRAINING, *VALIDATION[0], *VALIDATION[1])
_SPLIT_IN_NAME = re.compile(rf"(?<![a-z])({'|'.join(_SPLITS)})(?![a-z])")
_SAVED_DICT, _SAVED = "dataset_dict.json", "state.json"
_RECORDS = (_SAVED_DICT, _SAVED, INFO, "dataset_infos.json")


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of a table, what their folders say of the classes in each, and what was decided."""

    paths: tuple[Path, ...]
    classes: tuple[Classes, ...]
    notes: tuple[str, ...] = ()


def files_of_table(places: Sequence[Path], part: Part) -> TableFiles:
    """Return the files of a table that is given as files and folders, in the order given and by name.

    Of a folder with splits, such as Hugging Face's, those for `part` are taken; of one without, all tables.

    Raises
    ------
    SourceError
        A folder without tables, or where it isn't clear which of its files are meant.
    """
    found: list[Path] = []
    classes: list[Classes] = []
    notes: list[str] = []
    for place in places:
        if not place.is_dir():
            found.append(place)
            classes.append({})
            continue
        splits = splits_of(place)
        name = next(iter(splits)) if len(splits) == 1 else split_for(part, splits, str(place))
        found += splits[name]
        classes += [declared_classes(place, splits[name][0].parent)] * len(splits[name])
        notes += [f"{place.name}: the split {name}"] if name else []
        notes += [f"{place.name}: {len(splits[name]):,} files"] if len(splits[name]) > 1 else []
    return TableFiles(tuple(found), tuple(classes), tuple(notes))


def has_own_splits(places: Sequence[Path]) -> bool:
    """Return whether the places are one folder with several splits."""
    return len(places) == 1 and places[0].is_dir() and len(splits_of(places[0])) > 1


def split_for(part: Part, names: Collection[str], where: str, advice: str = GIVE_FILES) -> str:
    """Return which of the names of splits is that for training, or for validation.

    >>> split_for("validation", ["train", "test"], "x"), split_for("validation", ["dev", "test"], "x")
    ('test', 'dev')

    Raises
    ------
    SourceError
        None, or several.
    """
    spelt = {name: name.strip().lower() for name in names}
    for known in (TRAINING,) if part == "training" else VALIDATION:
        fitting = [name for name, plain in spelt.items() if plain in known]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            break
    expected = TRAINING if part == "training" else VALIDATION[0]
    told = f"the splits {examples(filter(None, names), limit=20)}" if any(names) else "no split in any row"
    raise SourceError(f"{where}: got {told}, expected one for {part} ({', '.join(expected)}). {advice}.")


def splits_of(folder: Path) -> dict[str, list[Path]]:
    """Return the files of a folder's tables by split; with the name "" where it has no splits.

    Known are what ``Dataset.save_to_disk`` writes, a README.md with ``configs``, and files or folders with
    names of splits (``train-00000-of-00002.parquet``, ``validation/part-1.csv``).

    Raises
    ------
    SourceError
        See :func:`files_of_table`.
    """
    if (folder / _SAVED_DICT).is_file():
        names = _record(folder / _SAVED_DICT, "splits", list)
        if not names or not all(isinstance(name, str) and _is_inside(name) for name in names):
            raise _no_record(folder / _SAVED_DICT, "splits")
        return {name: _saved_files(folder / name) for name in names}
    if (folder / _SAVED).is_file():
        return {_record(folder / _SAVED, "_split", str | None) or "": _saved_files(folder)}
    if config := default_config(folder):
        if config.get("data_files"):
            splits: dict[str, list[Path]] = {}
            for split, files in _configured(folder, config["data_files"]):
                splits.setdefault(split, []).extend(files)
            return splits
        if config.get("data_dir") and _is_inside(str(config["data_dir"])):
            folder = folder / str(config["data_dir"])
    return _by_name(folder)


def _record(path: Path, name: str, kind: Any) -> Any:
    """Return a field of a JSON record that ``save_to_disk`` writes."""
    import msgspec

    try:
        record = msgspec.json.decode(open_source(path).content)
        value = record[name]
    except (*DECODE_ERRORS, LookupError, TypeError) as error:
        raise _no_record(path, name) from error
    if not isinstance(value, kind):
        raise _no_record(path, name)
    return value


def _no_record(path: Path, name: str) -> SourceError:
    return SourceError(
        f"{path}: got a record without {name}, expected what save_to_disk writes. {GIVE_FILES}."
    )


def _saved_files(folder: Path) -> list[Path]:
    files = _record(folder / _SAVED, "_data_files", list)
    names = [one.get("filename") if isinstance(one, dict) else None for one in files]
    if not names or not all(isinstance(name, str) and _is_inside(name) for name in names):
        raise _no_record(folder / _SAVED, "_data_files")
    return [folder / str(name) for name in names]


def _configured(folder: Path, data_files: Any) -> Iterator[tuple[str, list[Path]]]:
    """Give the splits that a card names, with the files that their patterns fit."""
    entries = data_files if isinstance(data_files, list) else [data_files]
    if all(isinstance(one, str) for one in entries):
        entries = [{"split": "", "path": entries}]
    for entry in entries:
        if not isinstance(entry, dict) or "path" not in entry:
            raise SourceError(
                f"{folder / 'README.md'}: got data_files without a path, expected split and path. "
                f"{GIVE_FILES}."
            )
        patterns = [*map(str, entry["path"] if isinstance(entry["path"], list) else [entry["path"]])]
        if outside := [one for one in patterns if not _is_inside(one)]:
            raise SourceError(
                f"{folder / 'README.md'}: got data_files that are not in the folder ({examples(outside)}), "
                "expected paths below it. Download them into it, or give files by name."
            )
        files = sorted({file for one in patterns for file in _fitting(folder, one)})
        if not files:
            raise SourceError(
                f"{folder / 'README.md'}: got no file that {examples(patterns)} fits, expected those of the "
                f"split {entry.get('split')}. Download them, or give files by name."
            )
        yield str(entry.get("split") or ""), files


def _is_inside(name: str) -> bool:
    """Return whether a name or pattern that a file gives is of what lies in its own folder.

    >>> [_is_inside(one) for one in ("data/*.parquet", "../x.csv", "/x.csv", "hf://x/y.csv", "")]
    [True, False, False, False, False]
    """
    parts = Path(name).parts
    return bool(parts) and not Path(name).is_absolute() and ".." not in parts and "://" not in name


def _fitting(folder: Path, pattern: str) -> list[Path]:
    """Return the files below a folder that a pattern fits."""
    try:
        return [file for file in folder.glob(pattern) if file.is_file()]
    except (ValueError, NotImplementedError) as error:
        raise SourceError(
            f"{folder / 'README.md'}: got the path {pattern!r}, expected a pattern of files in the folder, "
            f"such as data/train-*.parquet. {GIVE_FILES}."
        ) from error


def _by_name(folder: Path) -> dict[str, list[Path]]:
    """Return the tables below a folder by the splits that their names tell."""
    with system_errors(str(folder), folder):
        below = sorted(one.relative_to(folder) for one in folder.rglob("*") if one.is_file())
    tables = [one for one in below if _form(one) and not any(part.startswith(".") for part in one.parts)]
    if not tables:
        raise SourceError(
            f"{folder}: got a folder without tables (it has {examples(map(str, below)) or 'no files'}), "
            "expected Parquet, Arrow, CSV, TSV, JSON Lines, JSON or xlsx files. Give a file, or the folder "
            "that holds them."
        )
    forms = {_form(one): str(one) for one in reversed(tables)}
    if len(forms) > 1:
        raise SourceError(
            f"{folder}: got tables of several forms ({examples(forms.values())}), expected one form. "
            f"{GIVE_FILES}."
        )
    splits: dict[str, list[Path]] = {}
    for table in tables:
        splits.setdefault(_split_in(table), []).append(folder / table)
    if "" in splits and len(splits) > 1:
        raise SourceError(
            f"{folder}: got files whose names tell no split ({examples(one.name for one in splits[''])}) "
            f"beside those of {examples(name for name in splits if name)}, expected one of both. "
            f"{GIVE_FILES}."
        )
    return splits


def _form(path: Path) -> str:
    """Return the ending that tells a table, without compression; "" for other files."""
    if path.name in _RECORDS:
        return ""
    ending = ending_of(path)
    return ending if ending in TABLE_ENDINGS else ""


def _split_in(path: Path) -> str:
    """Return the split that the name of a file tells, else of the nearest of its folders; "" if none does.

    >>> [_split_in(Path(one)) for one in ("data/train-00000-of-00001.parquet", "dev/1.csv", "a.csv")]
    ['train', 'dev', '']
    """
    for part in reversed(path.parts):
        if named := {*_SPLIT_IN_NAME.findall(part.lower())}:
            return named.pop() if len(named) == 1 else ""
    return ""
