"""``recipe NAME``, ``recipe list``, ``recipe show``: what they print, and how they end."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.commands import Ran, contents, start_cli
from recipes.conftest import Publisher
from recipes.official_files import local_recipe
from recipes.serving import Server, stall

from shortcut_miner.cli.run import run
from shortcut_miner.recipes import lock as lock_module
from shortcut_miner.recipes import run as run_module
from shortcut_miner.recipes.lock import LOCK_NAME
from shortcut_miner.recipes.recipe import recipe_names

RunCli = Callable[..., Ran]


@pytest.fixture
def run_cli(capfd: pytest.CaptureFixture[str]) -> RunCli:
    def run_command(*tokens: object) -> Ran:
        capfd.readouterr()
        code = run([str(token) for token in tokens])
        return Ran.of(code, *capfd.readouterr())

    return run_command


def test_the_list_has_every_recipe(run_cli: RunCli) -> None:
    ran = run_cli("recipe", "list")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines()[2:]] == recipe_names()
    assert [*run_cli("recipe", "list", "--format", "json").json["recipes"]] == recipe_names()
    assert [*run_cli("recipe", "list", "--limit", 2, "--format", "json").json["recipes"]] == recipe_names()[
        :2
    ]


def test_a_recipe_says_where_its_files_are_from_and_that_nobody_checked(run_cli: RunCli) -> None:
    ran = run_cli("recipe", "show", "vqa-ce")
    assert (ran.code, ran.err) == (0, "")
    for text in (
        "Dancette, Cadene, Teney, Cord",
        "from     https://s3.amazonaws.com/cvmlp/vqa/mscoco/vqa/v2_Questions_Train_mscoco.zip",
        "SHA-256  not known: what is met first is trusted, and pinned in the lock file",
        "licence  CC BY 4.0",
        "63,298",
    ):
        assert text in ran.out
    assert ran.out.count("checked  no: nobody has compared these addresses and digests yet") == 5
    told = run_cli("recipe", "show", "vqa-ce", "--format", "json").json
    assert told["sources"]["image_to_detection.json"]["checked"] is False
    assert [one["value"] for one in told["expected"]][1:4] == [63_298, 147_681, 3_375]


def test_a_checked_source_says_so(run_cli: RunCli, tmp_path: Path) -> None:
    path = local_recipe("rad-vqa-cp", "https://a.example", tmp_path / "own.toml")
    path.write_text(path.read_text().replace("checked = false", "checked = true\nsize = 1234567"))
    ran = run_cli("recipe", "show", path)
    assert ran.out.count("checked  yes") == 2
    assert "size     1,234,567 bytes" in ran.out


def test_a_dry_run_says_what_is_there_and_writes_nothing(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "vqacp_v2_test_questions.json").write_text("[]")
    path = local_recipe("rad-vqa-cp", "http://127.0.0.1:9", tmp_path / "own.toml")
    before = contents(tmp_path)
    more = ("--data-dir", tmp_path / "data", "--out", tmp_path / "out", "--dry-run")
    ran = run_cli("recipe", path, *more)
    assert (ran.code, ran.err) == (0, "")
    assert "  vqacp_v2_test_questions.json    found\n" in ran.out
    url = "http://127.0.0.1:9/vqacp_v2_test_annotations.json"
    assert f"  vqacp_v2_test_annotations.json  to download from {url}\n" in ran.out
    told = run_cli("recipe", path, *more, "--format", "json").json
    assert (told["missing"], told["built"]) == (["vqacp_v2_test_annotations.json"], None)
    assert contents(tmp_path) == before


def test_what_a_run_prints(publisher: Publisher, web: Server, run_cli: RunCli, tmp_path: Path) -> None:
    publisher.publish("vqa-ce-words", web)
    path = local_recipe("vqa-ce-words", web.base, tmp_path / "words.toml", [1685])
    ran = run_cli("recipe", path, "--data-dir", tmp_path / "data", "--out", tmp_path / "out")
    assert ran.code == 0
    assert "  v2_Questions_Val_mscoco.zip      downloaded\n" in ran.out
    assert "published                          1 of 1 numbers met\n" in ran.out
    assert f"written                            {tmp_path / 'out'}\n" in ran.out
    trusted = f"note: trusted on first use, and expected from now on: v2_Questions_Val_mscoco.zip, {web.base}"
    assert trusted in ran.err
    again = run_cli(
        "recipe", path, "--data-dir", tmp_path / "data", "--out", tmp_path / "out", "--format", "json"
    )
    assert again.code == 0
    assert "trusted" not in again.err
    assert (len(again.json["found"]), again.json["downloaded"], again.json["agrees"]) == (4, [], True)
    assert again.json["expected"] == [
        {"name": "val_questions", "expected": 1685, "got": 1685, "tolerance": 0, "is_met": True}
    ]


def test_a_lock_file_elsewhere(publisher: Publisher, web: Server, run_cli: RunCli, tmp_path: Path) -> None:
    publisher.publish("vqa-ce-words", web)
    path = local_recipe("vqa-ce-words", web.base, tmp_path / "words.toml")
    lock = tmp_path / "paper" / "lock.json"
    more = ("--data-dir", tmp_path / "data", "--lock", lock, "--out", tmp_path / "out", "--limit", 400)
    assert run_cli("recipe", path, *more).code == 0
    assert len(json.loads(lock.read_text())["files"]) == 4
    assert not (tmp_path / "data" / LOCK_NAME).exists()


# ---- what is told before anything is downloaded ----


def refused_first(run_cli: RunCli, web: Server, tmp_path: Path, out: Path, *more: object) -> str:
    path = local_recipe("vqa-ce-words", web.base, tmp_path / "words.toml")
    ran = run_cli("recipe", path, "--data-dir", tmp_path / "data", "--out", out, *more)
    assert (ran.code, ran.out, web.asked) == (2, "", [])
    return ran.err


def test_a_folder_of_somebody_else_s(web: Server, run_cli: RunCli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "manifest.json").write_text("{}")
    err = refused_first(run_cli, web, tmp_path, out)
    assert "got a folder with a manifest.json that shortcut-miner did not write" in err
    assert [one.name for one in out.iterdir()] == ["manifest.json"]


def test_a_library_that_is_missing(
    web: Server, run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "find_spec", lambda name: None)
    ran = run_cli("recipe", "fpvg-gqa", "--data-dir", tmp_path / "data", "--out", tmp_path / "out")
    assert ran.code == 2
    assert "Run pip install 'shortcut-miner[gqa]'" in ran.err
    assert not (tmp_path / "data").exists()


def test_a_lock_file_that_can_t_be_written(
    web: Server, run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.access
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.setattr(lock_module.os, "access", lambda path, how: real(path, how) and Path(path) != closed)
    err = refused_first(run_cli, web, tmp_path, tmp_path / "out", "--lock", closed / "lock.json")
    assert "got a folder that can't be written, expected one that can" in err


@pytest.mark.slow
def test_ctrl_c_ends_a_download_that_goes_on_later(publisher: Publisher, web: Server, tmp_path: Path) -> None:
    publisher.publish("rad-vqa-cp", web)
    name, until = "vqacp_v2_test_annotations.json", threading.Event()
    web.faults[name] = [stall(1000, until)]
    path = local_recipe("rad-vqa-cp", web.base, tmp_path / "own.toml")
    path.write_text(path.read_text().replace('needs = { spacy = "rad", inflect = "rad" }\n', ""))
    part = tmp_path / "data" / f".{name}.part"
    with start_cli("recipe", path, "--data-dir", tmp_path / "data", "--out", tmp_path / "out") as process:
        while not (part.exists() and part.stat().st_size == 1000) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        until.set()
    assert process.returncode == 130
    assert "interrupted" in err
    assert part.stat().st_size == 1000
    assert not (tmp_path / "data" / name).exists()
    assert not (tmp_path / "out").exists()
