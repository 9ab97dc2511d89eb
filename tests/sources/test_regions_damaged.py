"""No file of boxes, questions or scene graphs makes a reader fail in another way than in our own words."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources.test_gqa import graph, question
from sources.test_regions import BOXES, SIZES, bottom_up, entry, lxmert, pipeline, vinvl, write_h5

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.sources.questions.values import read_id_list, read_question_values
from shortcut_miner.sources.recognise import recognise

COCO = [{"image_id": 7, "category_id": 1, "score": 0.5, "bbox": [1, 2, 3, 4]}] * 2
SEEDS = [
    "\n".join([bottom_up("7"), bottom_up("8")]).encode(),
    "\n".join([lxmert("7"), lxmert("8")]).encode(),
    f"7\t{json.dumps(vinvl())}\n8\t[]\n".encode(),
    (pipeline(7) + "\n" + pipeline("8") + "\n").encode(),
    json.dumps(COCO).encode(),
    b"ImageID,LabelName,XMin,XMax,YMin,YMax\n7,/m/1,0.1,0.2,0.3,0.4\n8,/m/1,0,1,0,1\n",
    json.dumps({"1": question(), "2": question()}).encode(),
    json.dumps({"7": graph(), "8": graph()}).encode(),
    json.dumps(
        [{"image_id": 7, "objects": [{"object_id": 1, "names": ["a"], "x": 1, "y": 1, "w": 1, "h": 1}]}]
    ).encode(),
    json.dumps([{"questionId": "1", "probability": 0.5}, {"questionId": 2, "probability": 1}]).encode(),
    b"question_id,probability\n1,0.5\n2,x\n",
]
TOKENS = [
    *(b"null", b"NaN", b"-Infinity", b'"\\ud800"', b"[]", b"{}", b'""', b"1e999", b"true", b"1.5", b"-1"),
    *(
        b"\xff",
        b"\x00",
        b"\r\n",
        b"\t",
        b"\n",
        b'"',
        b",",
        b"}",
        b"]",
        b"\xef\xbb\xbf",
        b"99999999999999999999",
    ),
    *(b"PAR1", b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\x89HDF\r\n\x1a\n"),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    content = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        until = draw(st.integers(at, min(len(content), at + 12)))
        content = content[:at] + draw(st.sampled_from([b"", *TOKENS])) + content[until:]
    return gzip.compress(content)[: draw(st.integers(1, 4000))] if draw(st.booleans()) else content


@given(content=damaged(), on_bad_row=st.sampled_from(["error", "skip"]))
def test_damaged_files_are_read_or_refused(tmp_path: Path, content: bytes, on_bad_row: Any) -> None:
    path, names = tmp_path / "damaged", tmp_path / "names.json"
    path.write_bytes(content)
    names.write_text('{"1": "cat"}')
    calls = (
        lambda: read_regions(path, on_bad_row=on_bad_row, sizes=SIZES),
        lambda: read_regions(path, info=names, on_bad_row=on_bad_row, sizes=SIZES),
        lambda: read_gqa_questions(path, on_bad_row=on_bad_row),
        lambda: read_scene_graphs(path, on_bad_row=on_bad_row),
        lambda: read_question_values(path, {"question_id": "id", "probability": "number"}),
        lambda: read_id_list(path),
        lambda: recognise(path),
    )
    for call in calls:
        try:
            call()
        except SourceError as error:
            assert ", expected " in str(error)
        except Exception as error:
            if type(error).__name__ != "ConfigError":
                raise


@given(
    cut=st.integers(0, 3000),
    flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4),
)
def test_damaged_hdf5_is_read_or_refused(tmp_path: Path, cut: int, flips: list[tuple[int, int]]) -> None:
    pytest.importorskip("h5py")
    content = bytearray(write_h5(tmp_path / "whole.h5", [BOXES, BOXES]).read_bytes())
    for at, byte in flips:
        content[at % len(content)] = byte
    path = tmp_path / "damaged.h5"
    path.write_bytes(content[: len(content) - cut] or b"x")
    info = tmp_path / "damaged_info.json"
    info.write_text(json.dumps({"7": entry(0), "8": entry(1)}))
    try:
        reading = read_regions(path, info=info, on_bad_row="skip")
        assert reading.regions.select(pl.col("x1").is_finite().all()).item()
    except SourceError as error:
        assert ", expected " in str(error)
