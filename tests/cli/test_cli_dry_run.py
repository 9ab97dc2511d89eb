"""A dry run is refused where a real run would be, in the same words; neither touches anything."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli, contents
from cli.writers import WRITERS, Inputs, Tokens, write_inputs

from shortcut_miner.cli.run import run
from shortcut_miner.demo import DemoWorld
from shortcut_miner.storage import MANIFEST, RUN_RECORD

each_writer = pytest.mark.parametrize("name", WRITERS)


@pytest.fixture(scope="module")
def inputs(world: DemoWorld, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return write_inputs(world, tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def written(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what gives the folder that a command wrote."""
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("written") / "out"
            assert run([*map(str, WRITERS[name](inputs)[0]), "--out", str(made[name])]) == 0
        return made[name]

    return of


def check_both_refused(run_cli: RunCli, told: str, *tokens: object, out: Path) -> None:
    """Check that a dry and a real run end with the same words, and leave the folder as it is."""
    before = contents(out)
    dry, real = (run_cli(*tokens, "--out", out, *more) for more in (("--dry-run",), ()))
    assert (dry.code, real.code) == (2, 2), (dry, real)
    assert told in dry.err
    assert dry.err == real.err
    assert contents(out) == before


def a_table(folder: Path) -> str:
    """Return the name of a file that a command wrote: its questions where it has some."""
    names = sorted(path.name for path in folder.iterdir() if path.name not in (MANIFEST, RUN_RECORD))
    return "questions.parquet" if "questions.parquet" in names else names[0]


@each_writer
def test_somebodys_file(
    name: str, inputs: Inputs, written: Callable[[str], Path], run_cli: RunCli, tmp_path: Path
) -> None:
    tokens = WRITERS[name](inputs)[0]
    theirs = a_table(written(name))
    (tmp_path / theirs).write_text("mine")
    told = f"--out {tmp_path}: got a folder with '{theirs}', which"
    check_both_refused(run_cli, told, *tokens, out=tmp_path)


@each_writer
def test_another_commands_folder(name: str, inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    other = "rad" if name.startswith("vqa-ce") else "vqa-ce"
    out = Path(shutil.copytree(inputs.built(other), tmp_path / "out"))
    told = f"--out {out}: got a folder that {other} build wrote, expected an empty one"
    check_both_refused(run_cli, told, *WRITERS[name](inputs)[0], out=out)


@each_writer
def test_a_file_of_an_earlier_run_that_was_changed(
    name: str, inputs: Inputs, written: Callable[[str], Path], run_cli: RunCli, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(written(name), tmp_path / "out"))
    changed = a_table(out)
    (out / changed).write_text("mine")
    told = f"--out {out}: got '{changed}' changed since"
    check_both_refused(run_cli, told, *WRITERS[name](inputs)[0], out=out)


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "recipe"])  # it learns of options later
def test_an_earlier_run_of_other_options(
    name: str, inputs: Inputs, written: Callable[[str], Path], run_cli: RunCli, tmp_path: Path
) -> None:
    tokens = [token for token in WRITERS[name](inputs)[1] if token != "--force"]
    out = Path(shutil.copytree(written(name), tmp_path / "out"))
    if name == "repeat":  # of other inputs, and the same options
        assert run_cli(*tokens, "--out", out, "--dry-run").code == 0
        return
    told = f"--out {out}: got a folder that "
    check_both_refused(run_cli, told, *tokens, out=out)
    before = contents(out)
    assert run_cli(*tokens, "--out", out, "--dry-run", "--force").code == 0
    assert contents(out) == before


READERS = ("vqa-ce build", "vqa-ce sweep", "rad build", "fpvg build", "swapmix build", "mine")


@pytest.mark.parametrize("name", READERS)
def test_an_input_among_the_outputs(
    name: str, inputs: Inputs, written: Callable[[str], Path], run_cli: RunCli, tmp_path: Path
) -> None:
    tokens = WRITERS[name](inputs)[0]
    read = next(one for one in map(Path, map(str, tokens)) if one.is_file())
    os.link(read, tmp_path / a_table(written(name)))
    told = f"--out {tmp_path}: got the folder of a file that this run reads"
    check_both_refused(run_cli, told, *tokens, out=tmp_path)


@each_writer
def test_where_a_real_run_would_write_nothing_is_written(
    name: str, inputs: Inputs, written: Callable[[str], Path], run_cli: RunCli, tmp_path: Path
) -> None:
    tokens: Tokens = WRITERS[name](inputs)[0]
    assert run_cli(*tokens, "--out", tmp_path / "new", "--dry-run").code == 0
    assert [*tmp_path.iterdir()] == []
    out = Path(shutil.copytree(written(name), tmp_path / "out"))
    (out / "notes.txt").write_text("mine")
    before = contents(out)
    assert run_cli(*tokens, "--out", out, "--dry-run").code == 0
    assert contents(out) == before


@pytest.mark.parametrize("place", ["world", "rad", "fpvg-scores", "report.html"])
def test_the_demos_folders(place: str, run_cli: RunCli, tmp_path: Path) -> None:
    if place == "report.html":
        (tmp_path / place).write_text("mine")
    else:
        (tmp_path / place).mkdir()
        (tmp_path / place / MANIFEST).write_text("{}")
    check_both_refused(run_cli, f"--out {tmp_path / place}: got a f", "demo", out=tmp_path)


def test_the_reports_files(inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    page, charts = tmp_path / "page.html", tmp_path / "charts"
    page.write_text("mine")
    words = ("report", inputs.built("rad"))
    dry, real = (run_cli(*words, "--out", page, *more) for more in (("--dry-run",), ()))
    assert dry.err == real.err
    assert dry.err.startswith(f"error: --out {page}: got a file that report did not write")
    charts.mkdir()
    (charts / "one.png").write_text("mine")
    words = (*words, "--out", tmp_path / "new.html", "--charts", charts)
    dry, real = (run_cli(*words, *more) for more in (("--dry-run",), ()))
    assert (dry.code, dry.err) == (2, real.err)
    assert "'one.png', which report did not write" in dry.err


@pytest.mark.parametrize("room", ["fpvg", "swapmix"])
def test_a_pictures_file(room: str, inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    out = tmp_path / "mine.png"
    out.write_text("mine")
    words = (room, "show", inputs.built(room), "00000000", "--out", out)
    dry, real = (run_cli(*words, *more) for more in (("--dry-run",), ()))
    assert (dry.code, dry.err) == (2, real.err)
    assert f"--out {out}: got a file that shortcut-miner did not write" in dry.err


def test_an_explanations_picture(inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    out = tmp_path / "mine.png"
    out.write_text("mine")
    question = inputs.built("vqa-ce")
    some_id = str(pl.read_parquet(question / "split.parquet")["question_id"][0])
    words = ("explain", question, some_id, "--out", out)
    dry, real = (run_cli(*words, *more) for more in (("--dry-run",), ()))
    assert (dry.code, dry.err) == (2, real.err)
    assert f"--out {out}: got a file that shortcut-miner did not write" in dry.err


def test_the_work_folder_of_shards(inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    table = inputs.built("vqa-ce") / "questions.parquet"
    words = ("shard", table, "--words", "words", "--min-count", 3, "--shards", 2, "--work")
    dry = run_cli(*words, tmp_path / "new", "--dry-run")
    assert (dry.code, [*tmp_path.iterdir()]) == (0, [])
    assert dry.out.startswith("2 shards of ")
    (tmp_path / "mine.txt").write_text("mine")
    dry, real = (run_cli(*words, tmp_path, *more) for more in (("--dry-run",), ()))
    assert (dry.code, dry.err) == (2, real.err)
    assert f"{tmp_path}: got a folder that shortcut-miner did not make" in dry.err
    assert contents(tmp_path) == {"mine.txt": b"mine"}


def test_the_work_folder_beside_what_is_written(inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    """A real run in small memory would keep its rows there."""
    (tmp_path / ".out.work").mkdir()
    (tmp_path / ".out.work" / "mine.txt").write_text("mine")
    words = (*WRITERS["mine"](inputs)[0], "--shards", 2, "--out", tmp_path / "out")
    dry, real = (run_cli(*words, *more) for more in (("--dry-run",), ()))
    assert (dry.code, dry.err) == (2, real.err)
    assert f"{tmp_path / '.out.work'}: got a folder that shortcut-miner did not make" in dry.err
    assert contents(tmp_path) == {".out.work/mine.txt": b"mine"}
