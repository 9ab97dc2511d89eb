"""``vqa-ce score``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.console import note, print_json, print_table, print_title, progress
from shortcut_miner.cli.kernels import note_compiling
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INPUTS,
    METHOD,
    ConfigFile,
    DryRun,
    MostShown,
    Out,
    Shown,
    check_out,
    named_files,
)
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig
from shortcut_miner.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.vqa_ce.score import ScoreReport

Method = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]

_DEFAULT_METHOD = ScoreConfig()
_SHORT_GROUPS = ("overall", "subset", "answer_type")
# Column of the exploited shortcuts -> its heading.
_EXPLOITED = {
    "rule_id": "rule",
    "antecedent_words": "words",
    "antecedent_objects": "objects",
    "answer": "answer",
    "firing_count": "fires",
    "agreement": "agrees",
    "counterexample_count": "counterexamples",
    "counterexample_agreement": "agrees there",
    "counterexample_q_value": "q there",
}
_NUMBERS = ("rule", "fires", "agrees", "counterexamples", "agrees there", "q there")


def score(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    predictions: Annotated[list[str], Parameter(group=INPUTS, consume_multiple=True, negative=())],
    soft_labels: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    out: Out = None,
    dry_run: DryRun = False,
    most: MostShown = 10,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on a VQA-CE folder.

    Parameters
    ----------
    folder : Path
        What vqa-ce build wrote.
    predictions : list of str
        NAME=FILE for each model: VQA results JSON, JSONL, CSV or Parquet with question_id and answer,
        lmms-eval samples or VLMEvalKit results.
    soft_labels : Path, optional
        {answer: weight} of each question (LXMERT, OK-VQA), to score by weight instead of annotators' answers.
    config : Path, optional
        TOML file with options of this group, such as resamples = 100. Options given here win over it.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and exploited shortcuts (Parquet).
    dry_run : bool
        Write nothing, even with --out.
    most : int
        Most exploited shortcuts to print of each model.
    """
    files = named_files(predictions, "--predictions")
    if out is not None:
        if out.resolve() == folder.resolve():
            raise ConfigError(
                f"--out {out}: got the build's own folder, expected another. Choose another name."
            )
        check_out(out)
    from shortcut_miner.diagnostics.vqa_ce.score import score as score_folder

    note_compiling(shown, "match")
    with progress(shown) as on_stage:
        if on_stage is not None:
            on_stage("score")
        report = score_folder(folder, files, method, None if dry_run else out, soft_labels=soft_labels)
    for text in report.notes:
        note(shown, f"note: {text}")
    if shown.format == "json":
        print_json(score_document(report, most))
    else:
        print_scores(report, most)
    return DONE


def score_document(report: "ScoreReport", most: int) -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    document: dict[str, Any] = {"scores": as_dict(report.scores)}
    if report.differences is not None:
        document["differences"] = as_dict(report.differences)
    exploited = report.exploited.group_by("model", maintain_order=True).head(most)
    return document | {"exploited_shortcuts": exploited.to_dicts()}


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print accuracies, differences to the baseline, and the shortcuts that are exploited most surely."""
    print_title("Accuracy in percent [95% interval]")
    print_accuracy(report.scores)
    if report.differences is not None:
        print_title("Difference in accuracy, question by question [95% interval]")
        print_accuracy(report.differences)
    for (model,), table in report.exploited.group_by("model", maintain_order=True):
        print_title(f"Shortcuts of {model}: {len(table):,} rules fire often enough, the surest first")
        rows = table.select(*_EXPLOITED).head(most).rows()
        print_table(tuple(_EXPLOITED.values()), rows, right=_NUMBERS)


def print_accuracy(summary: "pl.DataFrame") -> None:
    """Print a row a subgroup and a column a model; question types are many, so in files and JSON only."""
    import polars as pl

    is_short = pl.col("group").is_in(_SHORT_GROUPS)
    cells: dict[tuple[str, str, int], dict[str, str]] = {}
    for row in summary.filter(is_short).iter_rows(named=True):
        model = f"{row['model']} - {row['baseline']}" if row.get("baseline") else row["model"]
        interval = "" if row["low"] is None else f" [{row['low']:.1f}, {row['high']:.1f}]"
        place = (row["group"], row["subgroup"] or "(not known)", row["n"])
        cells.setdefault(place, {})[model] = f"{row['value']:.2f}{interval}"
    models = list(dict.fromkeys(model for found in cells.values() for model in found))
    rows = [(*place, *(found.get(model, "") for model in models)) for place, found in cells.items()]
    print_table(("group", "subgroup", "n", *models), rows, right=("n", *models))
