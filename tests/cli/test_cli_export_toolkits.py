"""Exports to other people's toolkits, and their answers back: the commands that are printed do it."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from cli.commands import CHECKOUT, RunCli

STEMS = [f"vqa-ce_{subset}" for subset in ("counterexamples", "easy", "hard")]
Answers = dict[str, str]


def records(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="ascii")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)


def answered(asked: list[dict[str, Any]], answers: Answers) -> str:
    """Return answers as these toolkits write them: the number they keep, and a text."""
    return json.dumps(
        [{"question_id": one["question_id"], "answer": answers[one["question_id"]]} for one in asked]
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def answer_lxmert(out: Path, results: Path, answers: Answers) -> None:
    asked = records(out / "vqa-ce_questions.json")
    write(results / "lxmert-results" / "vqa-ce" / "test_predict.json", answered(asked, answers))


def answer_lavis(out: Path, results: Path, answers: Answers) -> None:
    for stem in STEMS:
        found = answered(records(out / f"{stem}.json"), answers)
        folder = results / "lavis-results" / stem / "20261128150" / "result"
        write(folder / "val_vqa_result.json", found)
        (folder / "val_vqa_result_rank0.json").write_text(found)


def answer_mmf(out: Path, results: Path, answers: Answers) -> None:
    for stem in STEMS:
        found = answered(records(out / f"{stem}.jsonl"), answers)
        write(results / "mmf-results" / stem / "vqa2_run_test_2026-11-28T15:00:00.json", found)


def answer_vlmevalkit(out: Path, results: Path, answers: Answers) -> None:
    table = pd.read_csv(out / "vqa_ce_openended.tsv", sep="\t")
    table["prediction"] = [answers[one] for one in table["question_id"]]
    path = results / "vlmevalkit-results" / "MODEL" / "T20261128-150000" / "MODEL_vqa_ce_openended.xlsx"
    path.parent.mkdir(parents=True)
    table.to_excel(path, index=False, engine="xlsxwriter")


TOOLKITS: dict[str, Callable[[Path, Path, Answers], None]] = {
    "lxmert": answer_lxmert,
    "lavis": answer_lavis,
    "mmf": answer_mmf,
    "vlmevalkit": answer_vlmevalkit,
}


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Path]:
    """Return a folder with the command as people have it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "shortcut-miner"
    python = f"PYTHONPATH={shlex.quote(str(CHECKOUT))} {shlex.quote(sys.executable)}"
    command.write_text(f'#!/bin/sh\n{python} -m shortcut_miner "$@"\n')
    command.chmod(0o755)
    yield folder


@pytest.mark.sample(1)
@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_answers_score_as_they_do_without_the_toolkit(
    run_cli: RunCli, built: Path, tmp_path: Path, program: Path, toolkit: str
) -> None:
    given = built / "rules_predictions.json"
    direct = run_cli("vqa-ce", "score", built, "--predictions", f"MODEL={given}", "--format", "json")
    out = tmp_path / "my export"
    exported = run_cli("export", built, "--to", toolkit, "--out", out, "--format", "json")
    assert (direct.code, exported.code) == (0, 0), direct.err + exported.err
    answers = {one["question_id"]: one["answer"] for one in json.loads(given.read_text())}
    # VLMEvalKit has ids as text.
    answers |= {f"q{number}": answer for number, answer in answers.items()}
    TOOLKITS[toolkit](out, tmp_path, answers)
    done = subprocess.run(
        ["sh", "-e", "-c", f"{exported.json['read_back']} --format json"],
        cwd=tmp_path,
        env={"PATH": f"{program}:{Path(sys.executable).parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"] == direct.json["scores"]
    assert direct.json["scores"]["accuracy"]["overall"]["all"]["MODEL"]["value"] > 0


# Toolkit -> where its program runs, and the files of the export that it is handed.
HANDED = {
    "lxmert": ("lxmert-run", ["vqa-ce_questions.json"]),
    "lavis": ("LAVIS", [f"{stem}.json" for stem in STEMS]),
    "mmf": ("mmf", [f"{stem}.jsonl" for stem in STEMS]),
    "vlmevalkit": ("VLMEvalKit", ["run_short_answers.py"]),
}
# Says where it is, what it got, and what is in the folders that hold data.
PROGRAM = """#!/bin/sh
echo "in $(pwd):"
printf '%s\\n' "$@"
ls "${LMUData:-.}"
cat data/vqa/test.json 2> /dev/null || true
"""


@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_the_commands_hand_the_files_to_the_toolkit(
    run_cli: RunCli, built: Path, tmp_path: Path, toolkit: str
) -> None:
    out = tmp_path / "it's out"
    exported = run_cli("export", built, "--to", toolkit, "--out", out, "--format", "json")
    programs = tmp_path / "bin"
    for folder in (
        programs,
        tmp_path / "lxmert/data/vqa",
        *(tmp_path / place for place, _ in HANDED.values()),
    ):
        folder.mkdir(parents=True)
    (tmp_path / "lxmert/data/vqa/trainval_ans2label.json").write_text("{}")
    for name in ("git", "pip", "python", "mmf_predict"):
        write(programs / name, PROGRAM)
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["sh", "-e", "-c", exported.json["run"]],
        cwd=tmp_path,
        env={"PATH": f"{programs}:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    place, files = HANDED[toolkit]
    assert f"in {tmp_path / place}:" in done.stdout
    for path in (out / name for name in files):
        assert path.is_file()
        handed = path.read_text() if toolkit == "lxmert" else str(path)
        assert handed in done.stdout
    assert ("vqa_ce_openended.tsv\n" in done.stdout) == (toolkit == "vlmevalkit")


@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_an_export_has_the_same_bytes_again(
    run_cli: RunCli, built: Path, tmp_path: Path, toolkit: str
) -> None:
    for name in ("a", "b"):
        assert run_cli("export", built, "--to", toolkit, "--out", tmp_path / name).code == 0
    written = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir() if path.name != "run.json"}
        for name in ("a", "b")
    ]
    assert written[0] == written[1]


@pytest.mark.parametrize("toolkit", TOOLKITS)
def test_subsets_alone_are_exported(run_cli: RunCli, built: Path, tmp_path: Path, toolkit: str) -> None:
    out = tmp_path / "out"
    assert run_cli("export", built, "--to", toolkit, "--subset", "hard", "--out", out).code == 0
    hard = pl.read_parquet(built / "split.parquet").filter(subset="hard")["question_id"]
    if toolkit == "vlmevalkit":
        found = (
            pd.read_csv(out / "vqa_ce_openended.tsv", sep="\t")["question_id"].str.removeprefix("q").to_list()
        )
    else:
        (path,) = out.glob("vqa-ce_hard.json*")
        found = [str(one["question_id"]) for one in records(path)]
    assert sorted(found) == sorted(hard)
    assert not list(out.glob("vqa-ce_easy*"))
