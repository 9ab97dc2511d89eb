"""Complementary pairs of a file, as VQA v2 releases them: a JSON list of [id, id]."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import polars as pl

from shortcut_miner.diagnostics.pairs.rows import Rows
from shortcut_miner.errors import SchemaError, SourceError, examples
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.ids import ID_EXPECTED, id_text, is_no_id, with_zeros_back
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, excerpt, parse_json
from shortcut_miner.sources.opening.kinds import Content, wrong_kind
from shortcut_miner.sources.opening.reading import RECORD, Problem, Reading, settle, without_bad
from shortcut_miner.sources.recognise import shape_of_file

KIND = "complementary pairs JSON"
COLUMNS = ("first_id", "second_id")
OTHER_TEXT, SAME_ANSWER = "different texts", "the same majority answer"


def read_pairs(path: Path, questions: pl.DataFrame, on_bad_row: OnBadRow = "error") -> Reading:
    """Return the pairs of a file: first_id, second_id String, in file order.

    Parameters
    ----------
    path : Path
        A JSON list of [id, id].
    questions : pl.DataFrame
        schemas.Questions, which the pairs are of.
    on_bad_row : {"error", "skip"}
        Raise for all pairs that don't fit at once, or skip and count them.

    Raises
    ------
    SourceError
        The file is no such list, or has bad pairs: no two ids, an id that no question has, a question without
        an answer, one id or one image on both sides, or the same two questions again.
    """
    source = open_source(path)
    values, notes = _values(source)
    ids = [_ids(value) for value in values]
    problems = [
        Problem((at,), "pair", _shown(value), f"two ids, {ID_EXPECTED} each")
        for at, (value, pair) in enumerate(zip(values, ids, strict=True))
        if pair is None
    ]
    kept = [(at, *pair) for at, pair in enumerate(ids) if pair is not None]
    table = pl.DataFrame(kept, schema={RECORD: pl.UInt32, **dict.fromkeys(COLUMNS, pl.String)}, orient="row")
    reading = Reading(table=table, kind=KIND, file=source.facts(), notes=notes)
    for column in COLUMNS:
        reading = with_zeros_back(reading, questions["question_id"], column)
    problems += _misfits(reading.table, questions)
    dropped = settle(source, "pairs", problems, len(values), on_bad_row)
    good = without_bad(reading.table, problems)
    return Reading(table=good, kind=KIND, file=reading.file, dropped=dropped, notes=reading.notes)


def _values(source: Source) -> tuple[list[object], tuple[str, ...]]:
    if Content(source).forms[0] != "JSON":
        raise _no_list(source)
    parsed = parse_json(source)
    if not isinstance(parsed.top, list):
        raise _no_list(source)
    values = [_value(raw) for raw in parsed.top]
    if not values:
        raise SourceError(f"{source.path}: got 0 pairs, expected at least one. Check that it is the file.")
    if not any(isinstance(value, list) for value in values):
        raise _no_list(source)
    return values, parsed.notes


def _value(raw: msgspec.Raw) -> object:
    """Return a value of JSON; of one that can't be held, such as 1e999, its text."""
    try:
        return msgspec.json.decode(raw)
    except DECODE_ERRORS:
        return excerpt(raw)


def _no_list(source: Source) -> SourceError:
    return wrong_kind(source.path, shape_of_file(source.path), "a JSON list of pairs [id, id]")


def _ids(value: object) -> tuple[str, str] | None:
    """Return the two ids of a pair; None if it is none."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    is_id = [isinstance(one, str | int | float) and not isinstance(one, bool) for one in value]
    if not all(is_id) or any(is_no_id(one) for one in value if not _is_whole(one)):
        return None
    first, second = (id_text(one) for one in value)
    return (first, second) if first.strip() and second.strip() else None


def _is_whole(one: object) -> bool:
    return isinstance(one, float) and one.is_integer()


def _shown(value: object) -> str:
    return examples([value])


def _misfits(table: pl.DataFrame, questions: pl.DataFrame) -> Iterator[Problem]:
    """Give a problem for each pair that these questions don't allow, the first of several."""
    facts = {
        question_id: (image_id, answer)
        for question_id, image_id, answer in questions.select("question_id", "image_id", "answer").iter_rows()
    }
    seen: dict[frozenset[str], int] = {}
    for at, first, second in table.select(RECORD, *COLUMNS).iter_rows():
        pair = [first, second]
        unknown = [one for one in pair if one not in facts]
        unanswered = [one for one in pair if one in facts and facts[one][1] is None]
        if unknown:
            yield Problem((at,), "pair", f"the id {unknown[0]!r}", "ids of the questions")
        elif unanswered:
            yield Problem((at,), "pair", f"{unanswered[0]!r} without an answer", "questions with answers")
        elif first == second:
            yield Problem((at,), "pair", f"{first!r} twice", "two different questions")
        elif facts[first][0] == facts[second][0]:
            yield Problem((at,), "pair", f"the image {facts[first][0]!r} on both sides", "two images")
        elif (before := seen.setdefault(frozenset(pair), at)) != at:
            yield Problem(
                (before, at), "pair", f"{first!r} and {second!r} again", "each pair once, either way"
            )


def checked(rows: Rows, pairs: list[tuple[int, int]]) -> dict[str, int]:
    """Return how many pairs are not what complementary ones are, by reason: they are kept all the same."""
    is_other: dict[str, Callable[[int, int], bool]] = {
        OTHER_TEXT: lambda one, other: bool(rows.text[one] != rows.text[other]),
        SAME_ANSWER: lambda one, other: bool(rows.answer[one] == rows.answer[other]),
    }
    counts = {reason: sum(test(*pair) for pair in pairs) for reason, test in is_other.items()}
    return {reason: count for reason, count in counts.items() if count}


def positions(rows: Rows, table: pl.DataFrame) -> list[tuple[int, int]]:
    """Return the pairs of :func:`read_pairs` as positions of rows, by their ids whatever their order."""
    place = {question_id: at for at, question_id in enumerate(rows.questions["question_id"])}
    lost = [one for pair in table.rows() for one in pair if one not in place]
    if lost:
        raise SchemaError(
            f"pairs: got {examples(lost)}, expected ids of questions with answers. Correct them."
        )
    return sorted((place[first], place[second]) for first, second in table.rows())
