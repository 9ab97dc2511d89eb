"""Several files of images, or their folder, read as one."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources.test_gqa import graph
from sources.test_regions import BOXES, bottom_up, boxes_of, check, entry, lxmert, pipeline, write_h5

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.options import as_path_tuple
from shortcut_miner.schemas import SceneObjects, validated
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.images.several import joined
from shortcut_miner.sources.opening.files import FileFacts, file_facts
from shortcut_miner.sources.opening.reading import Reading

Write = Callable[[str, Any], Path]


# ---- detections ----


@pytest.fixture
def two(write: Write) -> list[Path]:
    return [
        write("train.tsv", bottom_up("7") + "\n" + bottom_up("8", BOXES + 1)),
        write("val.jsonl", pipeline(9, BOXES + 2)),
    ]


def test_files_are_read_as_one(two: list[Path]) -> None:
    reading = check(read_regions(two))
    assert reading.images["image_id"].to_list() == ["7", "8", "9"]
    assert reading.regions.equals(pl.concat([read_regions(one).regions for one in two]))
    assert reading.kind == "bottom-up-attention TSV, object detection JSONL"
    assert reading.notes == ()
    assert reading.files == tuple(map(file_facts, two))
    assert read_regions(two, images={"8", "9"}).images["image_id"].to_list() == ["8", "9"]
    single = read_regions(two[:1])
    assert (single.parts, single.file) == ((), file_facts(two[0]))


def test_each_file_is_recorded(two: list[Path]) -> None:
    facts = InputFacts.of({"detections": read_regions(two)})
    alone = [InputFacts.of({"detections": read_regions(one)}).records[0] for one in two]
    assert list(facts.records) == alone
    assert [one.name for one in alone] == ["train.tsv", "val.jsonl"]


def test_a_folder_is_its_files(two: list[Path], write: Write) -> None:
    folder = two[0].parent
    write("a_readme.txt", "hello")
    write("empty", "")
    write("scenes.json", {"1": graph()})
    pl.DataFrame({"image_id": ["x"], "label": ["cat"]}).write_parquet(folder / "labels.parquet")
    reading = read_regions(folder)
    assert reading.regions.equals(read_regions(two).regions)
    assert reading.notes == (
        "files of another format left out: 'a_readme.txt', 'empty', 'labels.parquet', 'scenes.json'",
    )
    two[1].unlink()
    assert read_regions(folder).regions.equals(read_regions(two[0]).regions)
    assert read_regions(folder).notes == (
        "files of another format left out: 'a_readme.txt', 'empty', 'labels.parquet', 'scenes.json'",
    )
    two[0].unlink()
    with pytest.raises(SourceError, match=r"got a folder without detections \(it has 'a_readme.txt'"):
        read_regions(folder)


def test_detections_beside_a_folders_hdf5_are_noted(two: list[Path], tmp_path: Path, write: Write) -> None:
    write_h5(tmp_path / "objects_0.h5", [BOXES])
    write("info.json", {"7": entry(0, idx=0, file=0)})
    reading = read_regions(tmp_path)
    assert reading.images["image_id"].to_list() == ["7"]
    assert reading.notes == ("detections beside the HDF5 files left out: 'train.tsv', 'val.jsonl'",)


def test_shards_that_are_given_one_by_one_are_not_told_as_other_files(tmp_path: Path, write: Write) -> None:
    shards = [write_h5(tmp_path / f"objects_{at}.h5", [BOXES + at]) for at in range(3)]
    info = {str(at): entry(0, idx=0, file=at) for at in range(3)}
    write("info.json", info)
    reading = check(read_regions(shards))
    assert reading.notes == ()
    assert reading.regions.equals(read_regions(tmp_path).regions)
    reading = check(read_regions(shards[:2]))  # the third is missing
    told = "images of other HDF5 files than this one, taken as not detected: 1"
    assert reading.notes[:2] == (f"objects_0.h5: {told}", f"objects_1.h5: {told}")


def test_an_image_that_files_have_alike_is_kept_once(two: list[Path], write: Write) -> None:
    again = write("minival.tsv", bottom_up("8", BOXES + 1) + "\n" + bottom_up("6"))
    reading = check(read_regions([*two, again]))
    assert reading.images["image_id"].to_list() == ["7", "8", "9", "6"]
    np.testing.assert_array_equal(boxes_of(reading, "8"), BOXES + 1)
    assert reading.notes == ("images that several files have alike, kept once: 1",)
    assert reading.dropped == {}


@pytest.mark.parametrize(
    "line", [bottom_up("8"), bottom_up("8", BOXES[:2] + 1), bottom_up("8", BOXES + 1, w="99")]
)
def test_an_image_that_files_have_otherwise_is_told(two: list[Path], write: Write, line: str) -> None:
    files = [two[0], two[1], write("other.tsv", line + "\n" + bottom_up("6"))]
    with pytest.raises(SourceError) as error:
        read_regions(files)
    told = (
        f"{two[0]} and {files[2]}: got 1 images that files describe differently ('8'), expected each in one"
    )
    assert told in str(error.value)
    reading = check(read_regions(files, on_bad_row="skip"))
    assert reading.images["image_id"].to_list() == ["7", "9", "6"]
    assert "8" not in reading.regions["image_id"].to_list()
    assert reading.dropped == {"image: expected the same in every file that has it": 1}


def test_bad_lines_of_all_files_are_counted(write: Write) -> None:
    files = [write(f"{at}.tsv", f"{bottom_up(f'{at}')}\nx\t1\n{bottom_up(f'1{at}')}") for at in range(3)]
    with pytest.raises(SourceError, match=r"0\.tsv: got 1 bad of"):
        read_regions(files)
    reading = check(read_regions(files, on_bad_row="skip"))
    assert reading.dropped == {"line: expected 6 columns": 3}
    assert len(reading.images) == 6


def test_a_second_file_for_all_or_each(write: Write) -> None:
    def results(image: int) -> list[dict[str, Any]]:
        return [{"image_id": image, "category_id": 1, "score": 0.5, "bbox": [1, 2, 3, 4]}]

    files = [write("train.json", results(7)), write("val.json", results(8))]
    names = [write("cat.json", {"1": "cat"}), write("dog.json", {"1": "dog"})]
    assert read_regions(files, info=names[0]).regions["label"].to_list() == ["cat", "cat"]
    assert read_regions(files, info=names).regions["label"].to_list() == ["cat", "dog"]
    mixed = [write("f.tsv", bottom_up("9")), *files]
    assert read_regions(mixed, info=names[1]).regions["label"].to_list() == [None] * 3 + ["dog"] * 2
    folder = files[0].parent / "folder"
    folder.mkdir()
    (folder / "f.tsv").write_text(bottom_up("10"))
    (folder / "more.json").write_text(json.dumps(results(11)))
    of_each = read_regions([folder, files[0]], info=names)  # of the folder's files one takes it
    assert of_each.regions["label"].to_list() == [None] * 3 + ["cat", "dog"]
    with pytest.raises(ConfigError, match="detections_info: got 2 files for 3 detections, expected one"):
        read_regions(mixed, info=names)
    with pytest.raises(ConfigError, match="without category names"):
        read_regions(files)
    two = [write("a.tsv", bottom_up("1")), write("b.tsv", bottom_up("2"))]
    with pytest.raises(ConfigError, match=r"a\.tsv: got bottom-up-attention TSV and cat\.json beside it"):
        read_regions(two, info=names[0])
    vocabulary = write("v.txt", "a\nb\nc\n")
    lines = [write("c.tsv", lxmert("1")), write("d.tsv", lxmert("2"))]
    assert read_regions(lines, info=vocabulary).regions["label"].to_list() == ["a", "b", "c"] * 2


labels = st.lists(st.tuples(st.sampled_from(["cat", "dog", None]), st.sampled_from([0.5, 1.0])), max_size=3)
images = st.dictionaries(st.sampled_from(["1", "2", "3"]), labels.filter(bool), min_size=1)


@given(st.lists(images, min_size=2, max_size=3))
def test_files_are_compared_as_in_plain_python(
    files: list[dict[str, list[tuple[str | None, float]]]],
) -> None:
    schema = {"image_id": pl.String, "label": pl.String, "score": pl.Float64}
    facts = FileFacts(name="f", size=0, sha256="")
    readings = [
        Reading(
            table=pl.DataFrame(
                [(image, *one) for image, rows in file.items() for one in rows], schema=schema, orient="row"
            ),
            kind="labels",
            file=facts,
        )
        for file in files
    ]
    paths = [Path(str(at)) for at in range(len(files))]
    first: dict[str, list[tuple[str | None, float]]] = {}
    differing = set()
    for file in files:
        for image, rows in file.items():
            if Counter(first.setdefault(image, rows)) != Counter(rows):
                differing.add(image)
    expected = [(image, *one) for image, rows in first.items() if image not in differing for one in rows]
    reading = joined(readings, paths, "skip")
    assert reading.table.rows() == expected
    assert sum(reading.dropped.values()) == len(differing)
    if differing:
        with pytest.raises(
            SourceError, match=rf"got {len(differing)} images that files describe differently"
        ):
            joined(readings, paths, "error")


def test_paths_are_one_or_several() -> None:
    assert as_path_tuple("detections", "a") == (Path("a"),)
    assert as_path_tuple("detections", ("a", Path("b"))) == (Path("a"), Path("b"))
    with pytest.raises(ConfigError, match=r"detections: got no file, expected at least one\."):
        as_path_tuple("detections", [])
    with pytest.raises(ConfigError, match="detections: got 3, expected a path"):
        as_path_tuple("detections", ["a", 3])


# ---- scene graphs ----


def test_scene_graphs_of_several_files(write: Write) -> None:
    files = [write("train.json", {"1": graph(), "2": graph()}), write("val.json", {"3": graph()})]
    reading = read_scene_graphs(files)
    validated(reading.table, SceneObjects, "objects")
    assert reading.images["image_id"].to_list() == ["1", "2", "3"]
    assert reading.table.equals(pl.concat([read_scene_graphs(one).table for one in files]))
    assert [one.name for one in InputFacts.of({"scene_graphs": reading}).records] == [
        "train.json",
        "val.json",
    ]
    write("questions.json", {"1": {"question": "?", "imageId": "1", "answer": "a", "types": {}}})
    folder = read_scene_graphs(files[0].parent)
    assert folder.table.equals(reading.table)
    assert folder.notes == ("files of another format left out: 'questions.json'",)


def test_what_a_folder_of_scene_graphs_leaves_out(write: Write, tmp_path: Path) -> None:
    bare = {"width": 40, "height": 30, "objects": {}}
    write("bare.json", {str(image): bare for image in range(2000)} | {"x": graph()})  # no name in 64 KiB
    ends = {"object": {"object_id": 1, "name": "clock"}, "subject": {"object_id": 2, "name": "pole"}}
    write("relationships.json", [{"relationships": [ends], "image_id": 1}])
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "val.json").write_text(json.dumps({"y": graph()}))
    reading = read_scene_graphs(tmp_path)
    assert len(reading.images) == 2001
    assert reading.table["image_id"].unique().to_list() == ["x"]
    assert reading.notes == (
        "files of another format left out: 'relationships.json'",
        "folders in this folder left out: 'more'",
    )


def test_an_image_in_two_scene_graphs(write: Write) -> None:
    first, other = graph(), graph()
    next(iter(other["objects"].values()))["attributes"] = ["odd"]
    files = [write("a.json", {"1": first, "2": first}), write("b.json", {"2": first, "3": first})]
    reading = read_scene_graphs(files)
    assert reading.images["image_id"].to_list() == ["1", "2", "3"]
    assert len(reading.table) == 3 * len(first["objects"])
    assert reading.notes == ("images that several files have alike, kept once: 1",)
    files[1].write_text(json.dumps({"2": other, "3": first}))
    with pytest.raises(SourceError, match=r"a\.json and .*b\.json: got 1 images that files"):
        read_scene_graphs(files)
    skipped = read_scene_graphs(files, on_bad_row="skip")
    assert skipped.images["image_id"].to_list() == ["1", "3"]


def test_a_scene_graph_that_has_an_image_twice(write: Write) -> None:
    one = json.dumps(graph())
    path = write("g.json", f'{{"1": {one}, "2": {one}, "1": {one}}}')
    with pytest.raises(SourceError, match=r"image '1', image id: got 2 entries, expected one entry an image"):
        read_scene_graphs(path)
    assert read_scene_graphs(path, on_bad_row="skip").images["image_id"].to_list() == ["2"]


# ---- labels ----


def test_labels_of_several_files(write: Write, tmp_path: Path) -> None:
    train = {"1": {"classes": ["cat", "cat"], "scores": [0.5, 0.5]}, "2": {"classes": [], "scores": []}}
    files = [write("train.json", train), write("val.json", {"3": {"classes": ["dog"], "scores": [1.0]}})]
    reading = read_labels(files)
    assert reading.table.select("image_id", "label").rows() == [
        ("1", "cat"),
        ("1", "cat"),
        ("2", None),
        ("3", "dog"),
    ]
    assert read_labels(tmp_path).table.equals(reading.table)
    alike = read_labels([*files, write("more.json", {"1": train["1"], "2": train["2"]})])
    assert alike.table.equals(reading.table)
    assert alike.notes == ("images that several files have alike, kept once: 2",)
    other = write("more.json", {"1": {"classes": ["cat"], "scores": [0.5]}})  # once, not twice
    with pytest.raises(SourceError, match=r"train\.json and .*more\.json: got 1 images .* \('1'\)"):
        read_labels([*files, other])
    assert read_labels([*files, other], on_bad_row="skip").table["image_id"].to_list() == ["2", "3"]
