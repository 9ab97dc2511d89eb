"""Builds: what must hold of every split, the golden one, and what is told about bad input."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shortcut_miner as sm
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.resplit.config import ResplitConfig
from shortcut_miner.diagnostics.resplit.inputs import ResplitInputs
from shortcut_miner.diagnostics.resplit.shift import distances
from shortcut_miner.diagnostics.resplit.split import split_questions
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeFiles
from shortcut_miner.errors import ConfigError, SchemaError, SourceError

Record = dict[str, Any]
TYPES, ANSWERS = ("is", "what", "how many"), ("yes", "no", "red cat", "2", "dog")


def records(count: int, seed: int = 0) -> list[Record]:
    draw = random.Random(seed)
    return [
        {
            "question_id": n,
            "image_id": draw.randrange(1 + count // 3),
            "question": f"{(kind := draw.choice(TYPES))} {draw.choice(['it', 'this'])}?",
            "question_type": kind,
            "answer_type": "other",
            "answer": draw.choice(ANSWERS),
        }
        for n in range(count)
    ]


def write(path: Path, rows: list[Record]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def inputs_of(rows: list[Record]) -> ResplitInputs:
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col("question_id", "image_id").cast(pl.String)
    )
    return ResplitInputs(table.sort("question_id"), None, InputFacts())


@given(count=st.integers(30, 80), seed=st.integers(0, 50), share=st.sampled_from([0.333333, 0.5, 0.2]))
def test_what_must_hold_of_every_split(count: int, seed: int, share: float) -> None:
    inputs = inputs_of(records(count, seed))
    config = ResplitConfig(test_share=share, val_share=0.3, seed=seed)
    made = split_questions(inputs, config)
    table = inputs.questions.with_columns(subset=made.split["subset"])
    assert made.split["question_id"].to_list() == inputs.questions["question_id"].to_list()
    assert {*table["subset"]} <= {"train", "test", "val"}
    sides = table.with_columns(is_test=pl.col("subset") == "test")
    by_group = sides.group_by("question_type", "answer").agg(pl.col("is_test").n_unique())
    assert (by_group["is_test"] == 1).all()
    for js_bits, total_variation in made.shift.select("js_bits", "total_variation").drop_nulls().iter_rows():
        assert js_bits == pytest.approx(1, abs=1e-12)
        assert total_variation == pytest.approx(1, abs=1e-12)
    val = {*table.filter(subset="val")["image_id"]}
    assert not val & {*table.filter(subset="train")["image_id"]}
    tested = made.groups.filter(subset="test").sort("position")
    rows = tested["row_count"].sum()
    assert rows == len(table.filter(subset="test"))
    assert config.least_test * count > rows - tested["row_count"][-1]
    if rows < config.least_test * count:  # the groups that cover the test took all that was left
        assert "rest" not in set(made.groups["reason"])
        assert any(text.startswith(f"test: got {rows} of {count} rows") for text in made.warnings)
    groups = made.split.join(
        made.groups.select(group="position", side="subset"), on="group", how="left", maintain_order="left"
    )
    assert (groups["side"] == groups["subset"].replace("val", "train")).all()


@given(count=st.integers(30, 60), seed=st.integers(0, 20))
def test_names_of_answers_change_ties_alone(count: int, seed: int) -> None:
    """Where no two groups tie, answers may be called anything: the walk is by a given order of groups."""
    rows = records(count, seed)
    sizes = Counter((row["question_type"], row["answer"]) for row in rows)
    if len({*sizes.values()}) < len(sizes):
        rows = [row | {"answer": f"a{row['answer'].replace(' ', '')}"} for row in rows]
        extra = [
            dict(
                rows[0],
                question_id=1000 + 100 * at + n,
                question_type=kind,
                answer=f"a{answer.replace(' ', '')}",
            )
            for at, (kind, answer) in enumerate(sizes)
            for n in range(20 * at)
        ]
        rows += extra
    renamed = {answer: f"z{9 - at}" for at, answer in enumerate(sorted({row["answer"] for row in rows}))}
    config = ResplitConfig(order="size", val_share=0)
    first = split_questions(inputs_of(rows), config)
    other = split_questions(inputs_of([row | {"answer": renamed[row["answer"]]} for row in rows]), config)
    assert first.split["subset"].equals(other.split["subset"])


def test_the_order_of_rows_and_files_changes_no_table(tmp_path: Path) -> None:
    rows = records(80)
    shuffled = random.Random(1).sample(rows, len(rows))
    parts = [write(tmp_path / "a.jsonl", shuffled[:30]), write(tmp_path / "b.jsonl", shuffled[30:])]
    whole = sm.resplit.build(questions=write(tmp_path / "whole.jsonl", rows))
    several = sm.resplit.build(questions=parts)
    for name in ("questions", "split", "groups", "shift"):
        assert whole.tables[name].equals(several.tables[name])
    out = tmp_path / "out"
    sm.resplit.build(questions=parts, out=out)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert [(one["role"], one["name"]) for one in manifest["inputs"]] == [
        ("questions", "a.jsonl"), ("questions", "b.jsonl"),
    ]  # fmt: skip
    assert sm.repeat(out).agrees


def test_the_files_of_each_side_read_back(tmp_path: Path) -> None:
    rows = [row | {"answers": [row["answer"]] * 9 + ["other"]} for row in records(60)]
    report = sm.resplit.build(
        questions=write(tmp_path / "q.jsonl", rows), val_share=0.4, out=tmp_path / "out"
    )
    for side in ("train", "test", "val"):
        table = sm.read_vqa(
            *(tmp_path / "out" / f"{side}_{what}.json" for what in ("questions", "annotations"))
        )[0]
        ours = report.questions.filter(report.split["subset"] == side)
        columns = ["question_id", "image_id", "question", "question_type", "answer", "answers"]
        assert table.select(columns).sort("question_id").equals(ours.select(columns))
    sm.resplit.build(questions=tmp_path / "q.jsonl", val_share=0.4, flat=True, out=tmp_path / "flat")
    flat = json.loads((tmp_path / "flat" / "test_annotations.json").read_text("utf-8"))
    assert flat == json.loads((tmp_path / "out" / "test_annotations.json").read_text("utf-8"))["annotations"]
    both = [tmp_path / "flat" / f"test_{what}.json" for what in ("questions", "annotations")]
    assert len(sm.read_vqa(*both)[0]) == report.counts["test"]


def test_bad_input_is_told_or_skipped(tmp_path: Path) -> None:
    rows = records(60)
    first = write(tmp_path / "a.jsonl", rows)
    with pytest.raises(SchemaError, match=r"\(a.jsonl, b.jsonl\): got 2 ids in several files: '58', '59'"):
        sm.resplit.build(questions=[first, write(tmp_path / "b.jsonl", rows[58:])])
    rows[3]["question_type"] = None
    write(tmp_path / "a.jsonl", rows)
    with pytest.raises(SourceError) as caught:
        sm.resplit.build(questions=first)
    assert "got some without what groups are made of" in str(caught.value)
    assert "1 x question without question_type: '3'" in str(caught.value)
    report = sm.resplit.build(questions=first, on_bad_row="skip")
    assert (report.dropped, report.is_complete) == ({"questions: no question_type": 1}, False)
    assert report.counts["questions"] == 59
    assert sm.resplit.build(questions=first, group_by="answer").is_complete


def test_one_large_group_is_warned_about(tmp_path: Path) -> None:
    rows = [
        row | ({"question_type": "is", "answer": "yes"} if n < 45 else {})
        for n, row in enumerate(records(60))
    ]
    report = sm.resplit.build(questions=write(tmp_path / "q.jsonl", rows))
    told = report.warnings[0]
    assert told.startswith("groups: got one of 4")
    assert "expected none larger than the test share" in told


def test_combinations_without_meaning(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", records(40))
    for options, told in (
        (
            {"group_by": "colour"},
            "group_by: got 'colour', expected different columns of question_type, ",
        ),
        ({"group_by": "answer,answer"}, "group_by: got 'answer,answer', expected different columns"),
        ({"group_by": "answer_type"}, "group_by: got 1 group by answer_type, expected two or more"),
        (
            {"group_by": "antecedent"},
            "group_by antecedent: got no rules, expected a folder that vqa-ce build",
        ),
        ({"method": "vqa-vs-like"}, "method vqa-vs-like: got no rules, expected a folder"),
        ({"from_rules": "x"}, "from_rules: got x, expected none: nothing asks for it"),
        ({"detections": "x"}, "detections: got some without rules, expected none"),
        ({"annotations": ["x", "y"]}, "annotations: got 2 files for 1 of questions, expected one for each"),
        ({"test_share": 1}, "test_share: got 1, expected a number above 0, below 1"),
        ({"val_share": 1}, "val_share: got 1, expected a number from 0, below 1"),
        ({"alpha": -1}, "alpha: got -1, expected a number above -1"),
        ({"seed": -1}, "seed: got -1, expected a whole number of 0 or more"),
        ({"columns": 7}, "columns: got 7, expected text"),
    ):
        with pytest.raises(ConfigError) as caught:
            sm.resplit.build(questions=path, **options)  # type: ignore[arg-type]
        assert told in str(caught.value)


counts = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6)


@given(counts=counts)
def test_distances_are_in_their_range_and_symmetric(counts: list[tuple[int, int]]) -> None:
    train, test = ([one[side] for one in counts] for side in (0, 1))
    js_bits, total_variation = distances(train, test)
    if js_bits is None or total_variation is None:
        assert not (sum(train) and sum(test))
        return
    assert distances(test, train) == (pytest.approx(js_bits), pytest.approx(total_variation))
    assert -1e-12 <= js_bits <= 1 + 1e-12
    # Pinsker and its converse, in bits.
    assert total_variation**2 / 2 <= js_bits + 1e-12
    assert js_bits <= total_variation + 1e-12


# ---- the golden split ----


@pytest.fixture(scope="module")
def golden(real_data: Path) -> Path:
    folder = real_data.parent / "golden" / "resplit"
    if not folder.is_dir():
        pytest.skip(f"no golden files at {folder}")
    return folder


@pytest.mark.real
def test_the_golden_split(real_files: VqaCeFiles, golden: Path) -> None:
    both = [real_files.train_questions, real_files.val_questions]
    answers = [real_files.train_annotations, real_files.val_annotations]
    report = sm.resplit.build(questions=both, annotations=answers, val_share=0)  # type: ignore[arg-type]
    expected = json.loads((golden / "expected.json").read_text("utf-8"))
    groups = pl.read_csv(golden / "groups.csv.gz", infer_schema=False)
    ours = report.groups.select(
        pl.col("position").cast(pl.String), "question_type", "answer", pl.col("row_count").cast(pl.String),
        "subset",
    )  # fmt: skip
    assert ours.rows() == groups.rows()
    counts, figures = report.counts, report.figures
    assert counts["questions"] == expected["questions"] == 57_038
    assert counts["groups"] == expected["groups"] == 10_157
    assert counts["test_groups"] == expected["test_groups"] == 4_818
    assert (counts["test"], counts["train"]) == (19_016, 38_022)
    assert counts["cover_groups"] == expected["groups_picked_for_cover"] == 1_454
    assert figures["test_concepts"] == expected["test_concepts"] == 3_117
    assert figures["covered_concepts"] == expected["test_concepts_in_train"] == 1_644
    share = figures["covered_concept_rows"] / figures["test_concept_rows"]
    assert share == pytest.approx(expected["question_weighted_concept_coverage"], abs=1e-12)
    assert figures["shift"]["js_bits"] == pytest.approx(expected["js_bits_answers_overall"], abs=1e-12)
    assert counts["question_types"] == expected["types_on_both_sides"] == 65
    for kind, js_bits, total_variation in report.shift.select(
        "question_type", "js_bits", "total_variation"
    ).iter_rows():
        assert [js_bits, total_variation] == pytest.approx(
            expected["js_bits_and_tv_by_type"][kind], abs=1e-12
        )
    assert figures["images_by_side"] == {"train": 28_508, "test": 15_846, "val": 0}
    assert figures["images_in_train_and_test"] == expected["images_both"] == 6_279
