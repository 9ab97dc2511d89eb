"""The rooms side by side: how each is built and scored on the demo world, through its front in Python."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shortcut_miner as sm
from shortcut_miner.datasets.reports import BuildReport, ScoreReport
from shortcut_miner.demo import DemoWorld
from shortcut_miner.diagnostics.fpvg.outputs import read_folder as read_fpvg
from shortcut_miner.diagnostics.gqa_ood.outputs import read_folder as read_gqa_ood
from shortcut_miner.diagnostics.pairs.outputs import read_folder as read_pairs
from shortcut_miner.diagnostics.pope.outputs import read_folder as read_pope
from shortcut_miner.diagnostics.rad.outputs import read_folder as read_rad
from shortcut_miner.diagnostics.resplit.outputs import read_folder as read_resplit
from shortcut_miner.diagnostics.slices.outputs import read_folder as read_slices
from shortcut_miner.diagnostics.swapmix.plan_folder import read_folder as read_swapmix
from shortcut_miner.diagnostics.vqa_ce.outputs import read_folder as read_vqa_ce

MODEL = "grounded_model"


@dataclass(frozen=True)
class Demo:
    """A demo's folder: the world, what each room wrote, and the models' answers."""

    world: DemoWorld
    out: Path


@dataclass(frozen=True)
class Room:
    """One room.

    `files` are the build's inputs; `more` are options that give every table; `zipped` is the input that a
    test puts into an archive; `tables` are read back from the folder; `score` takes the folder and `out`.
    """

    name: str
    folder: str
    build: Callable[..., BuildReport]
    files: Callable[[Demo], dict[str, Any]]
    more: dict[str, Any]
    zipped: str
    tables: tuple[str, ...]
    read: Callable[[Path], object]
    score: Callable[[Demo, Path, Path | None], ScoreReport]

    @property
    def command(self) -> str:
        return f"{self.folder} build"


def vqa_ce_files(demo: Demo) -> dict[str, Any]:
    roles = ("train_questions", "train_annotations", "val_questions", "val_annotations", "detections")
    return {role: getattr(demo.world, role) for role in roles}


def rad_files(demo: Demo) -> dict[str, Any]:
    return {"questions": demo.world.val_questions, "annotations": demo.world.val_annotations}


def gqa_files(demo: Demo) -> dict[str, Any]:
    folder = demo.world.gqa_questions.parent
    return {
        "questions": demo.world.gqa_questions,
        "scene_graphs": demo.world.val_scene_graphs,
        "detections": folder / "val_objects.jsonl",
    }


def swapmix_files(demo: Demo) -> dict[str, Any]:
    return gqa_files(demo) | {"embeddings": demo.world.gqa_questions.parent / "word_vectors.txt"}


def slices_files(demo: Demo) -> dict[str, Any]:
    answers = {"leaning": demo.world.shortcut_predictions, "m": demo.world.grounded_predictions}
    return rad_files(demo) | {"detections": demo.world.detections, "predictions": answers}


def score_vqa_ce(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    return sm.vqa_ce.score(folder, {"m": demo.world.grounded_predictions}, out=out, resamples=10)


def score_rad(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    augmented = demo.out / "rad-answers" / f"{MODEL}_results.json"
    original = {"m": demo.world.grounded_predictions}
    return sm.rad.score(folder, original=original, augmented={"m": augmented}, out=out, resamples=10)


def fpvg_answers(demo: Demo) -> dict[str, dict[str, Path]]:
    world = demo.world.gqa_questions.parent
    return {name: {"m": world / f"{MODEL}_{name}_regions.json"} for name in ("all", "relevant", "irrelevant")}


def score_fpvg(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    return sm.fpvg.score(folder, **fpvg_answers(demo), out=out, resamples=10)


def score_swapmix(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    answers = {"m": demo.out / "swapmix-answers" / f"{MODEL}.parquet"}
    return sm.swapmix.score(folder, predictions=answers, out=out, resamples=10)


def gqa_ood_files(demo: Demo) -> dict[str, Any]:
    return {"questions": demo.world.gqa_questions}


def score_gqa_ood(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    answers = {"m": demo.out / "gqa-ood-answers" / f"{MODEL}.json"}
    return sm.gqa_ood.score(folder, answers, out=out, resamples=10)


def score_resplit(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    return sm.resplit.score(folder, {"m": demo.world.grounded_predictions}, out=out, resamples=10)


def score_pairs(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    return sm.pairs.score(folder, {"m": demo.world.grounded_predictions}, out=out, resamples=10)


def score_slices(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    return sm.slices.score(folder, {"m": demo.world.grounded_predictions}, out=out, resamples=10)


def pope_files(demo: Demo) -> dict[str, Any]:
    return {"objects": demo.world.train_scene_graphs}


def score_pope(demo: Demo, folder: Path, out: Path | None) -> ScoreReport:
    answers = {"m": demo.out / "pope-answers" / f"{MODEL}.json"}
    return sm.pope.score(folder, answers, out=out, resamples=10, on_missing="skip", on_extra="ignore")


ROOMS = (
    Room(
        name="vqa_ce",
        folder="vqa-ce",
        build=sm.vqa_ce.build,
        files=vqa_ce_files,
        more={"keep_matches": True, "keep_dropped": True},
        zipped="val_questions",
        tables=("questions", "rules", "split"),
        read=read_vqa_ce,
        score=score_vqa_ce,
    ),
    Room(
        name="rad",
        folder="rad",
        build=sm.rad.build,
        files=rad_files,
        more={},
        zipped="annotations",
        tables=("questions", "augmentations"),
        read=read_rad,
        score=score_rad,
    ),
    Room(
        name="fpvg",
        folder="fpvg",
        build=sm.fpvg.build,
        files=gqa_files,
        more={"long_form": True, "nested_json": True},
        zipped="detections",
        tables=("questions", "regions"),
        read=read_fpvg,
        score=score_fpvg,
    ),
    Room(
        name="swapmix",
        folder="swapmix",
        build=sm.swapmix.build,
        files=swapmix_files,
        more={"k": 5},
        zipped="embeddings",
        tables=("questions", "swaps"),
        read=read_swapmix,
        score=score_swapmix,
    ),
    Room(
        name="gqa_ood",
        folder="gqa-ood",
        build=sm.gqa_ood.build,
        files=gqa_ood_files,
        more={"as_gqa": True},
        zipped="questions",
        tables=("questions", "groups", "split"),
        read=read_gqa_ood,
        score=score_gqa_ood,
    ),
    Room(
        name="pairs",
        folder="pairs",
        build=sm.pairs.build,
        files=rad_files,
        more={"groups": True},
        zipped="annotations",
        tables=("questions", "pairs"),
        read=read_pairs,
        score=score_pairs,
    ),
    Room(
        name="slices",
        folder="slices",
        build=sm.slices.build,
        files=slices_files,
        more={"outcome": "wrong"},
        zipped="annotations",
        tables=("slices", "cover", "questions"),
        read=read_slices,
        score=score_slices,
    ),
    Room(
        name="pope",
        folder="pope",
        build=sm.pope.build,
        files=pope_files,
        more={},
        zipped="objects",
        tables=("questions",),
        read=read_pope,
        score=score_pope,
    ),
    Room(
        name="resplit",
        folder="resplit",
        build=sm.resplit.build,
        files=rad_files,
        more={"val_share": 0.2},
        zipped="annotations",
        tables=("questions", "split"),
        read=read_resplit,
        score=score_resplit,
    ),
)
