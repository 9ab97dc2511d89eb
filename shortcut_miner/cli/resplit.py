"""``resplit build`` and ``resplit score``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.command import ENTER, Command
from shortcut_miner.cli.console import print_models, print_title
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    INPUTS,
    METHOD,
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
from shortcut_miner.diagnostics.resplit.config import ResplitConfig, ResplitFiles, ScoreConfig

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.resplit.outputs import BuildReport
    from shortcut_miner.diagnostics.resplit.score import ScoreReport
    from shortcut_miner.timing import OnStage

Files = Annotated[ResplitFiles, Parameter(name="*", group=INPUTS, consume_multiple=1, negative=())]
Method = Annotated[ResplitConfig, Parameter(name="*", group=METHOD)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]

_DEFAULT_METHOD, _DEFAULT_SCORE = ResplitConfig(), ScoreConfig()


def build(
    files: Files,
    *,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build a resplit folder."""

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.diagnostics.resplit.build import build as build_folder

        return build_folder(files, method, target, limit=rows, force=force, on_stage=on_stage)

    kernels = ("match",) if files.from_rules is not None else None
    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=show_words, kernels=kernels)


def score(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    predictions: NamedFiles,
    method: ScoreMethod = _DEFAULT_SCORE,
    config: ConfigFile = None,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on a resplit folder.

    Parameters
    ----------
    folder : Path
        What resplit build wrote.
    predictions : list of str
        NAME=FILE for each model: its answers to the questions of test and validation; others may be there.
        NAME=F1,F2 or NAME=FOLDER joins the files of one model.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX).
    most : int
        Most answer types and shortcuts to print of each table, beside the overall scores.
    """
    files = file_lists(predictions, "--predictions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.resplit.score import score as score_folder

        return score_folder(folder, files, method, target, force=force, on_stage=on_stage)

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

    return {"scores": as_dict(report.scores)}


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print accuracy on the test, on validation, and the drop: a row a group, a column a model."""
    from shortcut_miner.scoring.tables import value_text

    headings = {
        "accuracy_test": "Accuracy on the test, in percent [95% interval]",
        "accuracy_val": "Accuracy on validation questions of the training's kind",
        "drop": "Drop from validation to test, in points",
    }
    for metric, heading in headings.items():
        table = report.scores.filter(metric=metric)
        if len(table):
            print_title(heading)
            print_models(table, ("group", "subgroup", "n"), value_text, most=most + 1)


HELP = "Training and test questions with other answers to the same types (after Agrawal et al., CVPR 2018)."
COMMANDS = (
    Command(
        ("resplit", "build"),
        build,
        "Split questions anew, so that the test has other answers to the same types.",
        f"{ENTER}\nshortcut-miner resplit build \\\n"
        "    --questions world/v2_OpenEnded_mscoco_val2014_questions.json \\\n"
        "    --annotations world/v2_mscoco_val2014_annotations.json \\\n"
        "    --out my-resplit",
    ),
    Command(
        ("resplit", "score"),
        score,
        "Score models on the test, on validation questions of the training's kind, and the drop.",
        f"{ENTER}\nshortcut-miner resplit score resplit \\\n"
        "    --predictions leaning=world/shortcut_model_results.json \\\n"
        "    --predictions grounded=world/grounded_model_results.json",
    ),
)
