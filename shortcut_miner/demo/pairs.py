"""The demo world in the pairs room: questions that one mined rule answers right once and wrong once."""

from dataclasses import dataclass
from pathlib import Path

from shortcut_miner.demo.files import DemoWorld
from shortcut_miner.diagnostics.pairs.build import build
from shortcut_miner.diagnostics.pairs.config import PairsConfig, PairsFiles, ScoreConfig
from shortcut_miner.diagnostics.pairs.outputs import BuildReport
from shortcut_miner.diagnostics.pairs.score import ScoreReport, score
from shortcut_miner.timing import OnStage

HEADLINES = ("pair_accuracy",)


@dataclass(frozen=True, slots=True)
class PairsDemo:
    """What the demo did in this room.

    Attributes
    ----------
    built : BuildReport
        Pairs of the world's validation questions, by the rules of its VQA-CE folder.
    scores : ScoreReport
        Both models on these.
    """

    built: BuildReport
    scores: ScoreReport


def run_pairs(
    world: DemoWorld, out: Path, on_stage: OnStage | None = None, *, seed: int = 0, force: bool = False
) -> PairsDemo:
    """Find pairs among the world's validation questions and score its two models on them.

    Parameters
    ----------
    world : DemoWorld
        Files written by :func:`shortcut_miner.demo.write_demo_world`.
    out : Path
        Folder with vqa-ce/, for pairs/ and pairs-scores/.
    on_stage : callable, optional
        Told the name of each stage as it starts.
    seed : int
        Of the world: the pairs follow from it.
    force : bool
        Replace what a demo of another seed wrote.
    """
    files = PairsFiles(folder=out / "vqa-ce")
    built = build(files, PairsConfig(), out / "pairs", force=force, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    answers = {"shortcut_model": world.shortcut_predictions, "grounded_model": world.grounded_predictions}
    scores = score(out / "pairs", answers, ScoreConfig(), out / "pairs-scores", force=force)
    return PairsDemo(built, scores)
