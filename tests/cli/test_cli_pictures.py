"""Pictures of questions: ``explain --out``, ``fpvg show``, ``swapmix show``."""

import io
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import RunCli
from PIL import Image

import shortcut_miner as sm
from shortcut_miner.datasets.pictures import Picture
from shortcut_miner.drawing.marks import COLOURS
from shortcut_miner.errors import BackendError

SPACE = 24  # around the images of a picture
GROUND = (30, 30, 30)
SIZE = (800, 600)
# What the questions name, something else, and something far away; x1, y1, x2, y2.
CAT, DOG, TREE = (100, 100, 300, 300), (500, 100, 700, 300), (100, 400, 300, 550)


def box_of(corners: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True))


def objects(image: str) -> dict[str, Any]:
    named = {"cat": CAT, "dog": DOG, "tree": TREE}
    return {
        f"{image}{at}": {"name": name, "x": x1, "y": y1, "w": x2 - x1, "h": y2 - y1, "attributes": ["big"]}
        for at, (name, (x1, y1, x2, y2)) in enumerate(named.items())
    }


def write_world(folder: Path) -> None:
    """Write two images with a cat, a dog and a tree each, questions, a detector's boxes and vectors."""
    (folder / "images").mkdir(parents=True)
    for image in ("11", "12"):
        Image.new("RGB", SIZE, GROUND).save(folder / "images" / f"{image}.png")
    question = {
        "imageId": "11", "question": "Is it a cat?", "answer": "yes",
        "types": {"structural": "verify", "semantic": "obj", "detailed": "exist"},
        "annotations": {"question": {"3": "110"}, "answer": {}, "fullAnswer": {}},
    }  # fmt: skip
    nothing = {**question, "annotations": {"question": {}, "answer": {}, "fullAnswer": {}}}
    (folder / "questions.json").write_text(json.dumps({"q1": question, "q2": nothing}))
    graphs = {one: {"width": 800, "height": 600, "objects": objects(one)} for one in ("11", "12")}
    (folder / "graphs.json").write_text(json.dumps(graphs))
    lines = [
        {
            "image_id": image, "width": 800, "height": 600,
            "detections": [
                {"score": 0.9, "label": label, "box": box_of(box)}
                for label, box in (("cat", CAT), ("dog", DOG), ("tree", TREE))
            ],
        }
        for image in ("11", "12")
    ]  # fmt: skip
    (folder / "boxes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "vectors.txt").write_text("cat 1 0\ndog 0.9 0.1\ntree 0.8 0.3\n")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a world, and both rooms' folders of it; shared, and so left as it is."""
    folder = tmp_path_factory.mktemp("pictures")
    write_world(folder)
    files: dict[str, Any] = {
        "questions": folder / "questions.json",
        "scene_graphs": folder / "graphs.json",
        "detections": folder / "boxes.jsonl",
    }
    sm.fpvg.build(**files, out=folder / "fpvg")
    sm.swapmix.build(**files, embeddings=folder / "vectors.txt", k=2, out=folder / "swapmix")
    return folder


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    """Return a world of one's own, of which the folders still say where the first one is."""
    return Path(shutil.copytree(small, tmp_path / "copy"))


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


def at(image: Image.Image, x: int, y: int, *, left: int = SPACE, height: int = 600) -> object:
    """Return the colour of a pixel of the lowest image on a picture that begins `left` pixels in."""
    return image.getpixel((left + x, image.height - SPACE - height + y))


# ---- fpvg ----


def test_relevant_and_irrelevant_regions_are_drawn(run_cli: RunCli, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "p.png"
    ran = run_cli("fpvg", "show", small / "fpvg", "q1", "--images", small / "images", "--out", out)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "question    Is it a cat?",
        "answer      yes",
        "image       11",
        "relevant    1 of 3 regions",
        "irrelevant  2 of 3 regions",
        f"written     {out} ({out.stat().st_size:,} bytes)",
    ]
    image = opened(out.read_bytes())
    assert at(image, 101, 200) == COLOURS["blue"]
    assert at(image, 501, 101) == at(image, 101, 401) == COLOURS["vermilion"]
    assert at(image, 200, 200) == GROUND


def test_without_images_regions_are_on_an_empty_page(small: Path) -> None:
    image = opened(sm.fpvg.show(small / "fpvg", "q1").png)
    assert at(image, 101, 200) == COLOURS["blue"]
    assert at(image, 200, 200) == (242, 242, 242)
    assert image.width == 800 + 2 * SPACE


def test_the_most_regions_of_each_list(small: Path) -> None:
    picture = sm.fpvg.show(small / "fpvg", "q1", limit=1)
    assert picture.notes == ("the first 1 of 2 irrelevant regions are drawn",)
    assert at(opened(picture.png), 101, 401) == (242, 242, 242)


def test_the_same_bytes_each_time(small: Path, tmp_path: Path) -> None:
    one, other = (sm.fpvg.show(small / "fpvg", "q1", images=small / "images") for _ in range(2))
    assert one.png == other.png == one._repr_png_()
    assert repr(one).startswith("question: Is it a cat?\nanswer: yes\n")
    sm.fpvg.show(small / "fpvg", "q1", images=small / "images", out=tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == one.png


def test_a_region_outside_its_image_is_told(run_cli: RunCli, copied: Path) -> None:
    lines = [json.loads(line) for line in (copied / "boxes.jsonl").read_text().splitlines()]
    lines[0]["detections"][0]["box"] = box_of((900, 100, 1000, 300))
    (copied / "boxes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = run_cli("fpvg", "show", copied / "fpvg", "q1", "--detections", copied / "boxes.jsonl", "--dry-run")
    assert ran.code == 0
    assert "boxes: got 1 wholly outside their image, or empty: '0 cat', expected some part on it" in ran.err


def test_boxes_of_a_smaller_image_fit_a_larger_one(copied: Path) -> None:
    Image.new("RGB", (1600, 1200), GROUND).save(copied / "images" / "11.png")
    picture = sm.fpvg.show(copied / "fpvg", "q1", images=copied / "images")
    image = opened(picture.png)
    assert at(image, 202, 400, height=1200) == COLOURS["blue"]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("q3", "question_id: got 'q3', expected one of the 2 questions of fpvg, such as 'q1', 'q2'. "),
        (
            "q2",
            "question_id: got 'q2', which has no lists of regions (no annotation), expected a question that "
            "has, such as 'q1'. Choose another.",
        ),
    ],
)
def test_questions_without_lists_are_told(
    question: str, told: str, run_cli: RunCli, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied)
    ran = run_cli("fpvg", "show", "fpvg", question, "--out", "p.png")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert not Path("p.png").exists()


def test_other_boxes_than_the_build_read_are_told(run_cli: RunCli, copied: Path) -> None:
    boxes = copied / "boxes.jsonl"
    first, second = (json.loads(line) for line in boxes.read_text().splitlines())
    first["detections"][0]["score"] = 0.8
    boxes.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    words = ("fpvg", "show", copied / "fpvg", "q1", "--detections", boxes, "--dry-run")
    ran = run_cli(*words)
    assert ran.code == 0
    assert ran.err == (
        "warning: --detections: 'boxes.jsonl' is not what the build read ('boxes.jsonl'): its boxes may be "
        "numbered otherwise\n"
    )
    del first["detections"][0]
    boxes.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    ran = run_cli(*words)
    assert ran.code == 2
    assert ran.err == (
        f"error: {boxes}: got 2 regions of the image '11', expected 3 as when the lists were built. Give the "
        "same --detections as to fpvg build.\n"
    )


def test_boxes_are_the_folders_own(small: Path, copied: Path, tmp_path: Path) -> None:
    """Nothing but the folder is read, and the picture is that of the detector's file."""
    images, boxes = small / "images", small / "boxes.jsonl"
    alone = Path(shutil.copytree(small / "fpvg", tmp_path / "alone"))
    (alone / "run.json").unlink()
    own = sm.fpvg.show(alone, "q1", images=images)
    assert own.png == sm.fpvg.show(alone, "q1", images=images, detections=boxes).png
    Image.new("RGB", (1600, 1200), GROUND).save(copied / "images" / "11.png")
    own = sm.fpvg.show(alone, "q1", images=copied / "images")
    assert own.png == sm.fpvg.show(alone, "q1", images=copied / "images", detections=boxes).png


def as_older(folder: Path) -> None:
    """Make a folder of fpvg build one of a version that kept no boxes."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["boxes.parquet"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "boxes.parquet").unlink()


def test_files_that_are_no_longer_where_they_were_are_told(run_cli: RunCli, copied: Path) -> None:
    as_older(copied / "fpvg")
    record = copied / "fpvg" / "run.json"
    run = json.loads(record.read_text())
    run["files"]["detections"] = "/nowhere/boxes.jsonl"
    record.write_text(json.dumps(run))
    ran = run_cli("fpvg", "show", copied / "fpvg", "q1", "--dry-run")
    assert ran.err == (
        f"error: {copied / 'fpvg'}: got no '/nowhere/boxes.jsonl', which it was built from, expected it "
        "where it was. Give --detections.\n"
    )
    record.unlink()
    ran = run_cli("fpvg", "show", copied / "fpvg", "q1", "--dry-run")
    assert (ran.code, "got no word of where its detections are" in ran.err) == (2, True)
    ran = run_cli("fpvg", "show", copied / "fpvg", "q1", "--detections", copied / "boxes.jsonl", "--dry-run")
    assert (ran.code, ran.err) == (0, "")


# ---- images and targets, alike for all ----


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda path: path.unlink(),
            "got no file of the image '11', expected one such as 11.jpg or COCO_val2014",
        ),
        (
            lambda path: path.write_text("404: Not Found"),
            "11.png: got no image, expected one. Check the file",
        ),
        (lambda path: path.write_bytes(b"\0" * 90), "11.png: got cannot identify image file"),
        (
            lambda path: Image.new("RGB", (9, 90)).save(path),
            "11.png: got an image of 9 x 90 pixels, expected",
        ),
    ],
    ids=["none", "text", "zeros", "another"],
)
@pytest.mark.parametrize("room", ["fpvg", "swapmix"])
def test_images_that_are_none_are_told(
    room: str, change: Any, told: str, run_cli: RunCli, copied: Path, tmp_path: Path
) -> None:
    change(copied / "images" / "11.png")
    out = tmp_path / "p.png"
    ran = run_cli(room, "show", copied / room, "q1", "--images", copied / "images", "--out", out)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert not out.exists()


def test_addresses_are_no_images_here(run_cli: RunCli, small: Path) -> None:
    pattern = "https://example.org/{image_id}.jpg"
    ran = run_cli("fpvg", "show", small / "fpvg", "q1", "--images", pattern, "--dry-run")
    assert ran.code == 2
    assert "got addresses, expected files. Download the images, and give their folder." in ran.err


def test_an_earlier_picture_is_replaced_and_no_other_file(
    run_cli: RunCli, small: Path, tmp_path: Path
) -> None:
    words = ("fpvg", "show", small / "fpvg", "q1", "--out", tmp_path / "p.png")
    assert run_cli(*words).code == run_cli(*words).code == 0
    Image.new("RGB", (9, 9)).save(tmp_path / "p.png")
    mine = (tmp_path / "p.png").read_bytes()
    ran = run_cli(*words)
    assert (ran.code, (tmp_path / "p.png").read_bytes()) == (2, mine)
    assert "got a file that shortcut-miner did not write, expected none or an earlier picture" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["p.png"]


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("folder.png", "got a folder, expected a file. Name the file, such as folder.png/picture.png."),
        ("p.jpg", "got another name than of a PNG, expected one. End it in .png."),
        ("file/p.png", "got a place that can't be written, expected a folder that can."),
    ],
)
def test_places_that_can_be_no_picture(
    out: str, told: str, run_cli: RunCli, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.png").mkdir()
    Path("file").write_text("mine")
    ran = run_cli("fpvg", "show", small / "fpvg", "q1", "--out", out)
    assert (ran.code, ran.err.startswith(f"error: --out {out}: {told}")) == (2, True)
    assert run_cli("fpvg", "show", small / "fpvg", "q1").err == (
        "error: --out: got none, expected a PNG's name. Give --out, or --dry-run to write nothing.\n"
    )


def test_a_dry_run_writes_nothing(run_cli: RunCli, small: Path, tmp_path: Path) -> None:
    ran = run_cli("swapmix", "show", small / "swapmix", "q1", "--dry-run", "--out", tmp_path / "p.png")
    assert (ran.code, "nothing (dry run)" in ran.out) == (0, True)
    assert not (tmp_path / "p.png").exists()


def test_no_pillow_is_told(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(BackendError) as caught:
        sm.fpvg.show(small / "fpvg", "q1")
    assert str(caught.value) == (
        "pictures: got no Pillow, expected it to be installed. Run pip install 'shortcut-miner[images]'."
    )


# ---- swapmix ----


def swap(folder: Path, **wanted: object) -> Mapping[str, Any]:
    """Return the first swap of q1 that has these values."""
    plan = pl.read_parquet(folder / "swaps.parquet").filter(question_id="q1", **wanted)
    return plan.filter(pl.col("perturbation") > 0).row(0, named=True)


def test_a_swap_is_drawn_beside_its_donor(run_cli: RunCli, small: Path, tmp_path: Path) -> None:
    one = swap(small / "swapmix", from_class="dog", kind="class")
    out = tmp_path / "p.png"
    ran = run_cli(
        "swapmix", "show", small / "swapmix", "q1", "--images", small / "images", "--out", out,
        "--perturbation", one["perturbation"], "--format", "json",
    )  # fmt: skip
    total = pl.read_parquet(small / "swapmix" / "swaps.parquet").filter(question_id="q1").height - 1
    assert ran.json["swaps"] == f"1 of {total}"
    image = opened(out.read_bytes())
    assert image.width == 2 * 800 + 3 * SPACE
    assert at(image, 501, 200) == COLOURS["blue"]
    donor = {"cat": CAT, "dog": DOG, "tree": TREE}[one["to_class"]]
    x, y = donor[0] + 1, donor[1] + 100
    assert at(image, x, y, left=800 + 2 * SPACE) == COLOURS["vermilion"]


def test_the_first_swaps_are_drawn_a_row_each(small: Path) -> None:
    heights = [opened(sm.swapmix.show(small / "swapmix", "q1", limit=n).png).height for n in (1, 2)]
    assert heights[1] - heights[0] == 600 + 30 + SPACE


def test_a_plan_without_detector_has_objects(copied: Path) -> None:
    sm.swapmix.build(
        questions=copied / "questions.json", scene_graphs=copied / "graphs.json", plan="perfect-sight",
        embeddings=copied / "vectors.txt", k=2, out=copied / "seen",
    )  # fmt: skip
    one = swap(copied / "seen", from_class="tree", kind="class")
    image = opened(sm.swapmix.show(copied / "seen", "q1", perturbation=one["perturbation"]).png)
    assert at(image, 101, 500) == COLOURS["blue"]


def test_swaps_that_are_none_are_told(run_cli: RunCli, small: Path) -> None:
    ran = run_cli("swapmix", "show", small / "swapmix", "q1", "--perturbation", 99, "--dry-run")
    assert (ran.code, "perturbation: got 99, expected 1 to " in ran.err) == (2, True)
    ran = run_cli("swapmix", "show", small / "swapmix", "q7", "--dry-run")
    assert "question_id: got 'q7', expected one of the 2 questions of" in ran.err


def test_a_training_plan_has_nothing_to_show(run_cli: RunCli, copied: Path) -> None:
    sm.swapmix.build(
        questions=copied / "questions.json", scene_graphs=copied / "graphs.json",
        detections=copied / "boxes.jsonl", embeddings=copied / "vectors.txt", plan="training",
        out=copied / "training",
    )  # fmt: skip
    ran = run_cli("swapmix", "show", copied / "training", "q1", "--dry-run")
    assert ran.code == 2
    assert "A training plan can't be shown: build with --plan evaluation." in ran.err
    assert "scored" not in ran.err


def test_a_region_that_the_boxes_lack_is_told(run_cli: RunCli, copied: Path) -> None:
    lines = [json.loads(line) for line in (copied / "boxes.jsonl").read_text().splitlines()]
    for line in lines:
        del line["detections"][1:]
    (copied / "boxes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    one = swap(copied / "swapmix", from_class="dog", kind="class")
    ran = run_cli(
        "swapmix", "show", copied / "swapmix", "q1", "--detections", copied / "boxes.jsonl", "--dry-run",
        "--perturbation", one["perturbation"],
    )  # fmt: skip
    assert ran.code == 2
    assert f"{copied / 'boxes.jsonl'}: got no region 1 of the image '11', expected it" in ran.err


# ---- explain ----


@pytest.fixture
def explained(built: Path, tmp_path: Path) -> tuple[str, dict[str, Any], Path]:
    """Return a question on which a rule with objects fires, that rule, and boxes with the objects' labels."""
    questions = pl.read_parquet(built / "questions.parquet").filter(pl.col("question").str.contains("sport"))
    for question_id in questions["question_id"]:
        rules = sm.vqa_ce.explain(built, question_id).rules
        some = rules.filter(pl.col("antecedent_objects").list.len() > 0)
        if len(some):
            break
    rule = some.row(0, named=True)
    image = questions.filter(question_id=question_id)["image_id"].item()
    Image.new("RGB", SIZE, GROUND).save(tmp_path / f"{image}.png")
    found = [
        (name, 0.9, (100 + 40 * at, 100, 300, 300)) for at, name in enumerate(rule["antecedent_objects"])
    ]
    found += [("something else", 0.9, DOG), (rule["antecedent_objects"][0], 0.1, TREE)]
    line = {
        "image_id": image, "width": SIZE[0], "height": SIZE[1],
        "detections": [{"label": name, "score": score, "box": box_of(box)} for name, score, box in found],
    }  # fmt: skip
    (tmp_path / "boxes.jsonl").write_text(json.dumps(line) + "\n")
    return question_id, rule, tmp_path


def test_the_rules_objects_are_drawn(
    run_cli: RunCli, built: Path, explained: tuple[str, dict[str, Any], Path]
) -> None:
    question_id, rule, folder = explained
    words = ("--images", folder, "--detections", folder / "boxes.jsonl", "--out", folder / "p.png")
    ran = run_cli("explain", built, question_id, *words, "--limit", 1)
    assert ran.code == 0
    assert f"rule {rule['rule_id']}: " in ran.out
    image = opened((folder / "p.png").read_bytes())
    assert at(image, 101, 200) == COLOURS["blue"]
    assert at(image, 500, 100) == COLOURS["grey"]
    assert at(image, 101, 450) == GROUND  # too unsure to be an item
    ran = run_cli("explain", built, question_id, *words, "--format", "json", "--rule", rule["rule_id"])
    assert ran.json["picture"]["out"] == str(folder / "p.png")


def test_a_rule_whose_object_has_no_box_is_told(
    run_cli: RunCli, built: Path, explained: tuple[str, dict[str, Any], Path]
) -> None:
    question_id, rule, folder = explained
    boxes = folder / "boxes.jsonl"
    line = json.loads(boxes.read_text())
    line["detections"] = line["detections"][-2:]
    boxes.write_text(json.dumps(line) + "\n")
    ran = run_cli("explain", built, question_id, "--detections", boxes, "--out", folder / "p.png")
    assert (ran.code, ran.out) == (2, "")
    names = ", ".join(map(repr, rule["antecedent_objects"]))
    assert f"{boxes}: got no box of {names} in the image '{line['image_id']}', expected one" in ran.err
    assert not (folder / "p.png").exists()


def test_labels_without_boxes_and_rules_that_do_not_fire_are_told(
    run_cli: RunCli, built: Path, explained: tuple[str, dict[str, Any], Path]
) -> None:
    question_id, _, folder = explained
    ran = run_cli("explain", built, question_id, "--out", folder / "p.png")
    assert ran.code == 2
    assert "got 'image_to_detection.json' as its detections, labels without boxes, expected" in ran.err
    boxes = ("--detections", folder / "boxes.jsonl", "--out", folder / "p.png")
    ran = run_cli("explain", built, question_id, *boxes, "--rule", 10**6)
    assert (ran.code, "rule: got 1000000, expected one of the rules that fire" in ran.err) == (2, True)
    ran = run_cli("explain", built, question_id, "--images", folder)
    assert (ran.code, "--out: got none, expected a PNG's name" in ran.err) == (2, True)


def test_a_question_on_which_no_rule_fires_has_a_picture_too(
    built: Path, explained: tuple[str, dict[str, Any], Path], tmp_path: Path
) -> None:
    hard = pl.read_parquet(built / "split.parquet").filter(subset="hard")["question_id"][0]
    image = pl.read_parquet(built / "questions.parquet").filter(question_id=hard)["image_id"].item()
    line = json.loads((tmp_path / "boxes.jsonl").read_text()) | {"image_id": image}
    (tmp_path / "boxes.jsonl").write_text(json.dumps(line) + "\n")
    picture = sm.vqa_ce.show(built, hard, detections=tmp_path / "boxes.jsonl")
    assert isinstance(picture, Picture)
    assert picture.fields["picture"] == "no rule fires"
    assert at(opened(picture.png), 500, 100) == COLOURS["grey"]
