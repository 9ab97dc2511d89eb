"""What `inspect` says of a file and what readers do with it agree, for a file of every format."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources.corpus import CORPUS, NOT_READ, OF_OTHERS, READ_TWICE, TABLES, readers, table_readers

from shortcut_miner.cli.app import commands
from shortcut_miner.cli.inspect import find_out
from shortcut_miner.cli.run import run
from shortcut_miner.errors import ShortcutMinerError, SourceError
from shortcut_miner.sources.images.regions_tsv import OSCAR_TSV
from shortcut_miner.sources.recognise import all_formats, recognise
from shortcut_miner.sources.vector_formats import VECTORS_GO_TO

KINDS = [(family, kind) for family, files in CORPUS.items() for kind in files]
HDF5 = "GQA objects HDF5"
# Files of other families out of which labels are read, and boxes that have none: whoever wants some is told.
WITH_LABELS = {"VinVL TSV", "object detection JSONL", "COCO results JSON", "Open Images boxes CSV"} | {
    *CORPUS["scene graphs"]
}
WITHOUT_LABELS = {
    HDF5: "(boxes without labels), expected object labels. Give",
    "bottom-up-attention TSV": "(boxes without labels), expected object labels. Give",
    "LXMERT TSV": "without the names of its object ids, expected a file that has them. Name",
    "regions Parquet": "in which no box has a label, expected labels. Give",
}
UNSEEN = re.compile(r"[^\n\x20-\x7e]")


def message_of(read: object, path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read(path)  # type: ignore[operator]
    return str(caught.value)


def check_clear(message: str, path: Path) -> None:
    assert message.startswith(f"{path}: got ")
    assert len(message) < 2000
    assert not UNSEEN.search(message), message
    assert not re.search(r"more text after|broken JSON|expected JSON\.|Correct it|Remove it", message), (
        message
    )


def test_the_corpus_has_every_format() -> None:
    held = {kind for _, kind in KINDS}
    assert {one.kind for one in all_formats()} - held - {HDF5} == {"GQA objects info JSON", OSCAR_TSV}
    assert held - {one.kind for one in all_formats()} == set(CORPUS["word vectors"])


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_a_known_file_is_read_by_its_reader_and_sent_there_by_all_others(
    family: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(CORPUS[family][kind])
    found = recognise(path)
    assert (found.kind, found.is_known, found.is_table) == (kind, True, False)
    assert found.goes_to
    finding = find_out(path, 5)
    assert (finding.kind, finding.goes_to, finding.problems) == (kind, found.goes_to, ())
    for reader, read in readers(tmp_path).items():
        is_read_twice = (reader, kind) in READ_TWICE or (reader == "labels" and kind in WITH_LABELS)
        if reader == family or is_read_twice:
            read(path)
            continue
        if reader == "labels" and kind in WITHOUT_LABELS:
            with pytest.raises(ShortcutMinerError) as caught:
                read(path)
            assert str(caught.value).startswith(f"{path}: got {kind} {WITHOUT_LABELS[kind]} the ")
            continue
        message = message_of(read, path)
        check_clear(message, path)
        if kind == "npz word vectors":
            assert "got an npz file with the arrays 'words', 'vectors'" in message
            assert "swapmix build --embeddings" in message
        elif kind == HDF5:
            assert message.startswith(f"{path}: got an HDF5 file, expected ")
            assert message.endswith(f". Give a detector's to {found.goes_to}.")
        else:
            assert message.startswith(f"{path}: got {kind}")
            assert message.endswith(f". Give it to {found.goes_to}.")


@pytest.mark.parametrize("kind", TABLES)
def test_other_tables_are_described_and_what_takes_them_is_named(kind: str, tmp_path: Path) -> None:
    content, goes_to = TABLES[kind]
    path = tmp_path / "file"
    path.write_bytes(content)
    found = recognise(path)
    assert (found.kind, found.is_known, found.is_table, found.goes_to) == (kind, False, True, goes_to)
    finding = find_out(path, 5)
    (note,) = finding.notes
    assert note.startswith("with --columns, vqa-ce build --table, ")
    assert finding.goes_to == goes_to
    for read in readers(tmp_path).values():
        message = message_of(read, path)
        check_clear(message, path)
        assert message.endswith(f". Give it to {goes_to}.")
    for name, read in table_readers().items():
        if name == goes_to:
            read(path)
        else:
            check_clear(message_of(read, path), path)


@pytest.mark.parametrize("name", OF_OTHERS)
def test_files_of_other_readers_are_named_with_what_takes_them(name: str, tmp_path: Path) -> None:
    content, kind, goes_to = OF_OTHERS[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    found = recognise(path)
    assert (found.kind, found.is_known, found.is_table, found.goes_to) == (kind, True, False, goes_to)
    finding = find_out(path, 5)
    assert (finding.kind, finding.goes_to, finding.problems) == (kind, goes_to, ())
    for read in (*readers(tmp_path).values(), *table_readers().values()):
        message = message_of(read, path)
        check_clear(message, path)
        assert message.startswith(f"{path}: got {kind} (")
        assert message.endswith(f". Give it to {goes_to}.")


WAYS_OUT = (
    "Check that this is the right file.",
    "Name its columns with --columns, such as --columns question_id=ID,answer=TEXT.",
    "Give the predictions.tsv or label.tsv of the same detector.",
)


@pytest.mark.parametrize("kind", NOT_READ)
def test_what_no_command_reads_is_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(NOT_READ[kind])
    found = recognise(path)
    assert (found.kind, found.is_known, found.goes_to) == (kind, False, "")
    finding = find_out(path, 5)
    assert bool(finding.problems) is not found.is_table
    for read in readers(tmp_path).values():
        message = message_of(read, path)
        check_clear(message, path)
        assert message.startswith(f"{path}: got {kind}")
        assert message.endswith(WAYS_OUT)


def test_options_that_messages_name_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    rooms = [one.words for one in commands() if one.words[-1] in ("build", "score")]
    assert all(run([*words, "--help"]) == 0 for words in rooms)
    told = {*re.findall(r"--[a-z-]+", capsys.readouterr().out)}
    named = {found.goes_to for found in all_formats()} | {goes_to for _, goes_to in TABLES.values()}
    named |= {goes_to for _, _, goes_to in OF_OTHERS.values()}
    named.add(VECTORS_GO_TO)
    assert {option for text in named for option in re.findall(r"--[a-z-]+", text)} <= told
    named_commands = re.findall(
        r"\b(?:vqa-ce|rad|fpvg|swapmix|pairs|slices|resplit) (?:build|score)", " ".join(named)
    )
    assert {tuple(command.split()) for command in named_commands} <= {*rooms}


# ---- no mutant of a file makes a reader fail in another way ----

TOKENS = (
    b"", b"\0", b"\xff", b"\n", b"\t", b'"', b"{", b"[" * 50, b"null", b"1e999", b"99999999999999999999",
    b"-1", b"NaN", b"\x1b[2J", b"PK\x03\x04", b"PAR1", b"\x1f\x8b", b"ARROW1",
)  # fmt: skip


def mutants(count: int, seed: int) -> Iterator[bytes]:
    """Give damaged files of the corpus: bytes changed, pieces cut out, doubled or put in."""
    draw = random.Random(seed)
    contents = [
        *(content for files in CORPUS.values() for content in files.values()),
        *(content for content, _ in TABLES.values()),
        *NOT_READ.values(),
    ]
    for number in range(count):
        content = bytearray(contents[number % len(contents)])
        for _ in range(draw.choice((1, 1, 2, 5))):
            at = draw.randrange(len(content) + 1)
            until = min(len(content), at + draw.choice((0, 1, 1, 2, 8, len(content))))
            flipped = bytes(byte ^ (1 << draw.randrange(8)) for byte in content[at:until])
            content[at:until] = draw.choice((draw.choice(TOKENS), flipped, content[at:until] * 2))
        yield bytes(content)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_are_read_or_refused_in_one_short_message(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    every = [recognise, *readers(tmp_path).values(), *table_readers().values()]
    for content in mutants(100, seed):
        path.write_bytes(content)
        for read in every:
            try:
                read(path)
            except ShortcutMinerError as error:
                assert str(path) in str(error)
                assert len(str(error)) < 2000
                assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", str(error))
