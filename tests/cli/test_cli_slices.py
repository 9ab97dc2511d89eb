"""``slices build`` and ``slices score``: what is printed, and the same as JSON."""

import json
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """120 questions: of those about clocks the answers in clocks.json are wrong, and none in all.json."""
    rows = [
        {
            "question_id": at,
            "image_id": at // 2,
            "answer": "yes",
            "answer_type": ("a", "b", "c")[at // 2 % 3],
            "question": f"Is the {('clock', 'dog')[at % 2]} red?",
        }
        for at in range(120)
    ]
    path = tmp_path / "questions.csv"
    pl.DataFrame(rows).write_csv(path)
    for name, right in (("clocks", {1}), ("all", {0, 1})):
        answers = [
            {"question_id": row["question_id"], "answer": "yes" if row["question_id"] % 2 in right else "no"}
            for row in rows
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps(answers))
    return path


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line and "─" not in line]


def test_what_is_printed_of_a_build(questions: Path, run_cli: RunCli, tmp_path: Path) -> None:
    tokens = ("slices", "build", "--questions", questions, "--predictions", f"m={tmp_path / 'clocks.json'}")
    ran = run_cli(*tokens, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    lines = lines_of(ran.out)
    assert lines[:5] == [
        "rows 120 about 60 images",
        "outcome wrong answers of m: 50.0%",
        "items 9 in 30 rows or more each",
        "slices 90 of up to 4 items; 15 worse than the other rows (q <= 0.05), 1 of them not redundant",
        "to read first 1, which holds 100.0% of the wrong answers",
    ]
    assert lines[5] == f"written {tmp_path / 'out'}"
    assert lines[6].startswith("took ")
    assert lines[7:] == [
        "Slices to read first",
        "slice rows wrong % above all q explained %",
        "word=clock 60 100.0 +50.0 3.2e-34 100.0",
        "Not redundant, the worst first",
        "slice rows wrong % above all q",
        "word=clock 60 100.0 +50.0 3.2e-34",
    ]
    assert run_cli(*tokens, "--dry-run", "--show", 0).out.count("word=clock") == 0


def test_the_same_as_json(questions: Path, run_cli: RunCli, tmp_path: Path) -> None:
    tokens = ("slices", "build", "--questions", questions, "--predictions", f"m={tmp_path / 'clocks.json'}")
    told = run_cli(*tokens, "--dry-run", "--format", "json").json
    assert (told["counts"]["rows"], told["counts"]["outcome_total"]) == (120, 60)
    assert told["figures"]["outcome"] == "wrong"
    assert [one["name"] for one in told["cover"]] == [one["name"] for one in told["slices"]] == ["word=clock"]


def test_two_models_and_their_scores(questions: Path, run_cli: RunCli, tmp_path: Path) -> None:
    models = [f"{name}={tmp_path / f'{name}.json'}" for name in ("all", "clocks")]
    given = [word for model in models for word in ("--predictions", model)]
    tokens = (
        "slices",
        "build",
        "--questions",
        questions,
        *given,
        "--outcome",
        "wrong",
        "--baseline",
        "clocks",
    )
    ran = run_cli(*tokens, "--holdout", 0.5, "--seed", 3, "--min-count", 10, "--out", tmp_path / "out")
    lines = lines_of(ran.out)
    assert "outcome wrong answers of clocks, beside all: 50.0%" in lines
    assert "on held-out rows 1 of 1 are so again (Holm's p <= 0.05)" in lines
    assert lines[-2] == "slice rows wrong % other's wrong % above all q p held out"
    assert lines[-1].startswith("word=clock ")
    ran = run_cli("slices", "score", tmp_path / "out", *given, "--baseline", "all", "--resamples", 0)
    assert lines_of(ran.out) == [
        "Error rate in percent [95% interval]",
        "slice n all clocks", "all 120 0.00 50.00", "word=clock 60 0.00 100.00",
        "Error rate: difference to all in points [95% interval]",
        "slice n clocks - all", "all 120 50.00", "word=clock 60 100.00",
    ]  # fmt: skip
    ran = run_cli("slices", "score", tmp_path / "out", *given, "--resamples", 0, "--format", "json")
    assert ran.json["scores"]["error_rate"]["slice"]["word=clock"]["clocks"]["value"] == 100.0


def test_nothing_is_worse(questions: Path, run_cli: RunCli, tmp_path: Path) -> None:
    tokens = ("slices", "build", "--questions", questions, "--predictions", f"m={tmp_path / 'all.json'}")
    ran = run_cli(*tokens, "--dry-run")
    assert (ran.code, lines_of(ran.out)[3]) == (0, "slices none: no row is wrong")
    assert run_cli("slices", "build", "--dry-run").err.startswith(
        "error: slices build: got no rows, expected one of"
    )
    assert run_cli(*tokens).err.startswith("error: --out: got none, expected a folder.")
