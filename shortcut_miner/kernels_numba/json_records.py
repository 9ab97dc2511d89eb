"""One walk over the text of a JSON object of records: where the wanted values are, and whether all is sound.

The wanted values are a tree of nodes, a :class:`Shape`. Node 0 is the outermost object, a map. Each entry of
a map and each element of a list is a row of the map's or list's own table; the fields of objects are places
in the row of the table that the object stands in.
"""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import INLINED, KERNEL, STEP

TEXT, NUMBER, ID, OBJECT, MAP, LIST = range(6)  # kinds of nodes
ABSENT = -1
ODD, _FULL = -1, -2  # in place of where something ends
_DEEPEST = 64
_SLOTS = 1 << 14  # for the keys of one record
_VALUE, _KEY, _FIRST_VALUE, _FIRST_KEY, _AFTER, _END = range(6)  # what comes next; where first, maybe nothing
_STATE, _DEPTH, _NODE, _OBJECTS, _OLDEST, _KEYS, _RECORD = range(7)  # what a walk knows of where it is
_MOST_DIGITS = 15  # of a number that a float64 holds, whatever its digits
_BLANK, _TAB, _LINE, _RETURN = b" \t\n\r"
_QUOTE, _BACKSLASH, _COMMA, _COLON, _MINUS, _PLUS, _POINT = b'"\\,:-+.'
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_LIST, _CLOSE_LIST = b"{}[]"
_ZERO, _EIGHT, _NINE, _A, _B, _D, _E, _F, _L, _N, _R, _S, _T, _U, _SLASH = b"089abdeflnrstu/"
_ONE = np.uint64(1)  # places without a sign are read without a look at whether they count from the end
_SMALL = 32  # what a letter is more than its capital


class Shape(NamedTuple):
    """The nodes of the wanted values; those of one object are next to each other.

    ``first`` and ``fields`` say which are in an object, map or list. ``key_start`` and ``key_end`` are a
    field's name in ``keys``. ``place`` is where a text, number or id goes, and a map's keys; ``owner`` the
    table whose row it is of, ``table`` the one that a map or list fills. The places of table t are
    ``first_place[t]:first_place[t + 1]``; ``parents`` has the table in which each stands.
    """

    kind: np.ndarray
    first: np.ndarray
    fields: np.ndarray
    key_start: np.ndarray
    key_end: np.ndarray
    keys: np.ndarray
    place: np.ndarray
    owner: np.ndarray
    table: np.ndarray
    first_place: np.ndarray
    parents: np.ndarray


class Found(NamedTuple):
    """What a walk fills, by place and row: of a text and a number where it is in the whole text.

    ``start`` is ABSENT where there is none or null; ``end`` is negative for a text with escapes. ``number``
    has whole numbers of few digits, and NaN for others. ``length``, by table and row of its parent, says how
    many rows a map or list gave (ABSENT: there is none); ``rows`` how many each table has.
    """

    start: np.ndarray
    end: np.ndarray
    number: np.ndarray
    length: np.ndarray
    rows: np.ndarray


class Memory(NamedTuple):
    """What a walk keeps in mind: where it is, and by depth what it is inside of.

    ``serial`` and ``digest`` are a table of one record's keys, each with the number of its object.
    """

    now: np.ndarray
    node: np.ndarray
    is_object: np.ndarray
    number: np.ndarray
    began: np.ndarray
    rows: np.ndarray
    serial: np.ndarray
    digest: np.ndarray


def memory_of(tables: int) -> Memory:
    """Return the memory of a walk that fills so many tables, before its first step."""
    now, inside = np.zeros(7, np.int64), np.zeros((3, _DEEPEST), np.int64)
    now[_STATE] = _KEY
    is_object = np.ones(_DEEPEST, np.bool_)
    seen = np.full((2, _SLOTS), -1)
    return Memory(
        now, inside[0], is_object, inside[1], inside[2], np.zeros(tables, np.int64), seen[0], seen[1]
    )


@njit(**STEP)
def _is_blank(c):
    return (c == _BLANK) | (c == _LINE) | (c == _TAB) | (c == _RETURN)


@njit(**STEP)
def after_blanks(text, at):
    """Return where the blanks end that begin at a place."""
    while at < len(text) and _is_blank(text[at]):
        at += 1
    return at


@njit(**STEP)
def _is_digit(text, at):
    return at < len(text) and _ZERO <= text[at] <= _NINE


@njit(**STEP)
def _after_escape(text, at):
    """Return where the escape at a backslash ends; ODD for none, and for half of a surrogate pair."""
    if at + 1 >= len(text):
        return ODD
    c = text[at + 1]
    if c != _U:
        is_known = (c == _QUOTE) | (c == _BACKSLASH) | (c == _SLASH) | (c == _B) | (c == _F)
        return at + 2 if is_known | (c == _N) | (c == _R) | (c == _T) else ODD
    if at + 6 > len(text):
        return ODD
    for place in range(at + 2, at + 6):
        small = text[place] | _SMALL
        if not (_ZERO <= text[place] <= _NINE or _A <= small <= _F):
            return ODD
    is_surrogate = text[at + 2] | _SMALL == _D and text[at + 3] >= _EIGHT
    return ODD if is_surrogate else at + 6


@njit(**INLINED)
def _end_of_text(text, at):
    """Return where a text's closing quote is, negative if it has escapes; 0 if there is none."""
    sign = 1
    place, length = np.uint64(at), np.uint64(len(text))
    while place < length:
        c = text[place]
        if c == _QUOTE:
            return sign * np.int64(place)
        if c == _BACKSLASH:
            sign = -1
            after = _after_escape(text, np.int64(place))
            if after == ODD:
                return 0
            place = np.uint64(after)
        elif c < _BLANK:
            return 0
        else:
            place += _ONE
    return 0


@njit(**STEP)
def after_number(text, at):
    """Return where a number ends (ODD for none), and it, if it is whole and of few digits, else ABSENT."""
    is_plain = text[at] != _MINUS
    at += not is_plain
    if not _is_digit(text, at):
        return ODD, ABSENT
    begin, value = at, 0
    while _is_digit(text, at):
        if at - begin < _MOST_DIGITS:
            value = value * 10 + (text[at] - _ZERO)
        at += 1
    if text[begin] == _ZERO and at > begin + 1:
        return ODD, ABSENT
    is_plain &= at - begin <= _MOST_DIGITS
    if at < len(text) and text[at] == _POINT:
        is_plain = False
        at += 1
        if not _is_digit(text, at):
            return ODD, ABSENT
        while _is_digit(text, at):
            at += 1
    if at < len(text) and text[at] | _SMALL == _E:
        is_plain = False
        at += 1
        at += at < len(text) and (text[at] == _PLUS or text[at] == _MINUS)
        if not _is_digit(text, at):
            return ODD, ABSENT
        while _is_digit(text, at):
            at += 1
    return at, value if is_plain else ABSENT


@njit(**STEP)
def after_word(text, at):
    """Return where true, false or null ends; ODD for anything else."""
    if at + 4 > len(text):
        return ODD
    a, b, c, d = text[at], text[at + 1], text[at + 2], text[at + 3]
    if a == _N and b == _U and c == _L and d == _L:
        return at + 4
    if a == _T and b == _R and c == _U and d == _E:
        return at + 4
    is_false = a == _F and b == _A and c == _L and d == _S
    return at + 5 if is_false and at + 4 < len(text) and text[at + 4] == _E else ODD


@njit(**INLINED)
def _is_new_key(memory, text, start, end):
    """Note a key of the innermost object; return whether it is the first one of its digest there."""
    now = memory.now
    now[_KEYS] += 1
    if now[_KEYS] > _SLOTS // 2:
        return False
    digest = np.int64(1469598103934665603)  # FNV-1a
    for at in range(start, end):
        digest = (digest ^ text[at]) * np.int64(1099511628211)
    number = memory.number[now[_DEPTH]]
    slot = (digest + number * np.int64(40503)) & (_SLOTS - 1)
    while memory.serial[slot] >= now[_OLDEST]:  # else of an earlier record
        if memory.serial[slot] == number and memory.digest[slot] == digest:
            return False
        slot = (slot + 1) & (_SLOTS - 1)
    memory.serial[slot] = number
    memory.digest[slot] = digest
    return True


@njit(**INLINED)
def _field(shape, node, text, start, end):
    """Return the node of an object's field of this name; ABSENT if it is not wanted."""
    for child in range(shape.first[node], shape.first[node] + shape.fields[node]):
        name = shape.key_start[child]
        if shape.key_end[child] - name == end - start:
            at = 0
            while at < end - start and shape.keys[name + at] == text[start + at]:
                at += 1
            if at == end - start:
                return child
    return ABSENT


@njit(**INLINED)
def _new_row(shape, found, table):
    """Add a row without values to a table; return whether there was room."""
    row = found.rows[table]
    if row == found.start.shape[1]:
        return False
    found.rows[table] = row + 1
    for place in range(shape.first_place[table], shape.first_place[table + 1]):
        found.start[place, row] = ABSENT
    for other in range(table + 1, len(found.rows)):
        if shape.parents[other] == table:
            found.length[other, row] = ABSENT
    return True


@njit(**INLINED)
def _put(shape, found, node, start, end, number):
    """Keep where a value is; `number` is what it is, if it is a number."""
    place, row = shape.place[node], found.rows[shape.owner[node]] - 1
    found.start[place, row] = start
    found.end[place, row] = end
    found.number[place, row] = number


@njit(**INLINED)
def _take_key(text, at, shape, found, memory):
    """Take a key and its colon; return what comes after."""
    now = memory.now
    start, end = at + 1, 0
    if text[at] == _QUOTE:
        end = _end_of_text(text, start)
    if end <= 0:  # a key with escapes is odd
        return ODD
    depth = now[_DEPTH]
    if depth == 0:
        now[_RECORD], now[_KEYS], now[_OLDEST] = at, 0, now[_OBJECTS] + 1
        for table in range(len(found.rows)):
            memory.rows[table] = found.rows[table]
    elif not _is_new_key(memory, text, start, end):
        return ODD
    at = after_blanks(text, end + 1)
    if at == len(text) or text[at] != _COLON:
        return ODD
    inside = memory.node[depth]
    now[_STATE], now[_NODE] = _VALUE, ABSENT
    if inside != ABSENT and shape.kind[inside] == OBJECT:
        now[_NODE] = _field(shape, inside, text, start, end)
    elif inside != ABSENT:
        table = shape.table[inside]
        if not _new_row(shape, found, table):
            return _FULL
        found.start[shape.place[inside], found.rows[table] - 1] = start
        found.end[shape.place[inside], found.rows[table] - 1] = end
        now[_NODE] = shape.first[inside]
    return at + 1


@njit(**INLINED)
def _enter(text, at, shape, found, memory, node):
    """Go into an object or list, which is the value of a node; return what comes after its bracket."""
    now, is_object = memory.now, text[at] == _OPEN_OBJECT
    now[_DEPTH] += 1
    now[_OBJECTS] += 1
    depth = now[_DEPTH]
    if depth == _DEEPEST:
        return ODD
    if node != ABSENT:
        kind = shape.kind[node]
        if not ((kind == OBJECT) | (kind == MAP) if is_object else kind == LIST):
            return ODD
        if kind != OBJECT:
            memory.began[depth] = found.rows[shape.table[node]]
    memory.node[depth], memory.is_object[depth], memory.number[depth] = node, is_object, now[_OBJECTS]
    now[_STATE] = _FIRST_KEY if is_object else _FIRST_VALUE
    return at + 1


@njit(**INLINED)
def _leave(text, at, shape, found, memory):
    """Go out of an object or list; return what comes after its bracket."""
    now = memory.now
    depth = now[_DEPTH]
    node = memory.node[depth]
    if memory.is_object[depth] != (text[at] == _CLOSE_OBJECT):
        return ODD
    if depth == 0:
        now[_STATE] = _END
        return after_blanks(text, at + 1)
    if node != ABSENT and shape.kind[node] != OBJECT:
        table = shape.table[node]
        row = found.rows[shape.parents[table]] - 1
        found.length[table, row] = found.rows[table] - memory.began[depth]
    now[_DEPTH] = depth - 1
    now[_STATE] = _AFTER
    return at + 1


@njit(**INLINED)
def _take_value(text, at, shape, found, memory):
    """Take a value, or the beginning of one; return what comes after."""
    now, c = memory.now, text[at]
    node, inside = now[_NODE], memory.node[now[_DEPTH]]
    if not memory.is_object[now[_DEPTH]]:
        node = ABSENT
        if inside != ABSENT:
            node = shape.first[inside]
            if not _new_row(shape, found, shape.table[inside]):
                return _FULL
    if (c == _OPEN_OBJECT) | (c == _OPEN_LIST):
        return _enter(text, at, shape, found, memory, node)
    now[_STATE] = _AFTER
    kind = shape.kind[node] if node != ABSENT else ABSENT
    if c == _QUOTE:
        end = _end_of_text(text, at + 1)
        if end == 0 or not ((kind == ABSENT) | (kind == TEXT) | (kind == ID)):
            return ODD
        if node != ABSENT:
            _put(shape, found, node, at + 1, end, np.nan)
        return abs(end) + 1
    if (c == _MINUS) | (_ZERO <= c <= _NINE):
        end, value = after_number(text, at)
        is_odd_id = kind == ID and value == ABSENT
        if end == ODD or is_odd_id or not ((kind == ABSENT) | (kind == NUMBER) | (kind == ID)):
            return ODD
        if node != ABSENT:
            _put(shape, found, node, at, end, np.nan if value == ABSENT else np.float64(value))
        return end
    at = after_word(text, at)
    return at if c == _N or node == ABSENT else ODD


@njit(**KERNEL)
def walk(text, at, shape, found, memory):
    """Find the wanted values of the records from `at` on, as many as there is room for.

    Parameters
    ----------
    text : array of uint8
    at : int
        Where the key of a record is looked for.
    shape : Shape
    found : Found
        To be filled; its tables have no rows.
    memory : Memory

    Returns
    -------
    int
        Where to go on: at the end of the text there is nothing more. ODD if something is in the text that is
        not JSON, or that no column holds as it is: a key twice in one object, half of a surrogate pair, a
        value of another kind than its node.
    """
    now = memory.now
    while 0 <= at < len(text):
        c, state = text[at], now[_STATE]
        if _is_blank(c):
            at += 1
        elif _FIRST_VALUE <= state <= _AFTER and (c == _CLOSE_OBJECT) | (c == _CLOSE_LIST):
            at = _leave(text, at, shape, found, memory)
        elif state == _AFTER:
            now[_STATE] = _KEY if memory.is_object[now[_DEPTH]] else _VALUE
            at = at + 1 if c == _COMMA else ODD
        elif (state == _KEY) | (state == _FIRST_KEY):
            at = _take_key(text, at, shape, found, memory)
        elif state == _END:
            at = ODD
        else:
            at = _take_value(text, at, shape, found, memory)
    if at != _FULL:
        return at if now[_STATE] == _END else ODD
    for table in range(len(found.rows)):
        found.rows[table] = memory.rows[table]
    now[_STATE], now[_DEPTH] = _KEY, 0
    return now[_RECORD] if found.rows[0] else ODD


@njit(**KERNEL)
def copy_texts(text, start, end, offsets, copied):
    """Copy pieces of a text next to each other: the piece of a row to ``offsets[row]``."""
    for row in range(len(start)):
        at, stop, to = np.uint64(start[row]), np.uint64(end[row]), np.uint64(offsets[row])
        while at < stop:
            copied[to] = text[at]
            at += _ONE
            to += _ONE
