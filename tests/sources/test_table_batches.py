"""Questions read a batch at a time are those read as a whole: rows, digests, counts, notes and errors."""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shortcut_miner import columnar
from shortcut_miner.content_digest import row_sums
from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.opening import column_pieces
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

SMALL, LARGE = 1, 1 << 20  # bytes: each batch of ids is written at once, or all together


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
    paths: Sequence[Path], wanted: Wanted, rows: int = 3, memory: int = LARGE, **how: Any
) -> tuple[pl.DataFrame, Reading] | str:
    with TemporaryDirectory() as folder:
        try:
            asked = QuestionBatches(
                tables=opened(paths), wanted=wanted, folder=Path(folder), memory=memory, rows=rows, **how
            )
            batches = list(asked.batches())
        except SourceError as error:
            return str(error)
        finally:
            assert list(Path(folder).iterdir()) == []
    assert all(0 < len(batch) <= rows for batch in batches)
    return pl.concat(batches) if batches else asked.reading.table, asked.reading


def check_same(
    paths: Sequence[Path], wanted: Wanted, memory: int = LARGE, **how: Any
) -> tuple[pl.DataFrame, Reading] | str:
    whole, batches = read_whole(paths, wanted, **how), read_batches(paths, wanted, memory=memory, **how)
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


@given(
    frames=tables(),
    form=st.sampled_from(["parquet", "arrow", "ndjson"]),
    on_bad_row=st.sampled_from(["error", "skip"]),
    limit=st.none() | st.integers(1, 12),
    has_items=st.booleans(),
    memory=st.sampled_from([SMALL, LARGE]),
)
@example([good(["1", "2", "3"]), good(["4", "2"])], "parquet", "skip", None, False, SMALL)
@example([good(["1", "2", "3"]), good(["4", "2"])], "parquet", "error", None, False, SMALL)
@example([good(["1", "2"]), good(["1", "2"])], "arrow", "skip", None, False, SMALL)
def test_batches_are_the_whole(
    frames: list[pl.DataFrame],
    form: str,
    on_bad_row: OnBadRow,
    limit: int | None,
    has_items: bool,
    memory: int,
) -> None:
    wanted = own(("hour",) if has_items and "hour" in frames[0].columns else ())
    with TemporaryDirectory() as folder:
        paths = write(Path(folder), frames, form)
        check_same(paths, wanted, memory, on_bad_row=on_bad_row, limit=limit, first=40)


@given(frames=tables(), on_bad_row=st.sampled_from(["error", "skip"]))
def test_batches_of_tables_that_need_ids_are_the_whole(
    frames: list[pl.DataFrame], on_bad_row: OnBadRow
) -> None:
    with TemporaryDirectory() as folder:
        check_same(write(Path(folder), frames), Wanted(names=column_names(None)), on_bad_row=on_bad_row)


# ---- what is told of a file as a whole ----

KINDS = [{"answer": "a", "annotator": number // 2} for number in range(600)]


@pytest.mark.sample(6)
@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"answers": ["a|b", "a", None, "c", '["a"]', "d", "e"]}, "in 1 cells of the column 'answers'"),
        ({"labels": ["['a' 'b']", '["a"]', "['c' 'd']", "[]", "['e' 'f']", "[]", "[]"]}, "got 3 cells of"),
        ({"question_id": ["1", "2", "1", "3", "2", "1", ""]}, "got 6 bad of 7 questions"),
        ({"question_id": ["1"] * 7}, "got 7 bad of 7 questions"),
        ({"question_id": [1.5, 2.0, 3.0, 4.0, 5.5, 6.0, 6.0]}, "got 4 bad of 7 questions"),
        ({"question": ["a", " ", None, "b", "c", "", "d"]}, "got 3 bad of 7 questions"),
        ({"answers": [["a", None]] * 7, "labels": [[None]] * 7}, "got 7 bad of 7 questions"),
        ({"answer": [None] * 7, "question_id": ["1"] * 7}, "got 7 bad of 7 questions"),
        ({"question_id": [[1]] * 7}, "column question_id: got List(Int64)"),
        (
            {"answers": [KINDS[:size] for size in (1, 600, 2, 3, 4, 5, 6)]},
            "more than 256 kinds of answer records",
        ),
    ],
)  # fmt: skip
def test_problems_of_all_rows_are_told_at_once(
    tmp_path: Path, form: str, columns: dict[str, Any], words: str
) -> None:
    frame = good([*"1234567"]).with_columns(pl.Series(name, values) for name, values in columns.items())
    for on_bad_row in ("error", "skip"):
        found = check_same(write(tmp_path, [frame], form), own(), on_bad_row=on_bad_row)
        assert not isinstance(found, str) or words in found
        assert isinstance(found, str) or on_bad_row == "skip"


def test_of_many_problems_the_first_are_shown(tmp_path: Path) -> None:
    ids = [str(row // 2) if row % 3 else str(row) for row in range(300)]
    frame = good(ids).with_columns(question=pl.Series([" " if row % 7 == 0 else "a" for row in range(300)]))
    found = check_same(write(tmp_path, [frame]), own())
    assert isinstance(found, str)
    assert "and 123 more" in found
    check_same(write(tmp_path, [frame]), own(), on_bad_row="skip")


def write_classes(path: Path, labels: Sequence[int | None], names: Sequence[str] = ("no", "yes")) -> Path:
    frame = good([str(row) for row in range(len(labels))]).drop("answer").to_arrow()
    frame = frame.append_column("answer", pa.array(labels, pa.int64()))
    feature = {"names": list(names), "_type": "ClassLabel"}
    told = json.dumps({"info": {"features": {"answer": feature}}})
    pq.write_table(frame.replace_schema_metadata({"huggingface": told}), path, row_group_size=4)
    return path


def test_names_of_classes_are_read(tmp_path: Path) -> None:
    found = check_same([write_classes(tmp_path / "t.parquet", [0, 1, 1, 0, 1])], own())
    assert not isinstance(found, str)
    assert found[0]["answer"].to_list() == ["no", "yes", "yes", "no", "yes"]
    assert "answer, numbers of classes read as their names: 5" in found[1].notes


def test_all_numbers_that_are_no_class_are_told(tmp_path: Path) -> None:
    path = write_classes(tmp_path / "t.parquet", [0, 7, 1, 1, 7, 8, 9, None, 10, 11, 12])
    found = check_same([path], own())
    assert isinstance(found, str)
    assert "got 7 values that are no class ('7', '8', '9', '10', '11' and 1 more)" in found


def test_a_file_cut_behind_its_rows_is_told(tmp_path: Path) -> None:
    frame = good([str(row) for row in range(1000)])
    (path,) = write(tmp_path, [frame], "arrow")
    content = path.read_bytes()
    tables = opened([path])
    path.write_bytes(content[:300] + b"\xff" * 2000 + content[2300:])
    asked = QuestionBatches(tables=tables, wanted=own(), folder=tmp_path / "ids", memory=LARGE)
    with pytest.raises(SourceError, match="got a damaged Arrow file"):
        list(asked.batches())


def test_columns_that_nobody_asks_for_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = write(tmp_path, [good(["1", "2"]).with_columns(image=pl.lit(b"png"))])
    read, asked = columnar.read_batches, []

    def noted(content: Any, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        asked.append([*columns])
        return read(content, columns, rows)

    monkeypatch.setattr(column_pieces, "read_batches", noted)
    read_batches([path], own())
    assert asked == [["question_id"], ["question_id", "question", "answer"]]


# ---- passes ----


def test_a_second_pass_gives_the_same(tmp_path: Path) -> None:
    frame = good(["1.0", "2.0", "3"], image_id=["000000000042.jpg", "000000000042.jpg", "7"])
    asked = QuestionBatches(
        tables=opened(write(tmp_path, [frame])), wanted=own(), folder=tmp_path / "ids", memory=LARGE
    )
    assert asked.total == 3
    with pytest.raises(ValueError, match=r"known after a pass over batches\(\)"):
        asked.reading  # noqa: B018
    first = pl.concat(asked.batches()), asked.reading
    second = pl.concat(asked.batches()), asked.reading
    assert first[0].equals(second[0])
    assert told(first[1]) == told(second[1])
    assert first[1].notes == (
        "question_id, floats read as whole numbers: 2",
        "COCO image names shortened to their numbers: 1 of 2 images",
    )


def test_what_a_pass_leaves_is_gone_when_it_is_given_up(tmp_path: Path) -> None:
    folder = tmp_path / "ids"
    (path,) = write(tmp_path, [good(["1", "2", "3", "4"])])
    asked = QuestionBatches(tables=opened([path]), wanted=own(), folder=folder, memory=SMALL, rows=1)
    batches = asked.batches()
    next(batches)
    assert len(list(folder.iterdir())) == 1
    batches.close()
    assert list(folder.iterdir()) == []
    assert asked.found == []


def test_no_rows_at_all_are_an_error(tmp_path: Path) -> None:
    found = check_same(write(tmp_path, [good(["1"]).clear(), good(["1"]).clear()]), own())
    assert isinstance(found, str)
    assert "got no rows, expected at least one" in found


def test_files_with_other_columns_are_an_error(tmp_path: Path) -> None:
    paths = write(tmp_path, [good(["1"]), good(["2"], image_id=["3"])])
    found = check_same(paths, own())
    assert isinstance(found, str)
    assert "got files with different columns" in found
