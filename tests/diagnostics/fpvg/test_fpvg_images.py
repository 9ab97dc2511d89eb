"""Images in which a condition's boxes stay: every pixel against a plain loop, and what is written of them."""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.fpvg.worlds import graph, question, write_world
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFilter

import shortcut_miner as sm
from shortcut_miner.cli.run import run
from shortcut_miner.diagnostics.fpvg.answers import of_condition
from shortcut_miner.diagnostics.fpvg.build import build
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, ImagesConfig, ImagesFiles, ScoreConfig
from shortcut_miner.diagnostics.fpvg.images import images as draw
from shortcut_miner.diagnostics.fpvg.masks import control, union
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.answers.predictions import read_answers

WIDTH, HEIGHT = 40, 30
# The object, a region on it, one that covers a part of it, one beside it, and one far away.
OBJECT = (4, 4, 20, 20)
BOXES = [(5, 4, 20, 20), (16, 4, 34, 20), (0, 22, 12, 30), (25.5, 20.5, 60, 60)]
NAMES = ["03", "q/../1", "q2"]


def pixels(seed: int, width: int = WIDTH, height: int = HEIGHT) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Build three questions about two images, one of which has twice the size that its boxes are made for."""
    graphs = {image: graph({"o": OBJECT}, (WIDTH, HEIGHT)) for image in ("a", "b")}
    files = write_world(
        tmp_path,
        {name: question("b" if name == "q2" else "a", {"1": "o"}, answer="red") for name in NAMES},
        graphs,
        dict.fromkeys(graphs, BOXES),
    )
    size = {"width": WIDTH, "height": HEIGHT}
    lines = [json.loads(line) | size for line in files.detections[0].read_text().splitlines()]
    files.detections[0].write_text("\n".join(map(json.dumps, lines)))
    build(files, FpvgConfig(), tmp_path / "built")
    (tmp_path / "images").mkdir()
    Image.fromarray(pixels(0)).save(tmp_path / "images" / "a.png")
    Image.fromarray(pixels(1, 2 * WIDTH, 2 * HEIGHT)).save(tmp_path / "images" / "b.png")
    return tmp_path


def drawn(world: Path, out: str = "out", **more: Any) -> tuple[Path, dict[str, Any]]:
    """Draw, and return the folder with each image by its id."""
    sm.fpvg.images(world / "built", images=world / "images", out=world / out, **more)
    return world / out, read_pixels(world / out)


def read_pixels(folder: Path) -> dict[str, Any]:
    table = pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("pixels_*.parquet"))])
    return {row["id"]: np.asarray(Image.open(io.BytesIO(row["image"]["bytes"]))) for row in table.to_dicts()}


def covered(x: int, y: int, boxes: Sequence[Sequence[float]], scale: int) -> bool:
    """Return whether a pixel lies in a box whose sides are rounded, as Python rounds."""
    return any(
        round(scale * x1) <= x < round(scale * x2) and round(scale * y1) <= y < round(scale * y2)
        for x1, y1, x2, y2 in boxes
    )


def expected(original: Any, condition: str, fill: Any, scale: int) -> Any:
    """Return an image pixel by pixel; `fill` gives the filled image."""
    result = fill.copy()
    for y in range(original.shape[0]):
        for x in range(original.shape[1]):
            is_relevant = covered(x, y, BOXES[:1], scale)
            is_kept = (
                is_relevant
                if condition == "relevant"
                else (covered(x, y, BOXES[1:], scale) and not is_relevant)
            )
            if is_kept:
                result[y, x] = original[y, x]
    return result


def test_the_lists_of_this_world(world: Path) -> None:
    lists = pl.read_parquet(world / "built" / "regions.parquet")
    assert lists["relevant"].to_list() == [[0]] * 3
    assert lists["irrelevant"].to_list() == [[1, 2, 3]] * 3  # the first of them covers a part of it


@pytest.mark.parametrize("fill", ["blur", "mean", "black"])
def test_every_pixel_is_the_originals_or_the_fill(world: Path, fill: Any) -> None:
    _, found = drawn(world, fill=fill)
    assert set(found) == {f"{name}#{condition}" for name in NAMES for condition in ("relevant", "irrelevant")}
    for name, image in found.items():
        stem, condition = name.split("#")
        scale = 2 if stem == "q2" else 1
        original = pixels(scale - 1, scale * WIDTH, scale * HEIGHT)
        fills = {
            "black": np.zeros_like(original),
            "mean": np.broadcast_to(original.reshape(-1, 3).mean(axis=0), original.shape).astype(np.uint8),
            "blur": np.asarray(
                Image.fromarray(original).filter(ImageFilter.GaussianBlur(scale * WIDTH / 20))
            ),
        }
        assert np.array_equal(image, expected(original, condition, fills[fill], scale)), name


def test_crop_cuts_to_what_stays(world: Path) -> None:
    out, found = drawn(world, fill="crop")
    original = pixels(0)
    assert np.array_equal(found["03#relevant"], original[4:20, 5:20])
    whole = expected(original, "irrelevant", np.zeros_like(original), 1)
    assert np.array_equal(found["03#irrelevant"], whole[4:30, 0:40])
    row = pl.read_parquet(out / "images.parquet").filter(id="03#relevant").row(0, named=True)
    assert (row["width"], row["height"]) == (15, 16)
    assert row["kept_share"] == 15 * 16 / (WIDTH * HEIGHT)


def test_what_the_table_says(world: Path) -> None:
    out, _ = drawn(world)
    table = pl.read_parquet(out / "images.parquet")
    assert table.select("id", "image_id", "fill", "file", "shard", "width", "answer").rows()[:3] == [
        ("03#relevant", "a", "blur", "00000000.png", "pixels_00000.parquet", WIDTH, "red"),
        ("03#irrelevant", "a", "blur", "00000001.png", "pixels_00000.parquet", WIDTH, "red"),
        ("q/../1#relevant", "a", "blur", "00000002.png", "pixels_00000.parquet", WIDTH, "red"),
    ]
    digest = hashlib.sha256((world / "images" / "a.png").read_bytes()).hexdigest()
    assert table["source_sha256"][0] == digest
    verified = sm.verify(out)
    assert verified.agrees
    assert verified.counts == {"drawn": (6, 6), "drawn_questions": (3, 3), "drawn_images": (2, 2)}
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "ids.json", "images.parquet", "manifest.json", "pixels_00000.parquet",
        "predictions_all.json", "predictions_irrelevant.json", "predictions_relevant.json", "run.json",
    ]  # fmt: skip


def test_the_same_bytes_for_any_number_of_processes(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two shards: with one question each, as their size is no part of the promise."""
    monkeypatch.setattr("shortcut_miner.diagnostics.fpvg.images._QUESTIONS_A_SHARD", 2)
    names = [drawn(world, f"out{n}", control=True, processes=n)[0] for n in (1, 2)]
    one, two = (
        {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.json"}
        for folder in names
    )
    assert "pixels_00001.parquet" in one
    assert one == two


def test_samples_and_conditions(world: Path) -> None:
    samples = set()
    for seed in range(12):
        _, found = drawn(world, f"s{seed}", sample=1, seed=seed, condition="relevant")
        samples |= {*found}
    assert samples == {f"{name}#relevant" for name in NAMES}
    out, found = drawn(world, "limited", limit=1, condition="irrelevant", control=True)
    assert set(found) == {"03#irrelevant", "03#control"}
    assert json.loads((out / "ids.json").read_text()) == ["03"]


def test_a_missing_and_a_damaged_image_are_told(world: Path) -> None:
    (world / "images" / "b.png").write_bytes(b"\0" * 90)
    report = draw(ImagesFiles(folder=world / "built", images=str(world / "images")), ImagesConfig(), None)
    assert report.dropped == {"questions whose image can't be read": 1}
    assert not report.is_complete
    assert "b.png: got cannot identify image file" in report.warnings[0]
    (world / "images" / "b.png").unlink()
    report = sm.fpvg.images(world / "built", images=world / "images", out=world / "out")
    assert report.dropped == {"questions whose image was not found": 1}
    assert report.warnings == ("images not found: 1 ('b'); their questions are left out",)
    assert (report.is_complete, len(report.images)) == (False, 4)
    (world / "images" / "a.png").unlink()
    with pytest.raises(SourceError, match="got none of the 2 images of these questions"):
        sm.fpvg.images(world / "built", images=world / "images")


def test_the_command_ends_with_3_where_an_image_is_missing(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fpvg", "images", str(world / "built"), "--images", str(world / "images"), "--processes", "2"]
    assert run([*words, "--out", str(world / "whole")]) == 0
    (world / "images" / "b.png").unlink()
    assert run([*words, "--out", str(world / "lacking")]) == 3
    told = capsys.readouterr()
    assert "warning: images not found: 1 ('b'); their questions are left out" in told.err
    assert "left out  1 questions whose image was not found" in told.out
    assert "drawn     4 images of 2 questions about 1 images" in told.out
    assert run([*words, "--dry-run"]) == 3
    assert sorted(path.name for path in world.iterdir() if path.is_dir()) == [
        "built", "images", "lacking", "whole",
    ]  # fmt: skip


def test_a_condition_that_keeps_nothing_leaves_the_question_out(tmp_path: Path) -> None:
    boxes = {"a": [(0, 0, 40, 30), (0.1, 0.1, 0.3, 0.3)], "b": [(0, 0, 10, 10), (20, 20, 30, 30)]}
    objects = {"a": (0, 0, 40, 30), "b": (0, 0, 10, 10)}
    files = write_world(
        tmp_path,
        {name: question(name, {"1": "o"}) for name in boxes},
        {name: graph({"o": box}, (40, 30)) for name, box in objects.items()},
        boxes,
    )
    build(files, FpvgConfig(), tmp_path / "built")
    lists = pl.read_parquet(tmp_path / "built" / "regions.parquet").filter("is_evaluable")
    (tmp_path / "images").mkdir()
    for name in boxes:
        Image.fromarray(pixels(3)).save(tmp_path / "images" / f"{name}.png")
    report = sm.fpvg.images(tmp_path / "built", images=tmp_path / "images", out=tmp_path / "out")
    assert lists["question_id"].to_list() == ["a", "b"]  # a speck that rounds to no pixel is irrelevant
    assert report.images["question_id"].unique().to_list() == ["b"]
    assert report.dropped == {"questions of which a condition keeps no pixel": 1}
    assert report.is_complete
    assert report.notes == ("questions of which a condition keeps no pixel: 1 ('a'), left out",)


def test_addresses_are_no_images(world: Path) -> None:
    with pytest.raises(ConfigError, match="got addresses, expected files"):
        sm.fpvg.images(world / "built", images="https://example.org/{image_id}.jpg")


# ---- the control ----


def areas(masks: Mapping[int, Any], chosen: Sequence[int]) -> int:
    return int(np.any([masks[one] for one in chosen], axis=0).sum()) if chosen else 0


@given(st.data())
def test_the_control_takes_what_brings_the_area_nearer(data: st.DataObject) -> None:
    side = st.integers(0, 12)
    boxes = np.array(data.draw(st.lists(st.tuples(side, side, side, side), min_size=1, max_size=6)), float)
    area = data.draw(st.integers(1, 144))
    found = control(boxes, range(len(boxes)), area, (12, 12), key=("q", data.draw(st.integers(0, 3))))
    masks = {at: union(boxes[[at]], (12, 12)) for at in range(len(boxes))}
    unions = [[at for at in range(len(boxes)) if number >> at & 1] for number in range(1 << len(boxes))]
    assert any(
        np.array_equal(found, np.any([masks[at] for at in one] or [found & False], axis=0)) for one in unions
    )
    if any(mask.any() for mask in masks.values()):
        assert found.any()
    single = min((abs(int(mask.sum()) - area) for mask in masks.values() if mask.any()), default=area)
    assert abs(int(found.sum()) - area) <= max(area, single)


def test_the_control_depends_on_question_and_seed_alone() -> None:
    boxes = np.array([[x, y, x + 3, y + 3] for x in range(0, 30, 3) for y in range(0, 30, 3)], float)
    size = (30, 30)
    first = control(boxes, range(100), 90, size, key=("q", 0))
    assert int(first.sum()) == 90
    assert np.array_equal(first, control(boxes, range(100), 90, size, key=("q", 0)))
    others = [control(boxes, range(100), 90, size, key=key) for key in (("q", 1), ("p", 0))]
    assert not any(np.array_equal(first, one) for one in others)


def test_the_control_leaves_relevant_regions_out(world: Path) -> None:
    out, _ = drawn(world, control=True, fill="black")
    table = pl.read_parquet(out / "images.parquet").filter(condition="control")
    # Of the others alone is any drawn: 18 x 16, 12 x 8 and 14 x 10 pixels, where 15 x 16 are wanted.
    # In the image of twice the size half a pixel more of the last one is on it.
    areas = set((table["kept_share"] * WIDTH * HEIGHT).round(6).to_list())
    assert areas <= {18.0 * 16, 12.0 * 8 + 14 * 10, 12.0 * 8 + 14.5 * 9.5}


# ---- what a model answers ----


def answered(out: Path, condition: str, answer: str) -> list[dict[str, Any]]:
    rows = json.loads((out / f"predictions_{condition}.json").read_text())
    assert {row["answer"] for row in rows} == {None}
    return [row | {"answer": answer} for row in rows]


def test_skeletons_are_scored_when_they_are_filled(world: Path) -> None:
    out, _ = drawn(world, control=True)
    answers = {"all": "red", "relevant": "red", "irrelevant": "blue", "control": "red"}
    records = {condition: answered(out, condition, answer) for condition, answer in answers.items()}
    for condition, rows in records.items():
        (world / f"{condition}.json").write_text(json.dumps(rows))
    (world / "together.json").write_text(json.dumps([row for rows in records.values() for row in rows]))
    ids, config = {"drawn": out / "ids.json"}, ScoreConfig(resamples=0)
    apart = {name: {"m": world / f"{name}.json"} for name in ("all", "relevant", "irrelevant")}
    together = {name: {"m": world / "together.json"} for name in apart}
    for files in (apart, together):
        report = sm.fpvg.score(world / "built", **files, ids=ids, config=config)
        assert report.scores.filter(metric="fpvg_plus", group="drawn")["value"].to_list() == [100.0]
    controlled = apart | {"irrelevant": {"m": world / "control.json"}}
    report = sm.fpvg.score(world / "built", **controlled, ids=ids, config=config)
    assert report.scores.filter(metric="fpvg_plus", group="drawn")["value"].to_list() == [0.0]
    assert "irrelevant predictions of m: answers to images of 'control': 3 of 3" in report.notes
    with pytest.raises(SourceError) as error:
        sm.fpvg.score(world / "built", **apart | {"relevant": apart["irrelevant"]}, ids=ids, config=config)
    assert str(error.value) == (
        "irrelevant.json: got answers to images of other conditions ('irrelevant'), expected some of "
        "'relevant'. Give the file of that condition."
    )


def test_a_skeleton_that_nobody_filled_is_refused(world: Path) -> None:
    out, _ = drawn(world)
    files = {name: {"m": out / f"predictions_{name}.json"} for name in ("all", "relevant", "irrelevant")}
    with pytest.raises(SourceError, match="answer"):
        sm.fpvg.score(world / "built", **files)


def test_questions_whose_own_ids_end_in_a_condition(world: Path) -> None:
    """Answers to the questions themselves stay; those to their images lose the last condition alone."""
    known = pl.Series(["a#relevant", "b#all"])
    path = world / "answers.csv"
    pl.DataFrame({"question_id": known, "answer": ["x", "y"]}).write_csv(path)
    reading = read_answers(path, ScoreConfig())
    assert of_condition(reading, "irrelevant", known) is reading
    pl.DataFrame({"question_id": known + "#irrelevant", "answer": ["x", "y"]}).write_csv(path)
    found = of_condition(read_answers(path, ScoreConfig()), "irrelevant", known)
    assert found.table["question_id"].to_list() == known.to_list()
