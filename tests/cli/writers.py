"""Every command that writes a folder, on small inputs, with one option that changes all of its files."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from cli.commands import options
from PIL import Image

from shortcut_miner import rooms
from shortcut_miner.cli.run import run
from shortcut_miner.demo import DemoWorld
from shortcut_miner.demo.detector import DETECTIONS_FILE, write_detections
from shortcut_miner.demo.swapmix import VECTORS_FILE, word_vectors

ROLES = ("train_questions", "train_annotations", "val_questions", "val_annotations", "detections")
FEW = ("--limit", 60, "--quiet")


@dataclass(frozen=True)
class Inputs:
    """A world, the folders of small builds in it, and made-up answers."""

    world: DemoWorld
    folder: Path

    def built(self, room: str) -> Path:
        return self.folder / room

    def answers(self, room: str) -> Path:
        return self.folder / f"{room}-answers.parquet"

    def shards(self, least: int) -> Path:
        return self.folder / f"shards-{least}"

    def recipe(self, relevant: str) -> Path:
        return self.folder / f"{relevant}.toml"


Tokens = tuple[object, ...]
# What is typed but for --out; given twice, what an earlier run is and a later one of other options or inputs
# that may replace what the earlier one wrote.
WRITERS: dict[str, Callable[[Inputs], tuple[Tokens, Tokens]]] = {}


def _gqa(inputs: Inputs) -> Tokens:
    return (
        *("--questions", inputs.world.gqa_questions, "--scene-graphs", inputs.world.val_scene_graphs),
        *("--detections", inputs.folder / DETECTIONS_FILE),
    )


def _vqa_ce(inputs: Inputs) -> Tokens:
    return (*options({role: getattr(inputs.world, role) for role in ROLES}), "--threads", 1)


def _rad(inputs: Inputs) -> Tokens:
    return ("--questions", inputs.world.val_questions, "--annotations", inputs.world.val_annotations)


def _swapmix(inputs: Inputs) -> Tokens:
    return (*_gqa(inputs), "--embeddings", inputs.folder / VECTORS_FILE, "--k", 3)


def _twice(tokens: Tokens, name: str, first: object, second: object) -> tuple[Tokens, Tokens]:
    return (*tokens, name, first), (*tokens, name, second, "--force")


def _mine(inputs: Inputs, command: str) -> Tokens:
    table = inputs.built("vqa-ce") / "questions.parquet"
    return (command, table, "--words", "words", "--objects", "objects", "--quiet")


WRITERS["vqa-ce build"] = lambda of: _twice(
    ("vqa-ce", "build", *_vqa_ce(of), *FEW, "--min-count", 2), "--min-confidence", 0.3, 0.5
)
WRITERS["vqa-ce sweep"] = lambda of: _twice(
    ("vqa-ce", "sweep", *_vqa_ce(of), *FEW, "--min-confidences", 0.5), "--min-counts", "3,4", "3,5"
)
WRITERS["rad build"] = lambda of: _twice(("rad", "build", *_rad(of), *FEW), "--seed", 0, 1)
WRITERS["fpvg build"] = lambda of: _twice(("fpvg", "build", *_gqa(of), *FEW), "--relevant", "path", "final")
WRITERS["fpvg images"] = lambda of: _twice(
    ("fpvg", "images", of.built("fpvg"), "--images", of.folder / "images", "--sample", 8, "--quiet"),
    *("--fill", "black", "mean"),
)
WRITERS["swapmix images"] = lambda of: _twice(
    ("swapmix", "images", of.built("swapmix"), "--images", of.folder / "images", "--sample", 2, "--quiet"),
    *("--blend", 0, 3),
)
WRITERS["swapmix build"] = lambda of: _twice(("swapmix", "build", *_swapmix(of), *FEW), "--seed", 0, 1)
WRITERS["resplit build"] = lambda of: _twice(("resplit", "build", *_rad(of), "--quiet"), "--seed", 0, 1)
WRITERS["pairs build"] = lambda of: _twice(("pairs", "build", *_rad(of), "--quiet"), "--limit", 300, 400)
SCORED = ("--quiet", "--resamples", 10)
WRITERS["vqa-ce score"] = lambda of: _twice(
    ("vqa-ce", "score", of.built("vqa-ce"), "--predictions", f"m={of.answers('vqa-ce')}", *SCORED),
    *("--seed", 0, 1),
)
WRITERS["rad score"] = lambda of: _twice(
    (
        *("rad", "score", of.built("rad"), "--original", f"m={of.answers('rad')}"),
        *("--augmented", f"m={of.answers('rad-augmented')}", *SCORED),
    ),
    *("--seed", 0, 1),
)
WRITERS["fpvg score"] = lambda of: _twice(
    (
        *("fpvg", "score", of.built("fpvg"), *SCORED),
        *(f"--{name}=m={of.answers('fpvg')}" for name in ("all", "relevant", "irrelevant")),
    ),
    *("--seed", 0, 1),
)
WRITERS["swapmix score"] = lambda of: _twice(
    ("swapmix", "score", of.built("swapmix"), "--predictions", f"m={of.answers('swapmix')}", *SCORED),
    *("--seed", 0, 1),
)
WRITERS["gqa-ood build"] = lambda of: _twice(
    ("gqa-ood", "build", "--questions", of.world.gqa_questions, "--group", "structural", "--quiet"),
    *("--alpha", 0.2, 0.3),
)
WRITERS["gqa-ood score"] = lambda of: _twice(
    ("gqa-ood", "score", of.built("gqa-ood"), "--predictions", f"m={of.answers('gqa-ood')}", *SCORED),
    *("--seed", 0, 1),
)
WRITERS["resplit score"] = lambda of: _twice(
    ("resplit", "score", of.built("resplit"), "--predictions", f"m={of.answers('resplit')}", *SCORED),
    *("--seed", 0, 1),
)
WRITERS["pairs score"] = lambda of: _twice(
    ("pairs", "score", of.built("pairs"), "--predictions", f"m={of.answers('pairs')}", *SCORED),
    *("--seed", 0, 1),
)
WRITERS["slices build"] = lambda of: _twice(
    (
        *("slices", "build", *_rad(of), "--predictions", f"m={of.world.shortcut_predictions}"),
        *("--threads", 1, "--min-count", 40, "--quiet"),
    ),
    *("--epsilon", 0.05, 0.1),
)
WRITERS["slices score"] = lambda of: _twice(
    ("slices", "score", of.built("slices"), "--predictions", f"m={of.answers('slices')}", *SCORED),
    *("--seed", 0, 1),
)
WRITERS["pope build"] = lambda of: _twice(
    ("pope", "build", "--objects", of.world.val_scene_graphs, "--image-count", 20, "--quiet"),
    *("--seed", 0, 1),
)
WRITERS["pope score"] = lambda of: _twice(
    ("pope", "score", of.built("pope"), "--predictions", f"m={of.answers('pope')}", *SCORED),
    *("--seed", 0, 1),
)
WRITERS["mine"] = lambda of: _twice((*_mine(of, "mine"), "--threads", 1, "--show", 0), "--min-count", 3, 4)
MERGED = ("--quiet", "--threads", 1, "--show", 0)
WRITERS["merge"] = lambda of: (
    ("merge", of.shards(3), *MERGED),
    ("merge", of.shards(4), *MERGED, "--force"),
)
WRITERS["export"] = lambda of: _twice(
    ("export", of.built("vqa-ce"), "--to", "huggingface", "--quiet"), "--limit", 2, 3
)
WRITERS["power"] = lambda of: _twice(
    (
        *("power", of.built("vqa-ce"), "--predictions", f"m={of.answers('vqa-ce')}"),
        *("--predictions", f"other={of.answers('other')}", "--quiet"),
    ),
    *("--effect", 0.02, 0.03),
)
WRITERS["leak-check"] = lambda of: _twice(("leak-check", of.built("rad"), "--quiet"), "--folds", 2, 3)
WRITERS["recipe"] = lambda of: (
    ("recipe", of.recipe("path"), "--data-dir", of.folder / "data", *FEW),
    ("recipe", of.recipe("final"), "--data-dir", of.folder / "data", *FEW, "--force"),
)
WRITERS["repeat"] = lambda of: (
    ("repeat", of.built("fpvg"), "--quiet"),
    ("repeat", of.built("other-fpvg"), "--quiet"),
)
RECIPE = """\
title = "Regions"
citation = "none"
command = "fpvg build"
inputs = {{ questions = "questions.json", scene_graphs = "graphs.json", detections = "boxes.jsonl" }}
options = {{ relevant = "{relevant}" }}
sources."questions.json" = {{ urls = ["https://a.example/questions.json"], licence = "any" }}
sources."graphs.json" = {{ urls = ["https://a.example/graphs.json"], licence = "any" }}
sources."boxes.jsonl" = {{ urls = ["https://a.example/boxes.jsonl"], licence = "any" }}
"""


def write_inputs(world: DemoWorld, folder: Path) -> Inputs:
    """Build each room once, and answer all that it asks."""
    inputs = Inputs(world, folder)
    write_detections(world.val_scene_graphs, folder, seed=0)
    graphs = json.loads(world.val_scene_graphs.read_text(encoding="utf-8")).values()
    names = {thing["name"] for graph in graphs for thing in graph["objects"].values()}
    (folder / VECTORS_FILE).write_text(word_vectors(sorted(names), 0), encoding="utf-8")
    data = inputs.folder / "data"
    data.mkdir()
    shutil.copy(world.gqa_questions, data / "questions.json")
    shutil.copy(world.val_scene_graphs, data / "graphs.json")
    shutil.copy(folder / DETECTIONS_FILE, data / "boxes.jsonl")
    for relevant in ("path", "final"):
        inputs.recipe(relevant).write_text(RECIPE.format(relevant=relevant), encoding="utf-8")
    for room in rooms.WORDS:
        tokens, _ = WRITERS[f"{room} build"](inputs)
        assert run([*map(str, tokens), "--out", str(inputs.built(room))]) == 0
        asked = pl.read_parquet(inputs.built(room) / "questions.parquet", columns=["question_id", "answer"])
        asked.write_parquet(inputs.answers(room))
    asked = pl.read_parquet(inputs.built("vqa-ce") / "questions.parquet", columns=["question_id"])
    asked.with_columns(answer=pl.lit("yes")).write_parquet(inputs.answers("other"))
    boxes = pl.read_parquet(inputs.built("swapmix") / "boxes.parquet").unique("image_id")
    (folder / "images").mkdir()
    for image_id, width, height in boxes.select("image_id", "width", "height").iter_rows():
        Image.new("RGB", (round(width), round(height)), "grey").save(folder / "images" / f"{image_id}.png")
    swaps = pl.read_parquet(inputs.built("swapmix") / "swaps.parquet")
    swaps.select("question_id", "perturbation", answer=pl.lit("red")).write_parquet(inputs.answers("swapmix"))
    rows = pl.read_parquet(inputs.built("rad") / "augmentations.parquet")
    rows.select("question_id", answer=pl.lit("yes")).unique().write_parquet(inputs.answers("rad-augmented"))
    (folder / "other").mkdir()
    write_detections(world.val_scene_graphs, folder / "other", seed=1)
    tokens = [*WRITERS["fpvg build"](inputs)[0]]
    tokens[tokens.index("--detections") + 1] = folder / "other" / DETECTIONS_FILE
    assert run([*map(str, tokens), "--out", str(inputs.built("other-fpvg"))]) == 0
    for least in (3, 4):
        cut = (*_mine(inputs, "shard"), "--min-count", least, "--shards", 1, "--work", inputs.shards(least))
        mine = ("mine", "--work", inputs.shards(least), "--shard", 0, "--quiet", "--threads", 1)
        assert [run([*map(str, tokens)]) for tokens in (cut, mine)] == [0, 0]
    return inputs
