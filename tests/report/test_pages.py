"""The page: what it says without scripts, the same bytes for the same folders, and every odd folder."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from report.folders import PLAIN, Folders, build_rows, data_of, text_of

import shortcut_miner as sm
from shortcut_miner import rooms
from shortcut_miner.cli.run import run
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.report.found import find_rooms
from shortcut_miner.report.report import write_html_report
from shortcut_miner.rooms import NAMES

RULES = "room-0-all-rules-data"


def test_sizes_and_counts_are_text_with_commas(folders: Folders) -> None:
    told = text_of(folders.page.read_text(encoding="utf-8"))
    split = folders.table("vqa-ce", "split")["subset"].value_counts()
    for subset, count in split.iter_rows():
        assert f"{subset} {count:,}" in told
    rules = len(folders.table("vqa-ce", "rules"))
    assert rules > 1000
    assert f"rules {rules:,}" in told
    assert f"{rules:,} rules in all." in told
    augmentations = len(folders.table("rad", "augmentations"))
    assert f"augmentations {augmentations:,}" in told


def test_the_first_rules_are_there_without_scripts(folders: Folders) -> None:
    told = text_of(folders.page.read_text(encoding="utf-8"))
    first = folders.table("vqa-ce", "rules").row(0, named=True)
    items = " + ".join(first["antecedent_words"] + first["antecedent_objects"])
    assert f"{items} {first['answer']} {first['rule_count']:,} {first['antecedent_count']:,}" in told


def test_the_folder_of_rooms_is_one_page(folders: Folders) -> None:
    page = folders.page.read_text(encoding="utf-8")
    assert [*re.findall(r'<article id="(room-\d)"', page)] == [
        f"room-{number}" for number in range(len(NAMES))
    ]
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in re.findall(r'href="(#[^"]+)"', page)} <= {*ids}


def test_every_chart_has_its_place(folders: Folders) -> None:
    page = folders.page.read_text(encoding="utf-8")
    charts = data_of(page, "charts-data")["charts"]
    places = re.findall(r'<div class="chart" id="([^"]+)" role="img" aria-label="[^"]{20,}"', page)
    assert {*charts} == {*places}
    assert len(charts) > 40


def test_nothing_is_loaded_from_elsewhere(folders: Folders) -> None:
    page = folders.page.read_text(encoding="utf-8")
    bare = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    assert re.findall(r'\b(?:src|href)="([^#][^"]*)"', bare) == ["data:,"]
    assert "default-src 'none'" in page


@pytest.mark.slow
def test_the_same_folder_gives_the_same_bytes(folders: Folders, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(folders.out, moved)
    code = "import sys; from shortcut_miner.report.report import write_html_report as w; w(*sys.argv[1:3])"
    runs = {}
    for number, threads in enumerate(("1", "2")):
        environment = os.environ | {"PYTHONHASHSEED": str(number), "POLARS_MAX_THREADS": threads}
        out = tmp_path / f"{number}.html"
        runs[out] = subprocess.Popen([sys.executable, "-c", code, moved, out], env=environment)
    for out, writing in runs.items():
        assert writing.wait() == 0
        assert out.read_bytes() == folders.page.read_bytes()


def test_a_room_alone_and_its_scores_are_found_or_given(folders: Folders, page: Path) -> None:
    alone = write_html_report(folders.out / "vqa-ce", page)
    assert "Models" not in [section.title for section in alone.rooms[0].sections]
    scored = write_html_report(folders.out / "vqa-ce", page, scores=[folders.out / "vqa-ce-scores"])
    assert [section.title for section in scored.rooms[0].sections] == [
        "Subsets", "Rules", "Models", "All rules", "What was read",
    ]  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("room", rooms.WORDS)
def test_scores_alone_have_a_page(folders: Folders, page: Path, room: str) -> None:
    written = write_html_report(folders.out / f"{room}-scores", page)
    assert [section.title for section in written.rooms[0].sections] == ["Models", "What was read"]
    assert written.rooms[0].sections[0].figures


@pytest.mark.parametrize("room", rooms.WORDS)
def test_a_build_without_scores_has_a_page(folders: Folders, page: Path, room: str) -> None:
    written = write_html_report(folders.out / room, page)
    assert "Models" not in [section.title for section in written.rooms[0].sections]
    assert written.rooms[0].numbers


def test_rules_of_any_table_have_a_page(tmp_path: Path, page: Path) -> None:
    table = tmp_path / "table.jsonl"
    rows = [{"words": ["win", "cash"], "answer": "spam"}, {"words": ["lunch"], "answer": "ham"}] * 4
    table.write_text("\n".join(map(json.dumps, rows)))
    assert (
        run(["mine", str(table), "--words", "words", "--min-count", "3", "--out", str(tmp_path / "mined")])
        == 0
    )
    rules = pl.read_parquet(tmp_path / "mined" / "rules.parquet")
    (room,) = write_html_report(tmp_path / "mined", page).rooms
    assert {one.label: one.value for one in room.numbers} == {
        "rows": "8",
        "rules": f"{len(rules)}",
        "answers": "2",
    }
    text = page.read_text(encoding="utf-8")
    held = data_of(text, RULES)
    assert held["columns"]["rule_count"] == rules["rule_count"].to_list()
    assert held["questions"] == {}
    assert "open a rule to see its measures." in text_of(text)
    assert [one.place for one in write_html_report(tmp_path, page).rooms] == ["mined"]


# ---- odd folders ----


def test_no_rules(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN, min_count=5)
    assert pl.read_parquet(built / "rules.parquet").is_empty()
    written = write_html_report(built, page)
    told = text_of(page.read_text(encoding="utf-8"))
    assert "No rules." in told
    assert "hard 6" in told
    assert "easy 0" in told
    assert {one.label: one.value for one in written.rooms[0].numbers}["rules"] == "0"


def test_one_rule(tmp_path: Path, page: Path) -> None:
    rows = [("what", [], "yes")] * 3
    built = build_rows(tmp_path / "rows", rows, rows, items="words", min_confidence=0.5)
    assert len(pl.read_parquet(built / "rules.parquet")) == 1
    write_html_report(built, page)
    text = page.read_text(encoding="utf-8")
    assert "1 rule in all." in text_of(text)
    data = data_of(text, RULES)
    assert data["columns"]["confidence"] == [1]
    assert data["supporting"] == [[0, 1, 2]]
    assert data["counterexamples"] == [[]]


def test_empty_subsets(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, [("what is it", ["dog"], "a dog")])
    written = write_html_report(built, page)
    assert {one.label: one.value for one in written.rooms[0].numbers}["counterexamples"] == "0"


def test_no_types(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN)
    written = write_html_report(built, page)
    names = [figure.name for section in written.rooms[0].sections for figure in section.figures]
    assert "subset-sizes" in names
    assert "answer-type" not in names


def test_more_rules_than_a_page_may_hold(folders: Folders, page: Path) -> None:
    rules = folders.table("vqa-ce", "rules")
    written = write_html_report(folders.out / "vqa-ce", page, most_rules=90)
    text = page.read_text(encoding="utf-8")
    held = data_of(text, "room-0-the-strongest-rules-data")
    ids = held["columns"]["rule_id"]
    assert held["total"] == len(rules)
    assert len(ids) == 90
    assert f"Of {len(rules):,} rules it holds {len(ids):,}" in text_of(text)
    assert {*range(10)} <= {*ids}
    for measure in ("lift", "leverage", "rule_count"):
        top = rules.sort([measure, "rule_id"], descending=[True, False])["rule_id"].head(10)
        assert {*top} <= {*ids}, measure
    assert written.rooms[0].numbers[3].value == f"{len(rules):,}"


def test_differences_to_a_baseline(folders: Folders, tmp_path: Path, page: Path) -> None:
    models = {
        name: folders.out / "world" / f"{name}_results.json" for name in ("grounded_model", "shortcut_model")
    }
    out = tmp_path / "scores"
    sm.vqa_ce.score(folders.out / "vqa-ce", models, baseline="shortcut_model", out=out, resamples=10)
    written = write_html_report(folders.out / "vqa-ce", page, scores=[out])
    figures = {figure.name: figure for section in written.rooms[0].sections for figure in section.figures}
    assert "Differences to shortcut_model" in figures["differences"].title
    assert len(figures["differences"].charts) == 4


def test_models_of_the_same_name_in_two_folders_are_told_apart(
    folders: Folders, tmp_path: Path, page: Path
) -> None:
    other = tmp_path / "again"
    shutil.copytree(folders.out / "vqa-ce-scores", other)
    written = write_html_report(folders.out / "vqa-ce", page, scores=[folders.out / "vqa-ce-scores", other])
    figures = {figure.name: figure for section in written.rooms[0].sections for figure in section.figures}
    models = figures["accuracy"].table["model"].unique().to_list()
    assert "grounded_model (again)" in models
    assert "grounded_model (vqa-ce-scores)" in models


def test_scores_of_another_build_are_refused(folders: Folders, tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN)
    with pytest.raises(SourceError, match="scores of another build than any here"):
        write_html_report(built, page, scores=[folders.out / "vqa-ce-scores"])
    assert not page.exists()


def test_a_build_is_no_scores(folders: Folders, page: Path) -> None:
    with pytest.raises(SourceError, match=r"--scores: got '.*rad', expected folders that a score command"):
        write_html_report(folders.out / "rad", page, scores=[folders.out / "rad"])


def test_a_folder_without_rooms_is_told(tmp_path: Path, page: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(
        SourceError, match="got no folder of a room in it, expected what build or score of vqa-ce"
    ):
        write_html_report(tmp_path / "nothing", page)


def test_what_no_room_wrote_is_told(folders: Folders, page: Path) -> None:
    with pytest.raises(SourceError, match="got what 'demo' wrote, expected"):
        write_html_report(folders.out / "world", page)


def test_manifests_of_other_programs_beside_rooms_are_passed_over(
    folders: Folders, tmp_path: Path, page: Path
) -> None:
    shutil.copytree(folders.out / "rad", tmp_path / "all" / "rad")
    (tmp_path / "all" / "web").mkdir()
    (tmp_path / "all" / "web" / "manifest.json").write_text(json.dumps({"name": "a web application"}))
    assert [room.place for room in write_html_report(tmp_path / "all", page).rooms] == ["rad"]


def test_two_builds_of_a_room_keep_their_own_scores(folders: Folders, tmp_path: Path, page: Path) -> None:
    for name in ("rad", "rad-scores"):
        shutil.copytree(folders.out / name, tmp_path / "all" / name)
        shutil.copytree(folders.out / name, tmp_path / "all" / name.replace("rad", "rad-again"))
    written = write_html_report(tmp_path / "all", page)
    assert [(room.place, "Models" in [one.title for one in room.sections]) for room in written.rooms] == [
        ("rad", True), ("rad-again", True),
    ]  # fmt: skip


def test_scores_go_to_the_build_that_they_record(folders: Folders, tmp_path: Path, page: Path) -> None:
    """Two builds with the same options, on other rows: only what scores record tells whose they are."""
    rows = {"one": PLAIN, "two": [*PLAIN, ("what is it", ["dog"], "a dog")]}
    builds = {name: build_rows(tmp_path / name, PLAIN, val) for name, val in rows.items()}
    answers = tmp_path / "answers.csv"
    answers.write_text("question_id,answer\n" + "".join(f"val{at},a dog\n" for at in range(7)))
    place = tmp_path / "all"
    for name, build in builds.items():
        other = "two" if name == "one" else "one"
        shutil.copytree(build, place / name)
        sm.vqa_ce.score(build, {"m": answers}, out=place / f"{other}-scores", on_extra="ignore", resamples=10)
    found = find_rooms(place)
    assert {room.place: [one.path.name for one in room.scores] for room in found} == {
        "one": ["two-scores"], "two": ["one-scores"],
    }  # fmt: skip
    with pytest.raises(SourceError, match="scores of another build than any here"):
        write_html_report(place / "one", page, scores=[place / "one-scores"])
    for name in rows:  # as older versions wrote them: by options, and then by name
        path = place / f"{name}-scores" / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["inputs"] = [one for one in manifest["inputs"] if one["role"] != "folder"]
        path.write_text(json.dumps(manifest))
    assert [[one.path.name for one in room.scores] for room in find_rooms(place)] == [
        ["one-scores"], ["two-scores"],
    ]  # fmt: skip


# ---- the file ----


def test_an_earlier_report_is_replaced_and_no_other_file(folders: Folders, page: Path) -> None:
    write_html_report(folders.out / "rad", page)
    write_html_report(folders.out / "fpvg", page)
    assert "FPVG" in page.read_text(encoding="utf-8")
    page.write_text("<p>my own page</p>")
    with pytest.raises(ConfigError, match="got a file that report did not write"):
        write_html_report(folders.out / "rad", page)
    assert page.read_text() == "<p>my own page</p>"


def test_a_folder_is_no_file(folders: Folders, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"got a folder, expected a file\. Name the file, such as"):
        write_html_report(folders.out / "rad", tmp_path)


def test_nothing_is_written_without_out(folders: Folders) -> None:
    before = sorted(folders.out.rglob("*"))
    written = write_html_report(folders.out / "rad")
    assert written.out is None
    assert written.size > 100_000
    assert sorted(folders.out.rglob("*")) == before
