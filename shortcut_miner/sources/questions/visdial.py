"""VisDial's JSON: dialogs about images, whose rounds are questions; texts lie in two lists beside them.

A question's id is ``<image_id>_<round>``, the first round being 1, as VisDial's own server counts. A round is
read by itself: without the caption and the rounds before it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.ids import AnyId, id_column, with_whole_ids
from shortcut_miner.sources.opening.json_records import decode_all, without
from shortcut_miner.sources.opening.json_text import (
    DECODE_ERRORS,
    Top,
    fields_of,
    records_under,
)
from shortcut_miner.sources.opening.kinds import Content, Counts, length_of
from shortcut_miner.sources.opening.reading import RECORD, Problem, Reading, check_not_empty
from shortcut_miner.sources.opening.repeated_fields import check_keys_once, objects_twice
from shortcut_miner.sources.questions.set_records import Records, SetShape, settled_set

_LISTS = ("dialogs", "questions", "answers")
_OF_A_ROUND = ("question", "answer", "gt_index", "answer_options")


class _Round(msgspec.Struct, gc=False):
    question: int
    answer: int | None = None
    gt_index: int | None = None
    answer_options: msgspec.Raw = msgspec.Raw()  # 100 numbers a round, looked at only without `answer`


class _Dialog(msgspec.Struct, gc=False):
    image_id: AnyId
    dialog: list[_Round]


class _Fields(msgspec.Struct):
    image_id: AnyId
    question: str


def is_visdial(top: Top) -> bool:
    """Return whether this is VisDial's JSON."""
    return isinstance(top, dict) and "data" in top and fields_of(top["data"]).keys() >= {*_LISTS}


def count_dialogs(top: dict[str, msgspec.Raw]) -> Counts:
    """Return how many dialogs it has."""
    return {"dialogs": length_of(fields_of(top["data"])["dialogs"])}


def _dialogs(content: Content) -> Records:
    source, top = content.source, content.json.top
    assert isinstance(top, dict)
    raws = records_under(source, fields_of(top["data"]), "dialogs")
    check_not_empty(source.path, raws, "dialogs")
    return Records(raws)


VISDIAL = SetShape(
    kind="VisDial JSON", record=_Fields, records=_dialogs, held_in="answer", id_field="question id", rule=""
)


def read_visdial(content: Content, on_bad_row: OnBadRow, limit: int | None = None) -> Reading:
    """Return the questions of an opened file; see :func:`.question_sets.read_question_set`."""
    top = content.json.top
    assert isinstance(top, dict)
    for raw in (content.source.content, top["data"]):
        check_keys_once(content.source.path, raw, 1)
    held = fields_of(top["data"])
    texts = {name: _texts(content.source, held, name) for name in _LISTS[1:]}
    raws = VISDIAL.records(content).raws[:limit]
    decoded = decode_all(raws, _Dialog)
    lengths = [len(one.dialog) for one in decoded.records]
    decoded = without(decoded, objects_twice(raws, decoded.positions, lengths, _OF_A_ROUND, "dialog"))
    places, problems = decoded.positions, decoded.problems
    rounds = [one.dialog for one in decoded.records]
    sizes = np.ones(len(raws), np.int64)  # of a dialog that can't be read, for its one problem
    sizes[places] = [len(one) for one in rounds]
    starts = np.cumsum(sizes) - sizes
    unread = {int(starts[one.records[0]]) for one in problems}
    problems = [Problem((int(starts[one.records[0]]),), one.field, one.got, one.expected) for one in problems]
    first_ids, id_notes = with_whole_ids(
        pl.DataFrame({"image_id": id_column([one.image_id for one in decoded.records])}), "image_id"
    )
    table = first_ids.with_columns(
        start=pl.Series(starts[places], dtype=pl.UInt32),
        round=pl.Series([[*range(1, len(one) + 1)] for one in rounds], dtype=pl.List(pl.UInt32)),
    )
    table = table.filter(pl.col("round").list.len() > 0).explode("round")
    flat = [one for listed in rounds for one in listed]
    found = _indexes(flat)
    table = table.select(
        (pl.col("start") + pl.col("round") - 1).cast(pl.UInt32).alias(RECORD),
        "image_id",
        question_id=pl.format("{}_{}", "image_id", "round"),
        **{name[:-1]: _texts_at(texts[name], found[name]) for name in _LISTS[1:]},
    )
    for name in _LISTS[1:]:
        problems += _out_of(name, table[RECORD], found[name], len(texts[name]))
    total = int(sizes.sum()) if limit is None else min(limit, int(sizes.sum()))
    return settled_set(
        VISDIAL, content, table.filter(pl.col(RECORD) < total),
        [one for one in problems if one.records[0] < total],
        total=total, on_bad_row=on_bad_row, label=_names_of(starts, unread), notes=id_notes,
    )  # fmt: skip


def _texts(source: Source, held: Mapping[str, msgspec.Raw], name: str) -> list[str]:
    try:
        return msgspec.json.decode(held[name], type=list[str])
    except DECODE_ERRORS as error:
        raise SourceError(
            f"{source.path}, data.{name}: got values that are no text ({error}), expected a list of texts. "
            "Correct them."
        ) from error


def _indexes(rounds: Sequence[_Round]) -> dict[str, list[int | None]]:
    """Return where each round's question and answer are in the lists of texts."""
    return {
        "questions": [one.question for one in rounds],
        "answers": [one.answer if one.answer is not None else _right_option(one) for one in rounds],
    }


def _right_option(one: _Round) -> int | None:
    """Return the answer that `gt_index` points to; None if there is none."""
    if one.gt_index is None:
        return None
    try:
        options = msgspec.json.decode(one.answer_options, type=list[int])
    except DECODE_ERRORS:
        return None
    return options[one.gt_index] if 0 <= one.gt_index < len(options) else None


def _texts_at(texts: Sequence[str], indexes: Sequence[int | None]) -> pl.Series:
    count = len(texts)
    found = [texts[at] if at is not None and 0 <= at < count else None for at in indexes]
    return pl.Series(found, dtype=pl.String)


def _out_of(name: str, records: pl.Series, indexes: Sequence[int | None], count: int) -> list[Problem]:
    expected = f"an index of data.{name}, which has {count:,}"
    return [
        Problem((record,), name[:-1], str(at), expected)
        for record, at in zip(records, indexes, strict=True)
        if at is not None and not 0 <= at < count
    ]


def _names_of(starts: NDArray[np.int64], unread: Collection[int]) -> Callable[[int], str]:
    """Return how rounds are named; `unread` are those that stand for a dialog as a whole."""

    def name(record: int) -> str:
        dialog = int(np.searchsorted(starts, record, side="right")) - 1
        place = "" if record in unread else f", round {record - int(starts[dialog]) + 1}"
        return f"dialog {dialog}{place}"

    return name
