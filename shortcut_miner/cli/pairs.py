"""``pairs build`` and ``pairs score``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.command import ENTER, Command
from shortcut_miner.cli.console import print_models, print_table, print_title
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
from shortcut_miner.diagnostics.pairs.config import PairsConfig, PairsFiles, ScoreConfig

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.pairs.outputs import BuildReport
    from shortcut_miner.diagnostics.pairs.score import ScoreReport
    from shortcut_miner.timing import OnStage

Method = Annotated[PairsConfig, Parameter(name="*", group=METHOD)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]
Input = Annotated[Path | None, Parameter(group=INPUTS)]

_DEFAULT_METHOD, _DEFAULT_SCORE = PairsConfig(), ScoreConfig()


def build(
    folder: Input = None,
    /,
    *,
    questions: Input = None,
    annotations: Input = None,
    pairs: Input = None,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    out: BuildOut = None,
    force: Force = False,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build a pairs folder.

    Parameters
    ----------
    folder : Path, optional
        What vqa-ce build wrote: pairs are found among its questions, by its rules.
    questions : Path, optional
        In place of a folder: VQA questions JSON, another released set with its answers, or one table.
    annotations : Path, optional
        The annotations of a VQA questions JSON.
    pairs : Path, optional
        Complementary pairs to take as they are, in place of finding some: a JSON list of [id, id].
    """
    files = PairsFiles(folder=folder, questions=questions, annotations=annotations, pairs=pairs)

    def work(target: Path | None, on_stage: "OnStage | None") -> "BuildReport":
        from shortcut_miner.diagnostics.pairs.build import build as build_folder

        return build_folder(files, method, target, limit=rows, force=force, on_stage=on_stage)

    return run_build(
        work, out=out, dry_run=dry_run, shown=shown, show=show_words, kernels=("match",) if folder else None
    )


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
    """Score models on a pairs folder.

    Parameters
    ----------
    folder : Path
        What pairs build wrote.
    predictions : list of str
        NAME=FILE for each model: its answers to the questions of the pairs; others may be there. NAME=F1,F2
        or NAME=FOLDER joins the files of one model.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and shortcuts (Parquet).
    most : int
        Most rules to print of each model.
    """
    files = file_lists(predictions, "--predictions")

    def work(target: Path | None, on_stage: "OnStage | None") -> "ScoreReport":
        from shortcut_miner.diagnostics.pairs.score import score as score_folder

        return score_folder(folder, files, method, target, force=force, on_stage=on_stage)

    return run_score(
        work,
        folder=folder,
        out=out,
        dry_run=dry_run,
        shown=shown,
        document=lambda report: score_document(report, most),
        show=lambda report: print_scores(report, most),
    )


def score_document(report: "ScoreReport", most: int) -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    document: dict[str, Any] = {"scores": as_dict(report.scores)}
    if report.differences is not None:
        document["differences"] = as_dict(report.differences)
    if report.shortcuts is not None:
        first = report.shortcuts.group_by("model", maintain_order=True).head(most)
        document["shortcuts"] = first.to_dicts()
    return document


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print a row a metric, both right by modality and answer type, and the rules that models follow."""
    import polars as pl

    from shortcut_miner.scoring.tables import value_text

    print_title("Pairs, in percent [95% interval]")
    print_models(report.scores.filter(group="overall"), ("metric", "n"), value_text)
    print_title("Both right, in percent [95% interval]")
    parts = report.scores.filter(pl.col("metric") == "pair_accuracy", pl.col("group") != "overall")
    print_models(parts, ("group", "subgroup", "n"), value_text)
    if report.differences is not None:
        print_title(f"Difference to {report.differences['baseline'][0]} in points [95% interval]")
        print_models(report.differences.filter(group="overall"), ("metric", "n"), value_text)
    if report.shortcuts is not None and most:
        for (model,), table in report.shortcuts.group_by("model", maintain_order=True):
            print_shortcuts(str(model), table, most)


def print_shortcuts(model: str, table: "pl.DataFrame", most: int) -> None:
    """Print the rules whose answer a model gives to both questions of most pairs."""
    followed = table.filter(table["shortcuts"] > 0)
    count = f"{len(followed):,}" if len(followed) else "none"
    print_title(f"Shortcuts of {model}: follows {count} of {len(table):,} rules on both sides of a pair")
    columns = {
        "rule_id": "rule", "antecedent_words": "words", "antecedent_objects": "objects",
        "antecedent_attributes": "attributes", "answer": "answer", "pairs": "pairs",
        "shortcuts": "follows", "both_right": "both right",
    }  # fmt: skip
    there = [name for name in columns if name in table.columns]
    if len(followed):
        print_table(
            [columns[name] for name in there],
            followed.select(there).head(most).rows(),
            right=("rule", "pairs", "follows", "both right"),
            spare=("both right", "rule"),
        )


HELP = "Pairs of questions that a shortcut answers right once and wrong once (after Goyal et al., CVPR 2017)."
COMMANDS = (
    Command(
        ("pairs", "build"),
        build,
        "Find pairs of questions that one rule answers alike, right on one and wrong on the other.",
        f"{ENTER}\nshortcut-miner pairs build vqa-ce --match question_type --out my-pairs\n"
        "shortcut-miner pairs build \\\n"
        "    --questions world/v2_OpenEnded_mscoco_val2014_questions.json \\\n"
        "    --annotations world/v2_mscoco_val2014_annotations.json \\\n"
        "    --out pairs-of-texts",
    ),
    Command(
        ("pairs", "score"),
        score,
        "Score how often models are right on both questions of a pair, or follow the shortcut on both.",
        f"{ENTER}\nshortcut-miner pairs score pairs \\\n"
        "    --predictions leaning=world/shortcut_model_results.json \\\n"
        "    --predictions grounded=world/grounded_model_results.json",
    ),
)
