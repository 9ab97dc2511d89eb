"""A folder that is there already: what is ours is replaced when asked, what is not stays."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.commands import RunCli, contents, options, tiny_world, write_world

from shortcut_miner import journal

Files = dict[str, Path | None]
SMALL = ("--min-count", 2, "--threads", 1)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_world(tiny_world(), tmp_path / "in")


@pytest.fixture
def out(run_cli: RunCli, files: Files, tmp_path: Path) -> Path:
    assert run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", tmp_path / "out").code == 0
    return tmp_path / "out"


def refused(ran: Any, told: str) -> bool:
    return (ran.code, ran.out) == (2, "") and told in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_somebodys_folder_is_left_alone(
    force: tuple[str, ...], run_cli: RunCli, files: Files, tmp_path: Path
) -> None:
    """The finding: with a stranger's manifest.json, thesis.tex and data.csv were deleted."""
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "manifest.json").write_text('{"files": ["thesis.tex", "data.csv"]}')
    (out / "thesis.tex").write_text("years of work")
    (out / "data.csv").write_text("a,b\n")
    before = contents(out)
    build = ("vqa-ce", "build", *options(files), *SMALL, *force)
    told = f"error: --out {out}: got a folder with a manifest.json that shortcut-miner did not write"
    assert refused(run_cli(*build, "--out", out), told)
    assert contents(out) == before
    (out / "manifest.json").unlink()
    (out / "questions.parquet").write_text("mine")
    told = f"error: --out {out}: got a folder with 'questions.parquet', which vqa-ce build did not write"
    assert refused(run_cli(*build, "--out", out), told)
    (out / "questions.parquet").rename(out / "my-questions.parquet")
    assert run_cli(*build, "--out", out).code == 0
    assert {name: contents(out)[name] for name in ("thesis.tex", "data.csv")} == {
        name: before[name] for name in ("thesis.tex", "data.csv")
    }
    assert contents(out)["my-questions.parquet"] == b"mine"


def test_out_may_be_where_the_inputs_are(
    run_cli: RunCli, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "in")
    before = contents(Path())
    for _ in range(2):
        assert run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", ".").code == 0
        assert {name: content for name, content in contents(Path()).items() if name in before} == before


def test_other_options_need_force(run_cli: RunCli, files: Files, out: Path) -> None:
    before = contents(out)
    build = ("vqa-ce", "build", *options(files), "--threads", 1, "--out", out)
    again = run_cli(*build, "--min-count", 2)
    assert again.code == 0
    assert again.err.startswith("backend: ") and again.err.count("\n") == 1
    assert contents(out, without=("run.json",)) == {
        name: content for name, content in before.items() if name != "run.json"
    }
    for more, told in (
        (("--min-count", 3), "min_count 2, now 3"),
        ((), "min_count 2, now 8"),
        (("--min-count", 2, "--limit", 7), "limit none, now 7"),
        (("--min-support", 0.5), "min_count 2, now none, min_support none, now 0.5"),
    ):
        assert refused(run_cli(*build, *more), f"wrote with other options ({told}), expected the same.")
    assert json.loads((out / "manifest.json").read_text())["config"]["min_count"] == 2
    assert run_cli(*build, "--force").code == 0
    assert json.loads((out / "manifest.json").read_text())["config"]["min_count"] == 8


def test_what_is_read_is_not_overwritten(run_cli: RunCli, out: Path, tmp_path: Path) -> None:
    """The finding: rad build --questions s/questions.parquet --out s overwrote its own input."""
    before = contents(out)
    table, questions = out / "rules.parquet", out / "questions.parquet"
    mine = ("mine", table, "--words", "antecedent_words")
    rad = ("rad", "build", "--questions", questions)
    for tokens, read in ((mine, f"table {table}"), (rad, f"questions {questions}")):
        for force in ((), ("--force",)):
            told = f"got the folder of a file that this run reads ({read})"
            assert refused(run_cli(*tokens, "--out", out, *force), told)
    assert contents(out) == before
    rules = tmp_path / "rules"
    assert run_cli("mine", out / "rules.parquet", "--words", "antecedent_words", "--out", rules).code == 0
    shutil.copy(rules / "rules.parquet", tmp_path / "table.parquet")
    again = ("mine", rules / "rules.parquet", "--words", "antecedent_words", "--out", rules)
    assert refused(run_cli(*again), f"(table {rules / 'rules.parquet'}) and might replace")


def test_scores_do_not_replace_the_answers_that_they_are_of(
    run_cli: RunCli, files: Files, out: Path, tmp_path: Path
) -> None:
    scores = tmp_path / "scores"
    answers = tmp_path / "answers.json"
    answers.write_bytes((out / "rules_predictions.json").read_bytes())
    score = ("vqa-ce", "score", out, "--resamples", 10, "--out", scores)
    for _ in range(2):
        assert run_cli(*score, "--predictions", f"m={answers}").code == 0
    there = scores / "scores.json"
    told = f"got the folder of a file that this run reads (predictions {there}) and might replace"
    assert refused(run_cli(*score, "--predictions", f"m={there}"), told)
    assert refused(run_cli(*score, "--seed", 1, "--predictions", f"m={answers}"), "(seed 0, now 1)")
    assert run_cli(*score, "--seed", 1, "--predictions", f"m={answers}", "--force").code == 0
    (scores / "scores.tex").write_text("\\edited")
    told = "got 'scores.tex' changed since vqa-ce score wrote the folder"
    assert refused(run_cli(*score, "--predictions", f"m={answers}", "--force"), told)
    assert (scores / "scores.tex").read_text() == "\\edited"


def test_a_demo_of_another_seed_needs_force(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "swapmix-scores").mkdir()
    (tmp_path / "swapmix-scores" / "manifest.json").write_text("{}")
    told = "swapmix-scores: got a folder with a manifest.json that shortcut-miner did not write"
    assert refused(run_cli("demo", "--out", tmp_path), told)
    assert [path.name for path in tmp_path.iterdir()] == ["swapmix-scores"]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "reader", ["rules", "rules file", "explain", "inspect", "inspect file", "mine", "build"]
)
def test_whoever_reads_finishes_what_was_interrupted(
    reader: str, run_cli: RunCli, files: Files, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(out)
    build = ("vqa-ce", "build", *options(files), *SMALL, "--min-confidence", 0.9, "--force", "--out", out)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(journal, "_apply", stop)
        assert run_cli(*build).code == 130
    left = contents(out)
    assert {name: left[name] for name in before} == before
    tokens: dict[str, tuple[object, ...]] = {
        "rules": ("rules", out),
        "rules file": ("rules", out / "rules.parquet"),
        "explain": ("explain", out, 2000),
        "inspect": ("inspect", out),
        "inspect file": ("inspect", out / "easy.json"),
        "mine": ("mine", out / "questions.parquet", "--words", "words", "--min-count", 1),
        "build": build,
    }
    assert run_cli(*tokens[reader]).code in (0, 1)
    assert json.loads((out / "manifest.json").read_text())["config"]["min_confidence"] == 0.9
    assert not [name for name in contents(out) if name.startswith(".")]
    assert run_cli("inspect", out).code == 0


def test_a_demo_that_would_meet_a_file_in_a_rooms_folder_writes_nothing(
    run_cli: RunCli, tmp_path: Path
) -> None:
    out = tmp_path / "demo"
    (out / "vqa-ce").mkdir(parents=True)
    (out / "vqa-ce" / "rules.parquet").write_text("mine")
    ran = run_cli("demo", "--out", out)
    assert ran.code == 2
    assert "got a folder with 'rules.parquet', which vqa-ce build did not write" in ran.err
    assert contents(out) == {"vqa-ce/rules.parquet": b"mine"}
