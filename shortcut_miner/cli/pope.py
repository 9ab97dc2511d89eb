"""``pope build`` and ``pope score``."""

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
    OptionalNamedFiles,
    Out,
    Shown,
    file_lists,
)
from shortcut_miner.cli.room import run_build, run_score, show_words
from shortcut_miner.diagnostics.pope.config import PopeConfig, PopeFiles, ScoreConfig

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.pope.outputs import BuildReport
    from shortcut_miner.diagnostics.pope.score import ScoreReport
    from shortcut_miner.timing import OnStage

Files = Annotated[PopeFiles, Parameter(name="*", group=INPUTS)]
Method = Annotated[PopeConfig, Parameter(name="*", group=METHOD)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]
OtherLabels = Annotated[list[Path] | None, Parameter(group=INPUTS, consume_multiple=1, negative=())]

_DEFAULT_METHOD, _DEFAULT_SCORE = PopeConfig(), ScoreConfig()
_NUMBERS = ("accuracy", "precision", "recall", "f1", "mean_f1", "yes_ratio", "paired")
_UNDER_LABELS = ("accuracy", "f1", "yes_ratio")
_FEWEST = 10  # questions about an object that is printed


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
    """Build a POPE folder."""

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.diagnostics.pope.build import build as build_folder

        return build_folder(files, method, target, limit=rows, force=force, on_stage=on_stage)

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=show_words)


def score(
    folder: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    predictions: NamedFiles,
    questions: OptionalNamedFiles = None,
    relabel: OtherLabels = None,
    method: ScoreMethod = _DEFAULT_SCORE,
    config: ConfigFile = None,
    out: Out = None,
    force: Force = False,
    dry_run: DryRun = False,
    most: MostShown = 10,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on polling questions.

    Parameters
    ----------
    folder : Path, optional
        What pope build wrote; without it, --questions.
    predictions : list of str
        NAME=FILE for each model: its answers, with ids such as random_1; or NAME:random=FILE with the
        ids of that strategy's file. NAME=F1,F2 or NAME=FOLDER joins the files of one model.
    questions : list of str, optional
        STRATEGY=FILE for each of POPE's files of questions, as in random=coco_pope_random.json.
    relabel : list of Path, optional
        Other labels of the same questions, such as RePOPE's files.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and counts (Parquet).
    most : int
        Most objects to print, those with the worst accuracy first.
    """
    models = file_lists(predictions, "--predictions")
    asked = file_lists(questions or [], "--questions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.pope.score import score as score_files

        return score_files(
            folder, models, method, target,
            questions=asked, relabel=relabel or (), force=force, on_stage=on_stage,
        )  # fmt: skip

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
    import polars as pl

    from shortcut_miner.scoring.tables import as_dict

    document = {"scores": as_dict(report.scores), "counts": report.counts.to_dicts()}
    if report.relabelled is not None:
        labels = report.relabelled["labels"].unique(maintain_order=True)
        parts = {one: report.relabelled.filter(pl.col("labels") == one).drop("labels") for one in labels}
        document["relabelled"] = {one: as_dict(part) for one, part in parts.items()}
    return document | ({} if report.differences is None else {"differences": as_dict(report.differences)})


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print the numbers of each strategy and of all, other labels beside them, and hard objects."""
    import polars as pl

    print_title("Polling questions, in percent [95% interval]")
    _print(_by_strategy(report.scores), ("of", "number"))
    if report.differences is not None:
        print_title(f"Difference to {report.differences['baseline'][0]}, in points [95% interval]")
        _print(_by_strategy(report.differences), ("of", "number"))
    if report.relabelled is not None:
        print_title("Under other labels, in percent [95% interval]")
        told = _by_strategy(report.relabelled).filter(pl.col("number").is_in(_UNDER_LABELS))
        _print(told, ("of", "number", "labels", "n"))
    objects = report.scores.filter(pl.col("group") == "object", pl.col("metric") == "accuracy")
    often = objects.filter(pl.col("n") >= _FEWEST)
    if most and len(often):
        print_title(f"Objects asked {_FEWEST} times or more, the least accurate first, in percent")
        worst = often.group_by("subgroup").agg(pl.col("value").mean()).sort("value", "subgroup").head(most)
        table = worst.select("subgroup").join(often, on="subgroup", how="left", maintain_order="left_right")
        _print(table.rename({"subgroup": "object"}).with_columns(subgroup="object"), ("object", "n"))


def _by_strategy(table: "pl.DataFrame") -> "pl.DataFrame":
    """Return the numbers of each strategy, then those of all, where there are several."""
    import polars as pl

    shown = table.filter(pl.col("group") != "object")
    strategies = shown.filter(pl.col("group") == "strategy")["subgroup"].unique(maintain_order=True)
    if len(strategies) == 1:
        shown = shown.filter(pl.col("group") == "strategy")
    named = shown.with_columns(of="subgroup", number=pl.col("metric").str.strip_suffix("_difference"))
    places = {name: at for at, name in enumerate((*strategies, "all"))}
    return named.sort(
        pl.col("of").replace_strict(places, return_dtype=pl.Int64),
        pl.col("number").replace_strict(_NUMBERS, range(len(_NUMBERS)), return_dtype=pl.Int64),
        maintain_order=True,
    )


def _print(table: "pl.DataFrame", rows: tuple[str, ...]) -> None:
    from shortcut_miner.scoring.tables import value_text

    print_models(table, rows, lambda row: "-" if row["value"] is None else value_text(row))


HELP = (
    "Polling questions about objects that are there, or are not, and scores on them (Li et al., EMNLP 2023)."
)
COMMANDS = (
    Command(
        ("pope", "build"),
        build,
        "Ask for objects that are in an image, and for random, popular and likely ones that are not.",
        f"{ENTER}\nshortcut-miner pope build \\\n"
        "    --objects world/val_sceneGraphs.json --image-count 100 --out my-pope",
    ),
    Command(
        ("pope", "score"),
        score,
        "Score models' yes and no: accuracy, precision, recall, F1, share of yes, by strategy and object.",
        f"{ENTER}\nshortcut-miner pope score pope \\\n"
        "    --predictions leaning=pope-answers/shortcut_model.json",
    ),
)
