"""Small things that were read wrongly, or told in words that nobody could follow."""

import json
import shutil
from pathlib import Path

import pytest
from cli.commands import RunCli, options, tiny_world, write_world

from shortcut_miner.cli.run import run
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images.labels import read_labels


def test_a_score_that_is_nan_is_no_unknown_score(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_text('[{"image_id": 7, "label": "dog", "score": NaN}, {"image_id": 8, "label": "cat"}]')
    with pytest.raises(
        SourceError, match="record 0, score: got null, in a file with NaN, expected a number from 0"
    ):
        read_labels(path)
    reading = read_labels(path, on_bad_row="skip")
    assert reading.table.select("image_id", "label", "score").rows() == [("8", "cat", None)]
    path.write_text('[{"image_id": 7, "label": "dog", "score": null}]')
    assert read_labels(path).table.select("score").rows() == [(None,)]


def test_answers_under_annotations_are_answers(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text('{"annotations": [{"question_id": 1, "answer": "red"}]}')
    (found,) = run_cli("inspect", path, "--format", "json").json["files"]
    assert (found["kind"], found["counts"]) == (
        "predictions JSON in an object",
        {"answers": 1, "rows read": 1},
    )
    path.write_text('{"annotations": [{"question_id": 1, "image_id": 7, "answers": [{"answer": "red"}]}]}')
    (found,) = run_cli("inspect", path, "--format", "json").json["files"]
    assert found["kind"] == "VQA annotations JSON"


@pytest.mark.parametrize("given", [("2,3",), ("2", "3"), ("2", "--min-counts", "3")])
def test_thresholds_are_given_with_commas_or_blanks(
    given: tuple[str, ...], run_cli: RunCli, tmp_path: Path
) -> None:
    files = options(write_world(tiny_world(), tmp_path))
    more = ("--min-confidences", "0.3", "--dry-run", "--format", "json", "--threads", 1)
    ran = run_cli("vqa-ce", "sweep", *files, "--min-counts", *given, *more)
    assert ran.code == 0, ran.err
    assert {row["min_count"] for row in ran.json["sweep"]} == {2, 3}


def test_a_record_with_an_option_that_has_no_meaning(run_cli: RunCli, tmp_path: Path) -> None:
    files = options(write_world(tiny_world(), tmp_path / "in"))
    built = tmp_path / "built"
    assert run(["vqa-ce", "build", *files, "--min-count", "2", "--out", str(built), "--quiet"]) == 0
    manifest = built / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"config": {"limit": "x"}}))
    ran = run_cli("repeat", built)
    assert (ran.code, ran.out) == (2, "")
    assert (
        f"error: {manifest}: got options that vqa-ce build refuses, expected those that it ran with."
        in ran.err
    )
    shutil.copy(manifest, tmp_path / "manifest.json")
    record = json.loads(manifest.read_text()) | {"command": "mine"}
    (tmp_path / "manifest.json").write_text(json.dumps(record))
    ran = run_cli("repeat", tmp_path)
    assert ran.code == 2
    assert "got the output of 'mine', expected that of one of 'vqa-ce build'" in ran.err
    assert "of other commands the inputs are not recorded. Run the command itself again." in ran.err


@pytest.mark.parametrize("split", ["../../evil", "/etc/x", "a/b", "a\x1b[2J", "x" * 101])
def test_a_splits_name_chooses_no_path(split: str, run_cli: RunCli, tmp_path: Path) -> None:
    table = tmp_path / "questions.jsonl"
    rows = [
        {
            "question_id": n,
            "image_id": n,
            "question": "How many dogs are there?",
            "answer": str(n),
            "split": split,
        }
        for n in range(4)
    ]
    table.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    out = tmp_path / "in" / "out"
    ran = run_cli("rad", "build", "--questions", table, "--out", out)
    assert (ran.code, ran.out) == (2, "")
    assert f"error: {table}: got the splits " in ran.err
    assert "expected letters, digits, - and _, because files are named by them. Give another name" in ran.err
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["questions.jsonl"]
    assert run_cli("rad", "build", "--questions", table, "--split", "val", "--out", out).code == 0
