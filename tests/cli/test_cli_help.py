import os
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from cli.commands import CHECKOUT, RunCli
from PIL import Image

from shortcut_miner.cli.app import build_app, commands
from shortcut_miner.cli.command import Command
from shortcut_miner.rooms import NAMES

GROUPS = list(dict.fromkeys(command.words[0] for command in commands() if len(command.words) == 2))
PAGES = [(), *((group,) for group in GROUPS), *(command.words for command in commands())]
WRITING = {
    "demo", "build", "score", "sweep", "mine", "merge", "repeat", "report", "export", "recipe", "explain",
    "show", "power", "images", "leak-check",
}  # fmt: skip
HEAVY = (
    "polars", "numba", "pyarrow", "dataframely", "scipy", "numpy", "msgspec", "spacy", "pandas", "h5py",
    "zstandard", "mlxtend", "fastexcel",
)  # fmt: skip


def name_of(words: tuple[str, ...]) -> str:
    return " ".join(words) or "(top)"


def test_every_command_of_the_application_is_in_the_list() -> None:
    app = build_app()
    assert set(app) - {"--help", "-h", "--version"} == {command.words[0] for command in commands()}
    for group in GROUPS:
        words = {command.words[1] for command in commands() if command.words[0] == group != command.words[-1]}
        assert set(app[group]) - {"--help", "-h", "--version"} == words


@pytest.mark.parametrize("command", commands(), ids=lambda command: name_of(command.words))
def test_a_command_line_has_its_own_command(command: Command) -> None:
    app, whole = build_app(command.words[0]), build_app()
    for word in command.words:
        app, whole = app[word], whole[word]
    assert (app.name, app.help, app.help_epilogue) == (whole.name, whole.help, whole.help_epilogue)


def test_only_the_rooms_that_are_needed_are_loaded() -> None:
    code = "import sys; from shortcut_miner.cli.run import run; run(sys.argv[1:]); print(*sys.modules)"
    for words, needed in (("rules",), set()), (("rad", "build"), {"rad"}):
        command = [sys.executable, "-c", code, *words, "--help"]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        loaded = {name for name in NAMES if f"shortcut_miner.cli.{name}" in told.stdout.split()}
        assert loaded == needed


@pytest.mark.parametrize("command", commands(), ids=lambda command: name_of(command.words))
def test_every_command_has_help_an_example_and_the_common_options(command: Command, run_cli: RunCli) -> None:
    ran = run_cli(*command.words, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert len(command.help) > 30
    assert command.help[:30] in ran.out
    assert f"shortcut-miner {name_of(command.words)}" in command.example
    assert all(line in ran.out for line in command.example.splitlines())
    most = {("merge",): "--show", ("warm-up",): "--quiet"}  # how much is printed; one has nothing to cut
    for option in ("--format", "--quiet", most.get(command.words, "--limit")):
        assert option in ran.out
    is_writing = command.words[-1] in WRITING and command.words != ("recipe", "show")
    is_work = command.words == ("shard",)  # which writes to --work
    assert ("--dry-run" in ran.out, "--out" in ran.out) == (is_writing or is_work, is_writing)


@pytest.mark.parametrize("command", commands(), ids=lambda command: name_of(command.words))
def test_every_option_says_what_it_does(command: Command) -> None:
    app = build_app()
    for word in command.words:
        app = app[word]
    arguments = app.assemble_argument_collection(parse_docstring=True)
    shown = [argument for argument in arguments if argument.show and argument.names[:1] != ("*",)]
    assert len(shown) >= (2 if command.words == ("warm-up",) else 3)
    assert [argument.name for argument in shown if not argument.parameter.help] == []
    # What a docstring says of an option must be what is shown.
    told = " ".join((app.default_command.__doc__ or "").split())
    described = [one for one in shown if f" {one.field_info.name} : " in told and not one.children]
    assert [one.name for one in described if " ".join(one.parameter.help.split()) not in told] == []


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the checkout's package; a failure is an error."""
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, check=True)


def test_no_page_of_help_loads_anything_heavy() -> None:
    """In one process for all pages: what one page loads is still there after the next."""
    code = (
        "import sys; from shortcut_miner.cli.run import run\n"
        f"for words in {PAGES}:\n"
        "    code = run([*words, '--help'])\n"
        f"    print('ended:', *words, code, sorted(set({HEAVY}) & set(sys.modules)))"
    )
    done = python("-c", code)
    ended = [line for line in done.stdout.splitlines() if line.startswith("ended: ")]
    assert ended == [" ".join(["ended:", *words, "0", "[]"]) for words in PAGES]
    assert done.stderr == ""


def test_the_program_itself_loads_nothing_heavy_for_help() -> None:
    done = python("-X", "importtime", "-m", "shortcut_miner", "vqa-ce", "build", "--help")
    assert "--train-questions" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "cyclopts" in loaded
    assert sorted(loaded & set(HEAVY)) == []


def test_the_first_page_needs_no_digests_and_no_near_names() -> None:
    done = python("-X", "importtime", "-m", "shortcut_miner", "--help")
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "cyclopts" in loaded
    assert sorted(loaded & {"hashlib", "difflib"}) == []


def test_the_program_takes_the_allocator_that_keeps_less_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os, sys; from shortcut_miner.__main__ import main\n"
        "def ended(code):\n"
        "    import pyarrow\n"
        "    print('allocator:', pyarrow.default_memory_pool().backend_name)\n"
        "os._exit = ended; sys.argv[1:] = ['--version']; main()"
    )
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    assert python("-c", code).stdout.splitlines()[-1] == "allocator: system"
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "mimalloc")
    assert python("-c", code).stdout.splitlines()[-1] == "allocator: mimalloc"


def test_pages_name_the_exit_codes_and_the_way_in(run_cli: RunCli) -> None:
    page = " ".join(run_cli("--help").out.split())
    assert "Start here: shortcut-miner demo" in page
    for code in (0, 1, 2, 3, 101, 130):
        assert f"{code} " in page.split("Exit codes:")[1]


def test_a_group_alone_shows_its_commands(run_cli: RunCli) -> None:
    ran = run_cli("vqa-ce")
    assert (ran.code, ran.err) == (0, "")
    assert all(word in ran.out for word in ("build", "score", "sweep"))


def test_version(run_cli: RunCli) -> None:
    import shortcut_miner

    assert run_cli("--version").out.strip() == shortcut_miner.__version__


def write_images(demo: Path) -> None:
    """Write what the demo has no files of: the images of its questions."""
    (demo / "images").mkdir()
    boxes = pl.read_parquet(demo / "swapmix" / "boxes.parquet")
    sides = boxes.group_by("image_id").agg(pl.max("x2", "y2"), pl.first("width", "height"))
    for image_id, x2, y2, width, height in sides.iter_rows():
        size = (round(width or x2), round(height or y2))
        Image.new("RGB", size, "grey").save(demo / "images" / f"{image_id}.png")


@pytest.mark.slow
def test_the_examples_run_after_the_demo(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo_first = sorted(commands(), key=lambda command: command.words != ("demo",))
    for command in demo_first:
        monkeypatch.chdir(tmp_path)
        if command.words == ("fpvg", "images"):
            write_images(tmp_path / "shortcut-miner-demo")
        for line in command.example.replace("\\\n", " ").splitlines():
            first, *words = shlex.split(line, comments=True)
            if first == "cd":
                monkeypatch.chdir(words[0])
                continue
            assert first == "shortcut-miner"
            ran = run_cli(*words)
            assert (ran.code, "error" in ran.err) == (0, False), ran.err
            assert ran.out
