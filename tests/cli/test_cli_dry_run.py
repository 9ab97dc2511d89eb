"""A dry run is refused where a real run would be, in the same words; neither touches anything."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli, contents
from cli.writers import WRITERS, Inputs, Tokens

from shortcut_miner.claims import CLAIM
from shortcut_miner.cli.run import run
from shortcut_miner.storage import MANIFEST, RUN_RECORD

each_writer = pytest.mark.parametrize("name", WRITERS)


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


@pytest.mark.sample(8)
@each_writer
def test_somebodys_file(
    name: str, inputs: Inputs, written: Callable[[str], Path], run_cli: RunCli, tmp_path: Path
) -> None:
    tokens = WRITERS[name](inputs)[0]
    theirs = a_table(written(name))
    (tmp_path / theirs).write_text("mine")
    told = f"--out {tmp_path}: got a folder with '{theirs}', which"
    check_both_refused(run_cli, told, *tokens, out=tmp_path)


@pytest.mark.sample(5)
@each_writer
def test_another_commands_folder(name: str, inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    other = "rad" if name.startswith("vqa-ce") else "vqa-ce"
    out = Path(shutil.copytree(inputs.built(other), tmp_path / "out"))
    told = f"--out {out}: got a folder that {other} build wrote, expected an empty one"
    check_both_refused(run_cli, told, *WRITERS[name](inputs)[0], out=out)


@pytest.mark.sample(8)
@each_writer
def test_a_file_of_an_earlier_run_that_was_changed(
    name: str, inputs: Inputs, written: Callable[[str], Path], run_cli: RunCli, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(written(name), tmp_path / "out"))
    changed = a_table(out)
    (out / changed).write_text("mine")
    told = f"--out {out}: got '{changed}' changed since"
    check_both_refused(run_cli, told, *WRITERS[name](inputs)[0], out=out)


@pytest.mark.sample(4)
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


READERS = (
    "vqa-ce build",
    "vqa-ce sweep",
    "rad build",
    "fpvg build",
    "swapmix build",
    "gqa-ood build",
    "pope build",
    "mine",
)


@pytest.mark.parametrize("name", READERS)
def test_an_input_among_the_outputs(
    name: str, inputs: Inputs, written: Callable[[str], Path], run_cli: RunCli, tmp_path: Path
) -> None:
    tokens = WRITERS[name](inputs)[0]
    read = next(one for one in map(Path, map(str, tokens)) if one.is_file())
    os.link(read, tmp_path / a_table(written(name)))
    told = f"--out {tmp_path}: got the folder of a file that this run reads"
    check_both_refused(run_cli, told, *tokens, out=tmp_path)


@pytest.mark.sample(4)
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


def no_folder(kind: str, at: Path) -> Path:
    """Return a place, in a folder of its own, where no folder can be made."""
    at.mkdir()
    if kind == "a link that leads nowhere":
        (at / "out").symlink_to(at / "nowhere")
    elif kind == "below such a link":
        (at / "link").symlink_to(at / "nowhere")
        return at / "link" / "out"
    elif kind == "a link to itself":
        (at / "out").symlink_to(at / "out")
    elif kind == "below a file":
        (at / "file").write_text("mine")
        return at / "file" / "out"
    elif kind == "a name that is too long":
        return at / ("x" * 300)
    elif kind == "a claim that is a link":
        (at / "mine.txt").write_text("mine")
        (at / "out").mkdir()
        (at / "out" / CLAIM).symlink_to(at / "mine.txt")
    elif kind == "a claim that is a folder":
        (at / "out" / CLAIM).mkdir(parents=True)
    elif kind == "a claim that is somebody's file":
        (at / "out").mkdir()
        (at / "out" / CLAIM).write_text("mine")
    return at / "out"


NO_FOLDERS = {
    "a link that leads nowhere": "got a link that leads nowhere, expected a folder",
    "below such a link": "that leads nowhere, expected a folder",
    "a link to itself": "got a link that leads nowhere, expected a folder",
    "below a file": "got a path below the file",
    "a name that is too long": "got File name too long",
    "a claim that is a link": f"got a folder with a {CLAIM} that shortcut-miner did not write",
    "a claim that is a folder": f"got a folder with a {CLAIM} that shortcut-miner did not write",
    "a claim that is somebody's file": f"got a folder with a {CLAIM} that shortcut-miner did not write",
}


@pytest.mark.sample(16)
@pytest.mark.parametrize("kind", NO_FOLDERS)
@each_writer
def test_a_place_where_no_folder_can_be_made(
    name: str, kind: str, inputs: Inputs, run_cli: RunCli, tmp_path: Path
) -> None:
    out = no_folder(kind, tmp_path / "at")
    before = contents(tmp_path / "at")
    dry, real = (run_cli(*WRITERS[name](inputs)[0], "--out", out, *more) for more in (("--dry-run",), ()))
    assert (dry.code, real.code) == (2, 2), (dry, real)
    assert NO_FOLDERS[kind] in dry.err
    assert dry.err == real.err
    assert contents(tmp_path / "at") == before


@pytest.mark.parametrize("kind", [kind for kind in NO_FOLDERS if "claim" not in kind])
def test_a_place_where_no_work_folder_can_be_made(
    kind: str, inputs: Inputs, run_cli: RunCli, tmp_path: Path
) -> None:
    work = no_folder(kind, tmp_path / "at")
    table = inputs.built("vqa-ce") / "questions.parquet"
    words = ("shard", table, "--words", "words", "--min-count", 3, "--shards", 2, "--work", work)
    dry, real = (run_cli(*words, *more) for more in (("--dry-run",), ()))
    assert (dry.code, dry.err) == (2, real.err)
    assert "expected a folder that can be written" in dry.err


@pytest.mark.parametrize("kind", [kind for kind in NO_FOLDERS if "claim" not in kind])
def test_a_place_where_no_folder_of_data_can_be_made(
    kind: str, inputs: Inputs, run_cli: RunCli, tmp_path: Path
) -> None:
    data = no_folder(kind, tmp_path / "at")
    words = ("recipe", inputs.recipe("path"), "--out", tmp_path / "out", "--data-dir", data)
    dry, real = (run_cli(*words, *more) for more in (("--dry-run",), ()))
    assert (dry.code, dry.err) == (2, real.err)


def test_a_report_is_no_pipe(inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "page.html")
    words = ("report", inputs.built("rad"), "--out", tmp_path / "page.html")
    dry, real = (run_cli(*words, *more) for more in (("--dry-run",), ()))
    assert (dry.code, dry.err) == (2, real.err)
    assert "got a file that report did not write" in dry.err


def test_a_demo_beside_the_files_of_one_room(inputs: Inputs, run_cli: RunCli, tmp_path: Path) -> None:
    """Its report would be about this room alone."""
    (tmp_path / MANIFEST).write_text("{}")
    check_both_refused(run_cli, f"got a folder with a {MANIFEST}, expected none", "demo", out=tmp_path)


@pytest.mark.sample(5)
@each_writer
def test_a_name_that_libraries_read_as_a_pattern(
    name: str, inputs: Inputs, run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    ran = run_cli(*WRITERS[name](inputs)[0], "--out", "~/[o]*?")
    assert ran.code == 0, ran.err
    assert (tmp_path / "~" / "[o]*?" / MANIFEST).is_file()
    assert not (tmp_path / "home").exists()
