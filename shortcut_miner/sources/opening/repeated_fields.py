"""Records that have a field twice: decoding keeps the last one, and would lose the other without a word."""

import contextlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, Raws, fields_of, has_disguised, keys_twice
from shortcut_miner.sources.opening.reading import Problem

_FEW = 50  # records, of which all are looked at
_EXPECTED = "a field that a record has once"


def repeated_fields(raws: Raws, content: bytes, names: Sequence[str], first: int) -> list[Problem]:
    """Return a problem for each field that a record has more than once.

    Records are mostly alike: where nearly all have as many colons as one that has each field once, only the
    others are looked at, to all depths (a field twice is a colon more; nothing tells of one that stands in
    place of another). Of records that differ, only what the names say is seen, in the outermost object.

    Parameters
    ----------
    raws : sequence of undecoded records
    content : bytes
        All of them as a JSON list, with one byte before each.
    names : sequence of str
        The fields that are read.
    first : int
        Position that the first record has in its file.
    """
    looked_at: Sequence[int] = _unlike_the_others(raws, content)
    if len(looked_at) > _FEW + len(raws) // _FEW:
        if not _seem_twice(raws, content, names):
            return []
        looked_at = range(len(raws))
    return [one for at in looked_at for one in _twice_in(raws[at], first + at)]


def _unlike_the_others(raws: Raws, content: bytes) -> Sequence[int]:
    """Return the records that have not as many colons as most; all, if these have a field twice."""
    if len(raws) < _FEW:
        return range(len(raws))
    ends = np.cumsum(np.fromiter(map(len, map(bytes, raws)), np.int64, len(raws)) + 1)
    colons = np.flatnonzero(np.frombuffer(content, np.uint8) == ord(":"))
    counts = np.diff(np.searchsorted(colons, ends), prepend=0)
    is_usual = counts == np.bincount(counts).argmax()
    if _twice_in(raws[int(is_usual.argmax())], 0):
        return range(len(raws))
    odd: list[int] = np.flatnonzero(~is_usual).tolist()
    return odd


def _seem_twice(raws: Raws, content: bytes, names: Sequence[str]) -> bool:
    """Return whether a name is there more often than once, or a whole number of times, in each record."""
    total = len(raws)
    counts = [content.count(f'"{name}"'.encode()) for name in names]
    if any(count > total and count % total for count in counts) or has_disguised(content):
        return True
    return max(counts, default=0) > total and any(keys_twice(raw) for raw in raws[:_FEW])


def _twice_in(raw: bytes | msgspec.Raw, position: int) -> list[Problem]:
    """Return a problem for each key that a record, or an object in it, has more than once."""
    if twice := keys_twice(raw):
        return [Problem((position,), name, f"{count} values", _EXPECTED) for name, count in twice.items()]
    found = {name: keys_inside_twice(inner) for name, inner in fields_of(raw).items()}
    return [twice_inside(position, name, inner) for name, inner in found.items() if inner]


def twice_inside(position: int, field: str, twice: Collection[str]) -> Problem:
    """Return the problem of a record with keys that an object in one of its fields has twice."""
    return Problem((position,), field, f"{examples(twice)} twice in an object", "each key once")


def keys_inside_twice(raw: bytes | msgspec.Raw) -> list[str]:
    """Return the keys that an undecoded object, or one at any depth inside it, has more than once.

    >>> keys_inside_twice(b'[{"a": 1, "b": {"c": 1, "c": 2}}]')
    ['c']
    """
    text = bytes(raw).lstrip()
    if text[:1] not in b"{[" or b":" not in text:
        return []
    with contextlib.suppress(*DECODE_ERRORS):
        # A key that is decoded once is there once; a text with an escaped quote or colon may look like one.
        kept = msgspec.json.encode(msgspec.json.decode(text)).count(b'":')
        if kept == msgspec.json.format(text, indent=-1).count(b'":') and b"\\u00" not in text:
            return []
    return _any_twice(text)


def inner_keys_twice(
    raws: Raws, positions: Sequence[int], given: Sequence[Mapping[str, object]], field: str
) -> list[Problem]:
    """Return a problem for each key that an object under a field of a record has more than once.

    Parameters
    ----------
    raws : sequence of undecoded records
    positions : sequence of int
        Of those that were decoded.
    given : sequence of mapping
        What was decoded of the field: an object with fewer keys than its text seems to have is looked at.
    field : str
        Its name.
    """
    problems = []
    for position, found in zip(positions, given, strict=True):
        raw = fields_of(raws[position]).get(field)
        text = b"" if raw is None else bytes(raw)
        seems_twice = text.count(b'":') + text.count(b'" :') > len(found) or has_disguised(text)
        if seems_twice and (twice := keys_twice(text)):
            problems.append(twice_inside(position, field, twice))
    return problems


def objects_twice(
    raws: Raws,
    positions: Sequence[int],
    sizes: Sequence[int],
    names: Sequence[str],
    field: str = "objects",
) -> list[Problem]:
    """Return a problem for each record somewhere in which a key, or one of its objects, is there twice.

    Parameters
    ----------
    raws : sequence of undecoded records
    positions : sequence of int
        Of those that were decoded.
    sizes : sequence of int
        How many objects were decoded of each: those whose text has more are looked at.
    names : sequence of str
        Fields that each object has once, and nothing else in a record.
    field : str
        What holds the objects.
    """
    marks = [f'"{name}"'.encode() for name in names]
    problems = []
    for position, size in zip(positions, sizes, strict=True):
        text = bytes(raws[position])
        seems_twice = any(text.count(mark) > size for mark in marks) or has_disguised(text)
        if seems_twice and (twice := _any_twice(text)):
            problems.append(twice_inside(position, field, twice))
    return problems


def nested_twice(raws: Raws, positions: Sequence[int], paths: Iterable[tuple[str, ...]]) -> list[Problem]:
    """Return a problem for each object on the way to a value of a record that has a key twice.

    Parameters
    ----------
    raws : sequence of undecoded records
    positions : sequence of int
        Of those that were decoded.
    paths : iterable of tuple of str
        Where the values are, the outermost field first.
    """
    ways = {path[:depth] for path in paths for depth in range(1, len(path))}
    marks = [f'"{path[-1]}"'.encode() for path in {*paths, *ways} if len(path) > 1]
    problems = []
    for position in positions:
        text = bytes(raws[position])
        if any(text.count(mark) > 1 for mark in marks) or has_disguised(text):
            for way in sorted(ways):
                inner: bytes | msgspec.Raw = text
                for name in way:
                    inner = fields_of(inner).get(name, b"")
                if twice := keys_twice(inner):
                    problems.append(twice_inside(position, ".".join(way), twice))
    return problems


def _any_twice(text: bytes) -> list[str]:
    """Return the keys that some object of a text has twice."""
    found: list[str] = []

    def keep_twice(pairs: list[tuple[str, object]]) -> None:
        found.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)

    with contextlib.suppress(ValueError, RecursionError):  # told by who decodes it
        json.loads(text, object_pairs_hook=keep_twice)
    return list(dict.fromkeys(found))


def check_keys_once(shown: str, raw: bytes | msgspec.Raw, depth: int) -> None:
    """Raise SourceError for a key that an object has twice, or one inside it as far as `depth`."""
    if twice := keys_twice(raw):
        raise SourceError(
            f"{shown}: got the keys {examples(twice)} more than once in an object, expected each once. "
            "Remove what is meant by neither."
        )
    if depth > 1:
        for inner in fields_of(raw).values():
            check_keys_once(shown, inner, depth - 1)
