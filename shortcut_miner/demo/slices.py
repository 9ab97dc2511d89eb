"""The demo world in the slices room: where the leaning model fails, and what the grounded one does there."""

from dataclasses import dataclass
from pathlib import Path

from shortcut_miner.demo.files import DemoWorld
from shortcut_miner.diagnostics.slices.build import build
from shortcut_miner.diagnostics.slices.config import ScoreConfig, SlicesConfig, SlicesFiles
from shortcut_miner.diagnostics.slices.outputs import BuildReport
from shortcut_miner.diagnostics.slices.score import ScoreReport, score
from shortcut_miner.timing import OnStage

HEADLINES = ("error_rate",)


@dataclass(frozen=True, slots=True)
class SlicesDemo:
    """What the demo did in this room.

    Attributes
    ----------
    built : BuildReport
        The slices of the world's validation questions where the leaning model is wrong.
    scores : ScoreReport
        Both models in these slices.
    """

    built: BuildReport
    scores: ScoreReport


def run_slices(
    world: DemoWorld, out: Path, on_stage: OnStage | None = None, *, seed: int = 0, force: bool = False
) -> SlicesDemo:
    """Find the slices where the leaning model fails, and score both models in them.

    Parameters
    ----------
    world : DemoWorld
        Files written by :func:`shortcut_miner.demo.write_demo_world`.
    out : Path
        Folder for slices/ and slices-scores/.
    on_stage : callable, optional
        Told the name of each stage as it starts.
    seed : int
        Of the world; nothing is drawn here.
    force : bool
        Replace what a demo of another seed wrote.
    """
    files = SlicesFiles(
        questions=world.val_questions, annotations=world.val_annotations, detections=(world.detections,)
    )
    leaning = {"shortcut_model": [world.shortcut_predictions]}
    both = leaning | {"grounded_model": [world.grounded_predictions]}
    built = build(files, leaning, SlicesConfig(), out / "slices", force=force, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    scores = score(out / "slices", both, ScoreConfig(), out / "slices-scores", force=force)
    return SlicesDemo(built, scores)
