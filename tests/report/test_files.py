"""What a report writes beside the page: charts as files; and the pictures that it holds."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image
from report.folders import PLAIN, Folders, build_rows, data_of, text_of

from shortcut_miner.errors import BackendError, ConfigError
from shortcut_miner.report import extra
from shortcut_miner.report.report import HtmlReport, write_html_report
from shortcut_miner.report.thumbnails import MOST_IMAGES

RULES = "room-0-all-rules-data"


# ---- charts ----


@pytest.fixture(scope="module")
def charts(folders: Folders, tmp_path_factory: pytest.TempPathFactory) -> tuple[HtmlReport, Path]:
    out = tmp_path_factory.mktemp("charts") / "charts"
    return write_html_report(folders.out / "rad", charts=out, scores=[folders.out / "rad-scores"]), out


def test_every_chart_is_there_in_three_forms(charts: tuple[HtmlReport, Path]) -> None:
    report, out = charts
    names = {path.name.split(".")[0] for path in out.iterdir()} - {"manifest"}
    assert len(names) == report.chart_count
    shown = sum(len(one.charts) for section in report.rooms[0].sections for one in section.figures)
    assert report.chart_count == shown > 5
    for name in names:
        with Image.open(out / f"{name}.png") as image:
            assert image.width == pytest.approx(4 * 340, abs=8)
        assert (out / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
        spec = json.loads((out / f"{name}.vl.json").read_text(encoding="utf-8"))
        assert "vega-lite" in spec["$schema"]
        assert "var(--" not in json.dumps(spec)


def test_a_chart_says_its_numbers(charts: tuple[HtmlReport, Path], folders: Folders) -> None:
    text = (charts[1] / "rad-answers.svg").read_text(encoding="utf-8")
    made = folders.table("rad", "augmentations")
    for kind in made["augmentation"].unique():
        for answer in ("yes", "no"):
            assert f">{len(made.filter(augmentation=kind, answer=answer)):,}</text>" in text


@pytest.mark.slow
def test_charts_are_the_same_bytes_and_replace_their_own(
    charts: tuple[HtmlReport, Path], folders: Folders, tmp_path: Path
) -> None:
    scores = [folders.out / "rad-scores"]
    again = tmp_path / "charts"
    for _ in range(2):
        write_html_report(folders.out / "rad", charts=again, scores=scores)
    for path in charts[1].iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes(), path.name


def test_charts_never_replace_a_file_of_the_users(folders: Folders, tmp_path: Path) -> None:
    (tmp_path / "rad-answers.png").write_bytes(b"mine")
    with pytest.raises(
        ConfigError, match=r"got a folder with 'rad-answers\.png', which report did not write"
    ):
        write_html_report(folders.out / "rad", tmp_path / "report.html", charts=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rad-answers.png"]


# ---- pictures ----


def draw(folder: Path, count: int = 6) -> Path:
    folder.mkdir()
    for number in range(count):
        Image.new("RGB", (400, 200), (40 * number, 0, 0)).save(folder / f"COCO_val2014_{number:012d}.jpg")
    return folder


def boxes(path: Path) -> Path:
    pl.DataFrame(
        {
            "image_id": ["0", "0", "3"],
            "region_index": pl.Series([0, 1, 0], dtype=pl.UInt32),
            "is_padding": [False] * 3,
            "label": ["dog", "cat", "cat"],
            "score": [0.9, 0.8, 0.7],
            **{name: pl.Series(values, dtype=pl.Float32) for name, values in (
                ("x1", [100, 0, 0]), ("y1", [50, 0, 0]), ("x2", [300, 40, 400]), ("y2", [150, 20, 200]),
            )},
        }
    ).write_parquet(path)  # fmt: skip
    return path


def held(page: Path) -> Any:
    return data_of(page.read_text(encoding="utf-8"), RULES)


def test_questions_have_pictures_with_boxes(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN)
    images = draw(tmp_path / "images")
    report = write_html_report(built, page, images=str(images), detections=boxes(tmp_path / "boxes.parquet"))
    thumbnails = held(page)["thumbnails"]
    assert sorted(thumbnails) == [str(number) for number in range(6)]
    header, data = thumbnails["3"]["source"].split(",")
    assert header == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as small:
        assert small.size == (264, 132)
        assert small.convert("RGB").getpixel((5, 5)) == pytest.approx((120, 0, 0), abs=4)
    assert thumbnails["0"]["boxes"] == [["dog", 0.25, 0.25, 0.5, 0.5], ["cat", 0, 0, 0.1, 0.1]]
    assert thumbnails["3"]["boxes"] == [["cat", 0, 0, 1, 1]]
    assert "boxes" not in thumbnails["1"]
    assert "6 of 6 images are shown with their questions" in report.notes
    assert report.warnings == ()


def test_boxes_lie_where_they_are_on_large_images_that_are_turned(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN)
    images = draw(tmp_path / "images")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (4000, 8000), "green").save(images / "COCO_val2014_000000000003.jpg", exif=exif)
    table = boxes(tmp_path / "boxes.parquet")
    write_html_report(built, page, images=str(images), detections=table)
    shown = held(page)["thumbnails"]["3"]
    assert shown["boxes"] == [["cat", 0, 0, 0.05, 0.05]]
    with Image.open(io.BytesIO(base64.b64decode(shown["source"].split(",")[1]))) as small:
        assert small.size == (264, 132)


def test_pictures_by_a_pattern(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN)
    images = draw(tmp_path / "images", 2)
    write_html_report(built, page, images=f"{images}/COCO_val2014_{{image_id:012d}}.jpg")
    assert sorted(held(page)["thumbnails"]) == ["0", "1"]
    assert "Pictures are those of the first 2 of 6 images." in text_of(page.read_text(encoding="utf-8"))


def test_files_that_are_no_pictures_are_told(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN)
    images = draw(tmp_path / "images")
    (images / "COCO_val2014_000000000002.jpg").write_bytes(b"\xff\xd8\xff\0 no picture")
    report = write_html_report(built, page, images=str(images))
    assert report.warnings == ("images that can't be read: 1 (COCO_val2014_000000000002.jpg)",)
    assert "2" not in held(page)["thumbnails"]


def test_a_page_holds_so_many_pictures(tmp_path: Path, page: Path) -> None:
    count = MOST_IMAGES + 20
    rows = [(f"what {number % 200}", ["dog"], f"answer {number % 200}") for number in range(count)]
    built = build_rows(tmp_path / "rows", rows * 2, rows, min_count=2)
    write_html_report(built, page, images=str(draw(tmp_path / "images", count)))
    assert len(held(page)["thumbnails"]) == MOST_IMAGES


def test_boxes_need_images(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN)
    with pytest.raises(ConfigError, match=r"got boxes without images, expected both\. Give --images too"):
        write_html_report(built, page, detections=boxes(tmp_path / "boxes.parquet"))


def test_a_folder_of_images_that_is_not_there_is_told(tmp_path: Path, page: Path) -> None:
    built = build_rows(tmp_path / "rows", PLAIN, PLAIN)
    with pytest.raises(ConfigError, match="--images nowhere: got no such folder"):
        write_html_report(built, page, images="nowhere")
    assert not page.exists()


# ---- without the extra ----


@pytest.mark.parametrize(("module", "name"), [*extra.LIBRARIES.items()])
def test_a_missing_library_is_told_before_the_work(
    tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    def without(asked: str) -> Any:
        if asked == module:
            raise ImportError(asked)
        return object()

    monkeypatch.setattr(extra, "import_module", without)
    with pytest.raises(BackendError, match=rf"got no {name}, .*pip install 'shortcut-miner\[report\]'"):
        write_html_report(tmp_path / "not even read", page)
    assert not page.exists()
