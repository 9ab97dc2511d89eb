"""What commands unpack, and what inspect takes to look at a file of any size."""

import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from cli.commands import CHECKOUT, RunCli

from shortcut_miner.cli import inspect, looking
from shortcut_miner.cli.looking import PAST_LIMITS
from shortcut_miner.sources.opening import limits
from shortcut_miner.sources.opening.starts import whole_start

RECORDS = [{"question_id": n, "image_id": 7, "question": "Why?"} for n in range(2000)]
ANSWERED = [
    {"question_id": n, "image_id": 7, "multiple_choice_answer": "red", "answers": [{"answer": "red"}] * 10}
    for n in range(2000)
]
STARTS: dict[str, tuple[bytes, str]] = {
    "VQA questions": (json.dumps({"info": {}, "questions": RECORDS}).encode(), "VQA questions JSON"),
    "VQA annotations": (json.dumps({"annotations": ANSWERED}).encode(), "VQA annotations JSON"),
    "results": (
        json.dumps([{"question_id": n, "answer": "red"} for n in range(4000)]).encode(),
        "VQA results JSON",
    ),
    "by id": (
        json.dumps({str(n): {"classes": ["dog"], "scores": [0.5]} for n in range(4000)}).encode(),
        "image-to-detection JSON",
    ),
    "lines": (b'{"question_id": 1, "answer": "red"}\n' * 4000, "predictions JSONL"),
    "CSV": (b"question_id,answer\n" + b"1,red\n" * 20_000, "predictions CSV"),
}


@pytest.fixture
def in_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read whatever has more than a few bytes in a child, which may take nothing."""
    for module in (inspect, looking):
        monkeypatch.setattr(module, "READ_HERE", 10)
    monkeypatch.setattr(looking, "_MOST_BYTES", 1)


@pytest.mark.parametrize("form", STARTS)
def test_of_what_takes_too_much_the_start_is_told(
    form: str, in_children: None, run_cli: RunCli, tmp_path: Path
) -> None:
    content, kind = STARTS[form]
    assert len(content) > 1 << 16
    for name, stored in (("plain", content), ("packed.gz", gzip.compress(content))):
        path = tmp_path / name
        path.write_bytes(stored)
        (found,) = run_cli("inspect", path, "--format", "json").json["files"]
        assert (found["kind"], found["counts"], found["notes"]) == (kind, {}, [PAST_LIMITS])
        assert found["goes_to"]
        assert "wrong  not looked for" in run_cli("inspect", path).out
        (whole,) = run_cli("inspect", path, "--max-unpacked", "1GB", "--format", "json").json["files"]
        assert whole["kind"] == kind
        assert whole["counts"]


def test_of_a_large_table_columns_and_rows_are_told(
    in_children: None, run_cli: RunCli, tmp_path: Path
) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"question_id": [1, 2], "answer": ["red", "no"]}).write_parquet(path)
    (found,) = run_cli("inspect", path, "--format", "json").json["files"]
    assert (found["kind"], found["counts"]) == ("predictions Parquet", {"rows": 2})


def test_a_child_says_what_this_process_would_say(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(STARTS["results"][0])
    bad.write_text('[{"question_id": 1, "answer": "red"}, {"question_id": 2, "answer": 7}]')
    here = run_cli("inspect", good, bad)
    for module in (inspect, looking):
        monkeypatch.setattr(module, "READ_HERE", 10)
    there = run_cli("inspect", good, bad)
    assert (there.code, there.out) == (here.code, here.out) == (1, here.out)


def test_a_pipe_is_read_once(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "p"
    os.mkfifo(path)
    writer = threading.Timer(0.1, lambda: path.write_bytes(STARTS["results"][0]))
    writer.start()
    ran = run_cli("inspect", path)
    writer.join()
    assert ran.code == 0
    assert "VQA results JSON" in ran.out
    assert "rows not checked: a pipe is read once" in ran.out


def test_what_one_run_may_unpack_the_next_may_not(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "ALWAYS_ALLOWED", 1000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"items,answer\n" + b"dog,red\n" * 10_000))
    words = ("mine", path, "--objects", "items", "--min-count", 1, "--dry-run")
    for _ in range(2):
        assert run_cli(*words, "--max-unpacked", "100KB").code == 0
        ran = run_cli(*words)
        assert ran.code == 2
        assert f"error: {path}: got more than 0 MB in it, expected at most 100 times its" in ran.err
    ran = run_cli(*words, "--max-unpacked", "plenty")
    assert (ran.code, ran.out) == (2, "")
    assert (
        "max_unpacked: got 'plenty', expected an amount such as 4GB or 512MB. Change --max-unpacked"
        in ran.err
    )


def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    """500 MB in 2 MB: read by a process of its own, for its memory and its child's to be measured."""
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb", 1) as bomb:
        for piece in (b"[", *[b" " * 1_000_000] * 500):
            bomb.write(piece)
    program = (
        "import resource, subprocess, sys\n"
        "ran = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "print(ran.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, ran.stdout)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, sys.executable, "-m", "shortcut_miner", "inspect", path],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, peak, told = ran.stdout.split(maxsplit=2)
    assert code == "1"
    assert "expected at most 100 times its" in told
    assert int(peak) * (1 if sys.platform == "darwin" else 1024) < 1e9


@pytest.mark.parametrize(
    ("start", "whole"),
    [
        (b'{"questions": [{"a": "x,]"}, {"a', b'{"questions": [{"a": "x,]"}]}'),
        (b'[{"a": [1, 2]}, {"a": 1}, {"b": "\\"', b'[{"a": [1, 2]}, {"a": 1}]'),
        (b'{"1": {"a": [1, 2], "b": 3}, "2"', b'{"1": {"a": [1, 2], "b": 3}}'),
        (b'{"a": 1}\n{"a": 2}\n{"a', b'{"a": 1}\n{"a": 2}\n'),
        (b"word 1 2\nother 3", b"word 1 2\n"),
        (b"[[[[1, 2", b"[[[[1, 2"),
        (b"", b""),
    ],
)
def test_starts_are_closed(start: bytes, whole: bytes) -> None:
    assert whole_start(start) == whole
