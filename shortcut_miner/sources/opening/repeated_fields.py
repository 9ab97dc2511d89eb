"""Records that have a field twice: decoding keeps the last one, and would lose the other without a word."""

import contextlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, Raws, fields_of
from shortcut_miner.sources.opening.reading import Problem

_FEW = 50  # records, of which all are looked at
_EXPECTED = "a field that a record has once"
LABEL_ONCE = "an answer that a question has once"


def repeated_fields(raws: Raws, content: bytes, names: Sequence[str], first: int) -> list[Problem]:
    """Return a problem for each field that a record has more than once.

    Parameters
    ----------
    raws : sequence of undecoded records
    content : bytes
        All of them; only if one of `names` seems to be there more often than there are records, or than a
        whole number of times in each, are they looked at one by one.
    names : sequence of str
        The fields that are read.
    first : int
        Position that the first record has in its file.
    """
    total = len(raws)
    counts = [content.count(f'"{name}":'.encode()) + content.count(f'"{name}" :'.encode()) for name in names]
    if not any(count > total and (total < _FEW or count % total) for count in counts):
        return []
    return [
        Problem((position,), name, f"{count} values", _EXPECTED)
        for position, raw in enumerate(raws, first)
        for name, count in keys_twice(raw).items()
    ]


def keys_twice(raw: bytes | msgspec.Raw) -> dict[str, int]:
    """Return the keys that an undecoded object has more than once, and how often; of inner objects none.

    >>> keys_twice(b'{"a": 1, "b": {"c": 1, "c": 2}, "a": 1}')
    {'a': 2}
    """
    try:
        compact = msgspec.json.format(bytes(raw), indent=-1)
        fields = msgspec.json.decode(compact, type=dict[str, msgspec.Raw])
    except DECODE_ERRORS:
        return {}
    size = 1 + sum(len(name.encode()) + memoryview(value).nbytes + 4 for name, value in fields.items())
    if size == len(compact) or not fields:
        return {}
    pairs: list[str] = []

    def keep_keys(found: list[tuple[str, object]]) -> None:
        pairs[:] = [name for name, _ in found]  # the outermost object comes last

    try:
        json.loads(compact, object_pairs_hook=keep_keys)
    except (ValueError, RecursionError):
        return {}
    return {name: count for name, count in Counter(pairs).items() if count > 1}


def inner_keys_twice(
    raws: Raws, positions: Sequence[int], given: Sequence[Mapping[str, object]], field: str, expected: str
) -> list[Problem]:
    """Return a problem for each key that an object under a field of a record has more than once.

    Parameters
    ----------
    raws : sequence of undecoded records
    positions : sequence of int
        Of those that were decoded.
    given : sequence of mapping
        What was decoded of the field: an object with fewer keys than its text seems to have is looked at.
    field, expected : str
        Words of the problems.
    """
    problems = []
    for position, found in zip(positions, given, strict=True):
        raw = fields_of(raws[position]).get(field)
        text = b"" if raw is None else bytes(raw)
        if text.count(b'":') + text.count(b'" :') > len(found):
            twice = keys_twice(text).items()
            problems += [
                Problem((position,), field, f"{key!r} {count} times", expected) for key, count in twice
            ]
    return problems


def objects_twice(
    raws: Raws, positions: Sequence[int], sizes: Sequence[int], names: Sequence[str]
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
    """
    marks = [f'"{name}"'.encode() for name in names]
    problems = []
    for position, size in zip(positions, sizes, strict=True):
        text = bytes(raws[position])
        if any(text.count(mark) > size for mark in marks) and (twice := _any_twice(text)):
            problems.append(Problem((position,), "objects", f"{examples(twice)} twice", _EXPECTED))
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
