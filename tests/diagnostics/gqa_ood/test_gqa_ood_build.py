"""Builds from every kind of input, and what is said of inputs that don't fit."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.gqa_ood.worlds import gqa_record, write_gqa, write_rows

import shortcut_miner as sm
from shortcut_miner.cli.run import run
from shortcut_miner.errors import ConfigError, ShortcutMinerError, SourceError

ROWS = [
    *((f"{at:03d}", "colour", "red" if at < 8 else "blue") for at in range(9)),
    *((f"{at + 100}", "shape", "round" if at % 2 else "flat") for at in range(6)),
]


def gqa_world() -> dict[str, Any]:
    return {one: gqa_record(answer, group) for one, group, answer in ROWS}


# ---- inputs ----


def test_a_table_needs_ids_answers_and_the_group_alone(tmp_path: Path) -> None:
    from_gqa = sm.gqa_ood.build(questions=write_gqa(tmp_path / "gqa.json", gqa_world()))
    table = pl.DataFrame(ROWS, schema=["question_id", "kind", "answer"], orient="row")
    table.write_parquet(tmp_path / "t.parquet")
    table.write_csv(tmp_path / "t.csv")
    table.write_ndjson(tmp_path / "t.jsonl")
    named = table.rename({"question_id": "qid", "answer": "label"})
    named.write_csv(tmp_path / "named.csv")
    for name in ("t.parquet", "t.csv", "t.jsonl", "named.csv"):
        columns = "question_id=qid,answer=label" if name == "named.csv" else None
        report = sm.gqa_ood.build(questions=tmp_path / name, group="kind", columns=columns)
        assert report.split.equals(from_gqa.split), name
        assert report.groups.equals(from_gqa.groups)
        questions = report.questions
        assert questions["image_id"].equals(questions["question_id"].rename("image_id"))
        assert questions["question"].null_count() == len(ROWS)
        assert questions["is_balanced"].all()


def test_a_column_that_has_a_meaning_may_be_the_group(tmp_path: Path) -> None:
    write_rows(tmp_path / "t.parquet", ROWS, structural=["query"] * len(ROWS))
    report = sm.gqa_ood.build(questions=tmp_path / "t.parquet", group="structural")
    assert report.groups["group"].to_list() == ["query"]
    assert report.questions["structural"].to_list() == ["query"] * len(ROWS)


@pytest.mark.parametrize("form", ["parquet", "csv", "ndjson"])
def test_flags_of_balance_in_every_form(tmp_path: Path, form: str) -> None:
    flags = [True, False, None] * 5
    ids = [row[0] for row in ROWS]
    table = pl.DataFrame({"question_id": ids, "kind": "x", "answer": "a", "is_balanced": flags})
    getattr(table, f"write_{form}")(tmp_path / "t")
    report = sm.gqa_ood.build(questions=tmp_path / "t", group="kind")
    assert report.questions["is_balanced"].to_list() == [flag is not False for flag in flags]
    assert report.counts["balanced"] == 10


def test_gqas_flag_of_balance_and_its_other_groups(tmp_path: Path) -> None:
    world = gqa_world()
    world["000"]["isBalanced"] = False
    world["001"]["isBalanced"] = None
    world["002"]["types"]["semantic"] = "attr"
    file = write_gqa(tmp_path / "gqa.json", world)
    report = sm.gqa_ood.build(questions=file)
    assert report.questions.filter(~pl.col("is_balanced"))["question_id"].to_list() == ["000"]
    assert sm.gqa_ood.build(questions=file, group="semantic").groups["group"].to_list() == ["attr", "obj"]
    assert sm.gqa_ood.build(questions=file, group="global").groups["group"].to_list() == ["none"]


def test_gqas_questions_in_a_folder(tmp_path: Path) -> None:
    world = gqa_world()
    (tmp_path / "split").mkdir()
    write_gqa(tmp_path / "split" / "a.json", {one: world[one] for one in [*world][:7]})
    write_gqa(tmp_path / "split" / "b.json", {one: world[one] for one in [*world][7:]})
    whole = sm.gqa_ood.build(
        questions=write_gqa(tmp_path / "whole.json", world), out=tmp_path / "a", as_gqa=True
    )
    parts = sm.gqa_ood.build(questions=tmp_path / "split", out=tmp_path / "b", as_gqa=True)
    assert parts.split.equals(whole.split)
    for name in ("head", "tail", "all"):
        assert (tmp_path / "a" / f"{name}.json").read_bytes() == (
            tmp_path / "b" / f"{name}.json"
        ).read_bytes()


def test_questions_of_vqa_by_their_type(tmp_path: Path) -> None:
    answers = ["2"] * 5 + ["3"]
    questions = [{"question_id": at, "image_id": 1, "question": "How many?"} for at in range(6)]
    annotations = [
        {
            "question_id": at, "image_id": 1, "question_type": "how many", "answer_type": "number",
            "multiple_choice_answer": answer, "answers": [{"answer": answer, "answer_id": 1}],
        }
        for at, answer in enumerate(answers)
    ]  # fmt: skip
    (tmp_path / "q.json").write_text(json.dumps({"questions": questions}))
    (tmp_path / "a.json").write_text(json.dumps({"annotations": annotations}))
    files = {"questions": tmp_path / "q.json", "annotations": tmp_path / "a.json"}
    report = sm.gqa_ood.build(**files, group="question_type", out=tmp_path / "out")
    assert report.split["subset"].to_list() == ["head"] * 5 + ["tail"]
    assert json.loads((tmp_path / "out" / "tail.json").read_text()) == [5]
    with pytest.raises(
        ConfigError, match=r"group: got 'kind' for .*, expected one of question_type, answer_type"
    ):
        sm.gqa_ood.build(**files, group="kind")
    for given in (files, {"questions": write_gqa(tmp_path / "gqa.json", gqa_world())}):
        with pytest.raises(ConfigError, match=r"columns: got answer=x for .*json, expected none: it is of a"):
            sm.gqa_ood.build(**given, columns="answer=x")
    with pytest.raises(ConfigError, match=r"annotations: got none for .*q\.json, expected the answers"):
        sm.gqa_ood.build(questions=tmp_path / "q.json", group="question_type")


def test_questions_without_a_group(tmp_path: Path) -> None:
    world = gqa_world() | {"none1": gqa_record("a", None), "none2": gqa_record("b", None)}
    file = write_gqa(tmp_path / "gqa.json", world)
    kept = sm.gqa_ood.build(questions=file)
    assert dict(kept.groups.select("group", "row_count").rows())["none"] == 2
    dropped = sm.gqa_ood.build(questions=file, null_group="drop", out=tmp_path / "out")
    assert dropped.groups["group"].to_list() == ["colour", "shape"]
    assert dropped.dropped == {"question without a group": 2}
    assert dropped.is_complete
    assert dropped.in_words()["left out"] == "2 x question without a group"
    named = write_gqa(tmp_path / "named.json", world | {"x": gqa_record("a", "none")})
    with pytest.raises(SourceError) as told:
        sm.gqa_ood.build(questions=named)
    assert str(told.value) == (
        f"{named}: got a group called 'none' and 2 questions without a group, which would be one group, "
        "expected one or the other. Rename the group, or leave these questions out with --null-group drop."
    )
    assert sm.gqa_ood.build(questions=named, null_group="drop").counts["groups"] == 3
    alone = write_gqa(tmp_path / "alone.json", {"1": gqa_record("a", None)})
    with pytest.raises(
        SourceError, match=r"got no question with a group, expected at least one\. Choose another"
    ):
        sm.gqa_ood.build(questions=alone, null_group="drop")


# ---- what doesn't fit ----


def test_questions_without_answer_or_groups(tmp_path: Path) -> None:
    world = gqa_world()
    world["000"]["answer"] = None
    del world["001"]["groups"]
    world["002"]["groups"] = None
    del world["003"]["answer"]
    file = write_gqa(tmp_path / "gqa.json", world)
    with pytest.raises(SourceError) as told:
        sm.gqa_ood.build(questions=file)
    assert str(told.value) == (
        f"{file}: got 4 bad of 15 questions, expected none. Fix them, or skip them with --on-bad-row skip.\n"
        "  - question '000', answer: got null, expected text\n"
        "  - question '001', groups: got no such field, expected an object\n"
        "  - question '002', groups: got null, expected an object\n"
        "  - question '003', answer: got no such field, expected text"
    )
    skipped = sm.gqa_ood.build(questions=file, on_bad_row="skip")
    assert (skipped.counts["questions"], skipped.is_complete) == (11, False)
    assert skipped.dropped == {
        "questions: answer: expected text": 2,
        "questions: groups: expected an object": 2,
    }


def test_bad_rows_of_a_table(tmp_path: Path) -> None:
    ids = ["1", "2", "2", "", "4", "5"]
    answers = ["a", "a", "b", "a", None, "a"]
    table = pl.DataFrame(
        {"question_id": ids, "kind": "x", "answer": answers, "is_balanced": [None] * 5 + ["maybe"]}
    )
    table.write_ndjson(tmp_path / "t.jsonl")
    with pytest.raises(SourceError) as told:
        sm.gqa_ood.build(questions=tmp_path / "t.jsonl", group="kind")
    assert str(told.value).splitlines()[1:] == [
        "  - line 2 and line 3, question_id: got '2' 2 times, expected an id that occurs once",
        "  - line 4, question_id: got '', expected an id",
        "  - line 5, answer: got null, expected an answer",
        "  - line 6, is_balanced: got 'maybe', expected true or false",
    ]
    skipped = sm.gqa_ood.build(questions=tmp_path / "t.jsonl", group="kind", on_bad_row="skip")
    assert skipped.counts["questions"] == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {},
            "group: got none for {}, which is no GQA questions JSON, expected the column that groups its",
        ),
        (
            {"group": "colour"},
            "{}: got a table of 15 rows with the columns 'question_id', 'kind', 'answer', expected ",
        ),
        ({"group": "kind", "columns": "image_id=img"}, "column img: got no such column"),
        (
            {"group": "kind", "columns": "group=kind"},
            "columns: got 'group=kind', expected NAME=COLUMN with NAME one",
        ),
        ({"group": "kind", "as_gqa": True}, "as_gqa: got {}, which is no GQA questions JSON, expected one."),
        ({"group": " "}, "group: got ' ', expected the name of a column. Change --group."),
        ({"alpha": -1}, "alpha: got -1, expected a number above -1, at most 1000000. Change --alpha."),
        ({"alpha": float("nan")}, "alpha: got nan, expected a number above -1"),
        ({"alpha": "0.2"}, "alpha: got '0.2', expected a number above -1"),
        ({"log_epsilon": -1e-9}, "log_epsilon: got -1e-09, expected a number from 0, below 1."),
        ({"columns": 3}, "columns: got 3, expected text, such as question_id=qid,answer=label."),
        ({"entropy_cut": "median"}, "entropy_cut: got 'median', expected one of mean-std, none."),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    file = write_rows(tmp_path / "t.parquet", ROWS)
    with pytest.raises(ShortcutMinerError) as error:
        sm.gqa_ood.build(questions=file, **options)
    assert told.format(file) in str(error.value)


def test_a_group_that_gqa_lacks(tmp_path: Path) -> None:
    file = write_gqa(tmp_path / "gqa.json", gqa_world())
    with pytest.raises(ConfigError) as told:
        sm.gqa_ood.build(questions=file, group="question_type")
    assert str(told.value) == (
        f"group: got 'question_type' for {file}, expected one of local, global, structural, semantic, "
        "detailed. Change --group."
    )


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shortcut_miner.diagnostics.gqa_ood import inputs

    file, read = write_gqa(tmp_path / "gqa.json", gqa_world()), inputs.read_gqa_records

    def changed(path: Path) -> Any:
        file.write_text(file.read_text() + "\n")
        return read(path)

    monkeypatch.setattr(inputs, "read_gqa_records", changed)
    with pytest.raises(SourceError, match="got other content than a moment ago, expected a file that nobody"):
        sm.gqa_ood.build(questions=file, as_gqa=True)


# ---- few groups ----


def test_one_group_is_kept_whole_with_a_warning(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "t.parquet", ROWS[:9])
    report = sm.gqa_ood.build(questions=file, group="kind")
    assert (report.counts["head"], report.counts["tail"]) == (8, 1)
    assert report.warnings == (
        "groups: got 1, expected several: nothing is cut off, and head and tail are those of the whole. "
        "Choose another --group.",
    )
    assert report.is_complete
    assert sm.gqa_ood.build(questions=file, group="kind", entropy_cut="none").warnings == ()


def test_where_no_group_is_kept_the_folder_is_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three equally uneven groups and an even one: none is a standard deviation below the mean."""
    rows = [(f"{g}{at}", f"g{g}", "b" if at == 0 else "a") for g in range(3) for at in range(9)]
    rows += [(f"e{at}", "even", f"a{at}") for at in range(4)]
    file = write_rows(tmp_path / "t.parquet", rows)
    out = tmp_path / "out"
    assert run(["gqa-ood", "build", "--questions", str(file), "--group", "kind", "--out", str(out)]) == 3
    assert (
        "warning: groups kept: got none of 4, expected at least one: none has an entropy of at most"
        in capsys.readouterr().err
    )
    assert json.loads((out / "all.json").read_text()) == []
    (tmp_path / "m.jsonl").write_text('{"question_id": "e0", "answer": "a"}\n')
    assert run(["gqa-ood", "score", str(out), "--predictions", f"m={tmp_path / 'm.jsonl'}"]) == 2
    told = capsys.readouterr().err
    assert "got no question in head or tail that GQA's balanced set has, expected at least one." in told
    with pytest.raises(SourceError, match="got no question in any set"):
        sm.export(out, "vqa-json", out=tmp_path / "x")


# ---- the folder ----


def test_what_is_offered_to_evaluators(tmp_path: Path) -> None:
    world = gqa_world()
    world["000"]["isBalanced"] = False
    sm.gqa_ood.build(questions=write_gqa(tmp_path / "gqa.json", world), out=tmp_path / "out")
    done = sm.export(tmp_path / "out", "vqa-json", out=tmp_path / "x")
    assert [(split, count) for _, split, count in done.questions] == [("head", 7), ("tail", 1)]
    write_rows(tmp_path / "t.parquet", ROWS)
    sm.gqa_ood.build(questions=tmp_path / "t.parquet", group="kind", out=tmp_path / "no-texts")
    with pytest.raises(SourceError, match="got 9 questions without a text, expected one for each to export"):
        sm.export(tmp_path / "no-texts", "vqa-json", out=tmp_path / "y")
