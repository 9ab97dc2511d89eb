"""``rad build`` and ``rad score``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.command import ENTER, Command
from shortcut_miner.cli.console import print_models, print_title
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    INPUTS,
    METHOD,
    OUTPUT,
    BuildOut,
    ConfigFile,
    DryRun,
    FirstRows,
    Force,
    MostShown,
    NamedFiles,
    Out,
    Shown,
    file_lists,
)
from shortcut_miner.cli.room import run_build, run_score, show_words
from shortcut_miner.diagnostics.rad.config import PairFiles, RadConfig, RadFiles, ScoreConfig

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.rad.aligned_scores import ScoreReport
    from shortcut_miner.diagnostics.rad.outputs import BuildReport
    from shortcut_miner.timing import OnStage

Files = Annotated[RadFiles, Parameter(name="*", group=INPUTS)]
Method = Annotated[RadConfig, Parameter(name="*", group=METHOD)]
Pairs = Annotated[PairFiles, Parameter(name="*", group=INPUTS)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]
LeakCheck = Annotated[
    bool,
    Parameter(
        group=OUTPUT,
        negative=(),
        show_default=False,
        help="Also measure how far the answers can be guessed from text alone, into leak.json (extra leak).",
    ),
]

_DEFAULT_METHOD, _DEFAULT_SCORE, _NO_PAIRS = RadConfig(), ScoreConfig(), PairFiles()
_HEADINGS = {
    "rad": "RAD(original, augmented)",
    "rad_backward": "RAD(augmented, original)",
    "accuracy_original": "accuracy, original",
    "accuracy_augmented": "accuracy, augmented",
    "vqa_accuracy_original": "official VQA accuracy, original",
    "vqa_accuracy_augmented": "official VQA accuracy, augmented",
}


def build(
    files: Files,
    *,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    out: BuildOut = None,
    force: Force = False,
    leak_check: LeakCheck = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build a RAD folder."""

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.diagnostics.rad.build import build as build_folder

        return build_folder(
            files, method, target, limit=rows, force=force, check_leak=leak_check, on_stage=on_stage
        )

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=show_words)


def score(
    folder: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    original: NamedFiles,
    augmented: NamedFiles,
    files: Pairs = _NO_PAIRS,
    method: ScoreMethod = _DEFAULT_SCORE,
    config: ConfigFile = None,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models by RAD.

    Parameters
    ----------
    folder : Path, optional
        What rad build wrote; without it, --pairs and the files of two other sets of questions.
    original : list of str
        NAME=FILE for each model: its answers to the original questions.
    augmented : list of str
        NAME=FILE for each model: its answers to the augmented questions. NAME=F1,F2 or NAME=FOLDER joins the
        files of one model, of the original answers too.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and counts (Parquet).
    most : int
        Most types of augmentation to print, beside the overall scores.
    """
    models = file_lists(original, "--original"), file_lists(augmented, "--augmented")

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.rad.score import score as score_files
        from shortcut_miner.diagnostics.rad.score import source_of

        return score_files(source_of(folder, files), *models, method, target, force=force, on_stage=on_stage)

    return run_score(
        work,
        folder=folder,
        out=out,
        dry_run=dry_run,
        shown=shown,
        document=score_document,
        show=lambda report: print_scores(report, most),
    )


def score_document(report: "ScoreReport") -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    document = {"scores": as_dict(report.scores), "counts": report.counts.to_dicts()}
    return document | ({} if report.differences is None else {"differences": as_dict(report.differences)})


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print a table a metric: a row a type of augmentation, a column a model."""
    import polars as pl

    from shortcut_miner.scoring.tables import value_text

    def cell(row: dict[str, Any]) -> str:
        known = row["value"] is not None
        return f"{value_text(row)} of {row['n']:,}" if known else "none right to start from"

    printed = report.scores.filter(pl.col("group") != "form")
    for (metric,), table in printed.group_by("metric", maintain_order=True):
        print_title(f"{_HEADINGS[str(metric)]} in percent [95% interval]")
        print_models(table, ("subgroup",), cell, most=most + 1, headings=("augmentation",))
    if report.differences is not None:
        told = report.differences.filter(pl.col("group") != "form", pl.col("value").is_not_null())
        for (metric,), table in told.group_by("metric", maintain_order=True):
            heading = _HEADINGS[str(metric).removesuffix("_difference")]
            print_title(f"{heading}: difference to {table['baseline'][0]} in points [95% interval]")
            print_models(table, ("subgroup",), value_text, most=most + 1, headings=("augmentation",))


HELP = "Yes/no augmentations of any VQA questions, and the RAD score (Rosenberg et al., ACL 2021)."
COMMANDS = (
    Command(
        ("rad", "build"),
        build,
        "Make yes/no questions from colour, how-many and what-kind questions.",
        f"{ENTER}\nshortcut-miner rad build \\\n"
        "    --questions world/v2_OpenEnded_mscoco_val2014_questions.json \\\n"
        "    --annotations world/v2_mscoco_val2014_annotations.json \\\n"
        "    --out my-rad",
    ),
    Command(
        ("rad", "score"),
        score,
        "Score how many right answers stay right on an augmentation, for a build or any pairs of questions.",
        f"{ENTER}\nshortcut-miner rad score rad \\\n"
        "    --original leaning=world/shortcut_model_results.json \\\n"
        "    --augmented leaning=rad-answers/shortcut_model_results.json",
    ),
)
