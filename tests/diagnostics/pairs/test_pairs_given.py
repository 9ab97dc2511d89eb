"""Pairs of a file: kept as they are, checked, and told where they can't be pairs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from diagnostics.pairs.test_pairs_score import ROWS, write_questions

import shortcut_miner as sm
from shortcut_miner.errors import ConfigError, SourceError


def write_pairs(folder: Path, pairs: object) -> Path:
    path = folder / "pairs.json"
    path.write_text(json.dumps(pairs), encoding="utf-8")
    return path


def test_pairs_are_kept_as_given_and_checked(tmp_path: Path) -> None:
    questions = write_questions(tmp_path)
    pairs = write_pairs(tmp_path, [[6, 5], ["1", 4], [6, 7], [2, 1.0]])
    report = sm.pairs.build(questions=questions, pairs=pairs, groups=True, out=tmp_path / "out")
    sides = report.pairs.select("question_id_agree", "question_id_counter", "match").rows()
    assert sides == [("1", "4", "given"), ("2", "1", "given"), ("6", "5", "given"), ("6", "7", "given")]
    differ = {"different texts": 1, "the same majority answer": 2}
    assert report.figures["given_pairs_that_differ"] == differ
    assert [text.split(", expected")[0] for text in report.warnings] == [
        "pairs: got 1 of 4 with different texts",
        "pairs: got 2 of 4 with the same majority answer",
    ]
    assert report.is_complete
    assert len(report.groups) == 0  # nobody gave the pair of 3 and 4
    pairs = write_pairs(tmp_path, [[3, 4], [2, 1]])
    report = sm.pairs.build(questions=questions, pairs=pairs, groups=True)
    assert report.groups.drop("group_id").rows() == [("1", "2", "1", "2", "3", "4")]


def test_what_is_written_reads_back_as_given(tmp_path: Path) -> None:
    questions = write_questions(tmp_path)
    first = sm.pairs.build(questions=questions, out=tmp_path / "found")
    again = sm.pairs.build(questions=questions, pairs=tmp_path / "found" / "pairs.json")
    assert again.pairs.drop("match").equals(first.pairs.drop("match"))
    asked = json.loads((tmp_path / "found" / "pair_questions.json").read_text("utf-8"))["questions"]
    assert [one["question_id"] for one in asked] == [1, 2, 3, 4, 5, 6]
    assert asked[0] == {"image_id": 1, "question": "is it red?", "question_id": 1}


def test_the_order_of_the_file_changes_nothing(tmp_path: Path) -> None:
    questions = write_questions(tmp_path)
    reports = [
        sm.pairs.build(questions=questions, pairs=write_pairs(tmp_path, pairs))
        for pairs in ([[1, 2], [5, 6]], [[5, 6], [1, 2]])
    ]
    assert reports[0].pairs.equals(reports[1].pairs)


BAD: list[tuple[list[Any], str]] = [
    ([[1, 2], [1, 99]], "record 1, pair: got the id '99', expected ids of the questions"),
    ([[1, 2], [3, 3]], "record 1, pair: got '3' twice, expected two different questions"),
    ([[1, 2], [1, 3]], "record 1, pair: got the image '1' on both sides, expected two images"),
    (
        [[1, 2], [2, 1]],
        "record 0 and record 1, pair: got '2' and '1' again, expected each pair once, either way",
    ),
    ([[1, 2], [1]], "record 1, pair: got [1], expected two ids, a whole number or text each"),
    ([[1, 2], [1, None]], "record 1, pair: got [1, None], expected two ids"),
    ([[1, 2], [1, 2.5]], "record 1, pair: got [1, 2.5], expected two ids"),
    ([[1, 2], {"a": 1}], "record 1, pair: got {'a': 1}, expected two ids"),
    ([[1, 2], [True, 2]], "record 1, pair: got [True, 2], expected two ids"),
    ([[1, 2], [" ", 2]], "record 1, pair: got [' ', 2], expected two ids"),
]


@pytest.mark.parametrize(("pairs", "told"), BAD)
def test_bad_pairs_are_told_or_skipped(pairs: list[Any], told: str, tmp_path: Path) -> None:
    files = {"questions": write_questions(tmp_path), "pairs": write_pairs(tmp_path, [*pairs, [5, 6]])}
    with pytest.raises(SourceError) as caught:
        sm.pairs.build(**files)
    assert told in str(caught.value)
    assert "or skip them with --on-bad-row skip." in str(caught.value)
    report = sm.pairs.build(**files, on_bad_row="skip")
    assert not report.is_complete
    kept = 1 if "again" in told else 2
    assert len(report.pairs) == kept
    assert sum(report.dropped.values()) == 3 - kept


def test_what_is_no_list_of_pairs_is_told(tmp_path: Path) -> None:
    questions = write_questions(tmp_path)
    for content, told in (
        ("[]", "got 0 pairs, expected at least one"),
        ("{}", "expected a JSON list of pairs [id, id]"),
        (
            '[{"question_id": 1, "answer": "yes"}]',
            "got VQA results JSON (1 answers), expected a JSON list of",
        ),
        ("a,b\n1,2\n", "expected a JSON list of pairs [id, id]"),
        ("[[1, 2]", "got JSON that ends at byte 7 inside a value"),
    ):
        (tmp_path / "pairs.json").write_text(content, encoding="utf-8")
        with pytest.raises(SourceError) as caught:
            sm.pairs.build(questions=questions, pairs=tmp_path / "pairs.json")
        assert told in str(caught.value), content
    packed = tmp_path / "pairs.json.gz"
    packed.write_bytes(gzip.compress(b"[[1, 2]]"))
    assert len(sm.pairs.build(questions=questions, pairs=packed).pairs) == 1


def test_numbers_that_can_not_be_held_are_bad_pairs(tmp_path: Path) -> None:
    (tmp_path / "pairs.json").write_text("[[1, 1e999], [1, 2]]", encoding="utf-8")
    files = {"questions": write_questions(tmp_path), "pairs": tmp_path / "pairs.json"}
    with pytest.raises(SourceError, match=r"record 0, pair: got '\[1, 1e999\]', expected two ids"):
        sm.pairs.build(**files)
    assert len(sm.pairs.build(**files, on_bad_row="skip").pairs) == 1


def test_a_question_without_an_answer_is_in_no_pair(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"question_id": n, "image_id": image, "question": text, "answer": answer}
        for n, image, text, answer in ROWS
    ]
    records[0]["answer"] = None
    records[0]["answers"] = ["yes", "no"]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    report = sm.pairs.build(questions=tmp_path / "q.jsonl")
    assert report.dropped == {"questions without an answer": 1}
    assert "1" not in {*report.pairs["question_id_agree"]}
    with pytest.raises(SourceError, match="got '1' without an answer, expected questions with answers"):
        sm.pairs.build(questions=tmp_path / "q.jsonl", pairs=write_pairs(tmp_path, [[1, 2]]))


def test_combinations_without_meaning(tmp_path: Path) -> None:
    questions = write_questions(tmp_path)
    for options, told in (
        ({}, "pairs build: got no questions, expected a folder that vqa-ce build wrote, or --questions"),
        ({"folder": "x", "questions": questions}, "got a folder and --questions, expected one of them"),
        ({"questions": questions, "rules": "kept"}, "rules: got kept with no folder of vqa-ce build"),
        ({"folder": "x", "pairs": "y", "rules": "all"}, "rules: got all with pairs that are given"),
        ({"questions": questions, "match": "antecedent"}, "match: got antecedent without rules"),
        (
            {"folder": "x", "rules": "none", "match": "question_type"},
            "match: got question_type without rules",
        ),
        ({"questions": questions, "per_rule": 0}, "per_rule: got 0, expected a whole number of 1 or more"),
        ({"questions": questions, "seed": -1}, "seed: got -1, expected a whole number of 0 or more"),
        ({"questions": questions, "columns": 7}, "columns: got 7, expected text"),
    ):
        with pytest.raises(ConfigError) as caught:
            sm.pairs.build(**options)  # type: ignore[arg-type]
        assert told in str(caught.value)
