"""Records of a large JSON file that are written alike, as columns without Python objects.

How records are written is learned from the first one, and from each that is written like none before
(:mod:`.alike_layouts`). What a file means that has anything else is said by :mod:`.json_records`: here it is
not understood, and the caller asks there. Importing this loads kernels; of text that is not worth walking
(:func:`.json_text.is_worth_walking`) decoding takes no longer.
"""

import re
from dataclasses import dataclass

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shortcut_miner.columnar import arrow_series
from shortcut_miner.kernels_numba import alike_records as kernels
from shortcut_miner.sources.opening.alike_layouts import (
    MOST_LAYOUTS,
    Columns,
    Step,
    Wanted,
    columns_of,
    layouts_of,
    learned,
    record_end,
)
from shortcut_miner.sources.opening.json_text import (
    DECODE_ERRORS,
    LOOKED_AT,
    OddError,
    has_disguised,
    is_utf8,
)

_MOST_TEXT = (1 << 31) - 1  # bytes of texts that views can tell of
_MOST_NOTES = 1 << 18
_TAIL = 1 << 16  # bytes; the last records are matched with as many blanks behind them as kernels look at
_AFTER_TAIL = b" " * 64
_IN_VIEW = 12  # bytes of a text
_BLANKS = re.compile(rb"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Alike:
    """The records of a file, and the file without most of them, by which its format is told.

    Attributes
    ----------
    table : pl.DataFrame
        A row a record, in file order. Columns are named by their path: "a" is a field, "a.b" what the records
        in the list "a" have as "b", and "" the keys of records.
    abridged : bytes
        The text with no more than the first LOOKED_AT records.
    """

    table: pl.DataFrame
    abridged: bytes


def read_alike(content: bytes, record_type: type[msgspec.Struct], key: str | None) -> Alike:
    """Return the records of a JSON file.

    Parameters
    ----------
    content : bytes
    record_type : a msgspec.Struct
        Of texts, ids and numbers, and of lists of these or of such Structs: what decoding the records gives.
    key : str or None
        What the list of records is under, unless the file is a bare list; None for ``{key: record}``.

    Raises
    ------
    OddError
        The text is not JSON of this form, or has something that no column is made for: a key twice in one
        object, a value of another kind than its field, half of a surrogate pair, a number that doesn't rise.
    """
    start = _start(content, key)
    columns = columns_of(record_type, is_keyed=key is None)
    close, layouts, learned_at = b"}]"[key is not None], list[list[Step]](), -1
    text, base, at = content, 0, start  # where `text` begins in the content, and a record in `text`
    found, state, known = _room(columns, len(content)), np.zeros(4, np.int64), 0
    found.ends[:, 0] = 0
    while True:
        at = kernels.match(np.frombuffer(text, np.uint8), at, close, layouts_of(layouts), found, state)
        if state[kernels.STATUS] == kernels.DONE:
            break
        if not base and len(content) - at < _TAIL:
            text, base, at, known = content[at:] + _AFTER_TAIL, at, 0, state[kernels.NOTED]
            continue
        if state[kernels.STATUS] == kernels.FILLED or learned_at == base + at or len(layouts) == MOST_LAYOUTS:
            raise OddError
        learned_at = base + at
        layouts.append(learned(text, at, columns))
        state[kernels.LAYOUT] = len(layouts) - 1
    end = base + at
    _check_around(content[:start] + content[end:], key)
    if not content.isascii() and not is_utf8(content):
        raise OddError
    notes = found.notes[: state[kernels.NOTED]]
    notes[known:, 2:] += base
    table = _table(content, columns, found, notes.tolist())
    return Alike(table, content[: _cut(content, start, columns)] + content[end:])


def _start(content: bytes, key: str | None) -> int:
    """Return where the first record begins, if the text is of this form."""
    at = _after_blanks(content, 0)
    opened = content[at : at + 1]
    if opened == b"{" and key is not None:
        found = re.search(rb'"%b"[ \t\n\r]*:[ \t\n\r]*\[' % re.escape(key.encode()), content)
        if found is None:
            raise OddError
        return _after_blanks(content, found.end())
    if opened != (b"{" if key is None else b"["):
        raise OddError
    return _after_blanks(content, at + 1)


def _check_around(text: bytes, key: str | None) -> None:
    """Raise OddError unless what is around the records is sound, and they are where they seem to be."""
    try:
        top = msgspec.json.decode(text, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
    except DECODE_ERRORS:
        raise OddError from None
    is_under = key is not None and isinstance(top, dict)
    if is_under and (key not in top or text.count(f'"{key}"'.encode()) > 1 or has_disguised(text)):
        raise OddError


def _after_blanks(content: bytes, at: int) -> int:
    return _BLANKS.match(content, at).end()  # type: ignore[union-attr]


def _cut(content: bytes, start: int, columns: Columns) -> int:
    """Return where the last of the first records ends."""
    end = record_end(content, start, columns)
    for _ in range(LOOKED_AT - 1):
        at = _after_blanks(content, end)
        if content[at : at + 1] != b",":
            break
        end = record_end(content, _after_blanks(content, at + 1), columns)
    return end


def _room(columns: Columns, size: int) -> kernels.Found:
    """Return room for the values of all records in a text; what stays unused of it takes no memory."""
    rooms = np.array([1 + size // least for least in columns.least_bytes()])
    sizes = [rooms[one.table] for one in (*columns.places, columns.unwanted)]
    total, has_numbers = sum(sizes), any(one.kind == kernels.NUMBER for one in columns.places)
    try:
        return kernels.Found(
            views=np.empty(2 * total, np.uint64),
            numbers=np.empty(total * has_numbers),
            is_null=np.empty(total, np.bool_),
            first=np.cumsum([0, *sizes[:-1]]),
            texts=np.empty(min(size, _MOST_TEXT), np.uint8),
            used=np.zeros(1, np.int64),
            ends=np.empty((len(rooms), 1 + rooms[0]), np.int64),
            rows=np.zeros(len(rooms), np.int64),
            before=np.zeros(len(rooms), np.int64),
            room=rooms,
            notes=np.empty((_MOST_NOTES, 4), np.int64),
        )
    except MemoryError:  # where a process may not ask for more than it uses
        raise OddError from None


def _table(content: bytes, columns: Columns, found: kernels.Found, notes: list[list[int]]) -> pl.DataFrame:
    """Return the values that were found, and those that were noted, as columns."""
    further = [bytearray() for _ in columns.places]
    for place, row, begin, end in notes:
        raw = content[begin:end]
        if place < 0 or columns.places[place].kind != kernels.NUMBER:
            value = _decoded(raw)
            if place >= 0:
                _put_text(value, found, place, row, further[place])
        else:
            found.numbers[found.first[place] + row] = number = float(raw)
            if np.isinf(number):
                raise OddError
    arrays = {}
    for place, column in enumerate(columns.places):
        if column.kind != kernels.LIST:
            values = _array(found, place, column, further[place])
            lists = columns.lists
            arrays[column.path] = _listed(found, lists[column.table - 1], values) if column.table else values
    return pl.DataFrame({path: arrow_series(array) for path, array in arrays.items()})


def _decoded(raw: bytes) -> bytes:
    try:
        return msgspec.json.decode(raw, type=str).encode()
    except DECODE_ERRORS:
        raise OddError from None


def _put_text(text: bytes, found: kernels.Found, place: int, row: int, further: bytearray) -> None:
    """Put a text into the view of its row; what is longer than that into the second buffer."""
    view = len(text).to_bytes(4, "little")
    if len(text) <= _IN_VIEW:
        view += text.ljust(_IN_VIEW, b"\0")
    else:
        view += text[:4] + (1).to_bytes(4, "little") + len(further).to_bytes(4, "little")
        further += text
    at = 2 * (found.first[place] + row)
    found.views[at : at + 2] = np.frombuffer(view, np.uint64)


def _array(found: kernels.Found, place: int, column: Wanted, further: bytearray) -> pa.Array:
    """Return a column's texts or numbers."""
    first, rows = found.first[place], int(found.rows[column.table])
    nulls = _validity(found.is_null[first : first + rows])
    if column.kind == kernels.NUMBER:
        numbers = pa.py_buffer(found.numbers[first : first + rows])
        return pa.Array.from_buffers(pa.float64(), rows, [nulls, numbers])
    texts = pa.py_buffer(found.texts[: found.used[0]])
    views = pa.py_buffer(found.views[2 * first : 2 * (first + rows)])
    buffers = [nulls, views, texts, pa.py_buffer(bytes(further))]
    return pa.Array.from_buffers(pa.string_view(), rows, buffers)


def _listed(found: kernels.Found, lists: Wanted, values: pa.Array) -> pa.Array:
    """Return the values of a list's table as the records' lists."""
    rows, first = int(found.rows[0]), found.first[lists.place]
    nulls = _validity(found.is_null[first : first + rows])
    offsets = pa.py_buffer(found.ends[lists.fills, : rows + 1])
    kind = pa.large_list(values.type)
    return pa.Array.from_buffers(kind, rows, [nulls, offsets], children=[values])


def _validity(is_null: NDArray[np.bool_]) -> pa.Buffer | None:
    return pa.py_buffer(np.packbits(~is_null, bitorder="little")) if is_null.any() else None
