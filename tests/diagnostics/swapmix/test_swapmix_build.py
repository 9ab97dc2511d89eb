import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import polars as pl
import pyarrow.parquet as pq
import pytest

from shortcut_miner.demo import DemoWorld, write_demo_world
from shortcut_miner.demo.swapmix import run_swapmix
from shortcut_miner.diagnostics.swapmix import outputs
from shortcut_miner.diagnostics.swapmix.build import build
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig, SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.swapmix.inputs import _read_questions
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.storage import ROW_GROUP_SIZE, read_provenance

CHECKOUT = Path(__file__).resolve().parents[3]
PERFECT = SwapMixConfig(plan="perfect-sight")
TABLES = {"swaps.parquet", "similar_classes.parquet", "boxes.parquet", "questions.parquet"}
PLAN_FILES = TABLES | {"README.md", "manifest.json", "run.json"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoWorld:
    out = tmp_path_factory.mktemp("demo")
    world = write_demo_world(out / "world")
    run_swapmix(world, out)
    return world


@pytest.fixture(scope="module")
def files(demo: DemoWorld) -> SwapMixFiles:
    folder = demo.gqa_questions.parent
    return SwapMixFiles(
        questions=demo.gqa_questions,
        scene_graphs=demo.val_scene_graphs,
        detections=folder / "val_objects.jsonl",
        embeddings=str(folder / "word_vectors.txt"),
    )


def test_folder_says_where_it_comes_from(files: SwapMixFiles, tmp_path: Path) -> None:
    report = build(files, SwapMixConfig(k=3), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == PLAN_FILES
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    assert manifest["counts"] == report.counts
    assert manifest["config"]["k"] == 3
    roles = {one["role"] for one in manifest["inputs"]}
    assert roles == {"questions", "scene_graphs", "detections", "embeddings"}
    assert read_provenance(tmp_path / "swaps.parquet")["counts"] == report.counts
    plan = pl.read_parquet(tmp_path / "swaps.parquet")
    assert len(plan) == report.counts["rows"]
    kinds = dict(plan.group_by("kind").len().rows())
    assert kinds["class"] == report.counts["class_swaps"]
    assert kinds["attribute"] == report.counts["attribute_swaps"]
    assert kinds["original"] == report.counts["questions_in_plan"]
    questions = pl.read_parquet(tmp_path / "questions.parquet")
    assert len(questions) == report.counts["questions"]
    assert questions["row_count"].sum() == len(plan)
    left_out = questions.drop_nulls("exclusion")
    assert set(left_out["exclusion"]) == {"image without detections"}
    assert report.dropped == {"questions: image without detections": len(left_out)}


def test_every_epoch_has_its_file_and_its_swaps(files: SwapMixFiles, tmp_path: Path) -> None:
    report = build(files, SwapMixConfig(plan="training", epochs=3), tmp_path)
    epochs = [pl.read_parquet(tmp_path / f"training_epoch_{epoch:03d}.parquet") for epoch in range(3)]
    assert [epoch["epoch"].unique().to_list() for epoch in epochs] == [[0], [1], [2]]
    assert sum(map(len, epochs)) == report.counts["rows"]
    for epoch in epochs:
        assert not epoch.select(pl.struct("question_id", "region_index").is_duplicated().any()).item()
        # Half of the context objects, less those without a donor of the kind drawn.
        share = (len(epoch) + report.counts["swaps_left_out_without_donor"] / 3) / (
            report.counts["context_objects"] / 3
        )
        assert abs(share - 0.5) < 0.05
    assert not epochs[0].drop("epoch").equals(epochs[1].drop("epoch"))
    # The first epochs' own records counted the epochs so far: they were refused as of another build.
    assert all(report.tables[f"training_epoch_{epoch:03d}"].equals(epochs[epoch]) for epoch in range(3))
    fewer = tmp_path / "fewer"
    build(files, SwapMixConfig(plan="training"), fewer)
    assert pl.read_parquet(fewer / "training_epoch_000.parquet").equals(epochs[0])


def test_epochs_are_the_same_whether_their_files_stay_open_or_not(
    files: SwapMixFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = SwapMixConfig(plan="training", epochs=3)
    build(files, config, tmp_path / "open")
    monkeypatch.setattr(outputs, "_MOST_OPEN", 2)
    build(files, config, tmp_path / "closed")
    names = [f"training_epoch_{epoch:03d}.parquet" for epoch in range(3)] + ["manifest.json"]
    for name in names:
        assert (tmp_path / "open" / name).read_bytes() == (tmp_path / "closed" / name).read_bytes()


def test_dry_run_and_limit(files: SwapMixFiles) -> None:
    report = build(files, SwapMixConfig(), None, limit=10)
    assert report.out is None
    assert report.counts["questions"] == 10


def test_missing_embeddings_and_donors_are_counted_and_named(files: SwapMixFiles, tmp_path: Path) -> None:
    vectors = tmp_path / "few.txt"
    kept = [line for line in Path(str(files.embeddings)).read_text().splitlines() if line.split(" ")[0] < "m"]
    vectors.write_text("\n".join(kept) + "\n")
    report = build(replace(files, embeddings=str(vectors)), SwapMixConfig(padding="none"), tmp_path / "out")
    figures = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["figures"]
    assert "tree" in figures["classes_without_embedding"]
    assert len(figures["classes_without_embedding"]) == report.counts["classes_without_embedding"]
    assert report.counts["context_objects_without_similar_class"] > 0
    assert "nothing is known about what is similar to" in report.warnings[-1]
    plan = pl.read_parquet(tmp_path / "out" / "swaps.parquet")
    trees = plan.filter((pl.col("from_class") == "tree") & (pl.col("kind") == "class"))
    assert trees.is_empty()


@pytest.mark.parametrize(
    ("changed", "config", "message"),
    [
        ({"detections": None}, SwapMixConfig(), "detections: got none for a plan of kind evaluation"),
        ({"embeddings": None}, SwapMixConfig(), "got neither --embeddings nor --similar-classes"),
        ({"similar_classes": Path("x")}, SwapMixConfig(), "got --embeddings and --similar-classes"),
        ({"embeddings": None, "similar_classes": Path("x")}, PERFECT, "similar attributes"),
        ({"donor_detections": Path("x")}, SwapMixConfig(), "got them without --donor-scene-graphs"),
        ({}, SwapMixConfig(max_feature_cosine=0.7), "max_feature_cosine: got detections"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_together(
    files: SwapMixFiles, changed: dict[str, Path | None], config: SwapMixConfig, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        build(replace(files, **changed), config, tmp_path / "out")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("plan", ["evaluation", "perfect-sight"])
@pytest.mark.parametrize("padding", ["random", "none"])
def test_counts_of_missing_swaps_are_those_of_the_plan(
    files: SwapMixFiles, plan: Literal["evaluation", "perfect-sight"], padding: Literal["random", "none"]
) -> None:
    k = 2
    report = build(files, SwapMixConfig(k=k, plan=plan, padding=padding), None)
    swaps = report.swaps.filter(pl.col("kind") != "original")
    per_object = swaps.group_by("question_id", "object_id", "kind").len()
    full = {kind: per_object.filter(kind=kind, len=k).height for kind in ("class", "attribute")}
    total = report.counts["context_objects"]
    assert full["class"] > 0
    assert report.counts["context_objects_with_fewer_class_swaps"] == total - full["class"]
    if plan == "evaluation":
        assert report.counts["context_objects_with_fewer_attribute_swaps"] == total - full["attribute"]
        assert 0 < full["attribute"] < total


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k: got 0, expected a whole number from 1 to 1000"),
        ({"min_cosine": 2.0}, "min_cosine: got 2.0"),
        ({"min_iou": 1.0}, "min_iou: got 1.0, expected a number from 0, below 1"),
        ({"padding": "zero"}, "padding: got 'zero', expected one of random, none. Change --padding"),
        ({"swap_probability": -0.1}, "swap_probability"),
        ({"plan": "perfect-sight", "max_feature_cosine": 0.7}, "expected none with a perfect-sight plan"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SwapMixConfig(**options)  # type: ignore[arg-type]


def test_presets_fill_in_what_is_not_given() -> None:
    assert SwapMixConfig(preset="code").context_key == "name"
    assert SwapMixConfig(preset="code", context_key="id").context_key == "id"
    assert not SwapMixConfig().own_image_donors
    with pytest.raises(ConfigError, match="resamples"):
        ScoreConfig(resamples=-1)


def test_questions_of_other_images_are_refused(files: SwapMixFiles, tmp_path: Path) -> None:
    other = {"9": {"imageId": "nowhere", "question": "?", "answer": "x", "annotations": {}}}
    (tmp_path / "q.json").write_text(json.dumps(other))
    with pytest.raises(SourceError, match="got no image in common"):
        build(replace(files, questions=tmp_path / "q.json"), SwapMixConfig(), tmp_path / "out")


BUILD = """
import sys
from pathlib import Path
from shortcut_miner.diagnostics.swapmix.build import build
from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig, SwapMixFiles
questions, graphs, detections, vectors, out = sys.argv[1:]
paths = {"questions": questions, "scene_graphs": graphs, "detections": detections}
files = SwapMixFiles(**{role: Path(path) for role, path in paths.items()}, embeddings=vectors)
build(files, SwapMixConfig(k=60), Path(out))
"""


def built(files: SwapMixFiles, out: Path, threads: int, hash_seed: int) -> dict[str, bytes]:
    env = os.environ | {
        "PYTHONPATH": str(CHECKOUT),
        "POLARS_MAX_THREADS": str(threads),
        "NUMBA_NUM_THREADS": str(threads),
        "PYTHONHASHSEED": str(hash_seed),
    }
    ((graphs,), (detections,)) = (files.scene_graphs, files.detections or ())
    given = (files.questions, graphs, detections, files.embeddings, out)
    subprocess.run([sys.executable, "-c", BUILD, *map(str, given)], env=env, check=True)
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"}


def shuffled(path: Path, out: Path) -> Path:
    """Write a JSON object or JSON lines with the records, and scene graphs' objects, in another order."""
    rng = random.Random(1)
    if path.suffix == ".jsonl":
        lines = path.read_text().splitlines()
        rng.shuffle(lines)
        out.write_text("\n".join(lines) + "\n")
        return out
    records = list(json.loads(path.read_bytes()).items())
    rng.shuffle(records)
    for _, record in records:
        if "objects" in record:
            objects = list(record["objects"].items())
            rng.shuffle(objects)
            record["objects"] = dict(objects)
    out.write_text(json.dumps(dict(records)))
    return out


def test_bytes_depend_on_neither_threads_nor_hash_seed_nor_order(files: SwapMixFiles, tmp_path: Path) -> None:
    one = built(files, tmp_path / "one", 1, 1)
    groups = pq.ParquetFile(tmp_path / "one" / "swaps.parquet").metadata
    sizes = [groups.row_group(n).num_rows for n in range(groups.num_row_groups)]
    assert len(sizes) > 1
    assert set(sizes[:-1]) == {ROW_GROUP_SIZE}
    assert built(files, tmp_path / "two", 3, 2) == one
    ((graphs,), (detections,)) = (files.scene_graphs, files.detections or ())
    other = replace(
        files,
        questions=shuffled(files.questions, tmp_path / files.questions.name),
        scene_graphs=(shuffled(graphs, tmp_path / graphs.name),),
        detections=(shuffled(detections, tmp_path / detections.name),),
    )
    again = built(other, tmp_path / "three", 2, 3)
    assert {name for name in one if again[name] != one[name]} == {"manifest.json"}  # has the files' digests


def programs_of(path: Path) -> dict[str, tuple[set[str], set[str]]]:
    """Return the ids that annotations and programs of questions name, by plain code."""
    found = {}
    for name, one in json.loads(path.read_bytes()).items():
        maps = one["annotations"].values()
        annotated = {part for ids in maps for text in ids.values() for part in text.split(",")}
        arguments = [step["argument"] for step in one["semantic"]]
        ends = [text.rpartition(" (")[2][:-1] for text in arguments if text.endswith(")") and " (" in text]
        program = {part for end in ends for part in end.split(",") if part != "-"}
        found[name] = annotated, program
    return found


@pytest.mark.parametrize("relevance", ["annotations", "program", "both"])
def test_what_names_the_objects_that_matter(
    files: SwapMixFiles, tmp_path: Path, relevance: Literal["annotations", "program", "both"]
) -> None:
    """Of some questions the annotations lose an object that the program names: it is context, or not."""
    questions = json.loads(files.questions.read_bytes())
    for at, one in enumerate(questions.values()):
        if at % 5 == 0:
            one["annotations"] = {"question": {}, "answer": {}, "fullAnswer": {}}
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(questions))
    named = programs_of(path)
    changed = replace(files, questions=path)
    report = build(changed, SwapMixConfig(k=1, relevance=relevance), tmp_path / "out")
    more = sum(bool(program - annotated) for annotated, program in named.values())
    told = f"questions: questions whose program names an object that their annotations lack: {more} of 531"
    assert more > 50
    assert (told in report.notes) == (relevance != "annotations")
    swapped = report.swaps.drop_nulls("object_id").group_by("question_id").agg("object_id")
    swapped_of = {name: {*ids} for name, ids in swapped.iter_rows()}
    swaps_relevant = 0
    for name, relevant in report.questions.select("question_id", "relevant_objects").iter_rows():
        annotated, program = named[name]
        wanted = {"annotations": annotated, "program": program, "both": annotated | program}[relevance]
        assert {part for text in relevant for part in text.split(",")} == wanted
        assert swapped_of.get(name, set()).isdisjoint(wanted)
        swaps_relevant += not swapped_of.get(name, set()).isdisjoint(program)
    assert bool(swaps_relevant) == (relevance == "annotations")


def test_programs_that_are_not_there(files: SwapMixFiles, tmp_path: Path) -> None:
    questions = json.loads(files.questions.read_bytes())
    for one in questions.values():
        del one["semantic"]
    (tmp_path / "questions.json").write_text(json.dumps(questions))
    with pytest.raises(SourceError, match="got no question with a program, expected some: --relevance both"):
        build(replace(files, questions=tmp_path / "questions.json"), SwapMixConfig(relevance="both"), None)
    with pytest.raises(ConfigError, match="relevance: got 'all'"):
        SwapMixConfig(relevance="all")  # type: ignore[arg-type]


@pytest.mark.real
def test_programs_of_real_questions(real_data: Path) -> None:
    """37 of GQA-OOD's 1,358 tail questions name an object in the program that their annotations lack."""
    path = real_data / "gqa" / "gqa_ood_val_tail_questions.json"
    named = programs_of(path)
    assert sum(bool(program - annotated) for annotated, program in named.values()) == 37
    reading = _read_questions(path, SwapMixConfig(relevance="both"), None)
    note = "questions whose program names an object that their annotations lack: 37 of 1,358"
    assert note in reading.notes
    found = dict(reading.table.select("question_id", "relevant_objects").iter_rows())
    assert {name: {part for one in ids for part in one.split(",")} for name, ids in found.items()} == {
        name: annotated | program for name, (annotated, program) in named.items()
    }
