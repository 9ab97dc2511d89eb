"""One table of formats per family: readers and recognition both read it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shortcut_miner.cli.inspect import find_out
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.images import regions
from shortcut_miner.sources.images.region_tables import Block, RawRegions, RegionFiles, gathered
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.kinds import Format
from shortcut_miner.sources.opening.streams import open_stream
from shortcut_miner.sources.recognise import all_formats, recognise

# A made-up detector: a magic word, then one line an image: its name and four sides of one box.
DOTS = "dots detector"


def read_dots(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    with open_stream(files.path) as stream:
        lines = [line.decode().split() for _, line in stream.lines()][1:]
        blocks = [
            Block(
                image_ids=[name],
                widths=[np.nan],
                heights=[np.nan],
                counts=[1],
                rows=[1],
                boxes=np.array([sides], np.float32),
            )
            for name, *sides in lines
        ]
        return gathered(DOTS, blocks, "image {}".format), [stream.facts()]


@pytest.fixture
def dots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    added = Format(DOTS, read_dots, starts_with=lambda start: start.startswith(b"DOTS"))
    monkeypatch.setattr(regions, "FORMATS", (*regions.FORMATS, added))
    path = tmp_path / "found"
    path.write_text("DOTS\n7 1 2 3 4\n8 5 6 7 8\n")
    return path


def test_a_new_detector_format_is_a_reader_and_a_line_in_the_table(dots: Path) -> None:
    reading = regions.read_regions(dots)
    assert reading.regions.select("image_id", "x1", "y2").rows() == [("7", 1, 4), ("8", 5, 8)]
    assert reading.kind == regions.region_kind(dots) == recognise(dots).kind == DOTS
    assert recognise(dots).file == reading.file
    finding = find_out(dots, 1)
    assert (finding.kind, finding.counts, finding.problems) == (DOTS, {"rows read": 2}, ())
    with pytest.raises(ConfigError, match="expected dots detector alone"):
        regions.read_regions(dots, info=dots)


def test_without_its_line_the_format_is_not_known(dots: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "FORMATS", regions.FORMATS[:-1])
    with pytest.raises(
        SourceError,
        match=r"got text that starts with 'DOTS 7 .*, expected one of GQA objects HDF5, .*Parquet\.",
    ):
        regions.read_regions(dots)
    assert not recognise(dots).is_known


def test_kinds_are_named_once() -> None:
    kinds = [one.kind for one in all_formats()]
    assert len(set(kinds)) == len(kinds) == 36


def test_streamed_formats_say_how_they_are_packed(tmp_path: Path) -> None:
    import gzip
    import zipfile

    line = json.dumps({"image_id": 7, "detections": []})
    (tmp_path / "d.gz").write_bytes(gzip.compress(line.encode(), mtime=0))
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("inner/d.jsonl", line)
        archive.writestr("other", "x")
    found = recognise(tmp_path / "d.gz")
    assert (found.kind, found.packing) == ("object detection JSONL", ("gzip",))
    found = recognise(tmp_path / "d.zip" / "inner" / "d.jsonl")
    assert (found.packing, found.file.member) == (("zip",), "inner/d.jsonl")
    assert regions.read_regions(tmp_path / "d.zip" / "inner" / "d.jsonl").file == found.file


def test_a_format_that_fits_two_families(tmp_path: Path) -> None:
    both = tmp_path / "both.json"
    both.write_text(json.dumps([{"question_id": 1, "answer": "x", "label": {"x": 1}}]))
    assert recognise(both).kind == "VQA results JSON"
    columns = {"image_id": ["7"], "label": ["cat"], "x1": [1.0], "y1": [1.0], "x2": [2.0], "y2": [2.0]}
    pl.DataFrame(columns).write_parquet(tmp_path / "boxes")
    assert recognise(tmp_path / "boxes").kind == "regions Parquet"
    weights = {"question_id": ["7"], "answer": ["cat"], "weight": [1.0]}
    pl.DataFrame(weights).write_parquet(tmp_path / "weights")
    assert recognise(tmp_path / "weights").kind == "soft labels Parquet"


def test_visual_genome_is_recognised_and_inspected(tmp_path: Path) -> None:
    path = tmp_path / "objects.json"
    one = {"object_id": 10, "names": ["cat"], "x": 1, "y": 2, "w": 3, "h": 4}
    path.write_text(json.dumps([{"image_id": 7, "objects": [one]}]))
    finding = find_out(path, 1)
    assert (finding.kind, finding.counts) == ("Visual Genome objects JSON", {"images": 1, "rows read": 1})
    assert finding.problems == ()


def test_packed_regions_parquet_is_read(tmp_path: Path) -> None:
    import gzip

    columns = {"image_id": ["7"], "x1": [1.0], "y1": [1.0], "x2": [2.0], "y2": [2.0]}
    path = tmp_path / "boxes"
    pl.DataFrame(columns).write_parquet(path)
    plain = regions.read_regions(path).regions
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert regions.read_regions(path).regions.equals(plain)
