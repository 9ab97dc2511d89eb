"""What the site's own pages show is run in the demo's folder: Python as it is, commands with their output."""

import doctest
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from shortcut_miner import rooms
from shortcut_miner.cli.run import run

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
AS_SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMAND = re.compile(r"^(?:\$ )?shortcut-miner (.+)", re.MULTILINE)


def with_blocks(*kinds: str) -> list[str]:
    """Return the pages that have blocks to run; benchmarks and clusters of docs/scale.md are not at hand."""
    pages = (path for path in sorted(DOCS.rglob("*.md")) if path.name != "scale.md")
    return [
        str(path.relative_to(DOCS))
        for path in pages
        if any(kind in kinds for kind, _ in BLOCK.findall(path.read_text(encoding="utf-8")))
    ]


class Shown(NamedTuple):
    """A command and what a page says that it prints."""

    words: list[str]
    output: str


def commands(block: str) -> Iterator[Shown]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = re.sub(r" *\\\n *", " ", part).partition("\n")
        yield Shown(shlex.split(command), output)


def test_there_are_how_tos() -> None:
    pages = with_blocks("console", "python")
    assert {"how-to/reproduce-a-table.md", "how-to/own-data.md", "how-to/check-a-vlm.md"} <= {*pages}


@pytest.mark.slow
@pytest.mark.parametrize("page", with_blocks("console", "python"))
def test_its_blocks_run(
    page: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    folder = shutil.copytree(demo, tmp_path / "demo")
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    for kind, block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, page, "exec"), names)
        elif kind == "console":
            shown = [*commands(block)]
            assert shown, f"{page}: a console block without a command:\n{block}"
            for one in shown:
                check(one, capfd)


def check(shown: Shown, capfd: pytest.CaptureFixture[str]) -> None:
    program, *words = shown.words
    assert program == "shortcut-miner"
    capfd.readouterr()
    code = run(words)
    out, err = capfd.readouterr()
    assert code == 0, err
    matches = doctest.OutputChecker().check_output(shown.output, out, AS_SHOWN)
    assert matches, f"{shlex.join(words)}\nshown:\n{shown.output}\nprinted:\n{out}"


def commands_in_text() -> list[str]:
    """Return the commands of all blocks of all pages, READMEs too, a line each."""
    paths = [CHECKOUT / "README.md", *DOCS.rglob("*.md"), *(CHECKOUT / "shortcut_miner").rglob("README.md")]
    found = set()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            joined = re.sub(r" *\\\n *", " ", block)
            found |= {one.split(" && ")[0].partition("   ")[0] for one in COMMAND.findall(joined)}
    return sorted(found)


def test_every_option_shown_anywhere_is_one(capfd: pytest.CaptureFixture[str]) -> None:
    help_of: dict[tuple[str, ...], str] = {}
    for command in commands_in_text():
        words = shlex.split(command, comments=True)
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        is_room = words[0] in rooms.WORDS
        name = tuple(words[: 2 if is_room else 1])
        if name not in help_of:
            assert run([*name, "--help"]) == 0
            help_of[name] = capfd.readouterr().out
        lacking = [option for option in options if option not in help_of[name]]
        assert not lacking, f"shortcut-miner {command}: no option {lacking}"
