"""What every room's folder, report and front in Python promise, tested for all rooms alike."""

import dataclasses
import hashlib
import html
import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.room_cases import ROOMS, Demo, Room, fpvg_answers, rad_files
from exports.cases import loaded
from polars.testing import assert_frame_equal, assert_series_equal

import shortcut_miner as sm
from shortcut_miner import rooms
from shortcut_miner.datasets import scores
from shortcut_miner.datasets.reports import BuildReport
from shortcut_miner.demo.run import DemoReport
from shortcut_miner.diagnostics.swapmix import plan_table
from shortcut_miner.errors import ConfigError, SchemaError, SourceError
from shortcut_miner.exports.questions import read_question_sets
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.schemas import Questions, validated
from shortcut_miner.storage import read_provenance

LIMIT = 600
each_room = pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
Built = Callable[[Room], tuple[BuildReport, Path]]


@pytest.fixture(scope="session")
def demo(demo_run: DemoReport) -> Demo:
    return Demo(demo_run.world, demo_run.world.val_questions.parents[1])


@pytest.fixture(scope="session")
def built(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Return a function that builds a room with every table, once."""
    folder, done = tmp_path_factory.mktemp("rooms"), dict[str, tuple[BuildReport, Path]]()

    def build(room: Room) -> tuple[BuildReport, Path]:
        if room.name not in done:
            out = folder / room.name
            report = room.build(**room.files(demo), **room.more, out=out)
            done[room.name] = report, out
        return done[room.name]

    return build


def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def manifest_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8")))


def change_manifest(folder: Path, **changes: object) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest_of(folder) | changes), encoding="utf-8")


# ---- reading a folder back ----


@pytest.mark.sample(4)
@each_room
def test_a_whole_folder_reads_and_scores(room: Room, built: Built, demo: Demo) -> None:
    _, folder = built(room)
    assert room.read(folder) is not None
    assert room.score(demo, folder, None).scores.height > 0


@pytest.mark.sample(8)
@each_room
@pytest.mark.parametrize("damage", ["missing", "truncated", "foreign", "broken provenance", "a list"])
def test_damaged_tables(room: Room, built: Built, demo: Demo, tmp_path: Path, damage: str) -> None:
    folder = copied(built(room)[1], tmp_path)
    for name in room.tables:
        victim = folder / f"{name}.parquet"
        whole = victim.read_bytes()
        victim.unlink()
        if damage == "truncated":
            victim.write_bytes(whole[: len(whole) // 2])
        elif damage == "foreign":
            victim.write_text("not a table", encoding="utf-8")
        elif damage == "broken provenance":
            table = pl.read_parquet(whole)
            table.write_parquet(victim, metadata={"shortcut_miner": '{"version": '})
        elif damage == "a list":
            pl.read_parquet(whole).write_parquet(victim, metadata={"shortcut_miner": "[1]"})
        told = rf"{name}\.parquet: got (.|\n)*, expected a table that {room.command} wrote"
        with pytest.raises(SourceError, match=told):
            room.score(demo, folder, None)
        victim.write_bytes(whole)
    assert room.score(demo, folder, None).scores.height > 0


@each_room
def test_tables_without_their_columns(room: Room, built: Built, demo: Demo, tmp_path: Path) -> None:
    folder = copied(built(room)[1], tmp_path)
    for name in room.tables:
        victim = folder / f"{name}.parquet"
        whole = victim.read_bytes()
        provenance = json.dumps(read_provenance(victim))
        pl.read_parquet(whole).select(pl.lit(1).alias("x")).write_parquet(
            victim, metadata={"shortcut_miner": provenance}
        )
        with pytest.raises((SourceError, SchemaError), match=rf"{name}\.parquet: got "):
            room.score(demo, folder, None)
        victim.write_bytes(whole)


@each_room
@pytest.mark.parametrize("change", ["version", "command", "config", "counts", "inputs"])
def test_files_of_two_builds_are_not_mixed(
    room: Room, built: Built, demo: Demo, tmp_path: Path, change: str
) -> None:
    folder = copied(built(room)[1], tmp_path)
    for name in room.tables:
        victim = folder / f"{name}.parquet"
        whole = victim.read_bytes()
        provenance = read_provenance(victim)
        was = provenance[change]
        other = was + "1" if isinstance(was, str) else was[1:] if change == "inputs" else was | {"limit": 1}
        changed = json.dumps(provenance | {change: other})
        pl.read_parquet(whole).write_parquet(victim, metadata={"shortcut_miner": changed})
        with pytest.raises(
            SourceError, match=rf"{name}\.parquet: got a table of another build than manifest"
        ):
            room.score(demo, folder, None)
        victim.write_bytes(whole)


def test_a_manifest_without_the_figures_that_are_read(built: Built, demo: Demo, tmp_path: Path) -> None:
    room = ROOMS[0]
    folder = copied(built(room)[1], tmp_path)
    for figures in ({}, None, []):
        change_manifest(folder, figures=figures)
        with pytest.raises(SourceError, match=r"manifest\.json: got no default_answer among its figures"):
            room.score(demo, folder, None)


@pytest.mark.sample(3)
@each_room
def test_a_table_of_another_build_is_told(room: Room, built: Built, demo: Demo, tmp_path: Path) -> None:
    folder = copied(built(room)[1], tmp_path)
    other = tmp_path / "other"
    room.build(**room.files(demo), **room.more, out=other, limit=LIMIT)
    for name in room.tables:
        whole = (folder / f"{name}.parquet").read_bytes()
        shutil.copy(other / f"{name}.parquet", folder)
        with pytest.raises(SourceError, match=rf"{name}\.parquet: got a table of another build"):
            room.score(demo, folder, None)
        (folder / f"{name}.parquet").write_bytes(whole)


@each_room
def test_what_is_no_such_folder_is_told(room: Room, built: Built, demo: Demo, tmp_path: Path) -> None:
    folder = copied(built(room)[1], tmp_path)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for place, got in (
        ("file", "a file"),
        ("nowhere", "no such folder"),
        ("empty", "no manifest.json in it"),
    ):
        with pytest.raises(SourceError, match=rf"{place}: got {got}, expected a folder that {room.command}"):
            room.score(demo, tmp_path / place, None)
    change_manifest(folder, command="other build")
    with pytest.raises(
        SourceError, match=rf"got the output of 'other build', expected that of {room.command}"
    ):
        room.score(demo, folder, None)
    change_manifest(folder, command=room.command, counts=None)
    with pytest.raises(SourceError, match=r"manifest\.json: got counts of another shape"):
        room.score(demo, folder, None)
    for content, told in (("[1]", "got no command that wrote it"), ("{", "got broken JSON")):
        (folder / "manifest.json").write_text(content, encoding="utf-8")
        with pytest.raises(SourceError, match=told):
            room.score(demo, folder, None)


# ---- what a build writes ----


@each_room
def test_the_manifest_lists_its_files(room: Room, built: Built) -> None:
    _, folder = built(room)
    files = manifest_of(folder)["files"]
    assert files.keys() == {path.name for path in folder.iterdir()} - {"run.json", "manifest.json"}
    for name, found in files.items():
        content = (folder / name).read_bytes()
        assert found == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@each_room
def test_inputs_are_recorded_with_their_zip_member(room: Room, demo: Demo, tmp_path: Path) -> None:
    files = room.files(demo)
    archive = tmp_path / "inputs.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(files[room.zipped], "deep/one.txt")
        packed.writestr("other.txt", "nothing")
    files[room.zipped] = archive / "deep" / "one.txt"
    room.build(**files, **room.more, out=tmp_path / "out", limit=LIMIT)
    inputs = {one["role"]: one for one in manifest_of(tmp_path / "out")["inputs"]}
    assert inputs[room.zipped]["name"] == "inputs.zip/deep/one.txt"
    for path in (tmp_path / "out").glob("*.parquet"):
        told = {one["role"]: one["name"] for one in read_provenance(path)["inputs"]}
        assert told == {role: one["name"] for role, one in inputs.items()}


@each_room
def test_the_run_record_says_what_ran(room: Room, demo: Demo, built: Built, tmp_path: Path) -> None:
    run = json.loads((built(room)[1] / "run.json").read_text(encoding="utf-8"))
    assert run.keys() == {"out", "files", "backend", "threads", "limits", "stages", "notes", "warnings"}
    given = room.files(demo)
    by_name = {f"{role} of {name}" for role, one in given.items() if isinstance(one, dict) for name in one}
    assert set(run["files"]) == {role for role, one in given.items() if isinstance(one, Path)} | by_name
    if "threads" not in inspect.signature(room.build).parameters:
        assert run["threads"] == pl.thread_pool_size()
        return
    assert (run["backend"], run["threads"]) == ("numba", thread_count())
    asked = thread_count() + 1
    room.build(**room.files(demo), **room.more, out=tmp_path / "out", limit=LIMIT, threads=asked)
    assert json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["threads"] == asked


# ---- a folder that is there already ----


@pytest.mark.sample(3)
@each_room
def test_a_build_starts_only_where_it_may_write(
    room: Room, demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the user's is replaced, and no work is done in vain: what is refused is refused at once."""
    out = tmp_path / "out"
    files = room.files(demo)
    room.build(**files, **room.more, out=out, limit=LIMIT)
    again = room.build(**files, **room.more, out=out, limit=LIMIT)
    assert again.notes == room.build(**files, **room.more, limit=LIMIT).notes
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    read = importlib.import_module(f"shortcut_miner.diagnostics.{room.name}.build")
    monkeypatch.setattr(read, "read_inputs", lambda *_: pytest.fail("work was begun"))
    limit = rf"wrote with other options \(limit {LIMIT}, now 7\), expected the same\. .* with --force"
    with pytest.raises(ConfigError, match=limit):
        room.build(**files, **room.more, out=out, limit=7)
    role = next(iter(files))
    for name in ("questions.parquet", "manifest.json"):
        with pytest.raises(ConfigError, match=rf"that this run reads \({role} .*{name}\) and might replace"):
            room.build(**files | {role: out / name}, **room.more, out=out, limit=LIMIT, force=True)
    victim = out / f"{room.tables[-1]}.parquet"
    victim.write_bytes(b"edited")
    with pytest.raises(ConfigError, match=rf"got '{victim.name}' changed since {room.command} wrote"):
        room.build(**files, **room.more, out=out, limit=LIMIT, force=True)
    victim.write_bytes(before[victim.name])
    (out / "manifest.json").write_text('{"files": ["thesis.tex"]}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"manifest\.json that shortcut-miner did not write"):
        room.build(**files, **room.more, out=out, limit=LIMIT, force=True)
    (out / "manifest.json").unlink()
    with pytest.raises(ConfigError, match=rf"which {room.command} did not write and would replace"):
        room.build(**files, **room.more, out=out, limit=LIMIT, force=True)
    (out / "manifest.json").write_bytes(before["manifest.json"])
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    monkeypatch.undo()
    room.build(**files, **room.more, out=out, limit=7, force=True)
    assert manifest_of(out)["config"]["limit"] == 7


@pytest.mark.sample(3)
@each_room
def test_other_inputs_are_noted(room: Room, demo: Demo, tmp_path: Path) -> None:
    out, files = tmp_path / "out", room.files(demo)
    room.build(**files, **room.more, out=out, limit=LIMIT)
    copy = tmp_path / files[room.zipped].name
    copy.write_bytes(files[room.zipped].read_bytes() + b"\n")
    report = room.build(**files | {room.zipped: copy}, **room.more, out=out, limit=LIMIT)
    note = f"{out}: replaces a run on other inputs ({room.zipped})"
    assert report.notes[-1] == note
    assert note in json.loads((out / "run.json").read_text(encoding="utf-8"))["notes"]


@pytest.mark.sample(3)
@each_room
def test_scores_start_only_where_they_may_be_written(
    room: Room, demo: Demo, built: Built, tmp_path: Path
) -> None:
    folder, out = built(room)[1], tmp_path / "out"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ConfigError, match=r"got the folder that this run reads \(folder .*\)"):
        room.score(demo, folder, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    room.score(demo, folder, out)
    room.score(demo, folder, out)
    manifest = manifest_of(out)
    assert manifest["config"]["build"] == manifest_of(folder)["config"]
    change_manifest(out, config=manifest["config"] | {"seed": 5})
    with pytest.raises(ConfigError, match=r"wrote with other options \(seed 5, now 0\)"):
        room.score(demo, folder, out)
    change_manifest(out, config=manifest["config"])
    (out / "scores.md").write_text("my notes", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"got 'scores\.md' changed since"):
        room.score(demo, folder, out)
    assert (out / "scores.md").read_text(encoding="utf-8") == "my notes"


@pytest.mark.sample(3)
@each_room
def test_scores_record_their_build(room: Room, demo: Demo, tmp_path: Path) -> None:
    folder, out = tmp_path / "folder", tmp_path / "out"
    files = room.files(demo)
    room.build(**files, **room.more, out=folder)
    for expected in ((), (f"{out}: replaces a run on other inputs (folder)",)):
        report = room.score(demo, folder, out)
        assert tuple(note for note in report.notes if "replaces a run" in note) == expected
        recorded = manifest_of(out)["inputs"][-1]
        manifest = (folder / "manifest.json").read_bytes()
        assert recorded["role"] == "folder"
        assert (recorded["name"], recorded["size"]) == ("folder/manifest.json", len(manifest))
        assert recorded["sha256"] == hashlib.sha256(manifest).hexdigest()
        # The same rows in other bytes are another build, whose content is the same.
        content = recorded["content_sha256"]
        copy = tmp_path / files[room.zipped].name
        copy.write_bytes(files[room.zipped].read_bytes() + b"\n")
        room.build(**files | {room.zipped: copy}, **room.more, out=folder)
    assert content == recorded["content_sha256"]
    assert not any("replaces a run" in note for note in room.score(demo, folder, None).notes)


@each_room
def test_scores_of_a_build_that_is_replaced_meanwhile(
    room: Room, demo: Demo, built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = copied(built(room)[1], tmp_path), tmp_path / "out"
    read = scores.read_json_file
    monkeypatch.setattr(scores, "read_json_file", lambda path: read(path) | {"counts": {"questions": 1}})
    with pytest.raises(SourceError, match=r"got a manifest of another build than was read: the folder was"):
        room.score(demo, folder, out)
    assert not out.exists()


@pytest.mark.sample(3)
@each_room
def test_a_folder_can_be_repeated(room: Room, demo: Demo, tmp_path: Path) -> None:
    out = tmp_path / "out"
    room.build(**room.files(demo), **room.more, out=out, limit=LIMIT)
    done = sm.repeat(out)
    assert done.agrees
    assert done.files.keys() == {path.name for path in out.iterdir()} - {"run.json"}
    assert (done.command, done.out, done.notes) == (room.command, None, ())


# Options that change which tables there are, or what counts mean; what is derived beside the rest.
COUNTED_WITH: list[tuple[str, dict[str, Any], set[str]]] = [
    ("vqa_ce", {}, {"rules", "rules_words", "classifier_rules", "easy", "hard", "val_images", "train_rows"}),
    ("vqa_ce", {"holdout": True, "items": "words", "vote": "best"}, {"rules_words", "val_questions"}),
    ("vqa_ce", {"top_answers": 5, "superset_filter": "none", "min_confidence": 1}, {"rules", "train_rows"}),
    ("rad", {}, {"questions", "images", "augmentations_colors", "yes", "skipped"}),
    ("rad", {"types": "colors", "exclude_annotators": False}, {"augmentations_colors"}),
    ("fpvg", {}, {"questions", "images", "evaluable", "no_annotation", "no_detections"}),
    ("fpvg", {"preset": "code"}, {"questions", "evaluable_images", "no_annotation"}),
    ("swapmix", {}, {"rows", "class_swaps", "attribute_swaps", "questions_without_swaps"}),
    ("swapmix", {"padding": "none", "context_key": "name"}, {"rows", "class_swaps", "questions_in_plan"}),
    ("swapmix", {"plan": "training", "epochs": 2}, {"questions"}),
    ("swapmix", {"plan": "perfect-sight"}, {"rows", "class_swaps", "attribute_swaps"}),
    ("gqa_ood", {}, {"questions", "images", "balanced", "groups", "groups_kept", "head", "tail"}),
    ("pope", {"image_count": 90}, {"questions", "images", "yes", "no", "fallbacks", "doubtful_no"}),
    ("pope", {"image_count": 90, "strategies": "random", "layout": "blocks"}, {"doubtful_yes", "no"}),
    ("gqa_ood", {"entropy_cut": "none", "group": "structural"}, {"groups_kept", "head", "tail"}),
    ("resplit", {}, {"questions", "images", "train", "test", "val", "groups", "test_groups", "cover_groups"}),
    ("pairs", {"groups": True}, {"questions", "images", "pairs", "pair_questions", "groups"}),
    ("slices", {}, {"questions", "images", "rows", "outcome_total", "slices", "redundant", "items", "cover"}),
    ("slices", {"outcome": "error", "holdout": 0.4, "min_count": 9}, {"rows", "outcome_total", "slices"}),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize(("name", "options", "derived"), COUNTED_WITH)
def test_counts_follow_from_the_tables(
    name: str, options: dict[str, Any], derived: set[str], demo: Demo, tmp_path: Path
) -> None:
    room = next(one for one in ROOMS if one.name == name)
    room.build(**room.files(demo), **options, out=tmp_path / "out", limit=LIMIT)
    found = sm.verify(tmp_path / "out", data_dir=demo.out)
    assert (found.agrees, found.is_complete, found.others) == (True, True, ())
    assert {count for count, (_, tables) in found.counts.items() if tables is not None} >= derived


@each_room
def test_scores_are_verified(room: Room, demo: Demo, tmp_path: Path) -> None:
    out = tmp_path / "scores"
    room.score(demo, demo.out / room.folder, out)
    found = sm.verify(out, data_dir=demo.out)
    assert (found.agrees, found.is_complete, found.others) == (True, True, ())
    assert found.files.keys() == {path.name for path in out.iterdir()} - {"manifest.json"}


# ---- for other programs ----


@pytest.mark.sample(1)
@each_room
def test_every_table_opens_with_load_dataset(room: Room, built: Built, tmp_path: Path) -> None:
    _, folder = built(room)
    tables, _ = loaded(folder, tmp_path)
    written = {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}
    assert tables.keys() == {(name, "train") for name, table in written.items() if len(table)}
    for (name, _), table in tables.items():
        assert_frame_equal(table, written[name])
    (first,) = loaded(folder, tmp_path, "(default)")[0].values()
    assert_frame_equal(first, written["questions"])


def test_a_folder_built_again_opens_with_its_new_rows(demo: Demo, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for limit in (400, 300):
        sm.rad.build(**rad_files(demo), out=out, limit=limit, force=True)
        tables, _ = loaded(out, tmp_path, "questions")
        assert len(tables["questions", "train"]) == limit


@each_room
def test_question_sets_are_as_promised(room: Room, built: Built) -> None:
    _, folder = built(room)
    questions = read_question_sets(folder)
    assert (questions.command, questions.path) == (room.command, folder)
    assert questions.read_back.startswith(f"{room.folder} score {folder} --")
    asks_for_each = all(f"{{predictions of {name}}}" in questions.read_back for name in questions.sets)
    # No evaluator makes SwapMix's swaps.
    assert (asks_for_each or "{predictions}" in questions.read_back) == (room.name != "swapmix")
    for splits in questions.sets.values():
        for table in splits.values():
            validated(table, Questions, "questions")
            assert len(table) > 0
            assert table["question_id"].is_sorted()
            assert table.filter(pl.col("answer").is_not_null() & pl.col("answers").is_null()).is_empty()


@each_room
def test_an_export_leaves_the_folder_as_it_is_and_gives_the_same_bytes(
    room: Room, built: Built, tmp_path: Path
) -> None:
    _, folder = built(room)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    outs = [tmp_path / name for name in ("a", "b")]
    for out in outs:
        done = sm.export(folder, "huggingface", out=out)
        assert (done.is_complete, done.images_found) == (True, None)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    contents = [
        {path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"} for out in outs
    ]
    assert contents[0] == contents[1]
    assert manifest_of(outs[0])["inputs"][0]["sha256"] == hashlib.sha256(before["manifest.json"]).hexdigest()


def test_what_vqa_ce_offers_is_every_question_once(built: Built) -> None:
    report, folder = built(ROOMS[0])
    (splits,) = read_question_sets(folder).sets.values()
    assert [*splits] == ["counterexamples", "easy", "hard"]
    for name, table in splits.items():
        assert table["subset"].unique().to_list() == [name]
    ids = pl.concat([table["question_id"] for table in splits.values()])
    assert ids.sort().to_list() == report.tables["questions"]["question_id"].to_list()


def test_what_rad_offers_are_augmentations_and_all_of_their_originals(built: Built) -> None:
    _, folder = built(ROOMS[1])
    sets = read_question_sets(folder).sets
    assert [*sets["augmentations"]] == ["colors", "how-many", "what-kind"]
    ids = pl.concat([table["question_id"] for table in sets["augmentations"].values()]).unique().sort()
    assert_series_equal(sets["originals"]["originals"]["question_id"], ids)
    augmented = sets["augmentations"]["colors"]
    assert augmented["answers"].to_list() == [[answer] * 10 for answer in augmented["answer"]]


# ---- reports ----


@pytest.mark.sample(3)
@each_room
def test_frames_are_the_same_written_or_not(room: Room, demo: Demo, built: Built) -> None:
    report, folder = built(room)
    unwritten = room.build(**room.files(demo), **room.more)
    names = {path.stem for path in folder.glob("*.parquet")}
    assert set(report.tables) == set(unwritten.tables) == names
    for name in names:
        frame = pl.read_parquet(folder / f"{name}.parquet")
        assert getattr(report, name).equals(frame)
        assert getattr(report, name) is getattr(report, name)
        assert getattr(unwritten, name).equals(frame), name
        assert getattr(unwritten, name).schema == frame.schema
        assert name in dir(report)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        report.nonsense  # noqa: B018


def test_a_plan_whose_drawing_was_interrupted_is_drawn_again(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_plan: str, rows: Iterator[Any], _names: Any) -> pl.DataFrame:
        next(rows)
        raise KeyboardInterrupt

    (room,) = (room for room in ROOMS if room.name == "swapmix")
    report = room.build(**room.files(demo), limit=LIMIT)
    with monkeypatch.context() as patched:
        patched.setattr(plan_table, "plan_frame", interrupted)
        with pytest.raises(KeyboardInterrupt):
            report.tables["swaps"]
    assert report.tables["swaps"].height == report.counts["rows"] > 0


def test_a_report_finds_its_tables_from_another_folder(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = ROOMS[0].build(**ROOMS[0].files(demo), out="here", limit=LIMIT)
    monkeypatch.chdir("/")
    assert report.rules.height > 0


@pytest.mark.sample(3)
@each_room
def test_a_report_does_not_show_what_another_build_wrote_since(
    room: Room, demo: Demo, tmp_path: Path
) -> None:
    first = room.build(**room.files(demo), **room.more, out=tmp_path / "out", limit=LIMIT)
    room.build(**room.files(demo), **room.more, out=tmp_path / "out", limit=LIMIT - 1, force=True)
    with pytest.raises(SourceError, match=r"got a table of another build .* built again since"):
        getattr(first, room.tables[0])


@each_room
def test_a_report_speaks_as_the_console_does(room: Room, built: Built) -> None:
    report, _ = built(room)
    words = report.in_words()
    lines = repr(report).splitlines()
    assert lines[0] == room.command
    remarks = len(report.notes) + len(report.warnings)
    assert [line.split("  ")[0] for line in lines[1 + remarks :]] == list(words)
    assert len(lines) < 20
    page = report._repr_html_()
    assert page.startswith("<table>")
    for name, text in report.in_words().items():
        assert (
            f"<th style='text-align:left'>{name}</th><td style='text-align:left'>{html.escape(text)}</td>"
            in page
        )


@each_room
def test_a_table_that_was_not_asked_for(room: Room, demo: Demo) -> None:
    missing = {"vqa_ce": "matches", "fpvg": "regions_long", "swapmix": "similar_attributes"}.get(room.name)
    report = room.build(**room.files(demo), limit=LIMIT)
    if missing:
        with pytest.raises(ConfigError, match=rf"{missing}: got no such table in this {room.command}"):
            getattr(report, missing)
    assert set(report.tables) >= set(room.tables)


@each_room
def test_tables_that_are_not_there_are_no_attributes(room: Room, demo: Demo) -> None:
    report = room.build(**room.files(demo), limit=LIMIT)
    for name in ("matches", "dropped_rules", "regions_long", "similar_attributes", "nonsense"):
        assert hasattr(report, name) == (name in dir(report)) == (name in report.tables)
        assert name in report.tables or getattr(report, name, "none") == "none"
    assert {*report.tables} <= {name for name, _ in inspect.getmembers(report)}


@each_room
def test_a_report_says_notes_and_warnings(room: Room, demo: Demo, built: Built) -> None:
    report, _ = built(room)
    marked = dataclasses.replace(report, notes=("a < b",), warnings=("few",))
    assert {"note: a < b", "warning: few"} <= {*repr(marked).splitlines()}
    assert "<p>note: a &lt; b</p><p>warning: few</p>" in marked._repr_html_()


def test_fpvg_shows_the_figures_of_each_list_of_ids(demo: Demo, built: Built, tmp_path: Path) -> None:
    (room,) = (room for room in ROOMS if room.name == "fpvg")
    _, folder = built(room)
    ids = pl.read_parquet(folder / "regions.parquet").filter("is_evaluable")["question_id"].head(40)
    (tmp_path / "ids.json").write_text(json.dumps(ids.to_list()), encoding="utf-8")
    for given in ({}, {"ids": {"some": tmp_path / "ids.json"}}):
        report = sm.fpvg.score(folder, **fpvg_answers(demo), **given, resamples=10)
        table = report.paper_table()
        assert table.columns == ["group", "metric", "m"]
        assert {"fpvg_plus", "accuracy_all"} <= {*table["metric"]}
        assert f"{table.filter(metric='fpvg_plus')['m'][0]:.2f}" in repr(report)


@each_room
def test_scores_are_written_as_they_are_reported(
    room: Room, demo: Demo, built: Built, tmp_path: Path
) -> None:
    _, folder = built(room)
    report = room.score(demo, folder, tmp_path / "out")
    written = {path.stem: pl.read_parquet(path) for path in (tmp_path / "out").glob("*.parquet")}
    assert written.keys() == report.tables.keys()
    for name, frame in report.tables.items():
        assert written[name].equals(frame)
        assert getattr(report, name) is frame
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"scores.json", "scores.md", "scores.tex", "scores_long.tex", "manifest.json"}
    assert "run.json" not in names
    assert manifest_of(tmp_path / "out")["command"] == report.command == f"{room.folder} score"
    assert repr(report).startswith(report.command)
    assert "<" in report._repr_html_()


# ---- the fronts ----


def test_every_room_is_tested_here() -> None:
    assert tuple(room.name for room in ROOMS) == rooms.NAMES


@pytest.mark.sample(3)
@each_room
def test_a_front_is_not_shadowed_by_its_own_modules(room: Room) -> None:
    code = (
        f"import shortcut_miner as sm; first = sm.{room.name}.build\n"
        f"import shortcut_miner.diagnostics.{room.name}.build, shortcut_miner.diagnostics.{room.name}.score\n"
        f"assert sm.{room.name}.build is first and callable(first) and callable(sm.{room.name}.score)\n"
        f"from shortcut_miner import {room.name}\n"
        f"assert {room.name}.build is first"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


@each_room
def test_a_front_takes_the_options_of_its_configs(room: Room) -> None:
    """Names, order and defaults are those of the dataclasses, which are the command's options too."""
    front = getattr(sm, room.name)
    kinds = {name: one for name, one in vars(front).items() if dataclasses.is_dataclass(one)}
    of_function: dict[str, list[Any]] = {"build": [], "score": [], "images": []}
    for name, kind in kinds.items():
        is_score = name in ("PairFiles", "ScoreConfig")
        verb = "score" if is_score else "images" if name.startswith("Images") else "build"
        of_function[verb] += [kind] if name.endswith(("Files", "Config")) else []
    assert of_function["build"]
    assert of_function["score"]
    for verb, configs in of_function.items():
        if not configs:
            continue
        function = getattr(front, verb)
        accepted = inspect.signature(function).parameters
        for config in configs:
            for field in dataclasses.fields(config):
                default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
                assert accepted[field.name].default == default, (function, field.name)
        places = [list(accepted).index(field.name) for field in dataclasses.fields(configs[-1])]
        assert places == sorted(places)


def test_a_sweep_takes_the_options_of_a_build_but_for_its_thresholds() -> None:
    build, sweep = (inspect.signature(one).parameters for one in (sm.vqa_ce.build, sm.vqa_ce.sweep))
    several = {"min_counts", "min_confidences", "scorer"}
    scale = {"memory", "executor", "shards", "work"}  # a sweep is of data that fit
    assert sweep.keys() == build.keys() - {"min_count", "min_support", "min_confidence", *scale} | several
    assert all(sweep[name] == build[name] for name in sweep.keys() - several)


def test_a_sweep_tells_thresholds_without_meaning() -> None:
    files = dict.fromkeys(("train_questions", "train_annotations", "val_questions", "val_annotations"), "x")
    for options, told in (
        ({"config": sm.VqaCeConfig(min_count=20)}, "--min-count: got one threshold, expected several"),
        ({"min_counts": 8}, "min_counts: got 8, expected whole numbers of 1 or more"),
        ({"min_counts": [8, 0]}, r"min_counts: got \[8, 0\], expected"),
        ({"min_confidences": ["a"]}, r"min_confidences: got \['a'\], expected numbers from 0 to 1"),
        ({"scorer": "soft-labels"}, "scorer: got 'soft-labels', expected one of auto, vqa-official, "),
    ):
        with pytest.raises(ConfigError, match=told):
            sm.vqa_ce.sweep(**files, **options)


@each_room
def test_arguments_of_another_type_are_told(room: Room, demo: Demo, built: Built) -> None:
    front = getattr(sm, room.name)
    files = room.files(demo)
    for options, told in (
        ({"config": {"seed": 1}}, r"config: got dict, expected \w+Config"),
        ({"out": 7}, "out: got 7, expected a path"),
        ({"limit": "3"}, "limit: got '3', expected a whole number of 1 or more"),
        ({"limit": 0}, "limit: got 0, expected a whole number of 1 or more"),
    ):
        with pytest.raises(ConfigError, match=told):
            room.build(**files, **options)
    if "threads" in inspect.signature(front.build).parameters:
        with pytest.raises(ConfigError, match=r"threads: got 2\.5, expected a whole number"):
            room.build(**files, threads=2.5)
    names = ("all", "relevant", "irrelevant") if room.name == "fpvg" else ("original", "augmented")
    names = ("predictions",) if room.name not in ("rad", "fpvg") else names
    for given, told in (
        ("m.json", r"got 'm\.json', expected \{model: file\}"),
        ({"m": 7}, "got 7, expected a path"),
    ):
        with pytest.raises(ConfigError, match=told):
            front.score(built(room)[1], **dict.fromkeys(names, given))


def test_flags_are_true_or_false() -> None:
    with pytest.raises(ConfigError, match="keep_matches: got 'no', expected True or False"):
        sm.VqaCeConfig(keep_matches="no")  # type: ignore[arg-type]


@pytest.mark.sample(3)
@each_room
def test_a_front_takes_text_and_a_config_object(room: Room, demo: Demo, tmp_path: Path) -> None:
    front = getattr(sm, room.name)
    kind = next(
        value
        for name, value in vars(front).items()
        if name.endswith("Config") and name not in ("ScoreConfig", "ImagesConfig")
    )
    texts = {
        role: {name: str(path) for name, path in one.items()} if isinstance(one, dict) else str(one)
        for role, one in room.files(demo).items()
    }
    options = {"seed": 3} if "seed" in inspect.signature(room.build).parameters else {}
    named = room.build(**texts, **options, limit=LIMIT)
    config = kind(**options)
    given = room.build(**texts, limit=LIMIT, config=config, out=str(tmp_path / "out"))
    assert given.counts == named.counts
    assert given.out == tmp_path / "out"
    with pytest.raises(ConfigError, match=r"config: got a \w+ and 'on_bad_row' beside it"):
        room.build(**texts, config=config, on_bad_row="skip")
    with pytest.raises(ConfigError, match=rf"{room.zipped}: got 7, expected a path"):
        room.build(**texts | {room.zipped: 7})


def test_public_names_are_what_dir_shows() -> None:
    assert dir(sm) == sorted(sm.__all__)
    assert not [name for name in dir(sm) if name.startswith("_")]
    for name in rooms.NAMES:
        assert dir(getattr(sm, name)) == sorted(getattr(sm, name).__all__)


@pytest.mark.slow
def test_a_users_script_sees_types(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import shortcut_miner as sm\n"
        "built = sm.vqa_ce.build(train_questions='a', train_annotations='b', val_questions='c', "
        "val_annotations='d')\n"
        "reveal_type(built.rules)\n"
        "reveal_type(sm.swapmix.score('f', predictions={'m': 'p'}).scores)\n"
        "sm.rad.build(questions='q', mode='nonsense')\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    checkout = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=checkout, env={**os.environ, "MYPYPATH": ""}
    )
    lines = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if "script.py" in line]
    assert lines[:2] == ['note: Revealed type is "polars.dataframe.frame.DataFrame"'] * 2
    assert lines[2].startswith('error: Argument "mode" to "build" has incompatible type')
    assert len(lines) == 3
