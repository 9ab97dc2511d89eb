"""The demo world in the RAD room: its validation questions augmented, and both models asked again.

What the models say to an augmentation follows from what they said to its original: the grounded one mostly
holds on to what it saw, the leaning one mostly says "yes".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import polars as pl

from shortcut_miner.demo.files import DemoWorld
from shortcut_miner.demo.folders import demo_folder
from shortcut_miner.diagnostics.rad.aligned_scores import ScoreReport
from shortcut_miner.diagnostics.rad.build import build
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles, ScoreConfig
from shortcut_miner.diagnostics.rad.outputs import BuildReport
from shortcut_miner.diagnostics.rad.score import score
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.text import answer_forms
from shortcut_miner.timing import OnStage

HEADLINES = ("rad",)
# How often each model answers an augmentation by what it saw, and not by its habit of saying yes.
CONSISTENT: Mapping[str, float] = {"shortcut_model": 0.35, "grounded_model": 0.92}


@dataclass(frozen=True, slots=True)
class RadDemo:
    """What the demo did in this room.

    Attributes
    ----------
    built : BuildReport
        The augmentations of the world's validation questions.
    scores : ScoreReport
        Both models' RAD scores.
    answers : dict of str to Path
        Model -> its answers to the augmentations, in VQA's result format.
    """

    built: BuildReport
    scores: ScoreReport
    answers: dict[str, Path]


def run_rad(
    world: DemoWorld, out: Path, on_stage: OnStage | None = None, *, seed: int = 0, force: bool = False
) -> RadDemo:
    """Augment the world's validation questions and score its two models on them.

    Parameters
    ----------
    world : DemoWorld
        Files written by :func:`shortcut_miner.demo.write_demo_world`.
    out : Path
        Folder for rad/, rad-answers/ and rad-scores/.
    on_stage : callable, optional
        Told the name of each stage as it starts.
    seed : int
        Of the draws.
    force : bool
        Replace what a demo of another seed wrote.

    Raises
    ------
    BackendError
        The ``rad`` extra is not installed.
    """
    files = RadFiles(questions=world.val_questions, annotations=world.val_annotations)
    built = build(files, RadConfig(seed=seed), out / "rad", force=force, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    original = {"shortcut_model": world.shortcut_predictions, "grounded_model": world.grounded_predictions}
    augmentations = built.augmentations
    answers = {model: out / "rad-answers" / f"{model}_results.json" for model in original}
    with demo_folder(out / "rad-answers", seed, force=force) as folder:
        for model, path in original.items():
            said = _answers(augmentations, read_predictions(path).table, model, seed)
            _write(folder / answers[model].name, said)
    scores = score(out / "rad", original, answers, ScoreConfig(), out / "rad-scores", force=force)
    return RadDemo(built, scores, answers)


def _answers(augmentations: pl.DataFrame, predictions: pl.DataFrame, model: str, seed: int) -> dict[str, str]:
    """Return a model's yes or no to every augmentation; what is drawn depends on the seed and the id."""
    asked = augmentations.join(
        predictions.rename({"answer": "said"}), on="question_id", how="left", validate="m:1"
    )
    forms = answer_forms(
        pl.concat([asked["substituted_answer"].rename("answer"), asked["said"].rename("answer")])
    )
    normalised = dict(forms.select("answer", "normalised").iter_rows())
    answers = {}
    for row in asked.iter_rows(named=True):
        saw_it = normalised[row["said"]] == normalised[row["substituted_answer"]]
        is_consistent = Random(f"{seed}/{row['question_id']}/{model}/rad").random() < CONSISTENT[model]
        answers[row["question_id"]] = "yes" if saw_it or not is_consistent else "no"
    return answers


def _write(path: Path, answers: Mapping[str, str]) -> None:
    records = [{"question_id": int(key), "answer": answer} for key, answer in sorted(answers.items())]
    path.write_text(json.dumps(records) + "\n", encoding="utf-8")
