"""``gqa-ood build`` and ``gqa-ood score``."""

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
from shortcut_miner.diagnostics.gqa_ood.config import GqaOodConfig, GqaOodFiles, ScoreConfig

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.gqa_ood.outputs import BuildReport
    from shortcut_miner.diagnostics.gqa_ood.score import ScoreReport
    from shortcut_miner.timing import OnStage

Files = Annotated[GqaOodFiles, Parameter(name="*", group=INPUTS)]
Method = Annotated[GqaOodConfig, Parameter(name="*", group=METHOD)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]
Sweep = Annotated[bool, Parameter(group=OUTPUT, negative=(), show_default=False)]

_DEFAULT_METHOD, _DEFAULT_SCORE = GqaOodConfig(), ScoreConfig()
_NAMES = {"acc_all": "all", "acc_head": "head", "acc_tail": "tail", "delta": "delta"}
_BY_TYPE = ("acc_head", "acc_tail")


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
    """Build a GQA-OOD folder."""

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.diagnostics.gqa_ood.build import build as build_folder

        return build_folder(files, method, target, limit=rows, force=force, on_stage=on_stage)

    return run_build(work, out=out, dry_run=dry_run, shown=shown, show=show_words)


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
    sweep: Sweep = False,
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on head and tail.

    Parameters
    ----------
    folder : Path
        What gqa-ood build wrote.
    predictions : list of str
        NAME=FILE for each model: its answers. NAME=F1,F2 or NAME=FOLDER joins the files of one model.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and the sweep (Parquet).
    sweep : bool
        Print the accuracy on the tail at every alpha too.
    most : int
        Most types of questions to print, beside the overall scores.
    """
    models = file_lists(predictions, "--predictions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.gqa_ood.score import score as score_files

        return score_files(folder, models, method, target, force=force, on_stage=on_stage)

    return run_score(
        work,
        folder=folder,
        out=out,
        dry_run=dry_run,
        shown=shown,
        document=score_document,
        show=lambda report: print_scores(report, most, sweep=sweep),
    )


def score_document(report: "ScoreReport") -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    document = {"scores": as_dict(report.scores), "sweep": report.sweep.to_dicts()}
    return document | ({} if report.differences is None else {"differences": as_dict(report.differences)})


def print_scores(report: "ScoreReport", most: int, *, sweep: bool) -> None:
    """Print the overall numbers, accuracy by type of question, and the sweep if it is asked for."""
    import polars as pl

    print_title("Accuracy, and delta: how far the head is above the tail, in percent [95% interval]")
    overall = report.scores.filter(pl.col("group") == "overall")
    _print(_named(overall), ("of", "n"))
    if report.differences is not None:
        print_title(f"Difference to {report.differences['baseline'][0]}, in points [95% interval]")
        _print(_named(report.differences.filter(pl.col("group") == "overall")), ("of", "n"))
    by_type = report.scores.filter(pl.col("group") != "overall", pl.col("metric").is_in(_BY_TYPE))
    if most and len(by_type):
        print_title("Accuracy by type of question, in percent [95% interval]")
        types = by_type.select("group", "subgroup").unique(maintain_order=True).head(most)
        shown = types.join(by_type, on=["group", "subgroup"], how="left", maintain_order="left_right")
        _print(_named(shown), ("group", "subgroup", "of", "n"))
    if sweep:
        print_title("Accuracy on the tail at every alpha, in percent [95% interval]")
        alphas = report.sweep.with_columns(
            pl.Series("alpha", [f"{alpha:g}" for alpha in report.sweep["alpha"]], pl.String),
            *(pl.lit("").alias(name) for name in ("metric", "group", "subgroup")),
        )
        _print(alphas, ("alpha", "n"))


def _named(table: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    return table.with_columns(of=pl.col("metric").str.strip_suffix("_difference").replace_strict(_NAMES))


def _print(table: "pl.DataFrame", rows: tuple[str, ...]) -> None:
    from shortcut_miner.scoring.tables import value_text

    print_models(table, rows, lambda row: "-" if row["value"] is None else value_text(row))


HELP = "Frequent and rare answers in groups of questions, and scores on both (Kervadec et al., CVPR 2021)."
COMMANDS = (
    Command(
        ("gqa-ood", "build"),
        build,
        "Part the questions of uneven groups into head (frequent answers) and tail (rare ones).",
        f"{ENTER}\nshortcut-miner gqa-ood build \\\n"
        "    --questions world/val_balanced_questions.json --out my-ood",
    ),
    Command(
        ("gqa-ood", "score"),
        score,
        "Score models on head and tail, by type of question, and over alpha.",
        f"{ENTER}\nshortcut-miner gqa-ood score gqa-ood --sweep \\\n"
        "    --predictions leaning=gqa-ood-answers/shortcut_model.json",
    ),
)
