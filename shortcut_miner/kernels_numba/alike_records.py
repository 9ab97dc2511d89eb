"""Records that are written alike: their values, matched against how a record of the file was written.

Between the values of two records of one program are the same bytes: keys, colons, blanks. A :class:`Layouts`
has these bytes, of one record or several; a record that has them too is sound JSON with the same keys. So
nothing is looked at byte by byte but the values.
"""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import INLINED, KERNEL, STEP
from shortcut_miner.kernels_numba.json_records import after_blanks, after_number, after_word

TEXT, ID, NUMBER, RISING, ANY, NULL, LIST, NEXT, END = range(9)  # kinds of steps
_MISMATCH, _FULL = -1, -2  # in place of where a record ends
LAYOUT, NOTED, LAST, STATUS = range(4)  # of a state: layout tried last, notes, number that rises, why it ends
UNLIKE, FILLED, DONE = range(3)  # why a match ends
_BEYOND = 24  # bytes that may be looked at after a value begins
_IN_VIEW = 12  # bytes of a text that are in its view
_MOST_DIGITS = 15  # of a number that a float64 holds, whatever its digits
_QUOTE, _BACKSLASH, _COMMA, _MINUS, _POINT = b'"\\,-.'
_CLOSE_LIST = b"]"[0]
_ZERO, _NINE, _N = b"09n"
_LOW = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_QUOTES, _BACKSLASHES, _BLANKS = (np.uint64(0x0101010101010101 * c) for c in b'"\\ ')
_PLACES = np.uint64(0x0001020304050607)  # whose top byte, moved by as many bytes, says by how many
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_1, _7, _8, _32, _56, _64, _96 = (np.uint64(number) for number in (1, 7, 8, 32, 56, 64, 96))


class Layouts(NamedTuple):
    """How records are written, as steps: some bytes, and a value after them.

    ``begins`` has the first step of each layout. The bytes of a step are ``size`` many; ``word`` is the first
    of those of ``words`` that hold them, eight in each, of which ``masks`` counts. ``place`` is the column,
    and ``table`` the table, that a value goes to; ``target`` where a list goes on: after it for LIST, at its
    first element for NEXT. A list's own table is the one that it fills.
    """

    begins: np.ndarray
    kind: np.ndarray
    place: np.ndarray
    table: np.ndarray
    target: np.ndarray
    may_be_null: np.ndarray
    size: np.ndarray
    word: np.ndarray
    words: np.ndarray
    masks: np.ndarray


class Found(NamedTuple):
    """What is filled: a column's values are ``first[place]`` and the following ones.

    ``views`` are texts and ids as Arrow's string views, whose longer texts are in ``texts``, as far as
    ``used``. ``rows`` counts the rows of each table, of at most ``room``, and ``before`` those before the
    record that is matched. Each record's lists end in their tables at ``ends``, and those of the first one
    begin at 0. Of ``notes`` (column, row, where a value begins and ends) are those that are not understood
    here: text with escapes, or numbers of many digits; column -1 is wanted by nobody.
    """

    views: np.ndarray
    numbers: np.ndarray
    is_null: np.ndarray
    first: np.ndarray
    texts: np.ndarray
    used: np.ndarray
    ends: np.ndarray
    rows: np.ndarray
    before: np.ndarray
    room: np.ndarray
    notes: np.ndarray


@njit(**INLINED)
def _word(text, at):
    """Return eight bytes as a number."""
    at = np.uint64(at)  # of places without a sign the compiler makes one load
    word = np.uint64(text[at])
    for place in range(1, 8):
        word |= np.uint64(text[at + np.uint64(place)]) << np.uint64(8 * place)
    return word


@njit(**INLINED)
def _end_of_text(text, at):
    """Return where a text's closing quote is, negative if it has escapes; 0 if there is none."""
    sign, last = 1, len(text) - 8
    while at <= last:
        word = _word(text, at)
        quotes, backslashes = word ^ _QUOTES, word ^ _BACKSLASHES
        # The lowest mark is of a byte that ends the text; those above it may be of any.
        marks = (quotes - _LOW) & ~quotes | (backslashes - _LOW) & ~backslashes | (word - _BLANKS) & ~word
        marks &= _HIGH
        if marks == 0:
            at += 8
            continue
        lowest = marks & (~marks + _1)
        at += np.int64(((lowest >> _7) * _PLACES) >> _56)
        if text[at] == _QUOTE:
            return sign * at
        if text[at] != _BACKSLASH:
            return 0
        sign = -1
        at += 2
    return 0


@njit(**STEP)
def _plain_number(text, at, end):
    """Return a number, of which a float64 holds digits and divisor exactly; -1 for others."""
    digits, scale = 0, 1.0
    begin = at
    while at < end and _ZERO <= text[at] <= _NINE:
        digits = digits * 10 + (text[at] - _ZERO)
        at += 1
        if at - begin > _MOST_DIGITS:
            return -1.0
    if at < end and text[at] == _POINT:
        at += 1
        while at < end and _ZERO <= text[at] <= _NINE:
            digits = digits * 10 + (text[at] - _ZERO)
            scale *= 10.0
            at += 1
            if at - begin > _MOST_DIGITS:
                return -1.0
    return np.float64(digits) / scale if at == end and at > begin else -1.0


@njit(**INLINED)
def _put_text(text, at, end, found, place, row):
    """Keep a text as a view; return whether there was room."""
    size = end - at
    row += found.first[place]
    found.is_null[row] = False
    start, low = _word(text, at), np.uint64(size)
    if size <= _IN_VIEW:
        high = np.uint64(0)
        if size > 4:
            high = _word(text, at + 4) & (_ALL >> (_96 - _8 * low))
        else:
            start &= (_1 << (_8 * low)) - _1
    else:
        used = found.used[0]
        if used + size > len(found.texts):
            return False
        for byte in range(size):
            found.texts[used + byte] = text[at + byte]
        found.used[0] = used + size
        high = np.uint64(used) << _32
    found.views[2 * row] = low | start << _32
    found.views[2 * row + 1] = high
    return True


@njit(**INLINED)
def _put_null(found, place, row):
    row += found.first[place]
    found.is_null[row] = True
    found.views[2 * row] = 0  # what reads a view may look at its text, null or not
    found.views[2 * row + 1] = 0


@njit(**INLINED)
def _note(found, state, place, row, at, end):
    """Note a value that is not understood; return whether there was room."""
    count = state[NOTED]
    if count == len(found.notes):
        return False
    found.notes[count, 0] = place
    found.notes[count, 1] = row
    found.notes[count, 2] = at
    found.notes[count, 3] = end
    if place >= 0:
        found.is_null[found.first[place] + row] = False
    state[NOTED] = count + 1
    return True


@njit(**INLINED)
def _has_bytes(text, at, layouts, step):
    """Return whether the bytes of a step are in the text."""
    word = layouts.word[step]
    for place in range(at, at + layouts.size[step], 8):
        if (_word(text, place) ^ layouts.words[word]) & layouts.masks[word]:
            return False
        word += 1
    return True


@njit(**INLINED)
def _after_value(text, at, layouts, step, found, state):
    """Take a value that is no list; return where it ends."""
    kind, place, c = layouts.kind[step], layouts.place[step], text[at]
    row = found.rows[layouts.table[step]]
    if c == _QUOTE:
        end = _end_of_text(text, at + 1)
        if end == 0 or (kind == NUMBER) | (kind == RISING):
            return _MISMATCH
        if end < 0:
            return 1 - end if _note(found, state, place, row, at, 1 - end) else _FULL
        if kind != ANY and not _put_text(text, at + 1, end, found, place, row):
            return _FULL
        return end + 1
    if (c == _MINUS) | (_ZERO <= c <= _NINE):
        end, whole = after_number(text, at)
        if end == _MISMATCH or kind == ANY:
            return end
        if kind == NUMBER:
            number = np.float64(whole) if whole >= 0 else _plain_number(text, at, end)
            if number < 0.0:
                return end if _note(found, state, place, row, at, end) else _FULL
            found.numbers[found.first[place] + row] = number
            found.is_null[found.first[place] + row] = False
            return end
        if whole < 0 or kind == TEXT:
            return _MISMATCH
        if kind == ID:  # of a number without point its digits are what is put
            return end if _put_text(text, at, end, found, place, row) else _FULL
        if whole <= state[LAST]:
            return _MISMATCH
        state[LAST] = whole
        return end
    end = after_word(text, at)
    if end != _MISMATCH and kind != ANY:
        if c != _N or not layouts.may_be_null[step]:
            return _MISMATCH
        _put_null(found, place, row)
    return end


@njit(**INLINED)
def _after_list_mark(text, at, layouts, step, found, state):
    """Take the beginning of a list, or what is between its elements; return where to go on, and the step."""
    kind, table = layouts.kind[step], layouts.table[step]
    after = step + 1 if kind == NEXT else layouts.target[step]
    first = layouts.target[step] if kind == NEXT else step + 1
    at = after_blanks(text, at)
    if at < len(text) and text[at] == _CLOSE_LIST:
        if kind == NEXT:
            found.rows[table] += 1
        return at + 1, after
    if kind == NEXT:
        if at == len(text) or text[at] != _COMMA:
            return _MISMATCH, 0
        found.rows[table] += 1
        at = after_blanks(text, at + 1)
    else:
        state[LAST] = -1
    return at if found.rows[table] < found.room[table] else _FULL, first


@njit(**STEP)
def _after_record(text, at, layouts, step, found, state):
    """Match a record against the layout that begins with a step; return where it ends."""
    while True:
        if at + layouts.size[step] + _BEYOND > len(text) or not _has_bytes(text, at, layouts, step):
            return _MISMATCH
        at += layouts.size[step]
        kind, place = layouts.kind[step], layouts.place[step]
        if kind <= ANY:
            at = _after_value(text, at, layouts, step, found, state)
            step += 1
        elif kind == END:
            return at
        elif kind == NULL:
            _put_null(found, place, found.rows[layouts.table[step]])
            step += 1
        else:
            if kind == LIST:
                found.is_null[found.first[place] + found.rows[0]] = False
            at, step = _after_list_mark(text, at, layouts, step, found, state)
        if at < 0:
            return at


@njit(**KERNEL)
def match(text, at, close, layouts, found, state):
    """Take the values of the records from `at` on, as many as there is room for.

    Parameters
    ----------
    text : array of uint8
    at : int
        Where a record begins.
    close : int
        The byte that ends the records.
    layouts : Layouts
        At least one.
    found : Found
        To be filled; its tables have no rows.
    state : array of int64
        By LAYOUT the one to begin with; its STATUS says why the match ends: at the records' end (DONE), for
        want of room (FILLED), or at a record that is written like none (UNLIKE).

    Returns
    -------
    int
        Where the records end, or where the next one begins.
    """
    count = len(layouts.begins)
    state[STATUS] = FILLED
    while found.rows[0] < found.room[0]:
        noted, tried, end = state[NOTED], 0, _MISMATCH
        for table in range(len(found.rows)):
            found.before[table] = found.rows[table]
        while end == _MISMATCH and tried < count:
            end = _after_record(text, at, layouts, layouts.begins[state[LAYOUT]], found, state)
            if end >= 0:
                end = after_blanks(text, end)
                if end == len(text) or (text[end] != _COMMA) & (text[end] != close):
                    end = _MISMATCH
            if end < 0:
                state[NOTED] = noted
                for table in range(len(found.rows)):
                    found.rows[table] = found.before[table]
            if end == _MISMATCH:
                tried += 1
                state[LAYOUT] = (state[LAYOUT] + 1) % count
        if end < 0:
            state[STATUS] = FILLED if end == _FULL else UNLIKE
            return at
        row = found.rows[0] + 1
        found.rows[0] = row
        for table in range(1, len(found.rows)):
            found.ends[table, row] = found.rows[table]
        if text[end] == close:
            state[STATUS] = DONE
            return end
        at = after_blanks(text, end + 1)
    return at
