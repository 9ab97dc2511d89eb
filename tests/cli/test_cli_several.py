"""Inputs of several files: detections, scene graphs and labels, by a repeated option or as a folder."""

import json
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli, options

import shortcut_miner as sm
from shortcut_miner.demo import DemoWorld
from shortcut_miner.demo.detector import write_detections


@pytest.fixture(scope="module")
def halves(world: DemoWorld, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Return whole and halved detections, scene graphs and labels, by kind; the halves share some images."""
    folder = tmp_path_factory.mktemp("halves")
    boxes = write_detections(world.val_scene_graphs, folder)
    lines = boxes.read_text().splitlines(keepends=True)
    middle = len(lines) // 2
    found = {"boxes": [boxes]}
    (folder / "boxes").mkdir()
    for name, part in (("a", lines[: middle + 3]), ("b", lines[middle:])):
        found["boxes"].append(folder / "boxes" / f"{name}.jsonl")
        found["boxes"][-1].write_text("".join(part))
    for kind, whole in (("graphs", world.val_scene_graphs), ("labels", world.detections)):
        items = list(json.loads(whole.read_text()).items())
        middle = len(items) // 2
        found[kind] = [whole]
        (folder / kind).mkdir()
        for name, some in (("a", items[: middle + 3]), ("b", items[middle:])):
            found[kind].append(folder / kind / f"{name}.json")
            found[kind][-1].write_text(json.dumps(dict(some)))
    return found


def tables(folder: Path) -> dict[str, pl.DataFrame]:
    return {path.name: pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}


def same_tables(one: Path, other: Path) -> bool:
    mine, theirs = tables(one), tables(other)
    return bool(mine) and list(mine) == list(theirs) and all(mine[name].equals(theirs[name]) for name in mine)


def recorded(folder: Path, role: str) -> list[str]:
    inputs = json.loads((folder / "manifest.json").read_text())["inputs"]
    return [one["name"] for one in inputs if one["role"] == role]


def test_fpvg_of_halves_is_that_of_the_whole(
    run_cli: RunCli, world: DemoWorld, halves: dict[str, list[Path]], tmp_path: Path
) -> None:
    (boxes, *parts), (graphs, *pieces) = halves["boxes"], halves["graphs"]
    asked = ("fpvg", "build", "--questions", world.gqa_questions)
    whole, repeated, in_folders = tmp_path / "whole", tmp_path / "repeated", tmp_path / "folders"
    ran = run_cli(*asked, "--scene-graphs", graphs, "--detections", boxes, "--out", whole)
    assert ran.code == 0
    each = [word for part in parts for word in ("--detections", part)]
    ran = run_cli(*asked, "--scene-graphs", *pieces, *each, "--out", repeated)
    assert ran.code == 0
    assert "note: scene_graphs, detections: images that several files have alike, kept once: 3" in ran.err
    ran = run_cli(
        *asked, "--scene-graphs", pieces[0].parent, "--detections", parts[0].parent, "--out", in_folders
    )
    assert ran.code == 0
    assert same_tables(whole, repeated)
    assert same_tables(whole, in_folders)
    assert recorded(repeated, "detections") == recorded(in_folders, "detections") == ["a.jsonl", "b.jsonl"]
    assert recorded(repeated, "scene_graphs") == ["a.json", "b.json"]
    files = json.loads((repeated / "run.json").read_text())["files"]
    assert files["detections"] == [str(part.resolve()) for part in parts]
    assert json.loads((whole / "run.json").read_text())["files"]["detections"] == str(boxes.resolve())


def test_swapmix_of_halves_is_that_of_the_whole(
    world: DemoWorld, halves: dict[str, list[Path]], tmp_path: Path
) -> None:
    (boxes, *parts), (graphs, *pieces) = halves["boxes"], halves["graphs"]
    names = sorted(
        {
            one["name"]
            for image in json.loads(graphs.read_text()).values()
            for one in image["objects"].values()
        }
    )
    pairs = {"class": names[:-1], "neighbour": names[1:], "cosine": [0.9] * (len(names) - 1)}
    pl.DataFrame(pairs).write_parquet(tmp_path / "similar.parquet")
    given = {
        "questions": world.gqa_questions,
        "similar_classes": tmp_path / "similar.parquet",
        "k": 2,
        "limit": 60,
    }
    one = sm.swapmix.build(**given, scene_graphs=graphs, detections=boxes)
    several = sm.swapmix.build(
        **given,
        scene_graphs=pieces,
        detections=parts,
        donor_scene_graphs=pieces[0].parent,
        donor_detections=tuple(parts),
    )
    assert len(one.swaps) > 100
    assert several.swaps.equals(one.swaps)


def test_boxes_in_fractions_take_their_sizes_from_the_scene_graphs(
    world: DemoWorld, halves: dict[str, list[Path]], tmp_path: Path
) -> None:
    graphs = json.loads(world.val_scene_graphs.read_text())
    rows = [
        {"ImageID": image, "LabelName": "x"}
        | {"XMin": box["xmin"] / size["width"], "XMax": box["xmax"] / size["width"]}
        | {"YMin": box["ymin"] / size["height"], "YMax": box["ymax"] / size["height"]}
        for line in map(json.loads, halves["boxes"][0].read_text().splitlines())
        if (image := str(line["image_id"])) in graphs
        for size in [graphs[image]]
        for box in (one["box"] for one in line["detections"])
    ]
    sides = pl.all().exclude("ImageID", "LabelName").clip(0, 1)
    pl.DataFrame(rows).with_columns(sides).write_csv(tmp_path / "boxes.csv")
    given = {"questions": world.gqa_questions, "scene_graphs": world.val_scene_graphs, "limit": 60, "k": 1}
    given["similar_classes"] = tmp_path / "similar.parquet"
    pairs = {"class": ["dog"], "neighbour": ["cat"], "cosine": [0.9]}
    pl.DataFrame(pairs).write_parquet(tmp_path / "similar.parquet")
    one = sm.swapmix.build(**given, detections=halves["boxes"][0]).counts
    other = sm.swapmix.build(**given, detections=tmp_path / "boxes.csv").counts
    assert one["objects_without_region"] == other["objects_without_region"] < one["objects"]


def test_labels_of_halves_are_those_of_the_whole(
    run_cli: RunCli,
    world_files: dict[str, Path | None],
    built: Path,
    halves: dict[str, list[Path]],
    tmp_path: Path,
) -> None:
    whole, *parts = halves["labels"]
    assert world_files["detections"] == whole
    words = options({**world_files, "detections": None})
    for given in (parts, [parts[0].parent]):
        ran = run_cli("vqa-ce", "build", *words, "--detections", *given, "--out", tmp_path / "out")
        assert ran.code == 0
        assert same_tables(built, tmp_path / "out")
        assert recorded(tmp_path / "out", "detections") == ["a.json", "b.json"]


def test_files_that_differ_about_an_image_are_named(
    run_cli: RunCli, world: DemoWorld, halves: dict[str, list[Path]], tmp_path: Path
) -> None:
    parts = halves["boxes"][1:]
    lines = parts[1].read_text().splitlines()
    first = json.loads(lines[0])
    first["detections"][0]["box"]["xmin"] += 1
    other = tmp_path / "b.jsonl"
    other.write_text("\n".join([json.dumps(first), *lines[1:]]))
    words = ("fpvg", "build", "--questions", world.gqa_questions, "--scene-graphs", world.val_scene_graphs)
    words = (*words, "--detections", parts[0], other, "--out", tmp_path / "out")
    ran = run_cli(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"error: {parts[0]} and {other}: got 1 images that files describe differently (" in ran.err
    ran = run_cli(*words, "--on-bad-row", "skip")
    assert ran.code == 3
    dropped = json.loads((tmp_path / "out" / "manifest.json").read_text())["dropped"]
    assert dropped["detections: image: expected the same in every file that has it"] == 1


def test_an_option_without_a_file_is_told(run_cli: RunCli, world: DemoWorld) -> None:
    ran = run_cli("fpvg", "build", "--questions", world.gqa_questions, "--scene-graphs", "--detections", "x")
    assert ran.code == 2
    assert "--scene-graphs: got no value (missing), expected one. Give it after --scene-graphs." in ran.err
