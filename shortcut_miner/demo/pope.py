"""The demo's POPE part: two models say whether objects are in the world's images.

The leaning model mostly says yes where an object is one of the world's frequent ones, whatever the image has.
The grounded one is mostly right.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from shortcut_miner.demo.files import DemoWorld
from shortcut_miner.demo.folders import demo_folder
from shortcut_miner.diagnostics.pope.build import build
from shortcut_miner.diagnostics.pope.config import PopeConfig, PopeFiles, ScoreConfig
from shortcut_miner.diagnostics.pope.outputs import BuildReport
from shortcut_miner.diagnostics.pope.score import ScoreReport, score
from shortcut_miner.timing import OnStage

HEADLINES = ("mean_f1",)
IMAGES = 150
# How often a model says what is true, and otherwise yes to a frequent object and no to another one.
LOOKS: Mapping[str, float] = {"shortcut_model": 0.35, "grounded_model": 0.92}
_FREQUENT = 0.15  # share of the questions about an object, from which on it is frequent


@dataclass(frozen=True, slots=True)
class PopeDemo:
    """What the demo did in this room.

    Attributes
    ----------
    built : BuildReport
        Questions about the world's validation images.
    scores : ScoreReport
        Both models.
    answers : dict of str to Path
        Model -> its answers.
    """

    built: BuildReport
    scores: ScoreReport
    answers: dict[str, Path]


def run_pope(
    world: DemoWorld, out: Path, on_stage: OnStage | None = None, *, seed: int = 0, force: bool = False
) -> PopeDemo:
    """Ask about objects of the world's validation images and score its two models.

    Parameters
    ----------
    world : DemoWorld
        Files written by :func:`shortcut_miner.demo.write_demo_world`.
    out : Path
        Folder for pope/, pope-answers/ and pope-scores/.
    on_stage : callable, optional
        Told the name of each stage as it starts.
    seed : int
        Of the draws and the models.
    force : bool
        Replace what a demo of another seed wrote.
    """
    files = PopeFiles(objects=world.val_scene_graphs)
    config = PopeConfig(image_count=IMAGES, name="world", seed=seed)
    built = build(files, config, out / "pope", force=force, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    answers = {model: out / "pope-answers" / f"{model}.json" for model in LOOKS}
    with demo_folder(out / "pope-answers", seed, force=force) as folder:
        for model in LOOKS:
            text = json.dumps(_answers(built, model, seed), separators=(",", ":"))
            (folder / answers[model].name).write_text(text + "\n", encoding="utf-8")
    scores = score(out / "pope", answers, ScoreConfig(), out / "pope-scores", force=force, on_stage=on_stage)
    return PopeDemo(built, scores, answers)


def _answers(built: BuildReport, model: str, seed: int) -> list[dict[str, Any]]:
    """Return a model's answer to every question; what is drawn depends on seed, image and object."""
    asked = built.questions.select("question_id", "image_id", "object", "answer").rows()
    times: dict[str, int] = {}
    for _, _, name, _ in asked:
        times[name] = times.get(name, 0) + 1
    most = max(times.values())
    said = []
    for question_id, image_id, name, answer in asked:
        looks = Random(f"{seed}/{image_id}/{name}/{model}/pope").random() < LOOKS[model]
        habit = "yes" if times[name] > _FREQUENT * most else "no"
        said.append({"question_id": question_id, "answer": answer if looks else habit})
    return said
