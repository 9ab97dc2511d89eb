"""The demo: a world, its shortcuts, two models and their scores, all other rooms, and the page about it."""

import dataclasses
import os
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from shortcut_miner import rooms
from shortcut_miner.datasets import reports
from shortcut_miner.demo.files import FILE_NAMES, DemoWorld, PlantedShortcut, write_demo_world
from shortcut_miner.demo.folders import COMMAND
from shortcut_miner.diagnostics.vqa_ce.build import build
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig, VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.outputs import BuildReport
from shortcut_miner.diagnostics.vqa_ce.score import ScoreReport, score
from shortcut_miner.errors import BackendError, ConfigError
from shortcut_miner.options import reject
from shortcut_miner.publishing import check_target
from shortcut_miner.report.html import PAGE
from shortcut_miner.report.report import write_html_report
from shortcut_miner.single_files import check_file_target
from shortcut_miner.storage import MANIFEST
from shortcut_miner.timing import OnStage

SHORTCUT_MODEL, GROUNDED_MODEL = "shortcut_model", "grounded_model"
# All rooms but this one have their part in a module of their name, with run_NAME and the HEADLINES to show.
FIRST_ROOM = "vqa_ce"
REPORT = "report"


class RoomDemo(Protocol):
    """What a room's part of the demo gives back."""

    @property
    def scores(self) -> reports.ScoreReport:
        """Both models' scores."""


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
    others : dict of str to RoomDemo
        Each other room's part, by the room's name.
    left_out : dict of str to str
        Why a room or the report was left out: a library that it needs is missing.
    report : Path or None
        The page about all of it.
    """

    world: DemoWorld
    vqa_ce: BuildReport
    scores: ScoreReport
    planted: pl.DataFrame
    others: dict[str, RoomDemo]
    left_out: dict[str, str]
    report: Path | None

    @property
    def headlines(self) -> pl.DataFrame:
        """The first number of each other room, in percent: metric, shortcut_model, grounded_model."""
        tables = [room.scores.scores for room in self.others.values()]
        overall = pl.concat([table.select("metric", "group", "model", "value") for table in tables])
        metrics = [metric for name in self.others for metric in _part(name).HEADLINES]
        shown = overall.filter(pl.col("group") == "overall", pl.col("metric").is_in(metrics))
        wide = shown.pivot("model", index="metric", values="value", maintain_order=True)
        return wide.select("metric", SHORTCUT_MODEL, GROUNDED_MODEL)

    @property
    def all_found(self) -> bool:
        """Whether every planted shortcut came out as a rule."""
        return self.planted["rule_id"].null_count() == 0


def _part(name: str) -> Any:
    return import_module(f"shortcut_miner.demo.{name}")


def run_demo(
    out: Path,
    *,
    seed: int = 0,
    threads: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> DemoReport:
    """Write the demo world to ``out/world`` and run every room on it.

    Parameters
    ----------
    out : Path
        Folder for world/ and, per room, what it builds and scores: vqa-ce/, vqa-ce-scores/ and so on; and
        for report.html.
    seed : int
        Of the world.
    threads, on_stage
        As for a build.
    force : bool
        Replace what a demo of another seed wrote.

    Raises
    ------
    ConfigError
        A folder that holds something else; see :func:`shortcut_miner.publishing.check_target`.
    """
    if not isinstance(seed, int) or seed < 0:
        reject("seed", seed, "a whole number of 0 or more")
    check_folders(out, seed, force=force)
    if on_stage is not None:
        on_stage("write the world")
    world = write_demo_world(out / "world", seed=seed, force=force)
    files = VqaCeFiles(
        train_questions=world.train_questions,
        train_annotations=world.train_annotations,
        val_questions=world.val_questions,
        val_annotations=world.val_annotations,
        detections=(world.detections,),
    )
    built = build(files, VqaCeConfig(), out / "vqa-ce", threads=threads, force=force, on_stage=on_stage)
    if on_stage is not None:
        on_stage("score")
    models = {SHORTCUT_MODEL: world.shortcut_predictions, GROUNDED_MODEL: world.grounded_predictions}
    scores = score(out / "vqa-ce", models, ScoreConfig(), out / "vqa-ce-scores", force=force)
    others: dict[str, RoomDemo] = {}
    left_out: dict[str, str] = {}
    for name in rooms.NAMES:
        if name == FIRST_ROOM:
            continue
        try:
            others[name] = getattr(_part(name), f"run_{name}")(world, out, on_stage, seed=seed, force=force)
        except BackendError as error:
            left_out[name] = str(error)
    page: Path | None = None
    try:
        page = write_html_report(out, out / PAGE.name, on_stage=on_stage).out
    except BackendError as error:
        left_out[REPORT] = str(error)
    planted = _look_up(world.shortcuts, built)
    return DemoReport(world, built, scores, planted, others, left_out, page)


_OF_ROOMS = ("*.parquet", "*.json", "README.md", "scores.md", "scores*.tex")  # what rooms write


def check_folders(out: Path, seed: int, *, force: bool) -> None:
    """Raise ConfigError before anything is written if one of the demo's folders is somebody else's."""
    check_target(
        out / "world", command=COMMAND, config={"seed": seed}, names=FILE_NAMES.values(), force=force
    )
    check_file_target(out / PAGE.name, PAGE)
    if os.path.lexists(out / MANIFEST):
        raise ConfigError(
            f"--out {out}: got a folder with a {MANIFEST}, expected none: the report would take it for that "
            "of one room. Choose another --out."
        )
    for name in rooms.NAMES:
        room = name.replace("_", "-")
        commands = {room: f"{room} build", f"{room}-scores": f"{room} score", f"{room}-answers": COMMAND}
        for folder, command in commands.items():  # their options are compared when they are written
            check_target(out / folder, command=command, config={}, names=_OF_ROOMS, force=True)


def _look_up(shortcuts: tuple[PlantedShortcut, ...], built: BuildReport) -> pl.DataFrame:
    rules = built.rules.select(
        words="antecedent_words", objects="antecedent_objects", answer="answer", rule_id="rule_id",
        rule_count="rule_count", antecedent_count="antecedent_count", confidence="confidence",
    )  # fmt: skip
    found = built.split.filter(pl.col("subset") == "counterexamples").select(
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
