"""Questions read a batch at a time are those read as a whole: rows, digests, counts, notes and errors."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shortcut_miner.content_digest import row_sums
from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.table_batches import QuestionBatches
from shortcut_miner.sources.questions.tables import (
    OWN_COLUMNS,
    QuestionTable,
    Wanted,
    column_names,
    open_question_table,
    read_question_tables,
)

MEMORY = 1 << 20


def opened(paths: Sequence[Path]) -> list[QuestionTable]:
    return [open_question_table(path) for path in paths]


def read_whole(paths: Sequence[Path], wanted: Wanted, **how: Any) -> tuple[pl.DataFrame, Reading] | str:
    """Return the rows, and the rest with digests in their place; of files that can't be read the error."""
    try:
        found = read_question_tables(opened(paths), wanted, **how)
    except SourceError as error:
        return str(error)
    return found.table, without_rows(found)


def without_rows(found: Reading) -> Reading:
    digest = None if found.parts else row_sums(found.table).sha256()
    parts = tuple(map(without_rows, found.parts))
    return dataclasses.replace(found, table=found.table.clear(), parts=parts, content_sha256=digest)


def read_batches(
    paths: Sequence[Path], wanted: Wanted, rows: int = 3, **how: Any
) -> tuple[pl.DataFrame, Reading] | str:
    with TemporaryDirectory() as folder:
        try:
            asked = QuestionBatches(
                tables=opened(paths),
                wanted=wanted,
                folder=Path(folder) / "ids",
                memory=MEMORY,
                rows=rows,
                **how,
            )
            batches = list(asked.batches())
        except SourceError as error:
            return str(error)
        assert not asked.folder.exists()
    assert all(0 < len(batch) <= rows for batch in batches)
    return pl.concat(batches) if batches else asked.reading.table, asked.reading


def check_same(paths: Sequence[Path], wanted: Wanted, **how: Any) -> tuple[pl.DataFrame, Reading] | str:
    whole, batches = read_whole(paths, wanted, **how), read_batches(paths, wanted, **how)
    if isinstance(whole, str) or isinstance(batches, str):
        assert batches == whole
        return whole
    assert batches[0].equals(whole[0])
    assert batches[0].schema == whole[0].schema
    for ours, theirs in zip(batches[1].parts or batches[1:], whole[1].parts or whole[1:], strict=True):
        assert ours.content_sha256 == theirs.content_sha256
        assert ours.table.equals(theirs.table)
    assert told(batches[1]) == told(whole[1])
    assert list(batches[1].dropped) == list(whole[1].dropped)
    assert [one.file for one in batches[1].parts] == [one.file for one in whole[1].parts]
    return whole


def told(found: Reading) -> tuple[object, ...]:
    return found.kind, found.file, dict(found.dropped), found.notes, found.content_sha256


def own(items: tuple[str, ...] = ()) -> Wanted:
    return Wanted(names=column_names(None, OWN_COLUMNS), items=items, is_own=True)


def write(folder: Path, frames: Sequence[pl.DataFrame], form: str = "parquet") -> list[Path]:
    paths = [folder / f"{at}.{form}" for at in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        if form == "parquet":
            frame.write_parquet(path, row_group_size=2)
        elif form == "arrow":
            frame.write_ipc(path, record_batch_size=4)
        else:
            frame.write_ndjson(path)
    return paths


# ---- drawn tables ----

IDS = st.sampled_from(["1", "2", "3", "7.0", "7", "1.5", "", " ", None, "nan"]) | st.integers(10, 500).map(
    str
)
IMAGES = st.sampled_from(
    ["5", "5.0", "COCO_val2014_000000000042.jpg", "000000000042.jpg", "000000000007", "", None, "n000000000"]
)
QUESTIONS = st.sampled_from(["what is it", "is it red", "is it red", " ", None])
ANSWERS = st.sampled_from(["yes", "no", "2", None])
LISTS = st.none() | st.lists(st.sampled_from(["yes", "no", "red"]) | st.none(), max_size=4)
PLAIN_LISTS = st.none() | st.lists(st.sampled_from(["man", "dog"]), max_size=3)
CELLS = st.sampled_from(["a|b", "dog", "", None, "[a b]"])
LISTED_CELLS = st.sampled_from(['["a", "b"]', "['a']", "", None, '[{"answer": "a"}, {"answer": "b"}]', "[]"])
ANY_CELLS = CELLS | LISTED_CELLS | st.sampled_from(["['a' 'b']", "(x)"])
COLUMNS: dict[str, tuple[Any, Any]] = {
    "question_id": (IDS, pl.String),
    "image_id": (IMAGES, pl.String),
    "question": (QUESTIONS, pl.String),
    "answer": (ANSWERS, pl.String),
}
ANSWER_COLUMNS = [
    (LISTS, pl.List(pl.String)), (CELLS, pl.String), (LISTED_CELLS, pl.String), (ANY_CELLS, pl.String)
]  # fmt: skip
LABEL_COLUMNS = [(PLAIN_LISTS, pl.List(pl.String)), (CELLS, pl.String), (LISTED_CELLS, pl.String)]


@st.composite
def tables(draw: st.DrawFn) -> list[pl.DataFrame]:
    columns = dict(COLUMNS)
    columns["answers"] = draw(st.sampled_from(ANSWER_COLUMNS))
    columns["labels"] = draw(st.sampled_from(LABEL_COLUMNS))
    columns["group"] = (IMAGES, pl.String)
    columns["hour"] = (st.none() | st.integers(0, 2).map(float) | st.just(0.5), pl.Float64)
    for name in draw(st.sets(st.sampled_from(["question_id", "image_id", "answers", "labels", "group"]))):
        del columns[name]
    schema = {name: dtype for name, (_, dtype) in columns.items()}
    row = st.tuples(*(values for values, _ in columns.values()))
    files = draw(st.lists(st.lists(row, max_size=9), min_size=1, max_size=3))
    return [pl.DataFrame(rows, schema=schema, orient="row") for rows in files]


def good(ids: Sequence[str], **others: Any) -> pl.DataFrame:
    return pl.DataFrame({"question_id": ids, **others}).with_columns(
        question=pl.lit("what is it"), answer=pl.lit("yes")
    )


@settings(max_examples=300)
@given(
    frames=tables(),
    form=st.sampled_from(["parquet", "arrow", "ndjson"]),
    on_bad_row=st.sampled_from(["error", "skip"]),
    limit=st.none() | st.integers(1, 12),
    has_items=st.booleans(),
)
@example([good(["1", "2", "3"]), good(["4", "2"])], "parquet", "skip", None, False)
@example([good(["1", "2", "3"]), good(["4", "2"])], "parquet", "error", None, False)
@example([good(["1", "2"]), good(["1", "2"])], "arrow", "skip", None, False)
def test_batches_are_the_whole(
    frames: list[pl.DataFrame], form: str, on_bad_row: OnBadRow, limit: int | None, has_items: bool
) -> None:
    has_items = has_items and "hour" in frames[0].columns
    with TemporaryDirectory() as folder:
        paths = write(Path(folder), frames, form)
        check_same(paths, own(("hour",) if has_items else ()), on_bad_row=on_bad_row, limit=limit, first=40)


@settings(max_examples=100)
@given(frames=tables(), on_bad_row=st.sampled_from(["error", "skip"]))
def test_batches_of_tables_that_need_ids_are_the_whole(
    frames: list[pl.DataFrame], on_bad_row: OnBadRow
) -> None:
    with TemporaryDirectory() as folder:
        check_same(write(Path(folder), frames), Wanted(names=column_names(None)), on_bad_row=on_bad_row)
