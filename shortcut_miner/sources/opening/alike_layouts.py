"""How the records of a JSON file are written: what is between their values, learned from one of them."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import numpy as np
from msgspec import UnsetType

from shortcut_miner.kernels_numba import alike_records as kernels
from shortcut_miner.sources.opening.ids import AnyId, Rising
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, OddError

MOST_LAYOUTS = 64
_LONGEST = 1 << 20  # bytes of a record that is learned from
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_NEVER = b"\0"  # in no JSON
_PLAIN: dict[Any, int] = {str: kernels.TEXT, float: kernels.NUMBER, Rising: kernels.RISING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A wanted value.

    Attributes
    ----------
    path : str
        Names it: "a" is a field, "a.b" a field of what is in the list "a", and "" a record's key.
    kind : int
        Of the kernels' steps.
    place : int
        Its column among all; -1 of what is only checked.
    table : int
        In whose rows it stands: 0 are the records, others what is in a list.
    fills : int
        A list's own table.
    inside : Wanted or mapping of str to Wanted, optional
        What a list holds: values, or objects with these fields.
    """

    path: str
    kind: int
    place: int
    table: int
    fills: int = -1
    inside: Any = None
    may_be_null: bool = False
    may_be_absent: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a record type by their places, lists among them, and as the fields of a record.

    `key` is the one of the records' keys, if they have any. A further table and place, the last ones, are of
    lists that nobody wants.
    """

    places: Sequence[Wanted]
    fields: Mapping[str, Wanted]
    key: Wanted | None

    @property
    def lists(self) -> list[Wanted]:
        """The columns that are lists, in the order of their tables, which begin at 1."""
        return [one for one in self.places if one.kind == kernels.LIST]

    def least_bytes(self) -> list[int]:
        """Return how many bytes a row of each table takes at least; 1 for the last one, which keeps none."""
        record = _least(self.fields) + 3 * (self.key is not None)
        return [record, *(_least(one.inside) for one in self.lists), 1]

    @property
    def unwanted(self) -> Wanted:
        """What a list that nobody wants fills."""
        last = 1 + len(self.lists)
        return Wanted(path="", kind=kernels.LIST, place=len(self.places), table=0, fills=last)


@dataclass(frozen=True, slots=True)
class Step:
    """Some bytes and what comes after them, as :class:`.kernels_numba.alike_records.Layouts` has it."""

    before: bytes
    kind: int
    place: int
    table: int
    target: int
    may_be_null: bool


# A value in the bytes of a record: where it begins and ends, the kind of its step, and what is wanted of it.
_Mark = tuple[int, int, int, Wanted | None]
_Marks = Generator[_Mark, None, int]  # which return the number of the token after the value
_Tokens = Sequence[re.Match[bytes]]


def columns_of(record_type: type[msgspec.Struct], *, is_keyed: bool) -> Columns:
    """Return the columns for what decoding to a type gives: texts, ids, numbers, and lists of them."""
    key = Wanted(path="", kind=kernels.TEXT, place=0, table=0) if is_keyed else None
    places = [key] if key else []
    fields = _fields("", record_type, 0, places)
    return Columns(places, fields, key)


def _fields(
    path: str, record_type: type[msgspec.Struct], table: int, places: list[Wanted]
) -> dict[str, Wanted]:
    fields = {}
    for field in msgspec.structs.fields(record_type):
        name = f"{path}.{field.encode_name}".strip(".")
        wanted = _wanted(name, field.type, table, places)
        fields[field.encode_name] = replace(wanted, may_be_absent=not field.required)
    return fields


def _wanted(path: str, annotation: Any, table: int, places: list[Wanted]) -> Wanted:
    is_union = get_origin(annotation) in (Union, UnionType)
    options = {*(get_args(annotation) if is_union else (annotation,))}
    may_be_null = NoneType in options
    options -= {NoneType, UnsetType}
    one = AnyId if options == {*get_args(AnyId)} else options.pop()
    kind = kernels.LIST if get_origin(one) is list else kernels.ID if one == AnyId else _PLAIN[one]
    place = -1 if kind == kernels.RISING else len(places)
    wanted = Wanted(path=path, kind=kind, place=place, table=table, may_be_null=may_be_null)
    if kind == kernels.LIST:
        fills = 1 + sum(other.kind == kernels.LIST for other in places)
        places.append(replace(wanted, fills=fills))
        (inner,) = get_args(one)
        is_record = isinstance(inner, type) and issubclass(inner, msgspec.Struct)
        inside = (_fields if is_record else _wanted)(path, inner, fills, places)
        places[place] = replace(wanted, fills=fills, inside=inside)
        return places[place]
    if place >= 0:
        places.append(wanted)
    return wanted


def _least(inside: Any) -> int:
    """Return how many bytes a value of a list takes at least, with what is between it and the next one."""
    if isinstance(inside, Mapping):
        return 2 + sum(len(f'"{name}":0,') for name, one in inside.items() if not one.may_be_absent)
    return 2


def record_end(content: bytes, at: int, columns: Columns) -> int:
    """Return where a record ends."""
    depth, before = 0, 2 if columns.key else 0
    for count, token in enumerate(_TOKEN.finditer(content, at, at + _LONGEST)):
        depth += (token[0] in (b"{", b"[")) - (token[0] in (b"}", b"]"))
        if depth <= 0 and count >= before:
            return token.end()
    raise OddError


def learned(content: bytes, at: int, columns: Columns) -> list[Step]:
    """Return how a record is written.

    Raises
    ------
    OddError
        It is no JSON, has a key twice in one object or with escapes, lacks a field, or has lists in lists.
    """
    raw = content[at : record_end(content, at, columns)]
    try:
        msgspec.json.decode(b"{" + raw + b"}" if columns.key else raw, type=dict[str, msgspec.Raw])
    except DECODE_ERRORS:
        raise OddError from None
    tokens = [*_TOKEN.finditer(raw)]
    marks: list[_Mark] = []
    if columns.key:
        marks.append((*tokens[0].span(), kernels.TEXT, columns.key))
    first = len(marks) * 2
    if tokens[first][0] != b"{":
        raise OddError
    marks += [*_object(tokens, first, columns.fields, columns.unwanted)]
    return _steps(raw, [*marks, (len(raw), len(raw), kernels.END, None)])


def _object(tokens: _Tokens, at: int, fields: Mapping[str, Wanted], unwanted: Wanted | None) -> _Marks:
    """Give the values of an object; lists inside of it are `unwanted`, or odd."""
    seen = set()
    at += 1
    while tokens[at][0] != b"}":
        at += tokens[at][0] == b","
        name = tokens[at][0]
        if b"\\" in name or name in seen or min(name) < ord(" "):
            raise OddError
        seen.add(name)
        wanted = fields.get(name[1:-1].decode(errors="replace"))
        at = yield from _value(tokens, at + 2, wanted, unwanted)
    for field, one in fields.items():
        if f'"{field}"'.encode() not in seen:
            if not one.may_be_absent:
                raise OddError
            yield tokens[at].start(), tokens[at].start(), kernels.NULL, one
    return at + 1


def _value(tokens: _Tokens, at: int, wanted: Wanted | None, unwanted: Wanted | None) -> _Marks:
    token = tokens[at]
    listed = wanted if wanted is not None and wanted.kind == kernels.LIST else None
    if token[0] == b"{":
        if wanted is not None:
            raise OddError
        return (yield from _object(tokens, at, {}, unwanted))
    if token[0] == b"[":
        if unwanted is None or (wanted is not None and listed is None):
            raise OddError
        return (yield from _list(tokens, at, listed or unwanted))
    if listed is None:
        yield *token.span(), kernels.ANY if wanted is None else wanted.kind, wanted
    elif token[0] == b"null" and listed.may_be_null:
        yield token.end(), token.end(), kernels.NULL, listed
    else:
        raise OddError
    return at + 1


def _list(tokens: _Tokens, at: int, wanted: Wanted) -> _Marks:
    """Give what is in a list, by its first element; of an empty one something that is in no other."""
    first = tokens[at + 1]
    yield tokens[at].end(), first.start(), kernels.LIST, wanted
    end = at + 1
    if first[0] == b"]":
        yield first.start(), first.start(), _NO_ELEMENT, None
    elif first[0] == b"{" and isinstance(wanted.inside, Mapping | None):
        end = yield from _object(tokens, at + 1, wanted.inside or {}, None)
    else:
        inside = wanted.inside
        if isinstance(inside, Mapping):
            raise OddError
        end = yield from _value(tokens, at + 1, inside, None)
    after = tokens[end - 1].end() if end > at + 1 else first.start()
    depth = 1
    while depth:
        depth += (tokens[end][0] in (b"{", b"[")) - (tokens[end][0] in (b"}", b"]"))
        end += 1
    yield after, tokens[end - 1].end(), kernels.NEXT, wanted
    return end


_NO_ELEMENT = -1


def _steps(raw: bytes, marks: Sequence[_Mark]) -> list[Step]:
    """Return the steps of a record whose values are marked."""
    steps: list[Step] = []
    done, opened = 0, 0
    for begin, end, kind, wanted in marks:
        before, target = raw[done:begin], 0
        if kind == _NO_ELEMENT:
            before, kind = _NEVER, kernels.ANY
        if kind == kernels.LIST:
            opened = len(steps)
        if kind == kernels.NEXT:
            target = opened + 1
            steps[opened] = replace(steps[opened], target=len(steps) + 1)
        place, table, may_be_null = -1, 0, False
        if wanted is not None:
            place, may_be_null = wanted.place, wanted.may_be_null
            table = wanted.fills if kind in (kernels.LIST, kernels.NEXT) else wanted.table
        steps.append(Step(before, kind, place, table, target, may_be_null))
        done = end
    return steps


def layouts_of(layouts: Sequence[Sequence[Step]]) -> kernels.Layouts:
    """Return layouts as the kernels take them."""
    steps = [one for layout in layouts for one in layout]
    begins = np.cumsum([0, *map(len, layouts)], dtype=np.int64)
    sizes = np.array([len(one.before) for one in steps], np.int64)
    words = np.cumsum([0, *(-(-sizes // 8))], dtype=np.int64)
    padded = [one.before.ljust(-(-len(one.before) // 8) * 8, b"\0") for one in steps]
    counted = [
        (b"\xff" * size).ljust(len(one), b"\0") for size, one in zip(sizes.tolist(), padded, strict=True)
    ]
    targets = [[one.target + begin for one in layout] for layout, begin in zip(layouts, begins, strict=False)]
    return kernels.Layouts(
        begins=begins[:-1],
        kind=np.array([one.kind for one in steps], np.int64),
        place=np.array([one.place for one in steps], np.int64),
        table=np.array([one.table for one in steps], np.int64),
        target=np.array([one for layout in targets for one in layout], np.int64),
        may_be_null=np.array([one.may_be_null for one in steps], np.bool_),
        size=sizes,
        word=words[:-1],
        words=np.frombuffer(b"".join(padded), np.uint64),
        masks=np.frombuffer(b"".join(counted), np.uint64),
    )
