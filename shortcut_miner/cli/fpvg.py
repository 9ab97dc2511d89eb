"""``fpvg build`` and ``fpvg score``."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
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
    check_out,
    named_files,
)
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles, ScoreConfig
from shortcut_miner.errors import ConfigError, examples

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.fpvg.answers import ModelRun
    from shortcut_miner.diagnostics.fpvg.build import BuildReport
    from shortcut_miner.diagnostics.fpvg.score import ScoreReport

Files = Annotated[FpvgFiles, Parameter(name="*", group=INPUTS)]
Method = Annotated[FpvgConfig, Parameter(name="*", group=METHOD)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]
Named = Annotated[list[str], Parameter(group=INPUTS, consume_multiple=True, negative=())]
OptionallyNamed = Annotated[list[str] | None, Parameter(group=INPUTS, consume_multiple=True, negative=())]

_DEFAULT_METHOD = FpvgConfig()
_DEFAULT_SCORE = ScoreConfig()
_EXCLUSIONS = {
    "no_annotation": "without annotation",
    "image_not_in_scene_graphs": "about images without scene graph",
    "object_missing_in_the_graph": "with objects that the graph lacks",
    "no_detections": "about images without detections",
    "no_relevant_region": "without a relevant region",
    "no_irrelevant_region": "without an irrelevant region",
}
_SHOWN_METRICS = (
    "fpvg_plus", "good_correct", "good_wrong", "bad_correct", "bad_wrong", "accuracy_all",
    "accuracy_relevant", "accuracy_irrelevant", "correct_to_incorrect_plus", "correct_to_incorrect_minus",
    "sufficiency", "comprehensiveness", "match_relevant", "match_irrelevant",
)  # fmt: skip


def build(
    files: Files,
    *,
    rows: FirstRows = None,
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    out: Out = None,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Build an FPVG folder.

    Parameters
    ----------
    rows : int, optional
        Use the first questions only, to try things out.
    config : Path, optional
        TOML file with options of this group, such as relevant = "final". Options given here win over it.
    out : Path, optional
        Folder to write. Needed, except with --dry-run.
    dry_run : bool
        Do all the work, but write nothing.
    """
    if out is None and not dry_run:
        raise ConfigError("--out: got none, expected a folder. Give --out, or --dry-run to write nothing.")
    if out is not None:
        check_out(out)
    from shortcut_miner.diagnostics.fpvg.build import build as build_folder

    started = time.perf_counter()
    with progress(shown) as on_stage:
        report = build_folder(files, method, None if dry_run else out, limit=rows, on_stage=on_stage)
    show_build(report, shown, time.perf_counter() - started)
    return DONE if report.is_complete else INCOMPLETE


def show_build(report: "BuildReport", shown: Shown, wall_seconds: float) -> None:
    """Print what a build did."""
    for text in report.notes:
        note(shown, f"note: {text}")
    for text in report.warnings:
        warn(text)
    if shown.format == "json":
        print_json(build_document(report, wall_seconds))
    else:
        print_fields(build_fields(report, wall_seconds))


def build_document(report: "BuildReport", wall_seconds: float) -> dict[str, Any]:
    """Return what a build did as one JSON object."""
    return {
        "out": report.out,
        "counts": report.counts,
        "figures": report.figures,
        "dropped": report.dropped,
        "notes": report.notes,
        "warnings": report.warnings,
        "is_complete": report.is_complete,
        "wall_seconds": wall_seconds,
        "stages": [dataclasses.asdict(cost) for cost in report.costs],
    }


def build_fields(report: "BuildReport", wall_seconds: float) -> dict[str, str]:
    """Return what a build did in words."""
    n = {name: f"{count:,}" for name, count in report.counts.items()}
    left_out = [f"{n[name]} {text}" for name, text in _EXCLUSIONS.items() if report.counts[name]]
    skipped = [f"{count:,} {reason}" for reason, count in report.dropped.items()]
    means = {name: "-" if value is None else f"{value:.1f}" for name, value in report.figures.items()}
    regions = ", ".join(
        f"{means[f'mean_regions_{kind}']} {text}"
        for kind, text in (("all", "in all"), ("relevant", "relevant"), ("irrelevant", "irrelevant"))
    )
    return {
        "questions": f"{n['questions']} about {n['images']} images",
        "detections": f"{n['regions']} regions in {n['images_with_detections']} of these images",
        **({"skipped": "; ".join(skipped)} if skipped else {}),
        "evaluable": f"{n['evaluable']} questions about {n['evaluable_images']} images",
        "not": "; ".join(left_out) if left_out else "none",
        "regions": f"{regions} per evaluable question",
        "written": "nothing (dry run)" if report.out is None else str(report.out),
        "took": cost_text(report.costs, wall_seconds),
    }


def score(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    all_: Annotated[list[str], Parameter(name="--all", group=INPUTS, consume_multiple=True, negative=())],
    relevant: Named,
    irrelevant: Named,
    ids: OptionallyNamed = None,
    importance: OptionallyNamed = None,
    method: ScoreMethod = _DEFAULT_SCORE,
    config: ConfigFile = None,
    out: Out = None,
    dry_run: DryRun = False,
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Score models on an FPVG folder.

    Parameters
    ----------
    folder : Path
        What fpvg build wrote.
    all_ : list of str
        NAME=FILE for each model: its answers with all regions. NAME@SEED=FILE for several runs of a model.
        With a column probability (of the answer given with all regions) in all three files of a model,
        sufficiency and comprehensiveness too.
    relevant : list of str
        NAME=FILE: its answers with the relevant regions only.
    irrelevant : list of str
        NAME=FILE: its answers with the irrelevant regions only.
    ids : list of str, optional
        NAME=FILE: lists of questions to evaluate instead of all evaluable ones; of two lists also the drop.
    importance : list of str, optional
        NAME=FILE: question_id, region_index and importance of a model's regions.
    config : Path, optional
        TOML file with options of this group, such as resamples = 100. Options given here win over it.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and each question's category.
    dry_run : bool
        Write nothing, even with --out.
    most : int
        Most types of question to print.
    """
    runs = _runs(all_, relevant, irrelevant)
    if out is not None:
        if out.resolve() == folder.resolve():
            raise ConfigError(
                f"--out {out}: got the build's own folder, expected another. Choose another name."
            )
        check_out(out)
    from shortcut_miner.diagnostics.fpvg.score import score as score_folder

    with progress(shown) as on_stage:
        report = score_folder(
            folder,
            runs,
            method,
            None if dry_run else out,
            id_lists=named_files(ids or (), "--ids"),
            importance=named_files(importance or (), "--importance"),
            on_stage=on_stage,
        )
    for text in report.notes:
        note(shown, f"note: {text}")
    if shown.format == "json":
        print_json(score_document(report))
    else:
        print_scores(report, most)
    return DONE


def _runs(all_: Sequence[str], relevant: Sequence[str], irrelevant: Sequence[str]) -> "list[ModelRun]":
    from shortcut_miner.diagnostics.fpvg.answers import ModelRun

    given = {"--all": all_, "--relevant": relevant, "--irrelevant": irrelevant}
    files: dict[str, Mapping[str, Path]] = {name: named_files(values, name) for name, values in given.items()}
    names = list(files["--all"])
    for option, named in files.items():
        if set(named) != set(names):
            raise ConfigError(
                f"{option}: got the names {examples(named)}, expected {examples(names)}, as in --all. "
                "Give three files of each model."
            )
    runs = []
    for name in names:
        model, _, seed = name.partition("@")
        all_file, relevant_file, irrelevant_file = (named[name] for named in files.values())
        runs.append(
            ModelRun(model=model, seed=seed, all=all_file, relevant=relevant_file, irrelevant=irrelevant_file)
        )
    return runs


def score_document(report: "ScoreReport") -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    document: dict[str, Any] = {"scores": as_dict(report.scores), "outcomes": report.outcomes.to_dicts()}
    for name in ("seeds", "drops", "quadrants"):
        table = getattr(report, name)
        if table is not None:
            document[name] = table.to_dicts()
    return document


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print FPVG, accuracies and ratios over all questions, FPVG+ per type, and what else there is."""
    import polars as pl

    scores = report.scores
    print_title("Shares and accuracies in percent, ratios as they are [95% interval]")
    print_metrics(scores.filter(pl.col("subgroup") == "all", pl.col("metric").is_in(_SHOWN_METRICS)))
    by_type = scores.filter(pl.col("subgroup") != "all", pl.col("metric") == "fpvg_plus")
    if len(by_type) and most:
        print_title("FPVG+ by type of question")
        print_metrics(by_type, most)
    for name, title in (("seeds", "Median and largest deviation over runs"), ("drops", "Drop between lists")):
        table = getattr(report, name)
        if table is not None:
            print_title(title)
            is_shown = pl.col("metric").is_in(_SHOWN_METRICS)
            is_whole = pl.col("subgroup") == "all" if "subgroup" in table.columns else True
            print_frame(table.filter(is_shown, is_whole))


def print_metrics(scores: "pl.DataFrame", most: int | None = None) -> None:
    """Print a row a figure and subgroup, at most so many, and a column a model."""
    cells: dict[tuple[str, str, str, int], dict[str, str]] = {}
    for row in scores.iter_rows(named=True):
        interval = "" if row["low"] is None else f" [{row['low']:.2f}, {row['high']:.2f}]"
        place = (row["metric"], row["group"], row["subgroup"] or "(not known)", row["n"])
        cells.setdefault(place, {})[row["model"]] = f"{row['value']:.2f}{interval}"
    models = list(dict.fromkeys(model for found in cells.values() for model in found))
    rows = [(*place, *(found.get(model, "") for model in models)) for place, found in cells.items()][:most]
    print_table(("metric", "group", "subgroup", "n", *models), rows, right=("n", *models))
