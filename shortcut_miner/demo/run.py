"""The demo: write the world, find its shortcuts, score its two models, and look the planted rules up."""

import dataclasses
from pathlib import Path

import polars as pl

from shortcut_miner.demo.files import DemoWorld, PlantedShortcut, write_demo_world
from shortcut_miner.demo.fpvg import FpvgDemo, run_fpvg
from shortcut_miner.demo.rad import RadDemo, run_rad
from shortcut_miner.demo.swapmix import SwapMixDemo, run_swapmix
from shortcut_miner.diagnostics.vqa_ce.build import BuildReport, build
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig, VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.score import ScoreReport, score
from shortcut_miner.diagnostics.vqa_ce.shortcuts import OnStage
from shortcut_miner.errors import BackendError

SHORTCUT_MODEL, GROUNDED_MODEL = "shortcut_model", "grounded_model"
HEADLINES = ("rad", "fpvg_plus", "context_reliance", "effective_accuracy")


@dataclasses.dataclass(frozen=True, slots=True)
class DemoReport:
    """What the demo did.

    Attributes
    ----------
    world : DemoWorld
        Files written, and what was planted.
    vqa_ce : BuildReport
        The build on these files.
    scores : ScoreReport
        Both models on the three subsets.
    planted : pl.DataFrame
        One row a planted shortcut: words, objects, answer; rule_id, rule_count, antecedent_count, confidence
        (null if the rule did not come out); counterexamples, how many validation questions were planted
        against it, and counterexamples_found, how many of these landed in that subset.
    rad : RadDemo or str
        Consistency under template augmentation; why not, where spaCy is missing.
    fpvg : FpvgDemo
        Faithful and plausible grounding.
    swapmix : SwapMixDemo
        Reliance on context.
    """

    world: DemoWorld
    vqa_ce: BuildReport
    scores: ScoreReport
    planted: pl.DataFrame
    rad: RadDemo | str
    fpvg: FpvgDemo
    swapmix: SwapMixDemo

    @property
    def headlines(self) -> pl.DataFrame:
        """The first number of each other room, in percent: metric, shortcut_model, grounded_model."""
        rooms = [self.fpvg.scores.scores, self.swapmix.scores.scores]
        if not isinstance(self.rad, str):
            rooms.insert(0, self.rad.scores.scores)
        overall = pl.concat([room.select("metric", "group", "model", "value") for room in rooms])
        shown = overall.filter(pl.col("group") == "overall", pl.col("metric").is_in(HEADLINES))
        wide = shown.pivot("model", index="metric", values="value", maintain_order=True)
        return wide.select("metric", SHORTCUT_MODEL, GROUNDED_MODEL)

    @property
    def all_found(self) -> bool:
        """Whether every planted shortcut came out as a rule."""
        return self.planted["rule_id"].null_count() == 0


def run_demo(
    out: Path, *, seed: int = 0, threads: int | None = None, on_stage: OnStage | None = None
) -> DemoReport:
    """Write the demo world to ``out/world`` and run every room on it.

    Parameters
    ----------
    out : Path
        Folder for world/ and, per room, what it builds and scores: vqa-ce/, vqa-ce-scores/ and so on.
    seed : int
        Of the world.
    threads, on_stage
        As for a build.
    """
    if on_stage is not None:
        on_stage("write the world")
    world = write_demo_world(out / "world", seed=seed)
    files = VqaCeFiles(
        train_questions=world.train_questions,
        train_annotations=world.train_annotations,
        val_questions=world.val_questions,
        val_annotations=world.val_annotations,
        detections=world.detections,
    )
    built = build(files, VqaCeConfig(), out / "vqa-ce", threads=threads, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    models = {SHORTCUT_MODEL: world.shortcut_predictions, GROUNDED_MODEL: world.grounded_predictions}
    scores = score(out / "vqa-ce", models, ScoreConfig(), out / "vqa-ce-scores")
    try:
        rad: RadDemo | str = run_rad(world, out, on_stage, seed=seed)
    except BackendError as error:
        rad = str(error)
    return DemoReport(
        world=world,
        vqa_ce=built,
        scores=scores,
        planted=_look_up(world.shortcuts, out / "vqa-ce"),
        rad=rad,
        fpvg=run_fpvg(world, out, on_stage, seed=seed),
        swapmix=run_swapmix(world, out, on_stage, seed=seed),
    )


def _look_up(shortcuts: tuple[PlantedShortcut, ...], folder: Path) -> pl.DataFrame:
    rules = pl.read_parquet(folder / "rules.parquet").select(
        words="antecedent_words", objects="antecedent_objects", answer="answer", rule_id="rule_id",
        rule_count="rule_count", antecedent_count="antecedent_count", confidence="confidence",
    )  # fmt: skip
    split = pl.read_parquet(folder / "split.parquet")
    found = split.filter(pl.col("subset") == "counterexamples").select(
        counterexample="question_id", found=True
    )
    planted = pl.DataFrame(
        {
            "words": [list(shortcut.words) for shortcut in shortcuts],
            "objects": [list(shortcut.objects) for shortcut in shortcuts],
            "answer": [shortcut.answer for shortcut in shortcuts],
            "counterexample": [list(shortcut.counterexamples) for shortcut in shortcuts],
        }
    ).with_row_index("planted")
    counted = (
        planted.explode("counterexample")
        .join(found, on="counterexample", how="left", validate="m:1")
        .group_by("planted")
        .agg(counterexamples=pl.len(), counterexamples_found=pl.col("found").sum())
    )
    return (
        planted.drop("counterexample")
        .join(rules, on=["words", "objects", "answer"], how="left", validate="1:1", maintain_order="left")
        .join(counted, on="planted", how="left", validate="1:1", maintain_order="left")
        .drop("planted")
    )
