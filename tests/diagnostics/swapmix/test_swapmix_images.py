"""Images with swaps: every pixel against a plain loop over plan and boxes, and what is written of them."""

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFilter

import shortcut_miner as sm
from shortcut_miner.cli.run import run
from shortcut_miner.diagnostics.swapmix.pasting import pasted, patch_of
from shortcut_miner.errors import ConfigError, SourceError

WIDTH, HEIGHT = 40, 30
# Of the question's image: what it is about, a region of the donors' size, one that is cut by the border,
# and one without a pixel on the image.
CAT, DOG, TREE, CAR = (2, 2, 12, 12), (14, 3, 22, 9), (30.5, 20.4, 50, 45), (60, 5, 70, 15)
# Of the donors' images, which are twice as large: each class, the last one cut by the border.
DONORS = {"dog": (1, 1, 9, 7), "tree": (10, 10, 40, 50), "car": (40, 20, 60, 30), "bus": (-5, 40, 20, 70)}
NAMES = ("cat", "dog", "tree", "car", "bus")


def pixels(seed: int, width: int = WIDTH, height: int = HEIGHT) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def corners(box: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(("xmin", "ymin", "xmax", "ymax"), map(float, box), strict=True))


def graph(boxes: Mapping[str, tuple[float, ...]], size: tuple[int, int]) -> dict[str, Any]:
    return {
        "width": size[0],
        "height": size[1],
        "objects": {
            f"o-{name}": {
                "name": name,
                "x": x1,
                "y": y1,
                "w": x2 - x1,
                "h": y2 - y1,
                "attributes": [size_word],
            }
            for name, (x1, y1, x2, y2) in boxes.items()
            for size_word in ("big" if size[0] > WIDTH else "small",)
        },
    }


def write_world(folder: Path) -> dict[str, Path]:
    """Write two questions about one image, a third about a donors' image, and two images of donors."""
    own = {"cat": CAT, "dog": DOG, "tree": TREE, "car": CAR}
    sizes = {"a": (WIDTH, HEIGHT), "b": (2 * WIDTH, 2 * HEIGHT), "c": (2 * WIDTH, 2 * HEIGHT)}
    boxes = {"a": own, "b": DONORS, "c": DONORS}
    (folder / "images").mkdir(parents=True)
    for at, (name, size) in enumerate(sizes.items()):
        Image.fromarray(pixels(at, *size)).save(folder / "images" / f"{name}.png")
    question = {
        "imageId": "a",
        "question": "Is it a cat?",
        "answer": "yes",
        "types": {"structural": "verify"},
    }
    about = {"annotations": {"question": {"3": "o-cat"}, "answer": {}, "fullAnswer": {}}}
    asked = {"01": question | about, "q/../2": question, "zz": question | {"imageId": "b", "answer": "no"}}
    lines = [
        {
            "image_id": name, "width": sizes[name][0], "height": sizes[name][1],
            "detections": [
                {"score": 0.5, "label": label, "box": corners(box)}
                for label, box in of_image.items()
            ],
        }
        for name, of_image in boxes.items()
    ]  # fmt: skip
    (folder / "questions.json").write_text(json.dumps(asked))
    (folder / "graphs.json").write_text(json.dumps({one: graph(boxes[one], sizes[one]) for one in boxes}))
    (folder / "boxes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    vectors = "".join(f"{name} 1 {at / 10} 0\n" for at, name in enumerate((*NAMES, "big", "small")))
    (folder / "vectors.txt").write_text(vectors)
    return {
        "questions": folder / "questions.json",
        "scene_graphs": folder / "graphs.json",
        "detections": folder / "boxes.jsonl",
        "embeddings": folder / "vectors.txt",
    }


@pytest.fixture
def world(tmp_path: Path) -> Path:
    sm.swapmix.build(**write_world(tmp_path), k=2, out=tmp_path / "built")
    return tmp_path


def drawn(world: Path, out: str = "out", built: str = "built", **more: Any) -> tuple[Path, dict[str, Any]]:
    """Draw, and return the folder with each image by its id."""
    sm.swapmix.images(world / built, images=world / "images", out=world / out, **more)
    table = pl.concat([pl.read_parquet(path) for path in sorted((world / out).glob("pixels_*.parquet"))])
    rows = table.to_dicts()
    return world / out, {row["id"]: np.asarray(Image.open(io.BytesIO(row["image"]["bytes"]))) for row in rows}


def cut(box: tuple[float, ...], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the pixels of a box, rounded as Python rounds, that are on an image: from and below."""
    x1, y1, x2, y2 = map(round, box)
    return max(0, x1), max(0, y1), min(size[0], x2), min(size[1], y2)


def boxes_of(world: Path, built: str = "built") -> dict[tuple[str, Any], tuple[float, ...]]:
    table = pl.read_parquet(world / built / "boxes.parquet")
    rows = table.select(table.columns[0], table.columns[1], "x1", "y1", "x2", "y2").rows()
    return {(image, key): tuple(sides) for image, key, *sides in rows}


def images_of(world: Path) -> dict[str, Any]:
    return {path.stem: np.asarray(Image.open(path)) for path in (world / "images").iterdir()}


def blurred(own: Any) -> Any:
    return np.asarray(Image.fromarray(own).filter(ImageFilter.GaussianBlur(max(own.shape[:2]) / 20)))


def check_pixels(row: Mapping[str, Any], found: Any, own: Any, place: Any, inside: Any) -> None:
    """Check that an image is the original outside a place, and what is told inside it, pixel by pixel."""
    left, top, right, bottom = place
    for y in range(own.shape[0]):
        for x in range(own.shape[1]):
            is_inside = left <= x < right and top <= y < bottom
            expected = inside[y - top, x - left] if is_inside else own[y, x]
            assert tuple(found[y, x]) == tuple(expected), (row["perturbation"], x, y)


def test_every_pixel_is_the_originals_or_the_donors(world: Path) -> None:
    out, found = drawn(world)
    plan = pl.read_parquet(world / "built" / "swaps.parquet")
    assert set(found) == {f"{one}#{at}" for one, at in plan.select("question_id", "perturbation").iter_rows()}
    boxes, images = boxes_of(world), images_of(world)
    same_size = 0
    for row in plan.iter_rows(named=True):
        image, own = found[f"{row['question_id']}#{row['perturbation']}"], images[row["image_id"]]
        if row["kind"] == "original":
            assert np.array_equal(image, own)
            continue
        place = cut(boxes[row["image_id"], row["region_index"]], own.shape[1::-1])
        width, height = place[2] - place[0], place[3] - place[1]
        if width <= 0:
            assert np.array_equal(image, own)
            continue
        donor = images[row["donor_image_id"]]
        left, top, right, bottom = cut(
            boxes[row["donor_image_id"], row["donor_region_index"]], donor.shape[1::-1]
        )
        patch = donor[top:bottom, left:right]
        if left >= right:  # a donor without a pixel on its image
            patch = blurred(own)[place[1] : place[3], place[0] : place[2]]
        elif patch.shape[:2] != (height, width):
            patch = np.asarray(Image.fromarray(patch).resize((width, height), Image.Resampling.BILINEAR))
        else:
            same_size += 1
        check_pixels(row, image, own, place, patch)
    assert same_size
    table = pl.read_parquet(out / "images.parquet")
    assert table["content"].value_counts().sort("content").rows() == [
        (name, len(rows)) for name, rows in sorted(expected_contents(plan, boxes).items())
    ]


def expected_contents(plan: pl.DataFrame, boxes: Mapping[Any, tuple[float, ...]]) -> dict[str, list[Any]]:
    contents: dict[str, list[Any]] = {}
    for row in plan.iter_rows(named=True):
        content = "original"
        if row["kind"] != "original":
            size = (WIDTH, HEIGHT) if row["image_id"] == "a" else (2 * WIDTH, 2 * HEIGHT)
            left, _, right, _ = cut(boxes[row["image_id"], row["region_index"]], size)
            is_there = (row["donor_image_id"], row["donor_region_index"]) != ("a", 3)
            content = ("donor" if is_there else "fill") if left < right else "nothing"
        contents.setdefault(content, []).append(row)
    return contents


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_patches_are_resized_as_a_plain_loop_does(
    width: int, height: int, new_width: int, new_height: int, seed: int
) -> None:
    """A triangle over the pixels that each new one covers, or the next ones: none beside the box counts."""
    whole = pixels(seed, 20, 20)
    found = patch_of(Image.fromarray(whole), (5, 6, 4 + width, 5 + height), (new_width, new_height))
    patch = whole[6 : 6 + height, 5 : 5 + width].astype(float)

    def weights(old: int, new: int) -> Any:
        scale = old / new
        reach = max(scale, 1.0)
        table = np.zeros((new, old))
        for at in range(new):
            centre = (at + 0.5) * scale
            for one in range(old):
                table[at, one] = max(0.0, 1 - abs(one + 0.5 - centre) / reach)
            table[at] /= table[at].sum()
        return table

    across = np.einsum("ij,yjc->yic", weights(width, new_width), patch)
    expected = np.einsum("ij,jxc->ixc", weights(height, new_height), np.rint(across))
    assert np.abs(found - expected).max() <= 1.5  # it rounds twice, in fixed point


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 4))
def test_blending_is_a_ramp_inside_the_place(width: int, height: int, blend: int) -> None:
    own, patch = pixels(1, 12, 12), pixels(2, width, height)
    done = pasted(own, (2, 3, 1 + width, 2 + height), patch, blend)
    for y in range(12):
        for x in range(12):
            inside = 2 <= x < 2 + width and 3 <= y < 3 + height
            if not inside:
                assert tuple(done[y, x]) == tuple(own[y, x])
                continue
            edge = min(x - 2, 1 + width - x, y - 3, 2 + height - y)
            share = min(edge + 1, blend + 1) / (blend + 1)
            exact = share * patch[y - 3, x - 2].astype(float) + (1 - share) * own[y, x]
            assert np.abs(done[y, x] - exact).max() <= 0.5
            assert share < 1 or tuple(done[y, x]) == tuple(patch[y - 3, x - 2])


def test_blending_is_off_unless_asked_for(world: Path) -> None:
    _, plain = drawn(world, "plain")
    _, same = drawn(world, "same", blend=0)
    _, faded = drawn(world, "faded", blend=3)
    assert all(np.array_equal(plain[one], same[one]) for one in plain)
    changed = [one for one in plain if not np.array_equal(plain[one], faded[one])]
    assert changed
    assert not any(one.endswith("#0") for one in changed)


@pytest.mark.parametrize("fill", ["blur", "mean", "black"])
def test_swaps_of_names_without_a_donor_are_filled(tmp_path: Path, fill: Any) -> None:
    """A perfect-sight plan: its class swaps paste the donor object, its attribute swaps have none."""
    files = write_world(tmp_path)
    del files["detections"]
    sm.swapmix.build(**files, plan="perfect-sight", k=2, out=tmp_path / "built")
    out, found = drawn(tmp_path, fill=fill)
    plan = pl.read_parquet(tmp_path / "built" / "swaps.parquet")
    boxes, images = boxes_of(tmp_path), images_of(tmp_path)
    contents = dict(pl.read_parquet(out / "images.parquet").select("id", "content").iter_rows())
    filled = 0
    for row in plan.filter(kind="attribute").iter_rows(named=True):
        name, own = f"{row['question_id']}#{row['perturbation']}", images[row["image_id"]]
        place = left, top, right, bottom = cut(boxes[row["image_id"], row["object_id"]], own.shape[1::-1])
        if left >= right:
            assert contents[name] == "nothing"
            continue
        fills = {
            "black": np.zeros_like(own),
            "mean": np.broadcast_to(own.reshape(-1, 3).mean(axis=0), own.shape).astype(np.uint8),
            "blur": blurred(own),
        }
        check_pixels(row, found[name], own, place, fills[fill][top:bottom, left:right])
        assert contents[name] == "fill"
        filled += 1
    assert filled
    assert "donor" in contents.values()


def test_what_the_table_says(world: Path) -> None:
    out, _ = drawn(world)
    table = pl.read_parquet(out / "images.parquet")
    first = table.row(0, named=True)
    assert [first[name] for name in ("id", "kind", "content", "left", "file", "shard", "width")] == [
        "01#0", "original", "original", None, "00000000.png", "pixels_00000.parquet", WIDTH,
    ]  # fmt: skip
    assert first["source_sha256"] == hashlib.sha256((world / "images" / "a.png").read_bytes()).hexdigest()
    plan = pl.read_parquet(world / "built" / "swaps.parquet").filter(question_id="01")
    trees = plan.filter(from_class="tree").row(0, named=True)
    row = table.filter(id=f"01#{trees['perturbation']}").row(0, named=True)
    assert [row[name] for name in ("left", "top", "right", "bottom", "is_clipped")] == [30, 20, 40, 30, True]
    donor = world / "images" / f"{trees['donor_image_id']}.png"
    assert row["donor_sha256"] == hashlib.sha256(donor.read_bytes()).hexdigest()
    dogs = plan.filter(from_class="dog", to_class="car")["perturbation"].to_list()
    assert dogs
    assert not table.filter(id=f"01#{dogs[0]}")["is_clipped"].item()
    report = sm.swapmix.images(world / "built", images=world / "images")
    empty = report.counts["empty_regions"]
    assert empty == len(table.filter(content="nothing")) > 0
    assert report.notes == (f"regions without a pixel on their image, whose swap changes nothing: {empty}",)
    assert report.is_complete
    verified = sm.verify(out)
    assert verified.agrees
    assert verified.counts["empty_regions"] == (empty, empty)
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "images.parquet", "manifest.json", "pixels_00000.parquet", "predictions.json",
        "run.json",
    ]  # fmt: skip


def test_the_same_bytes_for_any_number_of_processes(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files, with a question each, as their size is no part of the promise."""
    monkeypatch.setattr("shortcut_miner.diagnostics.swapmix.images._IMAGES_A_SHARD", 5)
    one, two = (
        {
            path.name: path.read_bytes()
            for path in drawn(world, f"out{n}", processes=n)[0].iterdir()
            if path.name != "run.json"
        }
        for n in (1, 2)
    )
    assert "pixels_00001.parquet" in one
    assert one == two


def test_samples_and_fewer_swaps(world: Path) -> None:
    samples = set()
    for seed in range(9):
        _, found = drawn(world, f"s{seed}", sample=1, seed=seed)
        samples |= {one.rpartition("#")[0] for one in found}
        assert len({one.rpartition("#")[0] for one in found}) == 1
    assert samples == {"01", "q/../2", "zz"}
    plan = pl.read_parquet(world / "built" / "swaps.parquet")
    _, found = drawn(world, "few", k=1, limit=1)
    wanted = plan.filter(pl.col("question_id") == "01", pl.col("swap_index").fill_null(1) <= 1)
    assert set(found) == {f"01#{at}" for at in wanted["perturbation"]}
    with pytest.raises(ConfigError, match="k: got 3, expected at most 2"):
        drawn(world, k=3)


def test_images_of_questions_and_donors_that_are_not_there(world: Path, tmp_path: Path) -> None:
    (world / "donors").mkdir()
    for name in "bc":
        (world / "images" / f"{name}.png").rename(world / "donors" / f"{name}.png")
    Image.fromarray(pixels(1, 2 * WIDTH, 2 * HEIGHT)).save(world / "images" / "b.png")
    Image.fromarray(pixels(0)).save(world / "donors" / "a.png")
    where = {"images": world / "images", "donor_images": world / "donors"}
    assert sm.swapmix.images(world / "built", **where).is_complete
    (world / "donors" / "c.png").unlink()
    report = sm.swapmix.images(world / "built", **where)
    assert not report.is_complete
    assert report.warnings == ("donors' images not found: 1 ('c'); their questions are left out",)
    plan = pl.read_parquet(world / "built" / "swaps.parquet")
    lacking = plan.filter(donor_image_id="c")["question_id"].n_unique()
    assert report.dropped == {"questions with a donor whose image was not found": lacking}
    (world / "donors" / "c.png").write_bytes((world / "donors" / "b.png").read_bytes()[:-99])
    report = sm.swapmix.images(world / "built", **where)
    assert report.dropped == {"questions with a donor whose image can't be read": lacking}
    assert "c.png: got " in report.warnings[0]
    (world / "images" / "b.png").unlink()
    report = sm.swapmix.images(world / "built", **where)
    assert report.dropped["questions whose image was not found"] == 1
    (world / "images" / "a.png").unlink()
    with pytest.raises(SourceError, match="got none of the 2 images of these questions"):
        sm.swapmix.images(world / "built", **where)


def test_the_command_ends_with_3_where_an_image_is_missing(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["swapmix", "images", str(world / "built"), "--images", str(world / "images"), "--processes", "2"]
    assert run([*words, "--out", str(world / "whole")]) == 0
    assert f"swapmix score {world / 'built'} --predictions NAME=FILE\n" in capsys.readouterr().out
    (world / "images" / "c.png").unlink()
    assert run([*words, "--dry-run"]) == 3
    assert "warning: images not found: 1 ('c')" not in capsys.readouterr().err


def test_answers_to_images_are_scored(world: Path) -> None:
    """The same answers by question and perturbation, and by the ids of images, give the same scores."""
    out, _ = drawn(world)
    rows = json.loads((out / "predictions.json").read_text())
    assert {row["answer"] for row in rows} == {None}
    answered = [row | {"answer": "yes" if at % 3 else "no"} for at, row in enumerate(rows)]
    plan = pl.read_parquet(world / "built" / "swaps.parquet").select("question_id", "perturbation")
    plan.with_columns(answer=pl.Series([row["answer"] for row in answered])).write_parquet(
        world / "plan.parquet"
    )
    (world / "answers.json").write_text(json.dumps(answered))
    pl.DataFrame(answered).select(qid="question_id", said="answer").write_csv(world / "answers.csv")
    scored = {}
    for name, more in (
        ("plan.parquet", {}),
        ("answers.json", {}),
        ("answers.csv", {"columns": "question_id=qid,answer=said"}),
    ):
        report = sm.swapmix.score(world / "built", predictions={"m": world / name}, resamples=0, **more)
        scored[name] = report.scores["value"].to_list()
    assert scored["answers.json"] == scored["answers.csv"] == scored["plan.parquet"]
    odd = [row | {"question_id": row["question_id"].replace("zz#0", "zz")} for row in answered]
    (world / "odd.json").write_text(json.dumps(odd))
    with pytest.raises(SourceError, match="perturbation"):
        sm.swapmix.score(world / "built", predictions={"m": world / "odd.json"}, resamples=0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: [*rows, rows[0]], r"question_id: got '.+#0' 2 times, expected an id that occurs once"),
        (lambda rows: [rows[0] | {"answer": None}, *rows[1:]], "answer: got null, expected text"),
        (lambda rows: [*rows, {"question_id": "zz#relevant", "answer": "no"}], r"got 1 ids .*'zz#relevant'"),
        (
            lambda rows: [*rows, {"question_id": "zz#" + "9" * 30, "answer": "no"}],
            r"got 1 ids .*such as 12#0",
        ),
        (lambda rows: [*rows, {"question_id": "zz#\u0663", "answer": "no"}], r"got 1 ids .*such as 12#0"),
        (lambda rows: [*rows, {"question_id": "zz", "answer": "no"}], r"got 1 ids .*'zz'"),
    ],
)
def test_answers_to_images_are_told_as_such(world: Path, change: Any, told: str) -> None:
    """What is wrong with them, and not that a table has no column for perturbations."""
    out, _ = drawn(world)
    rows = [row | {"answer": "yes"} for row in json.loads((out / "predictions.json").read_text())]
    (world / "odd.json").write_text(json.dumps(change(rows)))
    with pytest.raises(SourceError, match=told):
        sm.swapmix.score(world / "built", predictions={"m": world / "odd.json"}, resamples=0)


@pytest.mark.parametrize("to", ["huggingface", "lmms-eval", "vlmevalkit"])
def test_evaluators_get_each_swap_and_their_answers_are_scored(world: Path, to: str) -> None:
    """Answers by the ids that were exported, in the evaluator's own layout, give the plan's own scores."""
    out, _ = drawn(world)
    report = sm.export(out, to, out=world / "asked")
    plan = pl.read_parquet(world / "built" / "swaps.parquet")
    assert report.questions == [("swapmix", "swaps", len(plan))]
    assert f"swapmix score {world / 'built'} --predictions " in report.read_back
    said = ["yes" if at % 3 else "no" for at in range(len(plan))]
    ids = [f"{question}#{swap}" for question, swap in plan.select("question_id", "perturbation").iter_rows()]
    answers = dict(zip(ids, said, strict=True))
    if to == "vlmevalkit":
        table = pl.read_csv(world / "asked" / "swapmix_openended.tsv", separator="\t", infer_schema=False)
        given = [answers.get(one, answers.get(one.removeprefix("q"))) for one in table["question_id"]]
        told = table.select("index", "question_id", "answer", prediction=pl.Series(given))
        told.write_excel(world / "a.xlsx")
        place = world / "a.xlsx"
    elif to == "lmms-eval":
        place = world / "20261129_000000_samples_swapmix.jsonl"
        lines: list[dict[str, Any]] = [
            {
                "doc_id": at,
                "target": "",
                "filtered_resps": [answers[one]],
                "submission": {"question_id": one, "answer": answers[one]},
            }
            for at, one in enumerate(ids)
        ]
        place.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        place = world / "a.jsonl"
        lines = [{"question_id": one, "answer": text} for one, text in answers.items()]
        place.write_text("".join(json.dumps(line) + "\n" for line in lines))
    own = world / "plan.parquet"
    plan.select("question_id", "perturbation", answer=pl.Series(said)).write_parquet(own)
    scored = [
        sm.swapmix.score(world / "built", predictions={"m": file}, resamples=0).scores["value"].to_list()
        for file in (own, place)
    ]
    assert scored[0] == scored[1]


def test_an_export_of_a_part_says_how_it_is_scored(world: Path) -> None:
    out, _ = drawn(world, k=1, sample=2)
    told = sm.export(out, "huggingface").read_back
    assert told.endswith("--predictions NAME=ANSWERS.jsonl --k 1 --on-missing skip")


def test_answers_to_the_first_swaps_are_enough_for_them(world: Path) -> None:
    out, _ = drawn(world, k=1, sample=2)
    rows = json.loads((out / "predictions.json").read_text())
    (world / "m.json").write_text(json.dumps([row | {"answer": "yes"} for row in rows]))
    given: dict[str, Any] = {"predictions": {"m": world / "m.json"}, "resamples": 0}
    report = sm.swapmix.score(world / "built", k=1, on_missing="skip", **given)
    assert report.scores.filter(metric="accuracy", group="overall")["n"].item() == 2
    told = sm.swapmix.images(world / "built", images=world / "images", k=1, sample=2).read_back
    assert told.endswith("--predictions NAME=FILE --k 1 --on-missing skip")


def test_a_skeleton_that_nobody_filled_is_refused(world: Path) -> None:
    out, _ = drawn(world)
    with pytest.raises(SourceError, match="answer"):
        sm.swapmix.score(world / "built", predictions={"m": out / "predictions.json"})


def test_plans_that_cannot_be_drawn(world: Path) -> None:
    files = {name: world / f"{name}.json" for name in ("questions",)} | {
        "scene_graphs": world / "graphs.json"
    }
    more = {"detections": world / "boxes.jsonl", "embeddings": world / "vectors.txt"}
    sm.swapmix.build(**files, **more, plan="training", out=world / "training")
    with pytest.raises(SourceError, match="A training plan can't be drawn"):
        sm.swapmix.images(world / "training", images=world / "images")
    manifest = json.loads((world / "built" / "manifest.json").read_text())
    del manifest["files"]["boxes.parquet"]
    (world / "built" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(SourceError, match="which an older version built"):
        sm.swapmix.images(world / "built", images=world / "images")
