import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import RunCli, tiny_world, write_world

Files = dict[str, Path | None]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_world(tiny_world(), tmp_path / "in")


def test_sound_files_say_what_they_are(run_cli: RunCli, files: Files) -> None:
    ran = run_cli("inspect", *files.values())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("wrong   nothing") == 5
    ran = run_cli("inspect", *files.values(), "--format", "json")
    assert [(one["kind"], one["counts"]) for one in ran.json["files"]] == [
        ("VQA questions JSON", {"questions": 12, "rows read": 12}),
        ("VQA annotations JSON", {"annotations": 12, "rows read": 12}),
        ("VQA questions JSON", {"questions": 6, "rows read": 6}),
        ("VQA annotations JSON", {"annotations": 6, "rows read": 6}),
        ("image-to-detection JSON", {"images": 9, "rows read": 12}),
    ]
    assert all(len(one["facts"]["sha256"]) == 64 for one in ran.json["files"])


def test_a_packed_file_says_how(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "q.json.gz"
    path.write_bytes(gzip.compress(json.dumps(tiny_world()["train_questions"]).encode()))
    ran = run_cli("inspect", path)
    assert ran.code == 0
    assert "  packed  gzip\n" in ran.out


def break_records(world: dict[str, Any]) -> None:
    records = world["train_questions"]["questions"]
    records[0]["question"] = None
    records[3]["question"] = ""
    records[5]["question"] = " "
    records[7]["question_id"] = records[8]["question_id"]


def test_what_is_wrong_is_counted_by_reason_with_examples(run_cli: RunCli, tmp_path: Path) -> None:
    world = tiny_world()
    break_records(world)
    files = write_world(world, tmp_path / "in")
    ran = run_cli("inspect", files["train_questions"])
    assert (ran.code, ran.err) == (1, "")
    bad = next(line for line in ran.out.splitlines() if line.startswith("  bad"))
    assert "2 x question: expected text that is not blank" in bad
    assert "1 x question: expected text" in bad
    assert "2 x question_id: expected an id that occurs once" in bad
    assert "got 5 bad of 12 questions" in ran.out
    assert "record 3, question: got '', expected text that is not blank" in ran.out
    ran = run_cli("inspect", files["train_questions"], "--format", "json", "--limit", 1)
    (finding,) = ran.json["files"]
    assert sum(finding["dropped"].values()) == 5
    title, example, rest = finding["problems"]
    assert (example.startswith("record 0, question: got null"), rest) == (True, "...")
    assert title.startswith(str(files["train_questions"]))


@pytest.mark.parametrize(
    ("name", "content", "kind", "told"),
    [
        ("cut.json", b'{"questions": [{"question_id": 1', "not known", "JSON that ends at byte 32"),
        ("cut.json.gz", gzip.compress(bytes(99), mtime=0)[:-9], "not known", "gzip file that ends too early"),
        ("empty.json", b"", "not known", "an empty file"),
        ("model.pkl", b"\x80\x04abc", "not known", "a Python pickle"),
        ("list.json", b"[]", "an empty JSON list", "no command reads this format"),
        ("other.json", b'{"a": 1}', "a JSON object with the keys 'a'", "no command reads this format"),
        ("all_bad.json", b'{"questions": [{"question_id": 1}]}', "VQA questions JSON", "1 bad of 1"),
        ("p.csv", b"question_id,answer\n1,a\n1,b\n2,c\n", "predictions CSV", "got '1' 2 times"),
    ],
)  # fmt: skip
def test_broken_files_end_with_exit_code_1(
    name: str, content: bytes, kind: str, told: str, run_cli: RunCli, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    ran = run_cli("inspect", path, "--format", "json")
    (finding,) = ran.json["files"]
    assert (ran.code, ran.err, finding["kind"]) == (1, "", kind)
    assert any(told in problem for problem in finding["problems"]), finding["problems"]
    table = run_cli("inspect", path)
    assert (table.code, told in table.out) == (1, True)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: pl.DataFrame({"a": [1], "b": [2]}).write_parquet(path),
        lambda path: path.write_text("a,b\n1,2\n"),
        lambda path: path.write_text('{"a": 1}\n{"a": 2}\n'),
    ],
    ids=["parquet", "csv", "jsonl"],
)
def test_any_other_table_is_read_with_the_names_of_its_columns(
    write: Callable[[Path], None], run_cli: RunCli, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    write(path)
    ran = run_cli("inspect", path)
    assert (ran.code, "with --columns, vqa-ce build --table, " in ran.out) == (0, True)


def test_a_folder_of_others_is_its_tables(run_cli: RunCli, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "train").mkdir(parents=True)
    pl.DataFrame({"a": [1], "b": [2]}).write_parquet(folder / "train" / "0.parquet")
    pl.DataFrame({"a": [1, 2], "b": [2, 3]}).write_parquet(folder / "val.parquet")
    (folder / "README.md").write_text("what it is")
    ran = run_cli("inspect", folder, "--format", "json")
    assert ran.code == 0
    assert [(one["path"], one["counts"]) for one in ran.json["files"]] == [
        (str(folder / "train" / "0.parquet"), {"rows": 1}),
        (str(folder / "val.parquet"), {"rows": 2}),
    ]


def test_one_bad_file_among_good_ones_is_enough(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_bytes(b"")
    ran = run_cli("inspect", files["detections"], tmp_path / "empty.json", "--format", "json")
    assert ran.code == 1
    assert [bool(one["problems"]) for one in ran.json["files"]] == [False, True]


def test_our_own_files_show_where_they_come_from(run_cli: RunCli, built: Path) -> None:
    ran = run_cli("inspect", built, built / "rules.parquet", "--format", "json")
    assert ran.code == 0
    folder, table = ran.json["files"]
    manifest = json.loads((built / "manifest.json").read_text())
    rules = manifest["counts"]["rules"]
    assert (folder["counts"]["rows in rules.parquet"], table["counts"]) == (rules, {"rows": rules})
    assert folder["facts"]["provenance"] == manifest
    assert table["facts"]["provenance"]["config"] == manifest["config"]
    assert "confidence" in table["facts"]["columns"]
    shown = run_cli("inspect", built)
    assert "written by shortcut-miner" in shown.out
    assert "train_questions v2_OpenEnded_mscoco_train2014_questions.json" in shown.out


def test_files_of_two_runs_in_one_folder_are_wrong(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for path in built.iterdir():
        (mixed / path.name).write_bytes(path.read_bytes())
    pl.read_parquet(built / "split.parquet").write_parquet(mixed / "split.parquet")
    ran = run_cli("inspect", mixed)
    assert ran.code == 1
    assert f"{mixed / 'split.parquet'}: got a table of another build than manifest.json describes" in ran.out


def test_other_folders_and_missing_files_are_bad_usage(run_cli: RunCli, tmp_path: Path) -> None:
    ran = run_cli("inspect", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {tmp_path}: got a folder without tables (it has no files)")
    ran = run_cli("inspect", tmp_path / "no.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {tmp_path / 'no.json'}: got no such file")
