"""``report`` on the command line, and at the end of the demo."""

import json
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli

from shortcut_miner.report import extra

pytest.importorskip("altair")
pytest.importorskip("vl_convert")


def test_the_console_says_what_the_page_shows_and_where_it_lies(
    run_cli: RunCli, built: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    ran = run_cli("report", built, "--out", out)
    assert ran.code == 0
    counts = json.loads((built / "manifest.json").read_text())["counts"]
    assert f"{counts['easy']:,} easy, {counts['counterexamples']:,} counterexamples" in ran.out
    assert f"{out} ({out.stat().st_size:,} bytes)" in ran.out
    assert f"next: open {out} in a browser" in ran.err


def test_as_json(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    ran = run_cli("report", built, "--out", out, "--limit", 30, "--format", "json")
    document = json.loads(ran.out)
    rules = len(pl.read_parquet(built / "rules.parquet"))
    assert document["out"] == str(out)
    assert document["size"] == out.stat().st_size
    assert document["rooms"][0]["numbers"]["rules"] == f"{rules:,}"
    assert "subset-sizes" in document["rooms"][0]["figures"]


def test_a_dry_run_writes_nothing(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    ran = run_cli("report", built, "--out", tmp_path / "x.html", "--charts", tmp_path / "charts", "--dry-run")
    assert ran.code == 0
    assert "nothing (dry run)" in ran.out
    assert [*tmp_path.iterdir()] == []


def test_faults_are_told_and_nothing_is_written(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("mine")
    for words in (
        ("report", tmp_path / "nowhere", "--out", tmp_path / "x.html"),
        ("report", built, "--out", mine),
        ("report", built, "--out", tmp_path),
        ("report", built, "--out", tmp_path / "x.html", "--scores", built),
        ("report", built, "--out", tmp_path / "x.html", "--images", "nowhere"),
        ("report", built, "--out", tmp_path / "x.html", "--limit", 0),
    ):
        ran = run_cli(*words)
        assert (ran.code, ran.out) == (2, ""), words
        assert "expected" in ran.err or "must be" in ran.err.lower(), ran.err
        assert "Traceback" not in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.html"]
    assert mine.read_text() == "mine"


@pytest.mark.slow
def test_the_demo_works_without_the_extra_and_says_how_to_get_it(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(asked: str) -> object:
        raise ImportError(asked)

    monkeypatch.setattr(extra, "import_module", without)
    ran = run_cli("demo", "--out", tmp_path / "demo")
    assert ran.code == 0
    assert "the report was left out: report: got no altair," in ran.err
    assert "pip install 'shortcut-miner[report]'" in ran.err
    assert not (tmp_path / "demo" / "report.html").exists()


def test_the_demo_refuses_a_page_of_the_users_before_its_work(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    ran = run_cli("demo", "--out", tmp_path)
    assert ran.code == 2
    assert "got a file that report did not write" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
