"""HDF5 data whose parts lie in other files, and one shard of several."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sources.test_regions import BOXES, boxes_of, check, entry, write_h5

from shortcut_miner.cli.inspect import find_out
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.images.h5_data import data_set
from shortcut_miner.sources.images.regions import read_regions

h5py: Any = pytest.importorskip("h5py")
Write = Callable[[str, Any], Path]


def virtual(path: Path, sources: list[str], rows: int = 1, name: str = "bboxes") -> Path:
    """Write a file whose boxes are those of other files, one after the other."""
    layout = h5py.VirtualLayout((len(sources) * rows, 3, 4), "<f4")
    for at, source in enumerate(sources):
        layout[at * rows : (at + 1) * rows] = h5py.VirtualSource(source, "bboxes", (rows, 3, 4))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset(name, layout)
    return path


@pytest.fixture
def parts(tmp_path: Path, write: Write) -> tuple[Path, list[Path]]:
    """Return a virtual file of two others, and these, with an info JSON beside."""
    sources = [write_h5(tmp_path / f"part_{at}.h5", [BOXES + at]) for at in range(2)]
    write("all_info.json", {"7": entry(0), "8": entry(1)})
    return virtual(tmp_path / "all.h5", ["part_0.h5", "part_1.h5"]), sources


def test_virtual_boxes_are_read(parts: tuple[Path, list[Path]]) -> None:
    reading = check(read_regions(parts[0]))
    np.testing.assert_array_equal(boxes_of(reading, "8"), BOXES + 1)


@pytest.mark.parametrize("on_bad_row", ["error", "skip"])
def test_a_missing_source_is_named(parts: tuple[Path, list[Path]], on_bad_row: Any) -> None:
    path, sources = parts
    sources[1].unlink()
    told = r"all\.h5: got a data set 'bboxes' that lies in other files, .* too short: 'part_1\.h5'; exp"
    with pytest.raises(SourceError, match=told):
        read_regions(path, on_bad_row=on_bad_row)
    assert "part_1.h5" in find_out(path, 1).problems[0]
    sources[0].unlink()
    with pytest.raises(SourceError, match=r"'part_0\.h5', 'part_1\.h5'; expected all of them"):
        read_regions(path, on_bad_row=on_bad_row)


def test_sources_are_found_where_hdf5_finds_them(tmp_path: Path, write: Write) -> None:
    (tmp_path / "far").mkdir()
    source = write_h5(tmp_path / "far" / "part.h5", [BOXES])
    write("f_info.json", {"7": entry(0)})
    for name in (str(source), "far/part.h5"):
        path = virtual(tmp_path / "f.h5", [name])
        np.testing.assert_array_equal(boxes_of(read_regions(path), "7"), BOXES)


def test_a_source_that_is_short_or_lacks_its_data_is_named(tmp_path: Path, write: Write) -> None:
    write("f_info.json", {"7": entry(0), "8": entry(1)})
    path = virtual(tmp_path / "f.h5", ["part.h5"], 2)
    write_h5(tmp_path / "part.h5", [BOXES])
    with pytest.raises(SourceError, match=r"missing or too short: 'part\.h5'; expected all"):
        read_regions(path)
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file["other"] = np.zeros((2, 3, 4), "f4")
    with pytest.raises(SourceError, match=r"missing or too short: 'part\.h5'; expected all"):
        read_regions(path)
    write_h5(tmp_path / "part.h5", [BOXES, BOXES])
    assert len(read_regions(path).regions) == 6


def test_a_source_of_a_source_is_looked_for(tmp_path: Path, write: Write) -> None:
    write("f_info.json", {"7": entry(0)})
    inner = write_h5(tmp_path / "inner.h5", [BOXES])
    virtual(tmp_path / "middle.h5", ["inner.h5"])
    path = virtual(tmp_path / "f.h5", ["middle.h5"])
    assert len(read_regions(path).regions) == 3
    inner.unlink()
    with pytest.raises(SourceError, match=r"missing or too short: 'inner\.h5'"):
        read_regions(path)


def test_links_and_raw_files(tmp_path: Path, write: Write) -> None:
    write("f_info.json", {"7": entry(0)})
    path = tmp_path / "f.h5"
    with h5py.File(path, "w") as file:
        file["bboxes"] = h5py.ExternalLink("linked.h5", "/bboxes")
    with pytest.raises(SourceError, match=r"missing or too short: 'linked\.h5'"):
        read_regions(path)
    write_h5(tmp_path / "linked.h5", [BOXES])
    assert len(read_regions(path).regions) == 3
    with h5py.File(path, "w") as file:
        file.create_dataset("bboxes", (1, 3, 4), "<f4", external=[("boxes.raw", 0, 48)])
    with pytest.raises(SourceError, match=r"missing or too short: 'boxes\.raw'"):
        read_regions(path)
    (tmp_path / "boxes.raw").write_bytes(BOXES.tobytes()[:40])
    with pytest.raises(SourceError, match=r"missing or too short: 'boxes\.raw'"):
        read_regions(path)


def test_any_data_set_can_be_asked_for(tmp_path: Path) -> None:
    path = virtual(tmp_path / "f.h5", ["gone.h5"], name="features")
    with h5py.File(path) as file:
        assert data_set(file, "bboxes", path) is None
        with pytest.raises(SourceError, match=r"got a data set 'features' .* 'gone\.h5'"):
            data_set(file, "features", path)


def test_a_part_of_a_source_may_be_taken(tmp_path: Path, write: Write) -> None:
    write("f_info.json", {"7": entry(0)})
    write_h5(tmp_path / "part.h5", [BOXES, BOXES + 1, BOXES + 2])
    layout = h5py.VirtualLayout((1, 3, 4), "<f4")
    layout[:] = h5py.VirtualSource("part.h5", "bboxes", (3, 3, 4))[1:2]
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_virtual_dataset("bboxes", layout)
    np.testing.assert_array_equal(boxes_of(read_regions(tmp_path / "f.h5"), "7"), BOXES + 1)
    write_h5(tmp_path / "part.h5", [BOXES])
    with pytest.raises(SourceError, match=r"missing or too short: 'part\.h5'; expected all"):
        read_regions(tmp_path / "f.h5")


# ---- one shard of several ----


def shards(folder: Path) -> dict[str, dict[str, Any]]:
    """Write three shards and return their info JSON, which lies beside them."""
    for number in range(3):
        write_h5(folder / f"gqa_objects_{number}.h5", [BOXES + number])
    info = {f"i{number}": entry(0, idx=0, file=number) for number in range(3)}
    for one in info.values():
        del one["index"]
    (folder / "gqa_objects_info.json").write_text(json.dumps(info))
    return info


def test_one_shard_is_read_by_its_number(tmp_path: Path) -> None:
    shards(tmp_path)
    for given in ({}, {"info": tmp_path / "gqa_objects_info.json"}):
        reading = check(read_regions(tmp_path / "gqa_objects_1.h5", **given))
        assert dict(reading.images.select("image_id", "region_count").iter_rows()) == {
            "i0": None,
            "i1": 3,
            "i2": None,
        }
        np.testing.assert_array_equal(boxes_of(reading, "i1"), BOXES + 1)
        assert reading.notes == ("images of other HDF5 files than this one, taken as not detected: 2",)
    both = read_regions([tmp_path / "gqa_objects_1.h5", tmp_path / "gqa_objects_2.h5"])
    assert dict(both.images.select("image_id", "region_count").iter_rows()) == {"i0": None, "i1": 3, "i2": 3}
    np.testing.assert_array_equal(boxes_of(both, "i2"), BOXES + 2)


def test_a_shard_without_its_number_is_refused(tmp_path: Path) -> None:
    info = shards(tmp_path)
    shutil.copy(tmp_path / "gqa_objects_1.h5", tmp_path / "mine.h5")
    told = r"mine\.h5: got one HDF5 file and an info JSON of 3 \(files 0, 1, 2\), expected a name that ends"
    for images in (None, {"i1"}):  # which images are asked for changes nothing
        with pytest.raises(SourceError, match=told):
            read_regions(tmp_path / "mine.h5", info=tmp_path / "gqa_objects_info.json", images=images)
    (tmp_path / "one.json").write_text(json.dumps({"i1": info["i1"]}))
    assert len(read_regions(tmp_path / "mine.h5", info=tmp_path / "one.json").regions) == 3


def test_the_info_json_beside_one_file(tmp_path: Path) -> None:
    path = write_h5(tmp_path / "gqa_spatial_36.h5", [BOXES])
    without_file = {"7": entry(0, idx=0)}
    del without_file["7"]["index"]
    (tmp_path / "gqa_spatial_info.json").write_text(json.dumps(without_file))
    assert len(read_regions(path).regions) == 3
    (tmp_path / "gqa_spatial_merged_info.json").write_text(json.dumps(without_file))
    with pytest.raises(ConfigError, match=r"got 2 info JSON files .*Name it with --detections-info"):
        read_regions(path)
