"""The demo's GQA-OOD part: two models answer the world's GQA questions, one by what was mostly answered.

The leaning model mostly gives the most frequent answer to the same words: right on the head, wrong on the
tail. The grounded one is about as good on either. The world is small: groups are GQA's structural types.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from shortcut_miner.demo.files import DemoWorld
from shortcut_miner.demo.folders import demo_folder
from shortcut_miner.diagnostics.gqa_ood.build import build
from shortcut_miner.diagnostics.gqa_ood.config import GqaOodConfig, GqaOodFiles, ScoreConfig
from shortcut_miner.diagnostics.gqa_ood.outputs import BuildReport
from shortcut_miner.diagnostics.gqa_ood.score import ScoreReport, score
from shortcut_miner.timing import OnStage

HEADLINES = ("acc_head", "acc_tail")
GROUP = "structural"
# How often a model looks at the image, and does not go by the most frequent answer to the same words.
LOOKS: Mapping[str, float] = {"shortcut_model": 0.25, "grounded_model": 0.95}
_RIGHT = 0.85  # of the answers of a model that looks


@dataclass(frozen=True, slots=True)
class GqaOodDemo:
    """What the demo did in this room.

    Attributes
    ----------
    built : BuildReport
        Head and tail of the world's GQA questions.
    scores : ScoreReport
        Both models.
    answers : dict of str to Path
        Model -> its answers to the GQA questions, in GQA's format.
    """

    built: BuildReport
    scores: ScoreReport
    answers: dict[str, Path]


def run_gqa_ood(
    world: DemoWorld, out: Path, on_stage: OnStage | None = None, *, seed: int = 0, force: bool = False
) -> GqaOodDemo:
    """Part the world's GQA questions and score its two models on them.

    Parameters
    ----------
    world : DemoWorld
        Files written by :func:`shortcut_miner.demo.write_demo_world`.
    out : Path
        Folder for gqa-ood/, gqa-ood-answers/ and gqa-ood-scores/.
    on_stage : callable, optional
        Told the name of each stage as it starts.
    seed : int
        Of the models.
    force : bool
        Replace what a demo of another seed wrote.
    """
    files = GqaOodFiles(questions=world.gqa_questions)
    built = build(files, GqaOodConfig(group=GROUP), out / "gqa-ood", force=force, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    answers = {model: out / "gqa-ood-answers" / f"{model}.json" for model in LOOKS}
    with demo_folder(out / "gqa-ood-answers", seed, force=force) as folder:
        for model in LOOKS:
            given = _answers(built, model, seed)
            records = [{"questionId": one, "prediction": answer} for one, answer in given.items()]
            text = json.dumps(records, separators=(",", ":"))
            (folder / answers[model].name).write_text(text + "\n", encoding="utf-8")
    scores = score(
        out / "gqa-ood", answers, ScoreConfig(), out / "gqa-ood-scores", force=force, on_stage=on_stage
    )
    return GqaOodDemo(built, scores, answers)


def _answers(built: BuildReport, model: str, seed: int) -> dict[str, str]:
    """Return a model's answer to every question; what is drawn depends on the seed and the id."""
    asked = built.questions.select("question_id", "question", "answer").rows()
    given: dict[str, list[str]] = {}
    for _, text, answer in asked:
        given.setdefault(text, []).append(answer)
    ranked = {
        text: [one for one, _ in Counter(sorted(answers)).most_common()] for text, answers in given.items()
    }
    return {
        question_id: _answer(answer, ranked[text], Random(f"{seed}/{question_id}/{model}/ood"), model)
        for question_id, text, answer in asked
    }


def _answer(answer: str, ranked: Sequence[str], rng: Random, model: str) -> str:
    if rng.random() >= LOOKS[model]:
        return ranked[0]
    return answer if rng.random() < _RIGHT else rng.choice(ranked)
