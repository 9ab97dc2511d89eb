"""The region lists against plain Python, on random boxes and in hand-made cases."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.fpvg import plain
from diagnostics.fpvg.worlds import graph, question, write_world
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.fpvg.build import build
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig
from shortcut_miner.diagnostics.fpvg.overlap import Named, Regions, match
from shortcut_miner.errors import ConfigError

side = st.one_of(
    st.integers(-6, 30).map(float), st.floats(-6, 30, width=32).map(lambda one: float(np.float32(one)))
)
box = st.tuples(side, side, side, side)
proper = box.map(lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])))
readings = st.builds(
    lambda over, arithmetic, low, more: FpvgConfig(
        overlap_over=over,
        box_arithmetic=arithmetic,
        overlap_threshold=low,
        iou_threshold=min(low + more, 0.9),
    ),
    st.sampled_from(["region", "object"]),
    st.sampled_from(["reference", "exact"]),
    st.sampled_from([0.0, 0.25, 0.4]),
    st.sampled_from([0.0, 0.25]),
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[list[Any]], list[tuple[int, list[Any]]]]:
    """Return the regions of some images, and questions as (image, named objects)."""
    images = draw(st.lists(st.lists(st.one_of(box, proper), max_size=5), min_size=1, max_size=4))
    questions = draw(
        st.lists(
            st.tuples(st.integers(0, len(images) - 1), st.lists(proper, min_size=1, max_size=4)), max_size=6
        )
    )
    return images, questions


def arrays(images: list[list[Any]], questions: list[tuple[int, list[Any]]]) -> tuple[Regions, Named]:
    flat = [one for boxes in images for one in boxes] + [(0, 0, 0, 0)]
    offsets = np.cumsum([0, *map(len, images)])
    is_region = np.arange(len(flat)) < len(flat) - 1
    regions = Regions(
        sides=np.array(np.array(flat).T, np.float32, order="C"),
        region_index=np.array([place for boxes in images for place in range(len(boxes))] + [0], np.uint32),
        offsets=offsets,
        may_differ=is_region,
    )
    objects = [one for _, boxes in questions for one in boxes]
    lengths = [len(boxes) for _, boxes in questions]
    named = Named(
        image=np.array([image for image, _ in questions], np.int64),
        objects=np.arange(len(objects)),
        offsets=np.cumsum([0, *lengths]),
        boxes=np.array(objects, np.float64).reshape(-1, 4),
    )
    return regions, named


@given(worlds(), readings)
def test_lists_are_those_of_plain_python(world: Any, config: FpvgConfig) -> None:
    images, questions = world
    found = match(*arrays(images, questions), config)
    for number, (image, objects) in enumerate(questions):
        stored = [[float(np.float32(value)) for value in one] for one in images[image]]
        ours = tuple(
            lists.index[lists.offsets[number] : lists.offsets[number + 1]].tolist() for lists in found
        )
        assert ours == plain.lists(stored, objects, config)
        assert not set(ours[0]) & set(ours[1]) or config.overlap_over == "object"


@given(worlds(), readings)
def test_another_object_only_adds_relevant_and_removes_irrelevant(world: Any, config: FpvgConfig) -> None:
    images, questions = world
    more = [(image, [*objects, (0.0, 0.0, 20.0, 20.0)]) for image, objects in questions]
    before, after = (match(*arrays(images, asked), config) for asked in (questions, more))
    for number in range(len(questions)):
        of = [
            [set(lists.index[lists.offsets[number] : lists.offsets[number + 1]].tolist()) for lists in found]
            for found in (before, after)
        ]
        assert of[0][0] <= of[1][0]
        assert of[0][1] >= of[1][1]


# ---- hand-made cases ----

BOX = (0, 0, 10, 10)


@pytest.mark.parametrize(
    ("region", "over", "relevant", "irrelevant"),
    [
        ((0, 0, 10, 5), "region", False, False),  # IoU of exactly 0.5 is not relevant
        ((0, 0, 10, 6), "region", True, False),
        ((0, 0, 40, 10), "region", False, True),  # a quarter of the region is irrelevant
        ((0, 0, 39, 10), "region", False, False),
        ((0, 0, 40, 10), "object", False, False),  # all of the object
        ((0, 0, 5, 5), "object", False, True),  # a quarter of the object
        ((0, 0, 5, 6), "object", False, False),
        ((10, 0, 20, 10), "region", False, True),  # touching is nothing
        ((5, 5, 5, 9), "region", False, True),  # no area: matches nothing
        ((9, 9, 1, 1), "region", False, True),  # the wrong way round
    ],
)
def test_thresholds_and_readings(
    tmp_path: Path, region: Any, over: Any, relevant: bool, irrelevant: bool
) -> None:
    # Others keep the file's boxes mostly the right way round.
    files = write_world(
        tmp_path,
        {"1": question("a", {"1": "o"})},
        {"a": graph({"o": BOX})},
        {"a": [region, (50, 50, 60, 60), (70, 50, 80, 60)]},
    )
    lists = build(files, FpvgConfig(overlap_over=over), None).lists.row(0, named=True)
    assert (0 in lists["relevant"], 0 in lists["irrelevant"]) == (relevant, irrelevant)


def test_truncation_decides(tmp_path: Path) -> None:
    files = write_world(
        tmp_path, {"1": question("a", {"1": "o"})}, {"a": graph({"o": BOX})}, {"a": [(0, 0, 10, 5.9)]}
    )
    assert build(files, FpvgConfig(), None).lists["relevant"].to_list() == [[]]
    assert build(files, FpvgConfig(box_arithmetic="exact"), None).lists["relevant"].to_list() == [[0]]


def test_exclusions_in_their_order(tmp_path: Path) -> None:
    far = (50, 50, 60, 60)
    files = write_world(
        tmp_path,
        {
            "1 fine": question("a", {"1": "o"}),
            "2 nothing named": question("a", {}),
            "3 no map": question("a", None),
            "4 no graph": question("x", {"1": "o"}),
            "5 no object": question("c", {"1": "o", "2": "p"}),
            "6 joined": question("a", {"1": "o,o"}),
            "7 undetected": question("c", {"1": "o"}),
            "8 blank": question("b", {"1": "o"}),
            "9 nothing else": question("d", {"1": "o"}),
        },
        {image: graph({"o": BOX}) for image in "abcd"},
        {"a": [BOX, far], "b": [], "d": [BOX, BOX]},
    )
    report = build(files, FpvgConfig(), None)
    assert report.lists.select("question_id", "exclusion", "region_count").rows() == [
        ("1 fine", None, 2),
        ("2 nothing named", "no annotation", 2),
        ("3 no map", "no annotation", 2),
        ("4 no graph", "image not in scene graphs", None),
        ("5 no object", "object missing in the graph", None),
        ("6 joined", "object missing in the graph", 2),
        ("7 undetected", "no detections", None),
        ("8 blank", "no relevant region", 0),
        ("9 nothing else", "no irrelevant region", 2),
    ]
    assert report.lists["relevant"].to_list() == [[0], *[None] * 6, [], [0, 1]]
    assert report.lists["irrelevant"].to_list() == [[1], *[None] * 6, [], []]
    assert report.figures == {
        "mean_regions_all": 2.0, "mean_regions_relevant": 1.0, "mean_regions_irrelevant": 1.0,
    }  # fmt: skip
    assert len(report.warnings) == 2


def test_final_takes_the_answers_objects_alone(tmp_path: Path) -> None:
    one = question("a", {"1": "o"}) | {
        "annotations": {"question": {"1": "o"}, "answer": {"0": "p"}, "fullAnswer": {"1": "o", "2:4": "p"}}
    }
    far = (50, 50, 60, 60)
    files = write_world(
        tmp_path, {"1": one}, {"a": graph({"o": BOX, "p": far})}, {"a": [BOX, far, (80, 80, 90, 90)]}
    )
    assert build(files, FpvgConfig(), None).lists["relevant"].to_list() == [[0, 1]]
    assert build(files, FpvgConfig(relevant="final"), None).lists["relevant"].to_list() == [[1]]


def test_outputs(tmp_path: Path) -> None:
    far = (50, 50, 60, 60)
    files = write_world(
        tmp_path / "in",
        {"2": question("a", {"1": "o"}), "1": question("b", {"1": "o"}), "3": question("a", {})},
        {"a": graph({"o": BOX}), "b": graph({"o": BOX})},
        {"a": [BOX, far, far], "b": [far]},
    )
    out = tmp_path / "out"
    report = build(files, FpvgConfig(nested_json=True, long_form=True), out)
    regions = pl.read_parquet(out / "regions.parquet")
    assert regions["question_id"].to_list() == ["1", "2", "3"]
    assert pl.read_parquet(out / "regions_long.parquet").rows() == [
        ("2", "irrelevant", 1), ("2", "irrelevant", 2), ("2", "relevant", 0),
    ]  # fmt: skip
    nested = {
        name: json.loads((out / f"{name}_regions.json").read_text()) for name in ("relevant", "irrelevant")
    }
    assert nested == {
        "relevant": {"a": {"2": [0]}, "b": {"1": []}},
        "irrelevant": {"a": {"2": [1, 2]}, "b": {"1": [0]}},
    }
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["counts"] == report.counts
    assert manifest["figures"]["mean_regions_irrelevant"] == 2.0
    assert [one["role"] for one in manifest["inputs"]] == ["questions", "scene_graphs", "detections"]
    assert manifest["config"]["nested_json"] is manifest["config"]["long_form"] is True


def test_row_order_of_the_inputs_does_not_matter(tmp_path: Path) -> None:
    images = [f"i{number}" for number in range(6)]
    drawn = np.random.default_rng(1)
    boxes = {
        image: [(*corner, *(corner + 20)) for corner in drawn.integers(0, 60, (5, 2))] for image in images
    }
    boxes = {image: [tuple(map(int, one)) for one in rows] for image, rows in boxes.items()}
    questions = {f"{number}": question(images[number % 6], {"1": "o"}) for number in range(20)}
    graphs = {image: graph({"o": boxes[image][0], "p": BOX}) for image in images}
    tables = []
    for order in (1, -1):
        files = write_world(
            tmp_path / f"{order}",
            *(dict(list(one.items())[::order]) for one in (questions, graphs, boxes)),  # type: ignore[attr-defined]
        )
        build(files, FpvgConfig(), tmp_path / f"out{order}")
        tables.append((tmp_path / f"out{order}" / "regions.parquet").read_bytes())
    assert tables[0] == tables[1]


# ---- options ----


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"iou_threshold": 0.2}, "got 0.2 below 0.25, expected at least as much"),
        ({"iou_threshold": 1.0}, "iou_threshold: got 1.0, expected a number from 0, below 1"),
        ({"overlap_threshold": -0.1}, "--overlap-threshold"),
        ({"preset": "x"}, "preset: got 'x', expected one of default, code, paper"),
        ({"relevant": None}, "relevant: got None"),
    ],
)
def test_options_without_meaning(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        FpvgConfig(**options)
    assert told in str(error.value)


def test_options_win_over_presets() -> None:
    config = FpvgConfig(preset="paper", box_arithmetic="reference")
    assert (config.overlap_over, config.box_arithmetic, config.padding) == ("object", "reference", "excluded")
