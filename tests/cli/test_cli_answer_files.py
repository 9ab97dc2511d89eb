"""Answers of one model in several files, or a folder of them, in every score."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import RunCli

import shortcut_miner as sm
from shortcut_miner.cli.options import file_lists
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.rooms import WORDS
from shortcut_miner.sources.answers.answer_folders import files_in

LEANING = "shortcut_model"


def halves(file: Path, folder: Path) -> list[Path]:
    """Return the rows of a file as two JSON Lines files, the later ones first."""
    is_parquet = file.suffix == ".parquet"
    records = pl.read_parquet(file).to_dicts() if is_parquet else json.loads(file.read_text())
    folder.mkdir(parents=True)
    middle = len(records) // 2
    parts = {"a.jsonl": records[middle:], "b.jsonl": records[:middle]}
    for name, part in parts.items():
        (folder / name).write_text("".join(f"{json.dumps(one)}\n" for one in part))
    return [folder / name for name in parts]


def rooms(demo: Path) -> dict[str, tuple[str, dict[str, Path], Callable[..., Any]]]:
    world = demo / "world"
    runs = {name: world / f"{LEANING}_{name}_regions.json" for name in ("all", "relevant", "irrelevant")}
    return {
        "vqa-ce": ("vqa-ce", {"predictions": world / f"{LEANING}_results.json"}, sm.vqa_ce.score),
        "rad": (
            "rad",
            {
                "original": world / f"{LEANING}_results.json",
                "augmented": demo / "rad-answers" / f"{LEANING}_results.json",
            },
            sm.rad.score,
        ),
        "fpvg": ("fpvg", runs, sm.fpvg.score),
        "swapmix": (
            "swapmix",
            {"predictions": demo / "swapmix-answers" / f"{LEANING}.parquet"},
            sm.swapmix.score,
        ),
        "gqa-ood": (
            "gqa-ood",
            {"predictions": demo / "gqa-ood-answers" / f"{LEANING}.json"},
            sm.gqa_ood.score,
        ),
        "pope": ("pope", {"predictions": demo / "pope-answers" / f"{LEANING}.json"}, sm.pope.score),
        "pairs": ("pairs", {"predictions": world / f"{LEANING}_results.json"}, sm.pairs.score),
        "slices": ("slices", {"predictions": world / f"{LEANING}_results.json"}, sm.slices.score),
        "resplit": ("resplit", {"predictions": world / f"{LEANING}_results.json"}, sm.resplit.score),
    }


@pytest.mark.parametrize("room", WORDS)
def test_a_score_tells_how_many_models_are_read(
    room: str, demo: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, files, _ = rooms(demo)[room]
    told: list[str] = []
    monkeypatch.setattr("shortcut_miner.cli.room.progress", lambda _: nullcontext(told.append))
    words = [w for role, file in files.items() for m in "ab" for w in (f"--{role}", f"{m}={file}")]
    assert run_cli(room, "score", demo / folder, *words, "--resamples", 0).code == 0
    counted = "runs" if room == "fpvg" else "models"
    reading = [text for text in told if text.startswith("read ") and text.endswith(f" of 2 {counted}")]
    assert [text[-len(f"0 of 2 {counted}") :][0] for text in reading] == ["0", "1"] * (1 + (room == "rad"))
    assert any(text.startswith("score") for text in told[told.index(reading[-1]) :])


@pytest.mark.sample(3)
@pytest.mark.parametrize("room", WORDS)
def test_halves_score_as_the_whole(room: str, demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    folder, files, score = rooms(demo)[room]
    parts = {role: halves(file, tmp_path / role) for role, file in files.items()}
    whole = score(demo / folder, **{role: {"m": file} for role, file in files.items()})
    several = score(demo / folder, **{role: {"m": part} for role, part in parts.items()})
    assert several.scores.equals(whole.scores)
    words = [w for role, part in parts.items() for w in (f"--{role}", "m=" + ",".join(map(str, part)))]
    ran = run_cli(room, "score", demo / folder, *words, "--format", "json", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert pl.read_parquet(tmp_path / "out" / "scores.parquet").equals(whole.scores)
    inputs = json.loads((tmp_path / "out" / "manifest.json").read_text())["inputs"]
    assert [one["name"] for one in inputs if " of m" in one["role"]] == ["a.jsonl", "b.jsonl"] * len(files)
    if room != "swapmix":
        (tmp_path / next(iter(parts)) / "results.json").write_text('{"results": {"task": {"acc": 1}}}')
        in_folder = score(demo / folder, **{role: {"m": part[0].parent} for role, part in parts.items()})
        assert in_folder.scores.equals(whole.scores)
        assert any(note.endswith("2, not read: 'results.json'") for note in in_folder.notes)


def test_a_question_in_two_files_is_told_with_both(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    file = demo / "world" / f"{LEANING}_results.json"
    part = halves(file, tmp_path / "parts")[0]
    ran = run_cli("vqa-ce", "score", demo / "vqa-ce", "--predictions", f"m={file},{part}")
    assert ran.code == 2
    assert "--on-duplicate first, or give the files of one run alone." in ran.err
    assert f"predictions of m ({file.name}, a.jsonl): " in ran.err
    kept = run_cli(
        "vqa-ce", "score", demo / "vqa-ce", "--predictions", f"m={file},{part}", "--on-duplicate", "last"
    )
    assert kept.code == 3


def test_one_subset_scores_that_subset(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    answers = json.loads((demo / "world" / f"{LEANING}_results.json").read_text())
    subset = {*json.loads((demo / "vqa-ce" / "easy.json").read_text())}
    some = [one for one in answers if one["question_id"] in subset or str(one["question_id"]) in subset]
    path = tmp_path / "easy.json"
    path.write_text(json.dumps(some))
    words = ("vqa-ce", "score", demo / "vqa-ce", "--predictions", f"m={path}")
    ran = run_cli(*words)
    assert ran.code == 2
    assert "leave these questions out for all models with --on-missing skip." in ran.err
    ran = run_cli(*words, "--on-missing", "skip")
    assert ran.code == 3
    total = len(pl.read_parquet(demo / "vqa-ce" / "split.parquet"))
    assert f"note: scores cover the subset easy alone: {len(some):,} of {total:,} questions" in ran.err
    path.write_text(json.dumps(some[1:]))
    ran = run_cli(*words, "--on-missing", "skip")
    share = f"({len(some) - 1:,} of {len(some):,})"
    assert f"scores cover easy in part {share}: {len(some) - 1:,} of {total:,} questions" in ran.err
    path.write_text(json.dumps([*answers, {"question_id": 10**12, "answer": "x"}]))
    ran = run_cli(*words, "--on-extra", "ignore")
    assert ran.code == 3
    assert "left out: 1 x predictions of m: answer to a question that nobody asked" in ran.err
    assert "scores cover" not in ran.err


def test_ids_behind_a_q_are_those_of_the_folder(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    answers = json.loads((demo / "world" / f"{LEANING}_results.json").read_text())
    rows = [f"q{one['question_id']}\t{one['answer']}" for one in answers]
    path = tmp_path / "results.tsv"
    path.write_text("\n".join(["index\tprediction", *rows]) + "\n")
    words = ("vqa-ce", "score", demo / "vqa-ce", "--predictions", f"m={path}")
    ran = run_cli(*words)
    assert ran.code == 0, ran.err
    assert f"question ids without the q before each of them: {len(rows):,}" in ran.err
    path.write_text("\n".join(["index\tprediction", *rows[:-1], rows[-1].removeprefix("q")]) + "\n")
    assert run_cli(*words).code == 2  # not all of them are so


# ---- names on the command line, folders ----


def test_commas_part_files_and_belong_to_names_that_exist(tmp_path: Path) -> None:
    for name in ("a,b.json", "a", "c.json", "d,e,f.json"):
        (tmp_path / name).touch()
    (tmp_path / "x,y.zip").touch()
    given = "m=" + ",".join(
        str(tmp_path / name) for name in ("a,b.json", "c.json", "none.json", "d,e,f.json")
    )
    found = [path.name for path in file_lists([given], "--p")["m"]]
    assert found == ["a,b.json", "c.json", "none.json", "d,e,f.json"]
    (member,) = file_lists([f"m={tmp_path}/x,y.zip/inner,file.json"], "--p")["m"]
    assert member == tmp_path / "x,y.zip" / "inner,file.json"
    assert file_lists(["m=" + "a," * 300 + "a"], "--p")["m"] == [Path("a")] * 301
    assert file_lists(["m=a", "n=b", "m=c"], "--p") == {"m": [Path("a"), Path("c")], "n": [Path("b")]}


@pytest.mark.parametrize("given", ["m=a,,b", "m=a,", "m=,a"])
def test_a_comma_too_many(given: str) -> None:
    with pytest.raises(ConfigError, match=r"got '.*', expected files with one comma between them\."):
        file_lists([given], "--p")


def test_files_of_answers_are_found_and_others_named(tmp_path: Path) -> None:
    record = {"question_id": 1, "answer": "a"}
    for name, content in {
        "b.json": [record],
        "a.jsonl": record,
        "results.json": {"results": {"task": {}}},
        ".hidden.json": [record],
        "table.json": [{"uid": 1, "said": "a"}],
    }.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "notes.txt").write_text("question_id,answer\n1,a\n")
    (tmp_path / "sub").mkdir()
    found, others = files_in(tmp_path)
    assert [one.name for one in found] == ["a.jsonl", "b.json"]
    assert others == ["notes.txt", "results.json", "sub", "table.json"]
    assert [one.name for one in files_in(tmp_path, take_tables=True)[0]] == [
        "a.jsonl",
        "b.json",
        "table.json",
    ]
    (tmp_path / "cut.json").write_text('[{"question_id": 1, "ans')
    with pytest.raises(SourceError, match=r"cut\.json: got JSON that ends at byte 24 inside a value"):
        files_in(tmp_path)


def test_a_folder_with_nothing_but_a_folder_stands_for_it(tmp_path: Path) -> None:
    """Evaluators write into a folder of the model's name; of two models' the user has to say which."""
    (tmp_path / "results" / "the__model").mkdir(parents=True)
    answers = tmp_path / "results" / "the__model" / "samples.jsonl"
    answers.write_text('{"question_id": 1, "answer": "a"}\n')
    assert files_in(tmp_path) == ([answers], [])
    (tmp_path / "results" / "other").mkdir()
    with pytest.raises(SourceError, match="got a folder with 'other', 'the__model' and no file of answers"):
        files_in(tmp_path)


def test_a_folder_without_answers(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "other").mkdir()
    with pytest.raises(SourceError) as caught:
        files_in(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: got a folder with 'other', 'sub' and no file of answers, expected at least one right "
        "in it. Give the folder where they are, or the files."
    )
