"""The demo world in the resplit room: its validation questions split anew, and both models on the parts."""

from dataclasses import dataclass
from pathlib import Path

from shortcut_miner.demo.files import DemoWorld
from shortcut_miner.diagnostics.resplit.build import build
from shortcut_miner.diagnostics.resplit.config import ResplitConfig, ResplitFiles, ScoreConfig
from shortcut_miner.diagnostics.resplit.outputs import BuildReport
from shortcut_miner.diagnostics.resplit.score import ScoreReport, score
from shortcut_miner.timing import OnStage

HEADLINES = ("accuracy_test",)
VAL_SHARE = 0.2  # of few images, more than usual


@dataclass(frozen=True, slots=True)
class ResplitDemo:
    """What the demo did in this room.

    Attributes
    ----------
    built : BuildReport
        The world's validation questions split anew.
    scores : ScoreReport
        Both models on test and validation. They have seen other questions: neither gains or loses here.
    """

    built: BuildReport
    scores: ScoreReport


def run_resplit(
    world: DemoWorld, out: Path, on_stage: OnStage | None = None, *, seed: int = 0, force: bool = False
) -> ResplitDemo:
    """Split the world's validation questions anew and score its two models on them.

    Parameters
    ----------
    world : DemoWorld
        Files written by :func:`shortcut_miner.demo.write_demo_world`.
    out : Path
        Folder for resplit/ and resplit-scores/.
    on_stage : callable, optional
        Told the name of each stage as it starts.
    seed : int
        Of the walk and the draws.
    force : bool
        Replace what a demo of another seed wrote.
    """
    files = ResplitFiles(questions=(world.val_questions,), annotations=(world.val_annotations,))
    config = ResplitConfig(seed=seed, val_share=VAL_SHARE)
    built = build(files, config, out / "resplit", force=force, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    answers = {"shortcut_model": world.shortcut_predictions, "grounded_model": world.grounded_predictions}
    scores = score(out / "resplit", answers, ScoreConfig(), out / "resplit-scores", force=force)
    return ResplitDemo(built, scores)
