"""The demo's FPVG part: a detector looks at the world, two models answer under the three conditions."""

import dataclasses
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from shortcut_miner.demo.detector import write_detections
from shortcut_miner.demo.files import DemoWorld
from shortcut_miner.demo.folders import further_files
from shortcut_miner.diagnostics.fpvg.answers import ModelRun
from shortcut_miner.diagnostics.fpvg.build import build
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, FpvgConfig, FpvgFiles, ScoreConfig
from shortcut_miner.diagnostics.fpvg.outputs import BuildReport
from shortcut_miner.diagnostics.fpvg.report import ScoreReport
from shortcut_miner.diagnostics.fpvg.score import score
from shortcut_miner.timing import OnStage

HEADLINES = ("fpvg_plus",)
# How often a model answers right with all regions; keeps its answer with the relevant ones; and with the
# irrelevant ones. The first looks at the image, the second goes by habit whatever it sees.
HABITS: Mapping[str, tuple[float, float, float]] = {
    "grounded_model": (0.85, 0.92, 0.25),
    "shortcut_model": (0.6, 0.9, 0.88),
}


@dataclasses.dataclass(frozen=True, slots=True)
class FpvgDemo:
    """What the FPVG part of the demo did.

    Attributes
    ----------
    detections : Path
        The detector's file, in the world's folder.
    built : BuildReport
        The build on the world's GQA files.
    scores : ScoreReport
        Both models.
    """

    detections: Path
    built: BuildReport
    scores: ScoreReport


def run_fpvg(
    world: DemoWorld, out: Path, on_stage: OnStage | None = None, *, seed: int = 0, force: bool = False
) -> FpvgDemo:
    """Detect, build and score on a demo world.

    Parameters
    ----------
    world : DemoWorld
        Files of the world; the detector's file and the models' answers are written beside them.
    out : Path
        Folder for fpvg/ and fpvg-scores/.
    on_stage : callable, optional
        Called with the name of each stage before it starts.
    seed : int
        Of the detector and the models.
    force : bool
        Replace what a demo of another seed wrote.
    """
    tell = on_stage or (lambda stage: None)
    tell("detect")
    folder = world.gqa_questions.parent
    with further_files(folder) as staging:
        found = write_detections(world.val_scene_graphs, staging, seed=seed)
        write_runs(world.gqa_questions, staging, seed)
    detections = folder / found.name
    files = FpvgFiles(
        questions=world.gqa_questions, scene_graphs=(world.val_scene_graphs,), detections=(detections,)
    )
    built = build(files, FpvgConfig(), out / "fpvg", force=force, on_stage=on_stage)
    tell("score")
    scores = score(
        out / "fpvg", runs_in(folder), ScoreConfig(), out / "fpvg-scores", force=force, on_stage=on_stage
    )
    return FpvgDemo(detections, built, scores)


def write_runs(questions: Path, folder: Path, seed: int) -> list[ModelRun]:
    """Write both models' answers under the three conditions in GQA's format, and return the files."""
    asked = json.loads(questions.read_text(encoding="utf-8"))
    runs = runs_in(folder)
    for run in runs:
        answers = _answers(asked, run.model, seed)
        for condition in CONDITIONS:
            text = json.dumps(answers[condition], separators=(",", ":"))
            getattr(run, condition).write_text(text + "\n", encoding="utf-8")
    return runs


def runs_in(folder: Path) -> list[ModelRun]:
    """Return the files of both models' answers in a folder."""
    runs = []
    for model in HABITS:
        answers, relevant, irrelevant = (folder / f"{model}_{name}_regions.json" for name in CONDITIONS)
        runs.append(ModelRun(model=model, all=answers, relevant=relevant, irrelevant=irrelevant))
    return runs


def _answers(asked: Mapping[str, Any], model: str, seed: int) -> dict[str, list[dict[str, str]]]:
    plausible = defaultdict(set)
    for one in asked.values():
        plausible[one["types"]["detailed"]].add(one["answer"])
    is_right, keeps_relevant, keeps_irrelevant = HABITS[model]
    answers: dict[str, list[dict[str, str]]] = {condition: [] for condition in CONDITIONS}
    for question_id, one in asked.items():
        rng = Random(f"{seed}/{question_id}/{model}/regions")
        pool = sorted(plausible[one["types"]["detailed"]])
        first = one["answer"] if rng.random() < is_right else _other(one["answer"], pool, rng)
        given = {
            "all": first,
            "relevant": first if rng.random() < keeps_relevant else _other(first, pool, rng),
            "irrelevant": first if rng.random() < keeps_irrelevant else _other(first, pool, rng),
        }
        for condition, answer in given.items():
            answers[condition].append({"questionId": question_id, "prediction": answer})
    return answers


def _other(answer: str, pool: Sequence[str], rng: Random) -> str:
    """Return another answer of the same kind of question; the same where the kind has no other."""
    return rng.choice([one for one in pool if one != answer] or [answer])
