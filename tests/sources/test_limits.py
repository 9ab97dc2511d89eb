"""Packed files that would give more than memory holds, and paths at which there is no file to read."""

import gzip
import io
import os
import resource
import socket
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard
from cli.commands import CHECKOUT
from sources.logs import eval_log, sample

import shortcut_miner as sm
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.embeddings import read_embeddings
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.opening import devices, limits
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.limits import LargerError, max_unpacked, read_at_most
from shortcut_miner.sources.opening.streams import open_stream
from shortcut_miner.sources.recognise import recognise

TEXT = b"[" + b" " * 3_000_000 + b"1]"


def zipped(content: bytes, name: str = "a.json", mode: int = 0o644) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo(name)
        member.external_attr, member.compress_type = mode << 16, zipfile.ZIP_DEFLATED
        archive.writestr(member, content)
    return packed.getvalue()


def xlsx() -> bytes:
    packed = io.BytesIO()
    pl.DataFrame({"question_id": [1], "answer": ["red" * 200]}).write_excel(packed)
    return packed.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "zip": zipped,
    "gzip in gzip": lambda text: gzip.compress(gzip.compress(text)),
    "zip in gzip": lambda text: gzip.compress(zipped(text)),
    "many members": lambda text: (
        gzip.compress(text[: len(text) // 2]) + gzip.compress(text[len(text) // 2 :])
    ),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow a hundredth of the usual sizes, so that small files are bombs."""
    monkeypatch.setattr(limits, "ALWAYS_ALLOWED", 2_560_000)


def read_stream(path: Path) -> bytes:
    with open_stream(path) as stream:
        return stream.content.read()


READS: dict[str, Callable[[Path], bytes]] = {
    "as a whole": lambda path: open_source(path).content,
    "as a stream": read_stream,
}


@pytest.mark.parametrize("read", READS.values(), ids=[*READS])
@pytest.mark.parametrize("packing", PACKED)
def test_what_gives_more_than_allowed_is_stopped(
    packing: str, read: Callable[[Path], bytes], small: None, tmp_path: Path
) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(packed := PACKED[packing](TEXT))
    assert len(packed) < 25_600
    with pytest.raises(SourceError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: got more than 3 MB in it, expected at most 100 times its {len(packed):,} bytes, or 3 MB. "
        "If you trust the file, allow more with --max-unpacked, such as --max-unpacked 8GB."
    )
    with sm.max_unpacked("4MB"):
        assert read(path) == TEXT
    with (
        max_unpacked(100),
        pytest.raises(SourceError, match="got more than 0 MB in it, expected no more than"),
    ):
        read(path)


def test_a_hundred_times_its_size_is_no_bomb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(limits, "ALWAYS_ALLOWED", 0)
    text = np.random.default_rng(0).integers(0, 256, 100_000, np.uint8).tobytes()
    path = tmp_path / "dense.gz"
    path.write_bytes(gzip.compress(text + b" " * 1_000_000))
    assert open_source(path).content == text + b" " * 1_000_000


@pytest.mark.parametrize("packing", PACKED)
def test_half_of_the_free_memory_is_the_limit(
    packing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "large"
    path.write_bytes(PACKED[packing](TEXT))
    monkeypatch.setattr(limits, "free_memory", lambda: 2 * (len(TEXT) - 1))
    with pytest.raises(
        SourceError, match="got more than 3 MB in it, expected no more than half of the free memory"
    ):
        open_source(path)
    assert read_stream(path) == TEXT  # of which little is held
    monkeypatch.setattr(limits, "free_memory", lambda: 2 * len(TEXT))
    assert open_source(path).content == TEXT


def test_so_it_is_for_what_is_not_packed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(TEXT)
    monkeypatch.setattr(limits, "free_memory", lambda: 1000)
    with pytest.raises(
        SourceError, match="got more than 0 MB in it, expected no more than half of the free memory"
    ):
        open_source(path)
    with max_unpacked("4MB"):
        assert open_source(path).content == TEXT


def test_more_rows_than_fit_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A million equal rows take some hundred bytes of a file."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"question_id": range(100_000), "answer": "red"}).write_parquet(path)
    monkeypatch.setattr(limits, "free_memory", lambda: 1_500_000)
    assert path.stat().st_size < 750_000
    with pytest.raises(
        SourceError, match=r"t.parquet: got more than 1 MB in it, expected no more than half of the"
    ):
        read_predictions(path)
    with max_unpacked("1GB"):
        assert len(read_predictions(path).table) == 100_000
    with read_at_most(100_000), pytest.raises(LargerError):
        recognise(path)


READ_BY_THEIR_LIBRARY: dict[str, tuple[Callable[[], bytes], Callable[[Path], object]]] = {
    "xlsx": (xlsx, read_predictions),
    "eval": (lambda: eval_log([sample(1) | {"store": {"a": "x" * 3000}}]), read_predictions),
}


@pytest.mark.parametrize("form", READ_BY_THEIR_LIBRARY)
def test_so_are_archives_that_are_read_by_their_parts(
    form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make, read = READ_BY_THEIR_LIBRARY[form]
    path = tmp_path / "bomb"
    path.write_bytes(make())
    read(path)
    monkeypatch.setattr(limits, "ALWAYS_ALLOWED", 1000)
    monkeypatch.setattr(limits, "MOST_TIMES", 0)
    with pytest.raises(SourceError, match="bomb: got more than 0 MB in it"):
        read(path)


def test_so_are_arrays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez_compressed(path, words=np.array(["a"]), vectors=np.zeros((1, 100_000)))
    assert read_embeddings(path, ["a"]).vectors.shape == (1, 100_000)
    monkeypatch.setattr(limits, "ALWAYS_ALLOWED", 0)
    with pytest.raises(SourceError, match=r"v.npz: got more than 0 MB in it, expected at most 100 times"):
        read_embeddings(path, ["a"])


def test_a_limit_is_an_amount() -> None:
    with (
        pytest.raises(ConfigError, match="max_unpacked: got 'much', expected an amount such as 4GB"),
        max_unpacked("much"),
    ):
        pass


def test_who_only_looks_reads_less(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(TEXT)
    with read_at_most(1000), pytest.raises(LargerError):
        recognise(path)


def test_under_a_low_limit_of_address_space_there_is_a_message(tmp_path: Path) -> None:
    """256 MB are allowed by size, and not by what is left of the address space."""
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[" + b" " * 200_000_000 + b"1]", 1))
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from shortcut_miner.sources.opening.files import open_source\n"
        "taken = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + 150_000_000,) * 2)\n"
        "try:\n    open_source(sys.argv[1])\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    if not Path("/proc/self/statm").is_file():
        pytest.skip("no /proc")
    ran = subprocess.run(
        [sys.executable, "-c", program, path],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.startswith(f"SourceError {path}: got more than "), ran
    assert "expected no more than half of the free memory" in ran.stdout
    assert resource.RLIM_INFINITY in resource.getrlimit(resource.RLIMIT_AS)  # only the child's


# ---- names in archives ----


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/../../b"])
def test_names_that_lead_out_of_an_archive_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "slip.zip"
    path.write_bytes(zipped(b"[1]", name))
    for read in READS.values():
        with pytest.raises(SourceError) as caught:
            read(path)
        assert str(caught.value).startswith(
            f"{path}: got members that would lie outside of the archive's folder ({name!r}), expected plain"
        )


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "link.zip"
    path.write_bytes(zipped(b"/etc/passwd", "a.json", stat.S_IFLNK | 0o777))
    for given in (path, path / "a.json"):
        with pytest.raises(
            SourceError, match=r"got a zip member that is a link \('a.json'\), expected a file"
        ):
            open_source(given)


def test_a_member_without_a_name_is_no_member(tmp_path: Path) -> None:
    path = tmp_path / "unnamed.zip"
    packed = bytearray(zipped(b"[1]", "a"))
    at = packed.index(b"PK\x01\x02")
    packed[at + 28 : at + 30] = b"\0\0"  # the length of the name, which then begins what follows it
    path.write_bytes(packed)
    with pytest.raises(SourceError, match=r"unnamed\.zip: got a zip"):
        open_source(path)


# ---- what is no file ----


@pytest.mark.parametrize(
    "read",
    [
        open_source,
        read_stream,
        recognise,
        read_predictions,
        read_regions,
        lambda path: read_embeddings(path, ["a"]),
    ],
)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_devices_are_refused(device: str, read: Callable[[Path], object]) -> None:
    with pytest.raises(
        SourceError, match=f"{device}: got a device, expected a file or a pipe: it may never end"
    ):
        read(Path(device))


def test_a_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        with pytest.raises(SourceError, match="s: got a socket, expected a file or a pipe"):
            open_source(tmp_path / "s")


def test_a_pipe_without_a_writer_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(devices, "_SECONDS_FOR_A_WRITER", 0.1)
    os.mkfifo(tmp_path / "p")
    with pytest.raises(SourceError, match="p: got a pipe that nobody writes to, expected data"):
        open_source(tmp_path / "p")


@pytest.mark.parametrize("read", [read_stream, read_regions])
def test_what_is_looked_at_first_is_no_pipe(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    with pytest.raises(
        SourceError, match="p: got a pipe, expected a file: it is looked at before it is read"
    ):
        read(tmp_path / "p")


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """The writer comes late, and writes in pieces."""
    path = tmp_path / "p"
    os.mkfifo(path)
    pieces = [b'[{"question_id": 1, ', b'"answer": "red"}', b" " * 300_000, b"]"]

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            for piece in pieces:
                pipe.write(piece)

    writer = threading.Timer(0.2, write)
    writer.start()
    assert read_predictions(path).table.rows() == [("1", "red")]
    writer.join()


def test_a_pipe_that_gives_nothing_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "p"
    os.mkfifo(path)
    writer = threading.Timer(0.2, lambda: path.open("wb").close())
    writer.start()
    with pytest.raises(SourceError, match="p: got an empty file"):
        open_source(path)
    writer.join()


def test_a_pipe_without_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(limits, "free_memory", lambda: 2_000_000)
    path = tmp_path / "p"
    os.mkfifo(path)
    told = "p: got more than 1 MB in it, expected no more than half of the free memory"
    writing = subprocess.Popen(["sh", "-c", 'yes > "$0"', path], stderr=subprocess.DEVNULL)
    with writing, pytest.raises(SourceError, match=told):  # it ends when nobody reads
        open_source(path)


def test_a_limit_holds_for_files_that_are_read_in_the_background(tmp_path: Path) -> None:
    questions, annotations = tmp_path / "questions.json", tmp_path / "annotations.json.gz"
    questions.write_text('{"questions": [{"question_id": 1, "image_id": 2, "question": "Is it?"}]}')
    record = '{"question_id": 1, "image_id": 2, "multiple_choice_answer": "yes"}'
    annotations.write_bytes(gzip.compress(f'{{"annotations": [{record}]}}{" " * 2000}'.encode()))
    sm.read_vqa(questions, annotations)
    with max_unpacked(1000), pytest.raises(SourceError, match=r"annotations.json.gz: got more than"):
        sm.read_vqa(questions, annotations)
