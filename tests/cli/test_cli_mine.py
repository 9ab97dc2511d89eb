import json
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import RunCli, contents

from shortcut_miner.mining import memory
from shortcut_miner.mining.backends import resolve_backend
from shortcut_miner.mining.frames import rules as frames
from shortcut_miner.mining.frames.tables import mine_rules

ROWS = [
    {"question": "What sport?", "labels": "ball, person", "answer": "tennis"},
    {"question": "What sport?", "labels": "ball", "answer": "tennis"},
    {"question": "What color?", "labels": "", "answer": "red"},
    {"question": "What color?", "labels": None, "answer": "red"},
]
SMALL = ("--min-count", 2, "--format", "json")


def write_csv(path: Path) -> None:
    pl.DataFrame(ROWS).write_csv(path)


def write_jsonl(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def write_lists(path: Path) -> None:
    lists: list[Any] = [["ball", "person"], ["ball"], [], None]
    pl.DataFrame(ROWS).with_columns(labels=pl.Series(lists, dtype=pl.List(pl.String))).write_parquet(path)


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_lists])
def test_any_table_gives_the_same_rules(write: Any, run_cli: RunCli, tmp_path: Path) -> None:
    write(tmp_path / "table")
    ran = run_cli("mine", tmp_path / "table", "--words", "question", "--objects", "labels", *SMALL)
    assert (ran.code, ran.json["rows"]) == (0, 4)
    found = {
        (*rule["antecedent_words"], "|", *rule["antecedent_objects"], rule["answer"]): rule["rule_count"]
        for rule in ran.json["rules"]
    }
    assert found[("sport", "|", "tennis")] == found[("sport", "|", "ball", "tennis")] == 2
    assert found[("|", "ball", "tennis")] == found[("color", "|", "red")] == 2
    assert not any("person" in rule for rule in found)


def test_words_alone_and_whole_number_answers(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"w": ["a", "b"], "class": 1}\n' * 3 + '{"w": ["c"], "class": 2}\n' * 2)
    ran = run_cli("mine", path, "--words", "w", "--answer", "class", *SMALL)
    assert {rule["answer"] for rule in ran.json["rules"]} == {"1", "2"}
    assert ran.json["total"] == 4


def test_separator_limit_and_show(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("tags;answer\n" + "a|b;x\n" * 5 + "c;y\n" * 5)
    tokens = ("mine", path, "--objects", "tags", "--separator", "|", *SMALL)
    assert run_cli(*tokens).json["total"] == 4
    assert run_cli(*tokens, "--limit", 5).json["total"] == 3
    shown = run_cli(*tokens, "--show", 1).json
    assert (shown["total"], len(shown["rules"])) == (4, 1)


def test_out_holds_rules_that_other_commands_read(run_cli: RunCli, tmp_path: Path) -> None:
    write_lists(tmp_path / "t.parquet")
    out = tmp_path / "out"
    tokens = ("mine", tmp_path / "t.parquet", "--words", "question", "--objects", "labels")
    dry = run_cli(*tokens, "--min-count", 2, "--out", out, "--dry-run")
    assert (dry.code, out.exists()) == (0, False)
    ran = run_cli(*tokens, "--min-count", 2, "--out", out)
    assert (ran.code, set(contents(out))) == (0, {"rules.parquet", "README.md", "manifest.json", "run.json"})
    assert f"written: {out}" in ran.err
    assert re.search(r"^took [\d.]+ s \(read .*, encode .*, mine .*, write .*\), peak memory", ran.err, re.M)
    assert run_cli("rules", out).out == ran.out
    assert run_cli("inspect", out).code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["command"], manifest["counts"]["rows"]) == ("mine", 4)
    run = json.loads((out / "run.json").read_text())
    assert (run["backend"], [*run["files"]]) == (resolve_backend().name, ["table"])


def test_the_backend_is_told_and_is_no_part_of_the_result(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    write_lists(tmp_path / "t.parquet")
    tokens = ("mine", tmp_path / "t.parquet", "--words", "question", "--min-count", 2)
    auto = run_cli(*tokens, "--out", tmp_path / "auto")
    assert "backend: numba (no cupy)\n" in auto.err
    assert "backend:" not in run_cli(*tokens, "--quiet").err
    named = run_cli(*tokens, "--backend", "numba", "--out", tmp_path / "numba")
    assert (auto.code, named.code, auto.out, "backend:" in named.err) == (0, 0, named.out, False)
    auto_files, named_files = (contents(tmp_path / name, without=("run.json",)) for name in ("auto", "numba"))
    assert auto_files == named_files
    assert json.loads((tmp_path / "auto" / "run.json").read_text())["backend"] == "numba"


def test_a_backend_that_is_not_there(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    write_lists(tmp_path / "t.parquet")
    tokens = ("mine", tmp_path / "t.parquet", "--words", "question", "--out", tmp_path / "out")
    ran = run_cli(*tokens, "--backend", "cupy")
    assert (ran.code, ran.out, (tmp_path / "out").exists()) == (2, "", False)
    assert ran.err == (
        "error: backend cupy: got no cupy, expected all that it needs. Run pip install "
        '"cupy-cuda12x[ctk]>=14.1" on a machine with an NVIDIA GPU and its driver, '
        "or choose another backend.\n"
    )
    assert run_cli(*tokens, "--backend", "torch").code == 2


def test_the_rules_bytes_do_not_depend_on_the_order_of_rows(run_cli: RunCli, tmp_path: Path) -> None:
    for name, rows in (("a", ROWS), ("b", ROWS[::-1])):
        folder = tmp_path / name
        folder.mkdir()
        pl.DataFrame(rows).write_csv(folder / "t.csv")
        tokens = ("--words", "question", "--objects", "labels", "--min-count", 2, "--out", folder / "out")
        assert run_cli("mine", folder / "t.csv", *tokens).code == 0
    first, second = (tmp_path / name / "out" / "rules.parquet" for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_rows_without_an_answer_are_an_error_or_skipped(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("w,answer\n" + "a,x\n" * 3 + "b,\n")
    ran = run_cli("mine", path, "--words", "w", "--min-count", 2)
    assert (ran.code, ran.out) == (2, "")
    assert f"error: {path}: got 1 of 4 rows without text in 'answer'" in ran.err
    out = tmp_path / "out"
    ran = run_cli("mine", path, "--words", "w", "--min-count", 2, "--on-bad-row", "skip", "--out", out)
    assert ran.code == 3
    assert "warning: 1 rows without an answer were skipped" in ran.err
    assert json.loads((out / "manifest.json").read_text())["dropped"] == {"table: rows without an answer": 1}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a,answer\n1,2\n", ["'a', 'answer'", "'w' too", "--words"]),
        ("w,answer\n1\n1,2,3\n", ["line 2: got 1 values", "line 3: got 3 values"]),
        ("w,answer\n", ["0 of 0 rows"]),
        ('{"w": "a", "answer": "x"}\n{broken\n{"w": "b"}', ["line 2"]),
        ('{"w": "a", "answer": "x"}\n[1]', ["line 2"]),
        ('{"w": "a", "answer": "x"}\n{"w": 1, "answer": "x"}', ["several types"]),
        ('{"w": 1, "answer": "x"}\n' * 2, ["Int64 in the column 'w'", "lists of text"]),
        ('{"w": "a", "answer": 1.5}\n' * 2, ["Float64 in the column 'answer'"]),
        ('{"w": "a", "answer": ["x"]}\n' * 2, ["List(String) in the column 'answer'"]),
        (b"PAR1 and no more", ["damaged Parquet"]),
        (b"\xff\xfew", ["UTF-16"]),
        (b"", ["empty file"]),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_tables_are_told(content: str | bytes, told: list[str], run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = run_cli("mine", path, "--words", "w", "--min-count", 1)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {path}: got ")
    assert all(part in ran.err for part in told), ran.err


@pytest.mark.parametrize("option", [("--min-count", 0), ("--max-antecedent", 9), ("--min-confidence", 2)])
def test_options_without_meaning_are_told(option: tuple[str, int], run_cli: RunCli, tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv")
    ran = run_cli("mine", tmp_path / "t.csv", "--words", "question", *option)
    assert (ran.code, ran.out) == (2, "")
    assert option[0][2:].replace("-", "_") in ran.err


def test_a_cut_search_keeps_what_it_found_and_says_so(run_cli: RunCli, tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv")
    out = tmp_path / "out"
    tokens = ("mine", tmp_path / "t.csv", "--words", "question", "--min-count", 1)
    ran = run_cli(*tokens, "--max-rules", 3, "--out", out)
    assert ran.code == 3
    assert ran.err.splitlines()[0] == (
        "warning: mining stopped after max_rules = 3 antecedents; what it found is exact, but longer "
        "rules of rarer items are missing. Raise min_count or max_rules."
    )
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["config"]["max_rules"], manifest["figures"]) == (3, {"is_complete": False})
    cut, whole = run_cli(*tokens, "--max-rules", 3, "--format", "json"), run_cli(*tokens, "--format", "json")
    assert (cut.json["is_complete"], whole.json["is_complete"]) == (False, True)
    # Antecedents of one item are always there.
    assert (cut.json["total"], whole.json["total"]) == (4, 11)
    counts = ("antecedent_words", "antecedent_count", "rule_count", "confidence")
    found, everything = (
        [[rule[name] for name in counts] for rule in ran.json["rules"]] for ran in (cut, whole)
    )
    assert all(rule in everything for rule in found)


def test_a_cap_that_memory_sets(run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(tmp_path / "t.csv")
    tokens = ("mine", tmp_path / "t.csv", "--words", "question", "--min-count", 1, "--out")
    assert run_cli(*tokens, tmp_path / "whole").code == 0
    monkeypatch.setattr(memory, "_LEAST", 4)
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    cut = run_cli(*tokens, tmp_path / "cut")
    assert cut.code == 3
    assert cut.err.splitlines()[0] == (
        "warning: mining stopped after max_rules = 4 antecedents, which fit in the free memory at about "
        f"{memory.BYTES_AN_ANTECEDENT} bytes each; what it found is exact, but longer rules of rarer "
        "items are missing. Raise min_count or max_rules."
    )
    manifests, runs = (
        [json.loads((tmp_path / folder / name).read_text()) for folder in ("whole", "cut")]
        for name in ("manifest.json", "run.json")
    )
    assert [manifest["config"]["max_rules"] for manifest in manifests] == [None, 4]
    assert runs[1]["limits"] == {"max_rules": 4}
    assert runs[0]["limits"]["max_rules"] >= 10_000
    assert run_cli(*tokens, tmp_path / "cut").code == 3  # the memory decides anew


def test_a_cap_that_the_user_set_is_an_option_as_others(run_cli: RunCli, tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv")
    tokens = ("mine", tmp_path / "t.csv", "--words", "question", "--min-count", 1, "--out", tmp_path / "out")
    for _ in range(2):
        assert run_cli(*tokens, "--max-rules", 4).code == 3
    assert json.loads((tmp_path / "out" / "run.json").read_text())["limits"] == {}
    refused = run_cli(*tokens)
    assert refused.code == 2
    assert "wrote with other options (max_rules 4, now none), expected the same." in refused.err
    assert run_cli(*tokens, "--force").code == 0
    refused = run_cli(*tokens, "--max-rules", 4)
    assert "(max_rules none, now 4)" in refused.err


def test_rules_written_block_by_block_are_those_of_one_table(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(tmp_path / "t.csv")
    tokens = ("mine", tmp_path / "t.csv", "--words", "question", "--objects", "labels", "--min-count", 1)
    assert run_cli(*tokens, "--out", tmp_path / "whole").code == 0
    monkeypatch.setattr(frames, "_ROWS_A_BLOCK", 3)
    assert run_cli(*tokens, "--out", tmp_path / "blocks").code == 0
    whole, cut = (contents(tmp_path / name, without=("run.json",)) for name in ("whole", "blocks"))
    assert whole == cut
    found = pl.read_parquet(tmp_path / "whole" / "rules.parquet")
    columns, answer = pl.DataFrame(ROWS), [row["answer"] for row in ROWS]
    lists = columns.select(
        words=pl.col("question").str.to_lowercase().str.replace("?", " ?", literal=True).str.split(" "),
        objects=pl.col("labels").str.split(", ").list.eval(pl.element().filter(pl.element() != "")),
    )
    assert len(found) > 6
    assert found["rule_id"].to_list() == [*range(len(found))]
    assert found.equals(mine_rules(lists, answer, min_count=1))


def test_columns_whose_values_are_items(run_cli: RunCli, tmp_path: Path) -> None:
    """In files of any kind; numbers are values as they are written, and a cell without one gives no item."""
    rows = [
        {"w": "a b", "genre": "news", "year": 2020, "is_long": True, "answer": "x"},
        {"w": "a", "genre": "news", "year": 2020, "is_long": False, "answer": "x"},
        {"w": "a", "genre": None, "year": None, "is_long": True, "answer": "y"},
        {"w": "genre=news", "genre": "blog", "year": 2021, "is_long": None, "answer": "y"},
    ]
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    frame.write_ndjson(tmp_path / "t.jsonl")
    tokens = ("--words", "w", "--item-columns", "genre, year", "--min-count", 2, "--show", 99)
    found = [run_cli("mine", tmp_path / f"t.{form}", *tokens) for form in ("parquet", "csv", "jsonl")]
    assert found[0].code == 0
    assert found[0].out == found[1].out == found[2].out
    header = found[0].out.splitlines()[0].split()
    assert header[:5] == ["rule", "words", "objects", "attributes", "answer"]
    rules = run_cli("mine", tmp_path / "t.csv", *tokens, "--format", "json").json["rules"]
    told = {
        (*rule["antecedent_words"], "|", *rule["antecedent_attributes"], rule["answer"]): rule["rule_count"]
        for rule in rules
    }
    assert told == {
        ("a", "|", "x"): 2,
        ("|", "genre=news", "x"): 2,
        ("|", "year=2020", "x"): 2,
        ("|", "genre=news", "year=2020", "x"): 2,
        ("a", "|", "genre=news", "x"): 2,
        ("a", "|", "year=2020", "x"): 2,
        ("a", "|", "genre=news", "year=2020", "x"): 2,
    }
    alone = run_cli("mine", tmp_path / "t.parquet", "--item-columns", "is_long", "--min-count", 1)
    assert "is_long=true" in alone.out
    assert alone.code == 0


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("genre,genre", "item_columns: got 'genre,genre', expected different names of columns with commas"),
        (
            "a=b",
            "item_columns: got 'a=b', expected different names of columns with commas between, without =",
        ),
        ("genre,", "item_columns: got 'genre,', expected different names of columns with commas between"),
        ("type", "t.parquet: got a table with the columns 'genre', 'tags', 'answer', expected 'type' too."),
        ("tags", "t.parquet: got a Parquet table"),
    ],
)
def test_item_columns_that_can_not_be_read(columns: str, told: str, run_cli: RunCli, tmp_path: Path) -> None:
    pl.DataFrame({"genre": ["a"], "tags": [["b"]], "answer": ["x"]}).write_parquet(tmp_path / "t.parquet")
    ran = run_cli("mine", tmp_path / "t.parquet", "--item-columns", columns)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
