"""The columns of JSON records: each distinct field decoded once, then as its kind has it."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from types import NoneType
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError, reason_of, shortened
from shortcut_miner.sources.opening.class_labels import CLASSES_NOTE, Classes, named_values
from shortcut_miner.sources.opening.columns import (
    TARGETS,
    WORDS,
    Converted,
    Kind,
    Needs,
    Place,
    Seen,
    split_texts,
)
from shortcut_miner.sources.opening.ids import (
    AnyId,
    find_floats,
    float_note,
    id_column,
    plain_text,
    whole_column,
)
from shortcut_miner.sources.opening.json_records import Chunk, decode_all, decode_chunks, paused_gc
from shortcut_miner.sources.opening.json_text import Raws, fields_of
from shortcut_miner.sources.opening.list_columns import are_text_lists, text_lists
from shortcut_miner.sources.opening.nested import NoListError, listed_keys, listed_texts
from shortcut_miner.sources.opening.reading import RECORD, Problem
from shortcut_miner.sources.opening.serialised import LISTS_NOTE

_Plain = bool | int | float | str | None
_JSON_TYPES: dict[Kind, Any] = {"id": AnyId, "text": str, "value": _Plain, "number": float, "whole": int}
_MAY_BE_NULL = ("value", "texts", "keys", "any")
_NO_KEY = re.compile(r'["\\\x00-\x1f]')  # what msgspec allows in no name


@dataclass(frozen=True)
class JsonColumns:
    """How the needed columns of JSON records are decoded: each distinct field of the file once.

    Attributes
    ----------
    needs : mapping of str to Column
    fields : mapping of str to str
        Our column -> the file's field; several of ours may read the same.
    classes : mapping of str to sequence of str
        The file's fields that hold classes -> the names of these.
    """

    needs: Needs
    fields: Mapping[str, str]
    classes: Classes = field(default_factory=dict)

    @cached_property
    def keys(self) -> dict[str, str]:
        """The file's fields -> their names in the decoded text: the same wherever msgspec allows it."""
        keys: dict[str, str] = {}
        for name in self.fields.values():
            key = _NO_KEY.sub("?", name)
            while key != name and (key in self.fields.values() or key in keys.values()):
                key += "?"
            keys.setdefault(name, key)
        return keys

    @cached_property
    def places(self) -> dict[str, str]:
        """The file's fields -> the struct's."""
        return {name: f"field_{at}" for at, name in enumerate(self.keys)}

    @cached_property
    def record_type(self) -> Any:
        """The struct that a record is decoded to."""
        required, optional = [], []
        for name, place in self.places.items():
            asked = [self.needs[ours] for ours, theirs in self.fields.items() if theirs == name]
            # Of several types the first: what doesn't fit the others is null there.
            wanted = next((_JSON_TYPES[one.kind] for one in asked if one.kind in _JSON_TYPES), Any)
            if wanted is Any or all(one.is_optional or one.kind in _MAY_BE_NULL for one in asked):
                optional.append((place, wanted if wanted is Any else wanted | None, None))
            else:
                required.append((place, wanted))
        rename = {self.places[name]: key for name, key in self.keys.items()}
        return msgspec.defstruct("Record", [*required, *optional], rename=rename, gc=False)

    def raws(self, raws: Raws) -> Raws:
        """Return undecoded records under the keys that they are decoded by."""
        if all(name == key for name, key in self.keys.items()):
            return raws
        return [self._renamed(raw) for raw in raws]

    def _renamed(self, raw: bytes | msgspec.Raw) -> bytes | msgspec.Raw:
        fields = fields_of(raw)
        kept = {key: fields[name] for name, key in self.keys.items() if name in fields}
        return msgspec.json.encode(kept) if fields else raw  # what is no record is told by its decoder

    def read(self, raws: Raws, place: Place) -> Converted:
        """Return :meth:`converted` of all undecoded records.

        Chunk by chunk, which takes less memory and time, where no column must be seen as a whole.
        """
        raws, pieces = self.raws(raws), []
        with paused_gc():
            for chunk in decode_chunks(raws, self.record_type):
                if not self._may_be_split(chunk):
                    break
                pieces.append(self.converted(chunk, place, has_text_lists=True))
        if not pieces or sum(len(one.table) for one in pieces) < len(raws):
            return self.converted(decode_all(raws, self.record_type), place)
        decisions: Counter[str] = Counter()
        for one in pieces:
            decisions.update(one.decisions)
        problems = [problem for one in pieces for problem in one.problems]
        return Converted(pl.concat([one.table for one in pieces]), problems, decisions)

    def _may_be_split(self, chunk: Chunk[Any]) -> bool:
        """Return whether no other record matters: text with lists, classes and any types need all."""
        kinds = {name: self.needs[ours].kind for ours, name in self.fields.items()}
        listed = {name for name, kind in kinds.items() if kind in ("texts", "keys")}
        return (
            not chunk.problems
            and "any" not in kinds.values()
            and not self.classes.keys() & kinds.keys()
            and all(are_text_lists(self._values(chunk, name)) for name in listed)
        )

    def _values(self, chunk: Chunk[Any], name: str) -> list[Any]:
        return list(map(attrgetter(self.places[name]), chunk.records))

    def converted(self, chunk: Chunk[Any], place: Place, *, has_text_lists: bool = False) -> Converted:
        """Return decoded records as the working column `record` and columns of their kinds.

        `has_text_lists` says that all lists are known to be of texts.

        Raises
        ------
        SourceError
            See :func:`.columns.converted`; or values of several types where any may be.
        """
        columns = {RECORD: pl.Series(chunk.positions, dtype=pl.UInt32)}
        problems = list(chunk.problems)
        decisions: Counter[str] = Counter()
        seen: Seen = {}
        for ours, name in self.fields.items():
            values = self._values(chunk, name)
            if name in self.classes:
                values, count = named_values(values, self.classes[name], f"{place.path}, column {name}")
                decisions[f"{name}, {CLASSES_NOTE}"] = count
            kind = self.needs[ours].kind
            if kind in ("texts", "keys"):
                if has_text_lists or are_text_lists(values):
                    column, count, bad = _text_lists(values, kind), 0, list[Problem]()
                else:
                    column, count, bad = _list_column(values, kind, name, place, columns[RECORD], seen)
                problems += bad if kind == "texts" else []
            else:
                column, count = _json_column(values, kind, place.path)
            if kind == "id":
                problems += find_floats(pl.DataFrame({RECORD: columns[RECORD], name: column}), name)
            if kind != "keys":
                decisions[f"{name}, {LISTS_NOTE}" if kind == "texts" else float_note(name)] += count
            columns[ours] = column.alias(ours)
        return Converted(pl.DataFrame(columns), problems, +decisions)


def json_columns(
    needs: Needs, names: Mapping[str, str | None], classes: Classes | None = None
) -> JsonColumns:
    """Return how columns are decoded; those that no record seems to have under their first name."""
    fields = {ours: found or (needs[ours].names or (ours,))[0] for ours, found in names.items()}
    return JsonColumns(needs, fields, classes or {})


def _json_column(values: list[Any], kind: Kind, path: str) -> tuple[pl.Series, int]:
    """Return values as their kind has them, and how many whole floats became integers."""
    if kind == "id":
        return whole_column(id_column(values))
    if kind == "value" and {*map(type, values)} <= {str, NoneType}:
        return pl.Series(values, dtype=pl.String), 0
    if kind == "value":
        floats = sum(isinstance(one, float) and one.is_integer() for one in values)
        return pl.Series([_shown(one) for one in values], dtype=pl.String), floats
    if kind != "any":
        return pl.Series(values, dtype=TARGETS[kind], strict=False), 0
    try:
        return pl.Series(values, strict=True), 0
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{path}: got values of several types in one column ({reason_of(error)}), "
            "expected text, whole numbers, or lists of text. Correct them."
        ) from error


def _shown(value: Any) -> str | None:
    """Return a value as text; truth values as JSON writes them."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if value is None or isinstance(value, str) else plain_text(value)


def _text_lists(values: list[Any], kind: Kind) -> pl.Series:
    if kind == "texts":
        return text_lists(values)
    return pl.Series([None], dtype=TARGETS["keys"]).new_from_index(0, len(values))


def _list_column(
    values: list[Any], kind: Kind, name: str, place: Place, records: pl.Series, seen: Seen
) -> tuple[pl.Series, int, list[Problem]]:
    """Return values as lists of text or as the keys of records, and how many lists were written as text."""
    is_text = [isinstance(one, str) for one in values]
    cells = pl.Series(
        [one if told else None for one, told in zip(values, is_text, strict=True)], dtype=pl.String
    )
    split, count = split_texts(cells, kind, name, place, records, seen)
    if all(is_text):
        return split, count, []
    read, problems = [], []
    for one, told, record in zip(values, is_text, records, strict=True):
        try:
            read.append(None if told or one is None else _read(one, kind))
        except NoListError as error:
            read.append(None)
            problems.append(Problem((record,), name, shortened(str(error)), WORDS[kind]))
    given = pl.Series(read, dtype=TARGETS[kind])
    return pl.select(pl.coalesce(pl.lit(split), pl.lit(given))).to_series(), count, problems


def _read(value: Any, kind: Kind) -> Any:
    if kind == "keys":
        return listed_keys(value)
    return listed_texts(value if isinstance(value, list | dict) else [value])
