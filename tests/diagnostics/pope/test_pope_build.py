"""Builds from every kind of input, what they write, and what is said of inputs that don't fit."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.pope.worlds import write_objects

import shortcut_miner as sm
from shortcut_miner.errors import ConfigError, ShortcutMinerError, SourceError

WORLD = {
    "000000000001.jpg": ["dog", "cat"],
    "000000000002.jpg": ["cat", "hot dog"],
    "000000000003.jpg": ["oven", "dog"],
    "000000000004.jpg": ["cup"],
}
OPTIONS: dict[str, Any] = {"image_count": 3, "objects_per_image": 2}


def built(path: Path, **more: Any) -> Any:
    return sm.pope.build(objects=path, **(OPTIONS | more))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_objects(tmp_path / "objects.jsonl", WORLD)


# ---- inputs ----


def coco(world: dict[str, list[str]], crowds: tuple[tuple[int, str], ...] = ()) -> dict[str, Any]:
    names = sorted({name for one in world.values() for name in one})
    ids = {name: at for at, name in enumerate(names, 1)}
    return {
        "categories": [{"id": at, "name": name} for name, at in ids.items()],
        "images": [{"id": at, "file_name": image} for at, image in enumerate(world, 1)],
        "annotations": [
            {"image_id": at, "category_id": ids[name], "iscrowd": int((at, name) in crowds)}
            for at, names in enumerate(world.values(), 1)
            for name in names
        ],
    }


def test_every_form_of_objects_gives_the_same_questions(file: Path, tmp_path: Path) -> None:
    rows = [(image, name) for image, names in WORLD.items() for name in names]
    pl.DataFrame(rows, schema=["image", "object"], orient="row").write_csv(tmp_path / "rows.csv")
    lists = pl.DataFrame({"image": [*WORLD], "objects": [*WORLD.values()]})
    lists.write_parquet(tmp_path / "lists.parquet")
    (tmp_path / "list.json").write_text(json.dumps(lists.to_dicts()))
    detected = {image: {"classes": names, "scores": [1.0] * len(names)} for image, names in WORLD.items()}
    (tmp_path / "detections.json").write_text(json.dumps(detected))
    (tmp_path / "instances.json").write_text(json.dumps(coco(WORLD)))
    graphs = {
        str(at): {
            "width": 9, "height": 9,
            "objects": {
                f"{at}{n}": {"name": name, "x": 0, "y": 0, "w": 1, "h": 1, "attributes": [], "relations": []}
                for n, name in enumerate(names)
            },
        }
        for at, names in enumerate(WORLD.values(), 1)
    }  # fmt: skip
    (tmp_path / "graphs.json").write_text(json.dumps(graphs))
    expected = built(file).questions.drop("image")
    for name in (
        "rows.csv",
        "lists.parquet",
        "list.json",
        "detections.json",
        "instances.json",
        "graphs.json",
    ):
        assert built(tmp_path / name).questions.drop("image").equals(expected), name


def test_a_repeated_object_is_one(tmp_path: Path) -> None:
    twice = {image: [*names, names[0]] for image, names in WORLD.items()}
    report = built(write_objects(tmp_path / "twice.jsonl", twice))
    assert report.questions.equals(built(write_objects(tmp_path / "once.jsonl", WORLD)).questions)


def test_images_whose_objects_are_null_are_counted(tmp_path: Path) -> None:
    world = {**WORLD, "x": None}
    report = built(write_objects(tmp_path / "o.jsonl", world))
    assert report.dropped == {"image whose objects are null": 1, "image with too few objects": 1}
    assert report.is_complete


def test_unsure_objects_are_asked_neither_way(tmp_path: Path) -> None:
    detected = {image: {"classes": names, "scores": [1.0] * len(names)} for image, names in WORLD.items()}
    detected["000000000001.jpg"] = {"classes": ["dog", "cat", "oven"], "scores": [1.0, 0.9, 0.2]}
    (tmp_path / "d.json").write_text(json.dumps(detected))
    with pytest.raises(ConfigError, match="image_count: got 3, expected at most 2: so many of 4"):
        built(tmp_path / "d.json")  # it lacks the hot dog alone
    asked = built(tmp_path / "d.json", score_threshold=0.1, image_count=2, strategies="random").questions
    assert len(asked) == 8


def test_what_captions_name_is_not_asked_as_absent(file: Path, tmp_path: Path) -> None:
    rows = pl.DataFrame({"image": ["1", "2"], "object": ["oven", "dog"]})
    rows.write_csv(tmp_path / "also.csv")
    with pytest.raises(ConfigError, match=r"image_count: got 3, expected at most 1"):
        built(file, also_present=tmp_path / "also.csv")
    one = built(file, also_present=tmp_path / "also.csv", objects_per_image=1, image_count=3).questions
    absent = one.filter(answer="no").select("image_id", "object").rows()
    assert ("1", "oven") not in absent
    assert ("2", "dog") not in absent
    alone = write_objects(tmp_path / "alone.jsonl", {"000000000001.jpg": ["oven"]})
    rows[:1].write_csv(tmp_path / "first.csv")
    of_one = [
        built(file, also_present=also, objects_per_image=1, image_count=3).questions.drop("image")
        for also in (alone, tmp_path / "first.csv")
    ]
    assert of_one[0].equals(of_one[1])
    rows.with_columns(image=pl.Series(["8", "9"])).write_csv(tmp_path / "others.csv")
    with pytest.raises(
        SourceError, match=r"images \(objects.jsonl\) and also_present \(others.csv\): got no image"
    ):
        built(file, also_present=tmp_path / "others.csv")


# ---- what doesn't fit ----


def test_bad_rows(tmp_path: Path) -> None:
    lines = [
        {"image": "1", "objects": ["a"]},
        {"image": " ", "objects": ["a"]},
        {"image": "3", "objects": ["a", " "]},
        {"image": "4", "objects": ["b"]},
        {"image": "4", "objects": ["c"]},
    ]
    path = tmp_path / "o.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(SourceError) as told:
        built(path)
    assert str(told.value) == (
        f"{path}: got 4 bad of 5 images, expected none. Fix them, or skip them with --on-bad-row skip.\n"
        "  - line 2, image: got ' ', expected an image's name or id\n"
        "  - line 3, objects: got ['a', ' '], expected texts that are not blank\n"
        "  - line 4 and line 5, image: got '4' 2 times, expected an id that occurs once"
    )


def test_fewer_images_than_asked(file: Path) -> None:
    with pytest.raises(ConfigError) as told:
        built(file, image_count=9)
    assert str(told.value) == (
        f"image_count: got 9, expected at most 3: so many of 4 images in {file} have 2 objects and lack as "
        "many names. Change --image-count or --objects-per-image."
    )


def test_a_limit_takes_what_there_is(file: Path) -> None:
    report = built(file, limit=3, image_count=500)
    assert report.notes == (
        "objects: COCO image names shortened to their numbers: 4 of 4 images",
        "images: 3, all that the first 3 give",
    )
    with pytest.raises(
        ConfigError, match="image_count: got 500, expected at most 0: so many of 1 images in "
    ):
        built(file, limit=1, image_count=500)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"image_count": 0},
            "image_count: got 0, expected a whole number of 1 or more. Change --image-count.",
        ),
        ({"objects_per_image": True}, "objects_per_image: got True, expected a whole number of 1 or more."),
        (
            {"strategies": "random,likely"},
            "strategies: got 'random,likely', expected all, or some of random,",
        ),
        ({"template": "Is it there?"}, "template: got 'Is it there?', expected a question with {} once"),
        ({"template": "{} or {}?"}, "template: got '{} or {}?', expected a question with {} once"),
        (
            {"image_names": "x.jpg"},
            "image_names: got 'x.jpg', expected a name with {} once, as in COCO_val2014_",
        ),
        ({"image_names": "{:d}"}, "image_names: got '{:d}', expected a name with {} once"),
        ({"image_names": "{:.0}x{}"}, "image_names: got '{:.0}x{}', expected a name with {} once"),
        (
            {"image_names": "{:.6}"},
            "image_names: got the same name for several images: '000000', expected one of",
        ),
        ({"name": "a/b"}, "name: got 'a/b', expected letters, digits, - and _. Change --name."),
        ({"ties": "last"}, "ties: got 'last', expected one of first, lexicographic. Change --ties."),
        ({"score_threshold": 2}, "score_threshold: got 2, expected a number from 0 to 1."),
    ],
)
def test_options_that_do_not_fit(file: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ShortcutMinerError) as error:
        built(file, **options)
    assert told in str(error.value)


# ---- what is written ----


def released(folder: Path, strategy: str, name: str = "coco") -> list[dict[str, Any]]:
    lines = (folder / f"{name}_pope_{strategy}.json").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_the_released_form(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    built(file, out=out, seed=4)
    present: list[list[tuple[str, str]]] = []
    for strategy in ("random", "popular", "adversarial"):
        questions = released(out, strategy)
        assert [one["question_id"] for one in questions] == [*range(1, 13)]
        assert [one["label"] for one in questions] == ["yes", "no"] * 6
        assert [one["image"] for one in questions] == [image for image in [*WORLD][:3] for _ in range(4)]
        assert len({(one["image"], one["text"]) for one in questions}) == 12
        for one in questions:
            name = (
                one["text"]
                .removeprefix("Is there a")
                .removeprefix("n")
                .strip()
                .removesuffix(" in the image?")
            )
            assert (name in WORLD[one["image"]]) == (one["label"] == "yes")
        present.append([(one["image"], one["text"]) for one in questions if one["label"] == "yes"])
    assert present[0] == present[1] == present[2]
    again = tmp_path / "again"
    built(file, out=again, seed=4)
    for path in out.glob("*.json"):
        if path.name not in ("run.json", "manifest.json"):
            assert path.read_bytes() == (again / path.name).read_bytes()


def test_blocks_names_and_the_reference_wording(file: Path, tmp_path: Path) -> None:
    names = {"image_names": "x_{}", "name": "mine", "layout": "blocks", "preset": "code"}
    built(file, out=tmp_path / "out", strategies="popular", **names)
    questions = released(tmp_path / "out", "popular", "mine")
    assert [one["label"] for one in questions] == ["yes", "yes", "no", "no"] * 3
    assert questions[0]["image"] == "x_000000000001.jpg"
    assert (
        next(one["text"] for one in questions if "oven" in one["text"]) == "Is there an oven in the imange?"
    )
    assert not (tmp_path / "out" / "mine_pope_random.json").exists()


def test_counts_pairs_and_ranks(file: Path, tmp_path: Path) -> None:
    report = built(file, out=tmp_path / "out")
    counts = json.loads((tmp_path / "out" / "object_counts.json").read_text())
    assert counts == {"cat": 2, "dog": 2, "hot dog": 1, "oven": 1}
    beside = json.loads((tmp_path / "out" / "co_occurrence_counts.json").read_text())
    assert beside["cat"] == {"dog": 1, "hot dog": 1}
    questions = report.questions
    assert questions.filter(answer="yes")["rank"].null_count() == 18
    popular = questions.filter(strategy="popular", answer="no").sort("number")
    ranks = popular.group_by("image_id", maintain_order=True).agg("rank")["rank"].to_list()
    assert all(one == sorted(one) for one in ranks)
    for row in questions.iter_rows(named=True):
        (partner,) = questions.filter(
            (pl.col("strategy") == row["strategy"])
            & (pl.col("image_id") == row["image_id"])
            & (pl.col("slot") == row["slot"])
            & (pl.col("answer") != row["answer"])
        ).iter_rows(named=True)
        assert (row["object"], row["paired_object"]) == (partner["paired_object"], partner["object"])
    assert questions.group_by("strategy", "answer").len()["len"].to_list() == [6] * 6


def test_doubtful_labels_are_told(tmp_path: Path) -> None:
    (tmp_path / "i.json").write_text(json.dumps(coco(WORLD, crowds=((1, "dog"),))))
    report = built(tmp_path / "i.json")
    crowds = report.questions.filter(doubt="crowd")
    assert crowds.select("image_id", "object").unique().rows() == [("1", "dog")]
    near = (
        report.questions.filter(doubt="near name")
        .select("image_id", "object")
        .unique()
        .sort("image_id")
        .rows()
    )
    assert set(near) <= {("1", "hot dog"), ("2", "dog"), ("3", "hot dog")}
    assert report.counts["doubtful_yes"] == 3
    assert report.counts["doubtful_no"] == report.questions.filter(doubt="near name").height > 0
    assert report.in_words()["doubtful"].startswith("3 yes about crowds alone; ")
