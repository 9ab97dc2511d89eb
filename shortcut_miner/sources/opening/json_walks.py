"""Records of a large JSON object as columns, in one walk over its text without Python objects.

Syntax, kinds of values and keys that an object has twice are checked on the way. What an odd file means is
said by :mod:`.json_records`, once: here it is not understood, and the caller asks there. Importing this loads
kernels; of text that is not worth walking (:func:`.json_text.is_worth_walking`) decoding takes no longer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shortcut_miner.columnar import arrow_series
from shortcut_miner.kernels_numba import json_records as kernels
from shortcut_miner.sources.opening.ids import AnyId
from shortcut_miner.sources.opening.json_text import OddError, is_utf8
from shortcut_miner.sources.opening.list_columns import list_column

_ROWS = 1 << 16  # of each table at once
_BLANKS = b" \t\n\r"

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Node:
    """A wanted value: `table` is what a map or list fills, `owner` that in whose rows it stands."""

    path: str
    annotation: Any
    kind: int
    owner: int
    table: int
    is_required: bool


@dataclass(frozen=True)
class Walked:
    """Some records of a file, next to each other; to be used before the next ones are asked for.

    Columns are named by their path: "" has the records' keys, "a" a field of theirs, "a.b" a field of an
    object under it; of a map or list under "a" its keys are "a" too, and what it holds "a.*".
    """

    content: bytes
    found: kernels.Found
    nodes: Mapping[str, _Node]
    places: Mapping[str, int]

    def __len__(self) -> int:
        return int(self.found.rows[0])

    @cached_property
    def _text(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.content, np.uint8)

    def _where(self, path: str) -> tuple[Ints, Ints]:
        """Return where the values of a column begin, negative for none, and end, negative for escapes."""
        place, rows = self.places[path], self.found.rows[_stands_in(self.nodes[path])]
        return self.found.start[place, :rows], self.found.end[place, :rows]

    def texts(self, path: str) -> pl.Series:
        """Return texts, ids or keys (String)."""
        start, end = self._where(path)
        is_given = start >= 0
        begin, stop = np.where(is_given, start, 0), np.where(is_given, np.abs(end), 0)
        offsets = np.concatenate([[0], np.cumsum(stop - begin)])
        copied = np.empty(offsets[-1], np.uint8)
        kernels.copy_texts(self._text, begin, stop, offsets, copied)
        valid = None if is_given.all() else pa.py_buffer(np.packbits(is_given, bitorder="little"))
        buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(copied)]
        texts = arrow_series(pa.Array.from_buffers(pa.large_string(), len(start), buffers))
        escaped = np.flatnonzero(is_given & (end < 0))
        if not len(escaped):
            return texts
        raws = (self.content[begin[row] - 1 : stop[row] + 1] for row in escaped)
        return texts.scatter(escaped, pl.Series([msgspec.json.decode(raw, type=str) for raw in raws]))

    def numbers(self, path: str) -> pl.Series:
        """Return numbers (Float64).

        Raises
        ------
        OddError
            One that no float64 holds.
        """
        start, end = self._where(path)
        values = np.where(start >= 0, self.found.number[self.places[path], : len(start)], np.nan)
        for row in np.flatnonzero((start >= 0) & np.isnan(values)):
            values[row] = float(self.content[start[row] : end[row]])
        if np.isinf(values).any():
            raise OddError
        return pl.Series(values, nan_to_null=True)

    def lengths(self, path: str) -> Ints:
        """Return how many values a map or list has, row by row; -1 where there is none."""
        node = self.nodes[path]
        return self.found.length[node.table, : self.found.rows[node.owner]]

    def lists(self, path: str) -> pl.Series:
        """Return what is in a map or list of texts (List[String])."""
        lengths = self.lengths(path)
        is_null = lengths < 0
        return list_column(
            self.texts(f"{path}.*"), np.maximum(lengths, 0), is_null if is_null.any() else None
        )


def walked(content: bytes, record_type: type[msgspec.Struct]) -> Iterator[Walked]:
    """Give the records of a JSON object ``{key: record}``, as many at a time as there is room for.

    Parameters
    ----------
    content : bytes
    record_type : a msgspec.Struct
        Of texts, ids, numbers, Structs, maps and lists: what decoding the records to it gives.

    Raises
    ------
    OddError
        At any time: the text is no JSON object, or has anything else; what was given doesn't count.
    """
    at = content.find(b"{") + 1
    if not at or content[: at - 1].strip(_BLANKS):
        raise OddError
    nodes, children = _tree(record_type)
    places, shape = _shape(nodes, children)
    starts, ends = np.empty((2, len(places), _ROWS), np.int64)
    numbers, lengths = np.empty((len(places), _ROWS)), np.empty((len(shape.parents), _ROWS), np.int64)
    found = kernels.Found(starts, ends, numbers, lengths, np.zeros(len(shape.parents), np.int64))
    by_path = {node.path: node for node in nodes if node.kind != kernels.OBJECT}
    memory, is_ascii = kernels.memory_of(len(shape.parents)), content.isascii()
    text = np.frombuffer(content, np.uint8)
    while True:
        found.rows[:] = 0
        begin = at
        at = kernels.walk(text, at, shape, found, memory)
        if at == kernels.ODD or not (is_ascii or is_utf8(content[begin:at])):
            raise OddError
        if not all(_is_whole(one, places, found) for one in by_path.values() if one.is_required):
            raise OddError
        yield Walked(content, found, by_path, places)
        if at == len(content):
            return


def _is_whole(node: _Node, places: Mapping[str, int], found: kernels.Found) -> bool:
    """Return whether a value that must be there is there in each row."""
    given = found.length[node.table] if node.table >= 0 else found.start[places[node.path]]
    return bool((given[: found.rows[node.owner]] >= 0).all())


def _tree(record_type: type[msgspec.Struct]) -> tuple[list[_Node], list[range]]:
    """Return the nodes of all wanted values, and those inside each."""
    nodes = [_Node("", dict[str, record_type], kernels.MAP, -1, 0, is_required=False)]  # type: ignore[valid-type]
    children: list[range] = []
    tables = 1
    for node in nodes:  # which grow meanwhile
        first, owner = len(nodes), node.owner if node.table < 0 else node.table
        for name, annotation, is_required in _inside(node):
            kind = _kind(annotation)
            fills = tables if kind >= kernels.MAP else -1
            tables += kind >= kernels.MAP
            path = f"{node.path}.{name}".strip(".")
            nodes.append(_Node(path, annotation, kind, owner, fills, is_required))
        children.append(range(first, len(nodes)))
    return nodes, children


def _shape(nodes: list[_Node], children: list[range]) -> tuple[dict[str, int], kernels.Shape]:
    """Return the place of each column by its path, and the nodes as the kernels take them."""
    placed = [node for node in nodes if node.kind not in (kernels.OBJECT, kernels.LIST)]
    placed.sort(key=_stands_in)
    places = {node.path: at for at, node in enumerate(placed)}
    parents = [node.owner for node in nodes if node.table >= 0]
    names = [node.path.rpartition(".")[2].encode() for node in nodes]
    ends = np.cumsum([*map(len, names)])
    shape = kernels.Shape(
        kind=np.array([node.kind for node in nodes]),
        first=np.array([one.start for one in children]),
        fields=np.array([len(one) for one in children]),
        key_start=ends - [*map(len, names)],
        key_end=ends,
        keys=np.frombuffer(b"".join(names), np.uint8),
        place=np.array([places.get(node.path, -1) for node in nodes]),
        owner=np.array([node.owner for node in nodes]),
        table=np.array([node.table for node in nodes]),
        first_place=np.searchsorted([*map(_stands_in, placed)], range(len(parents) + 1)),
        parents=np.array(parents),
    )
    return places, shape


def _stands_in(node: _Node) -> int:
    """Return the table in whose rows a value stands, or a map's keys do."""
    return node.owner if node.table < 0 else node.table


def _inside(node: _Node) -> list[tuple[str, Any, bool]]:
    """Return name, type and whether it must be there of what an object, map or list holds."""
    if node.kind < kernels.OBJECT:
        return []
    (one,) = _options(node.annotation)
    if node.kind == kernels.OBJECT:
        return [(field.encode_name, field.type, field.required) for field in msgspec.structs.fields(one)]
    return [("*" if node.path else "", get_args(one)[-1], True)]


def _kind(annotation: Any) -> int:
    options = _options(annotation)
    if options == {*get_args(AnyId)}:
        return kernels.ID
    (one,) = options
    plain = {str: kernels.TEXT, float: kernels.NUMBER, dict: kernels.MAP, list: kernels.LIST}
    return plain.get(get_origin(one) or one, kernels.OBJECT)


def _options(annotation: Any) -> set[Any]:
    is_union = get_origin(annotation) in (Union, UnionType)
    return {*(get_args(annotation) if is_union else (annotation,))} - {NoneType}
