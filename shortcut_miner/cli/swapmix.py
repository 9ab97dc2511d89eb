"""``swapmix build`` and ``swapmix score``."""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.console import (
    cost_text,
    note,
    print_fields,
    print_frame,
    print_json,
    print_table,
    print_title,
    progress,
    warn,
)
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INCOMPLETE,
    INPUTS,
    METHOD,
    ConfigFile,
    DryRun,
    FirstRows,
    MostShown,
    Out,
    Shown,
    Threads,
    check_out,
    named_files,
)
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig, SwapMixConfig, SwapMixFiles
from shortcut_miner.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.swapmix.build import BuildReport
    from shortcut_miner.diagnostics.swapmix.score import ScoreReport

Files = Annotated[SwapMixFiles, Parameter(name="*", group=INPUTS)]
Method = Annotated[SwapMixConfig, Parameter(name="*", group=METHOD)]
Scoring = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]
Results = Annotated[Path | None, Parameter(group=INPUTS)]

_DEFAULT_METHOD = SwapMixConfig()
_DEFAULT_SCORING = ScoreConfig()


def build(
    files: Files,
    *,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    threads: Threads = None,
    out: Out = None,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build a SwapMix plan.

    Parameters
    ----------
    rows : int, optional
        Use the first questions only, to try things out.
    config : Path, optional
        TOML file with options of this group, such as k = 5. Options given here win over it.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    out : Path, optional
        Folder to write. Needed, except with --dry-run.
    dry_run : bool
        Draw the plan, but write nothing.
    """
    if out is None and not dry_run:
        raise ConfigError("--out: got none, expected a folder. Give --out, or --dry-run to write nothing.")
    if out is not None:
        check_out(out)
    from shortcut_miner.diagnostics.swapmix.build import build as build_folder

    started = time.perf_counter()
    with progress(shown) as on_stage:
        report = build_folder(
            files, method, None if dry_run else out, limit=rows, threads=threads, on_stage=on_stage
        )
    wall_seconds = time.perf_counter() - started
    for text in report.notes:
        note(shown, f"note: {text}")
    for text in report.warnings:
        warn(text)
    if shown.format == "json":
        print_json(build_document(report, wall_seconds))
    else:
        print_fields(build_fields(report, wall_seconds))
    return DONE if report.is_complete else INCOMPLETE


def build_document(report: "BuildReport", wall_seconds: float) -> dict[str, Any]:
    """Return what a build did as one JSON object."""
    return {
        "out": report.out,
        "counts": report.counts,
        "dropped": report.dropped,
        "notes": report.notes,
        "warnings": report.warnings,
        "is_complete": report.is_complete,
        "wall_seconds": wall_seconds,
        "stages": [dataclasses.asdict(cost) for cost in report.costs],
    }


def build_fields(report: "BuildReport", wall_seconds: float) -> dict[str, str]:
    """Return what a build did in words: what was read, drawn and written, what is missing and why."""
    n = {name: f"{count:,}" for name, count in report.counts.items()}
    left_out = [f"{count:,} {reason}" for reason, count in report.dropped.items()]
    missing = [
        f"{n[name]} {name.replace('_', ' ')}"
        for name in report.counts
        if "without" in name or "with_" in name or "left_out" in name
        if report.counts[name]
    ]
    return {
        "questions": f"{n['questions_in_plan']} of {n['questions']} about {n['images']} images",
        "left out": "; ".join(left_out) if left_out else "nothing",
        "objects": f"{n['objects']} of {n['classes']} classes; {n['donors']} donors",
        "context": f"{n.get('context_objects', '0')} objects in all questions together",
        "swaps": f"{n.get('class_swaps', '0')} by class ({n.get('class_swaps_to_random_classes', '0')} "
        "to random "
        f"classes), {n.get('attribute_swaps', '0')} by attribute",
        "missing": "; ".join(missing) if missing else "nothing",
        "rows": n.get("rows", "0"),
        "written": "nothing (dry run)" if report.out is None else str(report.out),
        "took": cost_text(report.costs, wall_seconds),
    }


def score(
    folder: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    predictions: Annotated[
        list[str] | None, Parameter(group=INPUTS, consume_multiple=True, negative=())
    ] = None,
    class_results: Results = None,
    attribute_results: Results = None,
    method: Scoring = _DEFAULT_SCORING,
    config: ConfigFile = None,
    out: Out = None,
    dry_run: DryRun = False,
    most: MostShown = 10,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on a SwapMix plan.

    Parameters
    ----------
    folder : Path, optional
        What swapmix build wrote; none with --class-results.
    predictions : list of str, optional
        NAME=FILE for each model: Parquet, CSV, JSONL or JSON with question_id, perturbation and answer.
    class_results : Path, optional
        Result JSON of the released evaluation script's class (object) run, in place of a folder.
    attribute_results : Path, optional
        Result JSON of its attribute run.
    config : Path, optional
        TOML file with options of this group, such as k = 5. Options given here win over it.
    out : Path, optional
        Folder to write the scores (Parquet, JSON, Markdown, LaTeX) and the flips per class (Parquet).
    dry_run : bool
        Write nothing, even with --out.
    most : int
        Most classes to print of each model.
    """
    _check_inputs(folder, predictions, class_results, attribute_results)
    if out is not None:
        if folder is not None and out.resolve() == folder.resolve():
            raise ConfigError(
                f"--out {out}: got the build's own folder, expected another. Choose another name."
            )
        check_out(out)
    files = named_files(predictions or [], "--predictions")
    from shortcut_miner.diagnostics.swapmix.score import score as score_folder
    from shortcut_miner.diagnostics.swapmix.score import score_results

    with progress(shown) as on_stage:
        if on_stage is not None:
            on_stage("score")
        target = None if dry_run else out
        if folder is not None:
            report = score_folder(folder, files, method, target)
        elif class_results is not None and attribute_results is not None:
            report = score_results(class_results, attribute_results, method, target)
    for text in report.notes:
        note(shown, f"note: {text}")
    if shown.format == "json":
        print_json(score_document(report, most))
    else:
        print_scores(report, most)
    return DONE


def _check_inputs(
    folder: Path | None, predictions: list[str] | None, classes: Path | None, attributes: Path | None
) -> None:
    """Raise ConfigError unless there is a folder with predictions, or both result files."""
    if folder is not None and predictions and classes is None and attributes is None:
        return
    if folder is None and not predictions and classes is not None and attributes is not None:
        return
    raise ConfigError(
        "swapmix score: got neither a folder with --predictions nor both --class-results and "
        "--attribute-results (or some of each), expected one of the two. See: shortcut-miner swapmix "
        "score --help"
    )


def score_document(report: "ScoreReport", most: int) -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    flips = report.classes.group_by("model", "kind", maintain_order=True).head(most)
    return {"scores": as_dict(report.scores), "class_flips": flips.to_dicts()}


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print a row a metric and a column a model, and the classes whose swaps flip answers most often."""
    print_title("Percent [95% interval]; reliances are of questions answered right without a swap")
    print_metrics(report.scores)
    for (model, kind), table in report.classes.group_by("model", "kind", maintain_order=True):
        print_title(f"{model}: objects whose {kind} swaps flip right answers, the most often first")
        print_frame(table.drop("model", "kind").head(most))


def print_metrics(scores: "pl.DataFrame") -> None:
    """Print a row a metric: each model's value, interval and n."""
    cells: dict[str, dict[str, str]] = {}
    for row in scores.iter_rows(named=True):
        interval = "" if row["low"] is None else f" [{row['low']:.1f}, {row['high']:.1f}]"
        cells.setdefault(row["metric"].replace("_", " "), {})[row["model"]] = (
            f"{row['value']:.2f}{interval} of {row['n']:,}"
        )
    models = list(dict.fromkeys(scores["model"].to_list()))
    rows = [(metric, *(found.get(model, "") for model in models)) for metric, found in cells.items()]
    print_table(("metric", *models), rows, right=models)
