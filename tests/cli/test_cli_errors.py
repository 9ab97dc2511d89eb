import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_args

import pytest
from cli.commands import CHECKOUT, RunCli, options, tiny_world, write_world

from shortcut_miner.cli.app import build_app, commands
from shortcut_miner.cli.command import Command
from shortcut_miner.cli.run import run
from shortcut_miner.mining.frames import lookup

Files = dict[str, Path | None]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_world(tiny_world(), tmp_path / "in")


# ---- bad usage ----

NEEDED = (
    "--train-questions", "q", "--train-annotations", "a", "--val-questions", "v", "--val-annotations", "w",
)  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (("frobnicate",), ["frobnicate", "Available commands", "vqa-ce", "shortcut-miner --help"]),
        (("vqa-ce", "bild"), ["bild", "build", "shortcut-miner vqa-ce --help"]),
        (("vqa-ce", "build"), ["--train-questions", "shortcut-miner vqa-ce build --help"]),
        (("vqa-ce", "build", *NEEDED), ["--out: got none", "--dry-run"]),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--min-cuont", "3"), ["--min-cuont", "--min-count"]),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--min-count", "x"), ["--min-count", '"x"']),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--min-count", "2.5"), ["--min-count: got 2.5", "whole"]),
        (("rules", "nowhere", "--limit", "1e3"), ["--limit", '"1e3"']),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--min-count", "0"), ["min_count", "got 0", "1 or more"]),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--min-confidence", "nan"), ["min_confidence", "nan"]),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--preset", "cod"), ['"cod"', "--preset", '"code"']),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--threads", "0"), ["--threads", "0", ">= 1"]),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--limit", "-1"), ["--limit", "-1", ">= 1"]),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "extra"), ["'extra'", "options only"]),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--format", "xml"), ['"xml"', "--format"]),
        (
            ("vqa-ce", "build", *NEEDED, "--out", "o", "--min-count", "3", "--min-support", "0.1"),
            ["min_count and min_support", "--min-support"],
        ),
        (("vqa-ce", "build", *NEEDED, "--out", "o", "--items", "both"), ["--detections", "--items words"]),
        (("vqa-ce", "sweep", *NEEDED, "--min-counts", "8,x"), ["--min-counts", "8,x", "whole numbers"]),
        (("vqa-ce", "sweep", *NEEDED, "--min-confidences", "0.3,2"), ["min_confidences", "0 to 1"]),
        (("vqa-ce", "sweep", *NEEDED, "--min-count", "3"), ["--min-count:", "--min-counts"]),
        (("vqa-ce", "sweep", *NEEDED, "--min-confidence", "0.4"), ["--min-confidence:", "--min-confidences"]),
        (("vqa-ce", "sweep", *NEEDED, "--min-support", "0.4"), ["--min-support", "--min-counts"]),
        (("vqa-ce", "score", "d"), ["--predictions"]),
        (("vqa-ce", "score", "d", "--predictions", "f.json"), ["'f.json'", "NAME=FILE"]),
        (("vqa-ce", "score", "d", "--predictions", "m=f", "--out", "d"), ["--out d", "build's own folder"]),
        (("rules",), ["SOURCE: missing, expected a value. Give it."]),
        (("rules", "nowhere"), ["nowhere: got no such file or folder", "rules.parquet"]),
        (("rules", "nowhere", "--limit", "-1"), ["--limit", "-1", ">= 0"]),
        (("explain", "nowhere", "1"), ["nowhere", "no such folder", "vqa-ce build"]),
        (("inspect",), ["PATHS"]),
        (("inspect", "nowhere.json"), ["nowhere.json", "no such file"]),
        (("mine", "t.csv"), ["t.csv", "no such file"]),
        (("mine", "t.csv", "--words", "w"), ["t.csv", "no such file"]),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_bad_usage_is_one_message_and_exit_code_2(
    tokens: tuple[str, ...],
    told: list[str],
    run_cli: RunCli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_cli(*tokens)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert all(part in ran.err for part in told), ran.err
    assert "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == []


# ---- missing arguments and options ----

NEEDED_BY: dict[str, tuple[str, ...]] = {
    "vqa-ce build": ("--train-questions", "--val-questions", "--out"),
    "vqa-ce score": ("FOLDER", "--predictions"),
    "vqa-ce sweep": ("--train-questions", "--val-questions"),
    "rad build": ("--questions", "--out"),
    "rad score": ("--original", "--augmented"),
    "fpvg build": ("--questions", "--scene-graphs", "--detections", "--out"),
    "fpvg score": ("FOLDER", "--all", "--relevant", "--irrelevant"),
    "fpvg images": ("FOLDER", "--images", "--out"),
    "fpvg show": ("FOLDER", "QUESTION_ID", "--out"),
    "swapmix images": ("FOLDER", "--images", "--out"),
    "swapmix show": ("FOLDER", "QUESTION_ID", "--out"),
    "swapmix build": ("--questions", "--scene-graphs", "--out"),
    "gqa-ood build": ("--questions", "--out"),
    "gqa-ood score": ("FOLDER", "--predictions"),
    "pairs score": ("FOLDER", "--predictions"),
    "slices score": ("FOLDER", "--predictions"),
    "pope build": ("--objects", "--out"),
    "pope score": ("--predictions",),
    "resplit build": ("--questions", "--out"),
    "resplit score": ("FOLDER", "--predictions"),
    "mine": ("TABLE",),
    "shard": ("TABLE", "--work"),
    "merge": ("WORK",),
    "rules": ("SOURCE",),
    "explain": ("FOLDER", "QUESTION_ID"),
    "inspect": ("PATHS",),
    "export": ("FOLDER", "--to", "--out"),
    "leak-check": ("FOLDER",),
    "repeat": ("FOLDER",),
    "recipe": ("NAME",),
    "report": ("FOLDER",),
    "verify": ("FOLDER",),
    "recipe show": ("NAME",),
}  # fmt: skip
INSTEAD = {"mine": ", or --shard instead"} | dict.fromkeys(
    ("vqa-ce build", "vqa-ce sweep"), ", or --table instead"
)


def test_every_command_that_needs_something_is_listed() -> None:
    def needs(command: Command) -> bool:
        app = build_app()
        for word in command.words:
            app = app[word]
        arguments = app.assemble_argument_collection()
        hints = [hint for one in arguments for hint in (one.hint, *get_args(one.hint))]
        return any(one.required for one in arguments) or any(hasattr(hint, "ways") for hint in hints)

    found = {" ".join(command.words) for command in commands() if needs(command)}
    assert found == {*NEEDED_BY} - {"mine"}  # whose table may be left out, for a shard


@pytest.mark.parametrize("command", NEEDED_BY)
def test_all_that_is_missing_is_told_at_once(command: str, run_cli: RunCli) -> None:
    ran = run_cli(*command.split())
    advice = "a value. Give it" if len(NEEDED_BY[command]) == 1 else "a value for each. Give them"
    assert (ran.code, ran.out, ran.err) == (
        2,
        "",
        f"error: {', '.join(NEEDED_BY[command])}: missing, expected {advice}{INSTEAD.get(command, '')}. "
        f"See: shortcut-miner {command} --help\n",
    )


def test_what_is_given_is_not_missing(run_cli: RunCli) -> None:
    ran = run_cli("vqa-ce", "build", "--train-questions", "nope.json", "--val-anotations", "x", "--dry-run")
    assert ran.err == (
        "error: --val-questions: missing, expected a value. Give it. --val-anotations is unknown. "
        "Did you mean '--val-annotations'? See: shortcut-miner vqa-ce build --help\n"
    )


def test_the_other_way_to_give_questions_is_not_missing(run_cli: RunCli) -> None:
    ran = run_cli("vqa-ce", "build", "--val-table", "nope.csv", "--dry-run")
    assert ran.err.startswith("error: --table: missing, expected a value. Give it. See: ")
    ran = run_cli("vqa-ce", "build", "--tabel", "nope.csv", "--dry-run")
    assert "Give them, or --table instead. --tabel is unknown. Did you mean '--table'?" in ran.err
    ran = run_cli("vqa-ce", "build", "--table", "t.csv", "--train-annotations", "a.json", "--dry-run")
    assert ran.err == (
        "error: train_annotations, table: got questions in two ways, expected one of them. "
        "Leave out --train-annotations, or --table.\n"
    )


@pytest.mark.sample(8)
@pytest.mark.parametrize("last", [(), ("--quiet",)])
@pytest.mark.parametrize("command", commands(), ids=lambda command: " ".join(command.words))
def test_every_option_without_its_value_is_told(
    command: Command, last: tuple[str, ...], run_cli: RunCli
) -> None:
    app = build_app()
    for word in command.words:
        app = app[word]
    arguments = app.assemble_argument_collection()
    options = [one for one in arguments if one.name.startswith("--") and one.hint not in (bool, bool | None)]
    assert options
    for option in options:
        ran = run_cli(*command.words, option.name, *last)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            f"error: {option.name}: got no value (missing), expected one. Give it after {option.name}. "
            f"See: shortcut-miner {' '.join(command.words)} --help\n"
        )


# ---- everything else that may be raised ----


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (OSError(28, "No space left on device", "x.json"), 2, ["error: x.json: got No space left on device"]),
        (MemoryError(), 2, ["error: the memory is full", "--limit"]),
        (KeyboardInterrupt(), 130, ["interrupted: no half-written file"]),
        (ZeroDivisionError("by zero.\nmore"), 101, ["bug in shortcut-miner: ZeroDivisionError: by zero. "]),
        (
            RuntimeError("parquet: Invalid parameter: zstd error: Allocation error : not enough memory"),
            2,
            ["error: the limits of this process: got 'not enough memory'", "ulimit -v"],
        ),
        (AssertionError(), 101, ["bug in shortcut-miner: AssertionError. Please report it"]),
        (ValueError("told badly"), 101, ["bug in shortcut-miner: ValueError: told badly"]),
        (BaseException("a panic"), 101, ["bug in shortcut-miner: BaseException: a panic"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_exception_becomes_one_line(
    error: BaseException,
    code: int,
    told: list[str],
    run_cli: RunCli,
    built: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    make = tempfile.mkstemp
    monkeypatch.setattr(tempfile, "mkstemp", lambda **names: make(dir=tmp_path, **names))
    monkeypatch.setattr(lookup, "find_rules", fail)
    ran = run_cli("rules", built)
    assert (ran.code, ran.out) == (code, "")
    assert len(ran.err.splitlines()) == 1
    assert all(part in ran.err for part in told), ran.err


def test_a_bug_leaves_its_traceback_in_a_file(
    run_cli: RunCli, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "find_rules", lambda *_, **__: {}["no such key"])
    make = tempfile.mkstemp
    monkeypatch.setattr(tempfile, "mkstemp", lambda **names: make(dir=tmp_path, **names))
    ran = run_cli("rules", built)
    (told,) = tmp_path.iterdir()
    assert ran.err.endswith(f"Please report it with the traceback in {told}.\n")
    assert "Traceback (most recent call last)" in told.read_text()
    assert "no such key" in told.read_text()


def test_a_bug_is_told_even_without_room_for_a_file(
    run_cli: RunCli, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lookup, "find_rules", lambda *_, **__: {}["no such key"])
    monkeypatch.setattr(tempfile, "mkstemp", fail)
    ran = run_cli("rules", built)
    assert ran.code == 101
    assert "Please report it with this traceback.\nTraceback (most recent call last)" in ran.err


# ---- streams ----


def shell(command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which $SM is the program."""
    program = f"{sys.executable} -m shortcut_miner"
    known = {**os.environ, "PYTHONPATH": str(CHECKOUT), "SM": program, **env}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], env=known, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", ["rules {built} --limit 100000", "--help", "rules {built} --format json"])
def test_a_closed_pipe_is_quiet(command: str, built: Path) -> None:
    done = shell(f"$SM {command.format(built=built)} 2> >(grep -v ' rules' >&2) | head -1 > /dev/null")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_behind_stdout_is_an_error(built: Path) -> None:
    done = shell(f"$SM rules {built} > /dev/full")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: got No space left on device")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_letters_that_the_terminal_lacks_are_escaped(tmp_path: Path, built: Path) -> None:
    (tmp_path / "t.csv").write_text("w,answer\n" + "été,naïve\n" * 9, encoding="utf-8")
    line = f"$SM mine {tmp_path / 't.csv'} --words w"
    done = shell(line, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert r"na\xefve" in done.stdout
    assert "naïve" in shell(line, PYTHONUTF8="1").stdout


def test_quiet_leaves_the_result_and_warnings(run_cli: RunCli, files: Files) -> None:
    small = (*options(files), "--min-count", 2, "--dry-run")
    loud, quiet = run_cli("vqa-ce", "build", *small), run_cli("vqa-ce", "build", *small, "--quiet")
    assert (loud.code, quiet.code) == (0, 0)
    assert quiet.err == ""
    without_time = [line for line in quiet.out.splitlines() if not line.startswith("took")]
    assert without_time == [line for line in loud.out.splitlines() if not line.startswith("took")]
    cut = run_cli("vqa-ce", "build", *small, "--quiet", "--max-rules", 3)
    assert cut.code == 3
    assert cut.err.startswith("warning: mining stopped after max_rules = 3 antecedents")


def test_run_never_prints_progress_where_stderr_is_no_terminal(run_cli: RunCli, files: Files) -> None:
    ran = run_cli("vqa-ce", "build", *options(files), "--min-count", 2, "--dry-run")
    assert "\x1b" not in ran.err + ran.out
    assert "encode" not in ran.err


def test_stages_are_shown_on_a_terminal(files: Files, built: Path) -> None:
    line = " ".join(
        ["script -qec '$SM vqa-ce build", *options(files), "--min-count 2 --dry-run' /dev/null < /dev/null"]
    )
    done = shell(line, TERM="xterm")
    assert done.returncode == 0
    assert any(stage in done.stdout for stage in ("read", "encode", "mine", "match"))
    assert done.stdout.rstrip().splitlines()[-1].startswith("took") or "took" in done.stdout


def test_main_ends_the_process_with_the_exit_code(built: Path) -> None:
    assert shell("$SM rules nowhere").returncode == 2
    assert shell(f"$SM rules {built} --answer nobody --format json").stdout.strip() != ""


def test_run_returns_and_never_raises() -> None:
    assert run(["--version"]) == 0
