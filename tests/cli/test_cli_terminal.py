"""What commands print on a terminal: nothing broken, nothing lost but columns, colour where there is some."""

import fcntl
import io
import json
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from cli.commands import CHECKOUT, RunCli, options

from shortcut_miner.cli.app import commands
from shortcut_miner.cli.layout import text_width
from shortcut_miner.cli.run import run

NAMES = ("llava-onevision-qwen2-72b", "a", "instructblip-vicuna-7b-finetuned-2024-11", "m4", "m_5", "m6")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

OnTerminal = Callable[..., tuple[int, str]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> OnTerminal:
    """Run a command in this process with a terminal as stdout, and return its exit code and that."""

    def run_command(width: int, *tokens: object, **env: str) -> tuple[int, str]:
        with monkeypatch.context() as patched:
            for name, value in {"COLUMNS": str(width), "NO_COLOR": "1", **env}.items():
                patched.setenv(name, value)
            terminal = Terminal()
            patched.setattr(sys, "stdout", terminal)
            code = run([str(token) for token in tokens])
        return code, terminal.getvalue()

    return run_command


@pytest.fixture(scope="session")
def long_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of labels of 30 letters and more."""
    path = tmp_path_factory.mktemp("long") / "long.csv"
    labels = ["stainless-steel-refrigerator-door", "a traffic light on a pole", "cat"]
    rows = [
        f'"{",".join(labels[: n % 3 + 1])}",{"the-very-long-answer" if n % 3 else "no"}' for n in range(30)
    ]
    path.write_text("labels,answer\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def models(option: str, path: Path) -> list[str]:
    return [option, *(f"{name}={path}" for name in NAMES)]


def command_lines(
    demo: Path, long_words: Path, world_files: dict[str, Path | None]
) -> dict[str, list[object]]:
    world, few = demo / "world", ["--resamples", 20]
    answers = world / "shortcut_model_results.json"
    regions = [
        text
        for kind in ("all", "relevant", "irrelevant")
        for text in models(f"--{kind}", world / f"shortcut_model_{kind}_regions.json")
    ]
    return {
        "vqa-ce score": [demo / "vqa-ce", *models("--predictions", answers), "--baseline", "a", *few],
        "rad score": [
            demo / "rad", *models("--original", answers),
            *models("--augmented", demo / "rad-answers" / "shortcut_model_results.json"), *few,
        ],
        "fpvg score": [demo / "fpvg", *regions, *few],
        "swapmix score": [
            demo / "swapmix",
            *models("--predictions", demo / "swapmix-answers" / "shortcut_model.parquet"), *few,
        ],
        "gqa-ood score": [
            demo / "gqa-ood", "--sweep",
            *models("--predictions", demo / "gqa-ood-answers" / "shortcut_model.json"), *few,
        ],
        "resplit score": [demo / "resplit", *models("--predictions", answers), *few],
        "pairs score": [demo / "pairs", *models("--predictions", answers), "--baseline", "a", *few],
        "slices build": [
            demo / "vqa-ce", "--predictions", f"{NAMES[0]}={answers}",
            "--predictions", f"{NAMES[1]}={world / 'grounded_model_results.json'}", "--baseline", NAMES[1],
            "--dry-run",
        ],
        "slices score": [demo / "slices", *models("--predictions", answers), "--baseline", NAMES[0], *few],
        "pope score": [
            demo / "pope", *models("--predictions", demo / "pope-answers" / "shortcut_model.json"), *few,
        ],
        "rules": [demo / "vqa-ce"],
        "explain": [demo / "vqa-ce", "101496003"],
        "fpvg show": [demo / "fpvg", "00000000", "--dry-run"],
        "swapmix show": [demo / "swapmix", "00000000", "--dry-run"],
        "mine": [long_words, "--objects", "labels", "--min-count", 2],
        "inspect": [demo / "vqa-ce", demo / "world" / "image_to_detection.json"],
        "vqa-ce sweep": [*options(world_files), "--limit", 300, "--min-counts", "4,8"],
        "rad build": ["--questions", world / "v2_OpenEnded_mscoco_val2014_questions.json",
                      "--annotations", world / "v2_mscoco_val2014_annotations.json", "--dry-run"],
    }  # fmt: skip


COMMANDS = (
    "vqa-ce score", "rad score", "fpvg score", "swapmix score", "slices build", "slices score",
    "rules", "explain", "mine", "inspect",
    "vqa-ce sweep", "rad build", "fpvg show", "swapmix show", "gqa-ood score", "pairs score",
    "pope score", "resplit score",
)  # fmt: skip


def without_time(text: str) -> str:
    return re.sub(r"^took .*(\n .*)*", "", text, flags=re.MULTILINE)


def words_in(text: str) -> set[str]:
    """Return what stands between spaces, without the commas of lists, lines, and seconds, which differ."""
    words = {word.rstrip(",") for word in without_time(text).split()}
    return {word for word in words if set(word) != {"─"}}


@pytest.mark.sample(5)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_and_no_number_is_broken(
    command: str,
    on_terminal: OnTerminal,
    run_cli: RunCli,
    demo: Path,
    long_words: Path,
    world_files: dict[str, Path | None],
) -> None:
    tokens = [*command.split(), *command_lines(demo, long_words, world_files)[command]]
    piped = run_cli(*tokens)
    assert piped.code == 0
    whole = words_in(piped.out)
    whole |= {part for word in whole if "_" in word for part in word.split("_")}
    for width in (80, 60, 40):
        code, out = on_terminal(width, *tokens)
        assert code == 0
        shown = out.splitlines()
        for line in shown:
            assert text_width(line) <= width or len(line.split()) <= 2, line
            assert line.count("[") == line.count("]"), line
        said = re.sub(r"\(no room for [^()]* shows all\)", "", " ".join(without_time(out).split()))
        assert words_in(said if "(no room" in out else out) - {"n", "value"} <= whole
        if command.endswith("score"):
            numbers = set(re.findall(r"-?\d+\.\d\d \[[^\]]*\]", piped.out))
            assert numbers
            assert {" ".join(one.split()) for one in numbers} <= {
                " ".join(one.split()) for one in re.findall(r"-?\d+\.\d\d\s+\[[^\]]*\]", out)
            }


def test_models_stand_below_each_other_where_columns_have_no_room(
    on_terminal: OnTerminal, run_cli: RunCli, demo: Path
) -> None:
    tokens = ["vqa-ce", "score", demo / "vqa-ce", "--resamples", 0, "--limit", 0]
    tokens += models("--predictions", demo / "world" / "shortcut_model_results.json")
    lines = on_terminal(60, *tokens)[1].splitlines()
    first = lines.index("overall, all, n 1,685")
    assert lines[first + 1 : first + 10] == [
        *(f"  {name:<40}  58.66" for name in NAMES),
        "  rules (best)                              58.36",
        "  rules (weighted)                          56.92",
        "subset, counterexamples, n 513",
    ]
    header = next(line for line in run_cli(*tokens).out.splitlines() if line.startswith("group"))
    assert header.split()[:4] == ["group", "subgroup", "n", NAMES[0]]


def test_columns_without_room_are_named(on_terminal: OnTerminal, run_cli: RunCli, built: Path) -> None:
    code, out = on_terminal(80, "rules", built, "--limit", 2)
    assert code == 0
    assert out.splitlines()[0].split() == [
        "rule", "words", "objects", "answer", "count", "of", "confidence", "q", "verdict",
    ]  # fmt: skip
    assert " ".join(out.split()).endswith(
        "(no room for lift, val rows, val confidence: a wider terminal or --format json shows all)"
    )
    wide, piped = on_terminal(200, "rules", built, "--limit", 2)[1], run_cli("rules", built, "--limit", 2).out
    assert wide == piped


def test_a_pipe_is_as_wide_as_needed_and_plain(
    run_cli: RunCli, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run_cli("rules", built, "--limit", 3).out
    monkeypatch.setenv("COLUMNS", "40")
    assert run_cli("rules", built, "--limit", 3).out == plain
    assert "\x1b" not in plain
    assert len(plain.splitlines()) == 5


def test_colour_may_be_forced_into_a_pipe(
    run_cli: RunCli, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run_cli("rules", built, "--limit", 3)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    coloured = run_cli("rules", built, "--limit", 3).out
    assert "\x1b[1mverdict\x1b[0m" in coloured
    assert COLOUR.sub("", coloured) == plain.out
    monkeypatch.setenv("NO_COLOR", "1")
    assert run_cli("rules", built, "--limit", 3).out == plain.out


def on_pty(width: int, *tokens: object, **env: str) -> str:
    """Return what a command in a process of its own prints on a real terminal."""
    child, terminal = pty.fork()
    if child == 0:
        for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(name, None)
        os.environ.update({"TERM": "xterm-256color", "PYTHONPATH": str(CHECKOUT), **env})
        os.execv(sys.executable, [sys.executable, "-m", "shortcut_miner", *map(str, tokens)])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    read = b""
    try:
        while block := os.read(terminal, 65536):
            read += block
    except OSError:  # the other side is closed
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    return read.decode().replace("\r\n", "\n")


def test_a_real_terminal_has_a_width_and_colour(on_terminal: OnTerminal, built: Path) -> None:
    tokens = ("rules", built, "--limit", 2, "--quiet")
    plain = on_terminal(72, *tokens)[1]
    coloured = on_pty(72, *tokens)
    assert COLOUR.sub("", coloured) == plain
    assert coloured.startswith("\x1b[1mrule\x1b[0m  \x1b[1mwords\x1b[0m")
    assert "\x1b[32mreal\x1b[0m" in coloured
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert on_pty(72, *tokens, **env) == plain


def test_messages_are_wrapped_on_a_terminal(tmp_path: Path) -> None:
    told = on_pty(60, "rules", tmp_path / "nowhere", NO_COLOR="1")
    lines = told.splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 60 or len(line.split()) == 1 for line in lines)
    assert " ".join(told.split()) == (
        f"error: {tmp_path / 'nowhere'}: got no such file or folder, expected what vqa-ce build or mine "
        "wrote, or the rules.parquet of it. Check the path."
    )


# ---- characters that act on a terminal ----

NASTY = "re\x1b[31md\x07 \x9b2J\u202ex"
ESCAPED = r"re\x1b[31md\x07 \x9b2J\u202ex"


def test_labels_answers_and_models_cannot_act_on_the_terminal(
    run_cli: RunCli, tmp_path: Path, built: Path, demo: Path
) -> None:
    table = tmp_path / "t.parquet"
    pl.DataFrame({"labels": [[NASTY]] * 9, "answer": [NASTY] * 9}).write_parquet(table)
    ran = run_cli("mine", table, "--objects", "labels")
    assert ran.out.splitlines()[2].count(ESCAPED) == 2
    document = run_cli("mine", table, "--objects", "labels", "--format", "json")
    assert document.json["rules"][0]["answer"] == NASTY
    answers = demo / "world" / "shortcut_model_results.json"
    scored = run_cli("vqa-ce", "score", built, "--predictions", f"{NASTY}={answers}", "--resamples", 0)
    assert scored.out.count(ESCAPED) == 2
    for text in (ran.out, document.out, scored.out, scored.err):
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text) is None


def test_file_names_cannot_act_on_the_terminal(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    folder = tmp_path / NASTY
    told = run_cli("rules", folder)
    assert told.err.startswith(f"error: {tmp_path / ESCAPED}: got no such file or folder")
    (tmp_path / f"{NASTY}.json").write_text(json.dumps([{"question_id": 1, "answer": "x"}]))
    for tokens in (
        ("inspect", tmp_path / f"{NASTY}.json"),
        ("explain", folder, NASTY),
        ("rules", built, NASTY),
    ):
        ran = run_cli(*tokens)
        assert r"\x1b[31m" in ran.out + ran.err
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", ran.out + ran.err) is None


def test_help_breaks_nothing_at_80_columns_and_has_no_style_without_colour(on_terminal: OnTerminal) -> None:
    frame = re.compile("[│╭╮╰╯─]")
    for command in commands():
        wide, narrow = (on_terminal(width, *command.words, "--help")[1] for width in (400, 80))
        assert "\x1b" not in narrow
        assert {*frame.sub(" ", narrow).split()} <= {*frame.sub(" ", wide).split()}, command.words


def test_names_may_begin_with_a_bracket(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    """Cyclopts would take them for JSON, and Rich for a style."""
    path = tmp_path / "[red][@x].json"
    path.write_bytes((demo / "world" / "grounded_model_results.json").read_bytes())
    assert run_cli("inspect", path).out.splitlines()[0] == str(path)
    assert "[red][@x].json" in on_pty(120, "inspect", path, NO_COLOR="1")
    tokens = ("--predictions", f"[m]={path}", "--resamples", 0, "--quiet")
    ran = run_cli("vqa-ce", "score", demo / "vqa-ce", *tokens)
    assert (ran.code, ran.err) == (0, "")
    assert run_cli("rules", demo / "vqa-ce", "--contains", "[x", "--quiet").err == (
        "warning: contains: got '[x', but no rule contains it.\n"
    )


def test_only_the_console_prints() -> None:
    """What is printed elsewhere would not be escaped."""
    files = sorted((CHECKOUT / "shortcut_miner" / "cli").glob("*.py"))
    assert [path.stem for path in files if re.search(r"\bprint\(", path.read_text())] == ["console"]
