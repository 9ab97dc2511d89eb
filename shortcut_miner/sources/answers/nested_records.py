"""Values deep inside JSON records, decoded by their paths: ``doc.question_id``, ``output.completion``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.errors import ConfigError
from shortcut_miner.sources.answers.answer_column import check_same_ids
from shortcut_miner.sources.opening.ids import find_floats, id_column, with_whole_ids
from shortcut_miner.sources.opening.json_records import Chunk
from shortcut_miner.sources.opening.reading import RECORD, Problem

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of each record.

    Attributes
    ----------
    path : tuple of str
        Its fields, the outermost first.
    type : type
        As msgspec takes it.
    is_optional : bool
        Whether a record may lack it: it is None then.
    """

    path: Path
    type: Any
    is_optional: bool = False


def record_type(leaves: Sequence[Leaf]) -> Any:
    """Return the struct that holds some values of a record, and nothing else of it.

    >>> leaves = [Leaf(("doc", "id"), int), Leaf(("text",), str, is_optional=True)]
    >>> record = msgspec.json.decode(b'{"doc": {"id": 7, "more": 1}}', type=record_type(leaves))
    >>> [getter(leaf.path)(record) for leaf in leaves]
    [7, None]
    """
    paths = [leaf.path for leaf in leaves]
    for at, path in enumerate(paths):
        for other in paths[:at]:
            shorter = min(len(path), len(other))
            if path[:shorter] == other[:shorter]:
                raise ConfigError(
                    f"columns: got {'.'.join(other)!r} and {'.'.join(path)!r}, expected fields apart from "
                    "each other. Change --columns."
                )
    return _struct({leaf.path: leaf for leaf in leaves})


def getter(path: Path) -> Callable[[Any], Any]:
    """Return what takes the value at a path out of a record."""
    if len(path) == 1:
        (name,) = path
        place = _place(name)
        return lambda record: getattr(record, place)
    places = [_place(name) for name in path]

    def get(record: Any) -> Any:
        for place in places:
            if record is None:
                return None
            record = getattr(record, place)
        return record

    return get


def named_path(text: str) -> Path:
    """Return the path that a user writes with points.

    >>> named_path("doc.question_id")
    ('doc', 'question_id')
    """
    path = tuple(text.split("."))
    if not all(name and is_decodable(name) for name in path):
        raise ConfigError(
            f"columns: got {text!r}, expected a field such as id or doc.question_id. Change --columns."
        )
    return path


def is_decodable(name: str) -> bool:
    """Return whether msgspec allows a field's name."""
    return name.isprintable() and not {*name} & {*'"\\'}


def _place(name: str) -> str:
    return f"field_{name.encode().hex()}"


def _struct(leaves: Mapping[Path, Leaf]) -> Any:
    """Return a struct of the leaves whose paths start here."""
    required, optional = [], []
    names = dict.fromkeys(path[0] for path in leaves)
    for name in names:
        below = {path[1:]: leaf for path, leaf in leaves.items() if path[0] == name}
        kind = below[()].type if () in below else _struct(below)
        if all(leaf.is_optional for leaf in below.values()):
            optional.append((_place(name), kind if kind in (Any, msgspec.Raw) else kind | None, None))
        else:
            required.append((_place(name), kind))
    rename = {_place(name): name for name in names}
    return msgspec.defstruct("object", [*required, *optional], rename=rename, gc=False)


def nested_ids(
    shown: str, rows: Chunk[Any], paths: Sequence[Path], label: Callable[[int], str]
) -> tuple[pl.DataFrame, list[Problem], tuple[str, ...]]:
    """Return record and question_id of decoded records, which of them are no ids, and notes.

    Parameters
    ----------
    shown : str
        The file, for messages.
    rows : Chunk
        Records.
    paths : sequence of tuple of str
        Where ids are: the first are read, and the others must say the same.
    label : callable
        Names a record by its position.

    Raises
    ------
    SourceError
        A record has two ids that differ.
    """
    names = [".".join(path) for path in paths]
    found = []
    for path in paths:
        ids = id_column([*map(getter(path), rows.records)])
        given = pl.DataFrame({RECORD: pl.Series(rows.positions, dtype=pl.UInt32), "question_id": ids})
        found.append(with_whole_ids(given, "question_id"))
    (table, notes), *others = found
    for name, (other, _) in zip(names[1:], others, strict=True):
        check_same_ids(shown, table, other.rename({"question_id": "other"}), (names[0], name), label)
    return table, find_floats(table, "question_id", names[0]), notes
