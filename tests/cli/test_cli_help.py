import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli.commands import CHECKOUT, RunCli

from shortcut_miner.cli.app import COMMANDS, GROUPS, Command, build_app

PAGES = [(), *((group,) for group in GROUPS), *(command.words for command in COMMANDS)]
WRITING = {"demo", "build", "score", "sweep", "mine"}
HEAVY = ("polars", "numba", "pyarrow", "dataframely", "scipy", "numpy", "msgspec")


def name_of(words: tuple[str, ...]) -> str:
    return " ".join(words) or "(top)"


def test_every_command_of_the_application_is_in_the_list() -> None:
    app = build_app()
    assert set(app) - {"--help", "-h", "--version"} == {command.words[0] for command in COMMANDS}
    for group in GROUPS:
        assert set(app[group]) - {"--help", "-h", "--version"} == {
            command.words[1] for command in COMMANDS if command.words[0] == group
        }


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: name_of(command.words))
def test_every_command_has_help_an_example_and_the_common_options(command: Command, run_cli: RunCli) -> None:
    ran = run_cli(*command.words, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert len(command.help) > 30
    assert command.help[:30] in ran.out
    assert f"shortcut-miner {name_of(command.words)}" in command.example
    assert all(line in ran.out for line in command.example.splitlines())
    for option in ("--format", "--quiet", "--limit"):
        assert option in ran.out
    assert ("--dry-run" in ran.out) == (command.words[-1] in WRITING)
    assert ("--out" in ran.out) == (command.words[-1] in WRITING)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: name_of(command.words))
def test_every_option_says_what_it_does(command: Command) -> None:
    app = build_app()
    for word in command.words:
        app = app[word]
    arguments = app.assemble_argument_collection(parse_docstring=True)
    shown = [argument for argument in arguments if argument.show and argument.names[:1] != ("*",)]
    assert len(shown) > 3
    assert [argument.name for argument in shown if not argument.parameter.help] == []


@pytest.mark.parametrize("words", PAGES, ids=name_of)
def test_help_loads_nothing_heavy_and_takes_little_time(words: tuple[str, ...]) -> None:
    code = (
        "import sys; from shortcut_miner.cli.run import run; code = run([*sys.argv[1:], '--help']);"
        f"print('heavy:', sorted(set({HEAVY}) & set(sys.modules)), code)"
    )
    costs = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            capture_output=True,
            text=True,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert done.stdout.splitlines()[-1] == "heavy: [] 0"
        assert done.stderr == ""
    assert min(costs) < 0.3  # processor time: wall time depends on what else the machine does


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


def test_the_examples_run_in_their_order(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in COMMANDS:
        monkeypatch.chdir(tmp_path)
        for line in command.example.replace("\\\n", " ").splitlines():
            first, *words = shlex.split(line, comments=True)
            if first == "cd":
                monkeypatch.chdir(words[0])
                continue
            assert first == "shortcut-miner"
            ran = run_cli(*words)
            assert (ran.code, "error" in ran.err) == (0, False), ran.err
            assert ran.out
