"""``slices build`` and ``slices score``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.command import ENTER, Command
from shortcut_miner.cli.console import print_fields, print_json, print_models, print_table, print_title
from shortcut_miner.cli.kernels import DELIVERY, ROW_DIGESTS, SLICES
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
    OptionalNamedFiles,
    Out,
    Shown,
    Threads,
    file_lists,
)
from shortcut_miner.cli.room import run_build, run_score
from shortcut_miner.diagnostics.slices.config import ScoreConfig, SlicesConfig, SlicesFiles

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.slices.outputs import BuildReport
    from shortcut_miner.diagnostics.slices.score import ScoreReport
    from shortcut_miner.timing import OnStage

Files = Annotated[SlicesFiles, Parameter(name="*", group=INPUTS, consume_multiple=1, negative=())]
Method = Annotated[SlicesConfig, Parameter(name="*", group=METHOD)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]

_NO_FILES, _DEFAULT_METHOD, _DEFAULT_SCORE = SlicesFiles(), SlicesConfig(), ScoreConfig()


def build(
    folder: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    files: Files = _NO_FILES,
    predictions: OptionalNamedFiles = None,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    threads: Threads = None,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    most: Annotated[int, Parameter(name="--show", group=OUTPUT)] = 10,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build a slices folder.

    Parameters
    ----------
    folder : Path, optional
        What any build command wrote, whose questions are taken; or give --questions or --table.
    predictions : list of str, optional
        NAME=FILE for a model, or for two to compare: its answers to the questions. NAME=F1,F2 or NAME=FOLDER
        joins the files of one model. None with --table.
    most : int
        Most slices to print.
    """
    models = file_lists(predictions or (), "--predictions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.diagnostics.slices.build import build as build_folder

        return build_folder(
            files, models, method, target,
            folder=folder, limit=rows, threads=threads, force=force, on_stage=on_stage,
        )  # fmt: skip

    kernels = (SLICES, DELIVERY, *[ROW_DIGESTS] * (files.table is not None))
    return run_build(
        work, out=out, dry_run=dry_run, shown=shown, kernels=kernels,
        show=lambda report, how, seconds: _show(report, how, seconds, most, method.max_q),
    )  # fmt: skip


def _show(report: "BuildReport", shown: Shown, wall_seconds: float, most: int, max_q: float) -> None:
    from shortcut_miner.diagnostics.slices.outputs import kept_slices, to_read, with_names

    first, kept = to_read(report.slices, report.cover), with_names(kept_slices(report.slices, max_q))
    if shown.format == "json":
        told = {"cover": first.head(most).to_dicts(), "slices": kept.head(most).to_dicts()}
        print_json(report.as_dict(wall_seconds) | told)
        return
    print_fields(report.in_words(wall_seconds))
    for title, slices in (("Slices to read first", first), ("Not redundant, the worst first", kept)):
        if len(slices) and most:
            of = "" if len(slices) <= most else f", {most} of {len(slices):,}"
            print_title(f"{title}{of}")
            print_slices(slices.head(most), report.figures["outcome"])


def print_slices(first: "pl.DataFrame", outcome: str) -> None:
    """Print slices, those to read first with what each explains together with the ones before it."""
    unit = "wrong" if outcome == "wrong" else "lost" if outcome == "regression" else "error"
    names = ["slice", "rows", f"{unit} %", "above all", "q"]
    columns: list[list[object]] = [
        first["name"].to_list(),
        first["count"].to_list(),
        [f"{100 * one:.1f}" for one in first["mean"]],
        [f"{100 * one:+.1f}" for one in first["divergence"]],
        first["q_value"].to_list(),
    ]
    if "explained" in first.columns:
        names.append("explained %")
        columns.append([f"{100 * one:.1f}" for one in first["explained"]])
    if "mean_b" in first.columns:
        names.insert(3, "other's error %" if outcome == "regression" else f"other's {unit} %")
        columns.insert(3, [f"{100 * one:.1f}" for one in first["mean_b"]])
    if "holdout_p" in first.columns:
        names.append("p held out")
        columns.append(first["holdout_p"].to_list())
    print_table(names, [*zip(*columns, strict=True)], right=names[1:], spare=("q", "above all"))


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
    most: MostShown = 10,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on the slices of a build.

    Parameters
    ----------
    folder : Path
        What slices build wrote.
    predictions : list of str
        NAME=FILE for each model: its answers to the build's questions. NAME=F1,F2 or NAME=FOLDER joins the
        files of one model.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and those of every slice (Parquet).
    most : int
        Most slices to print, beside the overall scores.
    """
    models = file_lists(predictions, "--predictions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.slices.score import score as score_folder

        return score_folder(folder, models, method, target, force=force, on_stage=on_stage)

    return run_score(
        work,
        folder=folder,
        out=out,
        dry_run=dry_run,
        shown=shown,
        document=score_document,
        show=lambda report: print_scores(report, most),
        kernels=(SLICES,),
    )


def score_document(report: "ScoreReport") -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    document = {"scores": as_dict(report.scores)}
    return document | ({} if report.differences is None else {"differences": as_dict(report.differences)})


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print a row a slice and a column a model, all rows first."""
    from shortcut_miner.scoring.tables import value_text

    (metric,) = report.scores["metric"].unique()
    heading = str(metric).replace("_", " ").capitalize()
    print_title(f"{heading} in percent [95% interval]")
    print_models(report.scores, ("subgroup", "n"), value_text, most=most + 1, headings=("slice", "n"))
    if report.differences is not None:
        print_title(f"{heading}: difference to {report.differences['baseline'][0]} in points [95% interval]")
        print_models(
            report.differences, ("subgroup", "n"), value_text, most=most + 1, headings=("slice", "n")
        )


HELP = "Where a model fails, and where another one got worse: slices of words, objects and columns."
COMMANDS = (
    Command(
        ("slices", "build"),
        build,
        "Find the slices of questions, or of any table, where a model fails or got worse than another.",
        f"{ENTER}\nshortcut-miner slices build \\\n"
        "    --questions world/v2_OpenEnded_mscoco_val2014_questions.json \\\n"
        "    --annotations world/v2_mscoco_val2014_annotations.json \\\n"
        "    --detections world/image_to_detection.json \\\n"
        "    --predictions leaning=world/shortcut_model_results.json \\\n"
        "    --out my-slices\n"
        "shortcut-miner slices build vqa-ce \\\n"
        "    --predictions grounded=world/grounded_model_results.json \\\n"
        "    --predictions leaning=world/shortcut_model_results.json \\\n"
        "    --out where-it-got-worse",
    ),
    Command(
        ("slices", "score"),
        score,
        "Score other models on the slices of a build.",
        f"{ENTER}\nshortcut-miner slices score slices \\\n"
        "    --predictions grounded=world/grounded_model_results.json",
    ),
)
