"""Scorers, extraction and the paper's table from the command line, and what is said about them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.commands import Ran, RunCli, options, tiny_world, write_world

from shortcut_miner import rooms

Build = Callable[..., Path]


@pytest.fixture
def build(run_cli: RunCli, tmp_path: Path) -> Build:
    """Return a function that builds the tiny world with so many answers a question."""

    def build_with(*sizes: int | None) -> Path:
        """Give the validation questions these numbers of answers in turn; None: no list of answers."""
        world = tiny_world()
        for at, annotation in enumerate(world["val_annotations"]["annotations"]):
            size = sizes[at % len(sizes)]
            annotation["answers"] = annotation["answers"][:size]
            if size is None:
                del annotation["answers"]
        files = write_world(world, tmp_path / "in")
        ran = run_cli("vqa-ce", "build", *options(files), "--min-count", 2, "--out", tmp_path / "vqa-ce")
        assert ran.code == 0
        return tmp_path / "vqa-ce"

    return build_with


def perfect(tmp_path: Path, template: str = "{}") -> str:
    """Return NAME=FILE of a model that always gives the right answer, in a sentence."""
    annotations = json.loads((tmp_path / "in" / "val_annotations.json").read_text())["annotations"]
    path = tmp_path / "perfect.json"
    path.write_text(
        json.dumps(
            [
                {"question_id": one["question_id"], "answer": template.format(one["multiple_choice_answer"])}
                for one in annotations
            ]
        )
    )
    return f"m={path}"


def overall(ran: Ran) -> dict[str, Any]:
    cell: dict[str, Any] = ran.json["scores"]["accuracy"]["overall"]["all"]["m"]
    return cell


@pytest.mark.parametrize(
    ("sizes", "scorer", "told"),
    [
        ((1,), "any-answer", "scorer any-answer: all 6 questions have 1 or 2 answers by annotators"),
        ((2,), "any-answer", "scorer any-answer: all 6 questions have 1 or 2 answers by annotators"),
        ((3,), "three-agree", "scorer three-agree: all 6 questions have 3 or more answers by annotators"),
        ((9,), "three-agree", "scorer three-agree: all 6 questions have 3 or more answers by annotators"),
        ((10,), "vqa-official", "scorer vqa-official: all 6 questions have 10 or more answers by annotators"),
        (
            (10, 1),
            "vqa-official + any-answer",
            "scorer by question: vqa-official for 3 with 10 or more answers by annotators; any-answer for 3 ",
        ),
    ],
)
def test_a_perfect_model_has_100_whatever_the_number_of_answers(
    sizes: tuple[int, ...], scorer: str, told: str, build: Build, run_cli: RunCli, tmp_path: Path
) -> None:
    folder = build(*sizes)
    out = tmp_path / "scores"
    tokens = ("--predictions", perfect(tmp_path), "--resamples", 0, "--format", "json", "--out", out)
    ran = run_cli("vqa-ce", "score", folder, *tokens)
    assert ran.code == 0
    assert overall(ran) == {"scorer": scorer, "value": 100.0, "n": 6, "low": None, "high": None}
    assert f"note: {told}" in ran.err
    assert ran.json["warnings"] == []
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["config"]["scorer"] == (scorer if len(sizes) == 1 else "auto")
    counted = {name: n for name, n in manifest["counts"].items() if name.startswith("questions_")}
    by_question = {"questions_any-answer": 3, "questions_vqa-official": 3}
    assert counted == ({} if len(sizes) == 1 else by_question)


def test_a_scorer_that_cannot_work_is_refused(build: Build, run_cli: RunCli, tmp_path: Path) -> None:
    folder = build(1, 2, 10)
    ran = run_cli("vqa-ce", "score", folder, "--predictions", perfect(tmp_path), "--scorer", "vqa-official")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: scorer vqa-official: got 2 x question with 1 answer, 2 x question with 2 answers, expected 4 "
        "or more for each: with fewer no answer can score 100. Give --scorer auto.\n"
    )


def test_without_annotators_answers_exact_is_named(build: Build, run_cli: RunCli, tmp_path: Path) -> None:
    folder = build(None)
    tokens = ("vqa-ce", "score", folder, "--predictions", perfect(tmp_path), "--resamples", 0)
    ran = run_cli(*tokens)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {folder}: got 6 x question without annotators' answers: '2000', ")
    assert "Give --scorer exact, which compares with the one right answer, or add the answers." in ran.err
    ran = run_cli(*tokens, "--scorer", "exact", "--format", "json")
    assert ran.code == 0
    assert overall(ran)["value"] == 100.0


def test_a_sweep_chooses_its_scorer_and_says_so(build: Build, run_cli: RunCli, tmp_path: Path) -> None:
    build(1)
    names = ("train_questions", "train_annotations", "val_questions", "val_annotations", "detections")
    files: dict[str, Path | None] = {name: tmp_path / "in" / f"{name}.json" for name in names}
    tokens = ("--min-counts", 2, "--min-confidences", 0.3, "--out", tmp_path / "sweep", "--format", "json")
    ran = run_cli("vqa-ce", "sweep", *options(files), *tokens)
    assert ran.code == 0
    assert "scorer any-answer: all 6 questions" in ran.err
    assert ran.json["sweep"][0]["accuracy"] > 0
    manifest = json.loads((tmp_path / "sweep" / "manifest.json").read_text())
    assert manifest["config"]["scorer"] == "any-answer"
    tokens = (*tokens[:5], tmp_path / "other")
    refused = run_cli("vqa-ce", "sweep", *options(files), *tokens, "--scorer", "vqa-official")
    assert refused.code == 2
    assert "scorer vqa-official: got 6 x question with 1 answer, expected 4 or more" in refused.err
    build(1, None)
    refused = run_cli("vqa-ce", "sweep", *options(files), *tokens)
    assert refused.code == 2
    place = files["val_annotations"]
    assert refused.err.startswith(f"error: {place}: got 3 x question without annotators' answers: ")


def test_sentences_are_a_warning_and_can_be_extracted(build: Build, run_cli: RunCli, tmp_path: Path) -> None:
    folder = build(1)
    tokens = ("vqa-ce", "score", folder, "--predictions", perfect(tmp_path, "The answer is {}."))
    ran = run_cli(*tokens, "--resamples", 0, "--format", "json", "--quiet")
    assert (ran.code, overall(ran)["value"]) == (0, 0.0)
    (warning,) = ran.json["warnings"]
    assert warning.startswith("predictions of m: 6 of 6 answers have more words than any accepted answer")
    assert ran.err == f"warning: {warning}\n"
    for how in ("last-word", "choices", "after:answer is"):
        ran = run_cli(*tokens, "--resamples", 0, "--format", "json", "--extract", how)
        assert (ran.code, overall(ran)["value"], ran.json["warnings"]) == (0, 100.0, [])
        assert f"note: m: extract {how}: 6 of 6 answers changed, the others stay as they are" in ran.err


def test_answers_wrong_for_their_form_alone_are_a_warning(
    build: Build, run_cli: RunCli, tmp_path: Path
) -> None:
    folder = build(10)
    tokens = ("vqa-ce", "score", folder, "--predictions", perfect(tmp_path, "{}!"), "--resamples", 0)
    ran = run_cli(*tokens, "--format", "json")
    assert (ran.code, overall(ran)["value"]) == (0, 0.0)
    (warning,) = ran.json["warnings"]
    assert warning.startswith(
        "predictions of m: 6 of 6 answers differ from what all annotators gave in their "
    )
    assert warning.endswith("takes as wrong. --scorer vqa-normalized takes them as right")
    ran = run_cli(*tokens, "--format", "json", "--scorer", "vqa-normalized")
    assert (overall(ran)["value"], ran.json["warnings"]) == (100.0, [])


def test_an_extraction_may_stand_in_the_config_file(build: Build, run_cli: RunCli, tmp_path: Path) -> None:
    folder = build(1)
    (tmp_path / "run.toml").write_text('extract = "after:is"\n', encoding="utf-8")
    tokens = ("--predictions", perfect(tmp_path, "It is {}"), "--config", tmp_path / "run.toml")
    ran = run_cli("vqa-ce", "score", folder, *tokens, "--resamples", 0, "--format", "json")
    assert (ran.code, overall(ran)["value"]) == (0, 100.0)


@pytest.mark.parametrize("room", rooms.WORDS)
def test_an_unknown_extraction_is_told(room: str, run_cli: RunCli, tmp_path: Path) -> None:
    named = {"fpvg": ("--all", "--relevant", "--irrelevant"), "rad": ("--original", "--augmented")}
    files = [text for option in named.get(room, ("--predictions",)) for text in (option, "m=m.json")]
    ran = run_cli(room, "score", tmp_path, *files, "--extract", "after:")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: extract: got 'after:', expected one of first-line, last-word, choices, or after:TEXT with a "
        "text. Change --extract.\n"
    )


def test_the_papers_table_stands_beside_the_long_one(build: Build, run_cli: RunCli, tmp_path: Path) -> None:
    folder = build(10)
    tokens = ("vqa-ce", "score", folder, "--predictions", perfect(tmp_path).replace("m=", "my_model & co="))
    assert run_cli(*tokens, "--resamples", 5, "--out", tmp_path / "a").code == 0
    lines = (tmp_path / "a" / "scores.tex").read_text().splitlines()
    assert lines[2] == r"Model & Overall & Counterexamples & Easy \\"
    assert lines[4].startswith(r"my\_model \& co & $100.00$ & ")
    assert len(lines) == 9  # the model, and the rule classifier with both votes
    assert "question" in (tmp_path / "a" / "scores_long.tex").read_text()
    assert run_cli(*tokens, "--resamples", 5, "--tex-intervals", "--out", tmp_path / "b").code == 0
    assert "$100.00$ [$100.00$, $100.00$]" in (tmp_path / "b" / "scores.tex").read_text()
