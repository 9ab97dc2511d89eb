"""``rad build`` and ``rad score``."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shortcut_miner.cli.console import (
    cost_text,
    note,
    print_fields,
    print_json,
    print_table,
    print_title,
    progress,
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
)
from shortcut_miner.diagnostics.rad.config import PairFiles, RadConfig, RadFiles, ScoreConfig
from shortcut_miner.errors import ConfigError

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.rad.build import BuildReport
    from shortcut_miner.diagnostics.rad.score import ScoreReport

Files = Annotated[RadFiles, Parameter(name="*", group=INPUTS)]
Method = Annotated[RadConfig, Parameter(name="*", group=METHOD)]
Pairs = Annotated[PairFiles, Parameter(name="*", group=INPUTS)]
ScoreMethod = Annotated[ScoreConfig, Parameter(name="*", group=METHOD)]
Answers = Annotated[list[str], Parameter(group=INPUTS, consume_multiple=True, negative=())]

_DEFAULT_METHOD, _DEFAULT_SCORE, _NO_PAIRS = RadConfig(), ScoreConfig(), PairFiles()
_HEADINGS = {
    "rad": "RAD(original, augmented)",
    "rad_backward": "RAD(augmented, original)",
    "accuracy_original": "accuracy, original",
    "accuracy_augmented": "accuracy, augmented",
}


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
    """Build a RAD folder.

    Parameters
    ----------
    rows : int, optional
        Use the first questions only, to try things out.
    config : Path, optional
        TOML file with options of this group, such as mode = "literal". Options given here win over it.
    out : Path, optional
        Folder to write. Needed, except with --dry-run.
    dry_run : bool
        Do all the work, but write nothing.
    """
    if out is None and not dry_run:
        raise ConfigError("--out: got none, expected a folder. Give --out, or --dry-run to write nothing.")
    if out is not None:
        check_out(out)
    from shortcut_miner.diagnostics.rad.build import build as build_folder

    started = time.perf_counter()
    with progress(shown) as on_stage:
        report = build_folder(files, method, None if dry_run else out, limit=rows, on_stage=on_stage)
    for text in report.notes:
        note(shown, f"note: {text}")
    wall_seconds = time.perf_counter() - started
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
        "figures": report.figures,
        "notes": report.notes,
        "is_complete": report.is_complete,
        "wall_seconds": wall_seconds,
        "stages": [dataclasses.asdict(cost) for cost in report.costs],
    }


def build_fields(report: "BuildReport", wall_seconds: float) -> dict[str, str]:
    """Return what a build did in words: what was read and made, what gave nothing and why."""
    counts = report.counts
    fields = {"questions": f"{counts['questions']:,} about {counts['images']:,} images"}
    for name, figures in report.figures["by_type"].items():
        shares = f"{figures['yes']:,} yes, {figures['no']:,} no"
        fields[name] = f"{figures['augmentations']:,} of {figures['openings']:,} that open so ({shares})"
    reasons = sorted(report.dropped.items(), key=lambda one: -one[1])
    fields["no augmentation"] = "; ".join(f"{count:,} {reason}" for reason, count in reasons) or "none"
    model = report.figures["spacy_model"]
    fields["nouns found by"] = f"{model['name']} {model['version']}" if model else "nothing to tag"
    fields["written"] = "nothing (dry run)" if report.out is None else str(report.out)
    fields["took"] = cost_text(report.costs, wall_seconds)
    return fields


def score(
    folder: Annotated[Path | None, Parameter(group=INPUTS)] = None,
    /,
    *,
    original: Answers,
    augmented: Answers,
    files: Pairs = _NO_PAIRS,
    method: ScoreMethod = _DEFAULT_SCORE,
    config: ConfigFile = None,
    out: Out = None,
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
        NAME=FILE for each model: its answers to the augmented questions; a name may come several times.
    config : Path, optional
        TOML file with options of this group, such as resamples = 100. Options given here win over it.
    out : Path, optional
        Folder to write all scores (Parquet, JSON, Markdown, LaTeX) and counts (Parquet).
    dry_run : bool
        Write nothing, even with --out.
    most : int
        Most types of augmentation to print, beside the overall scores.
    """
    source = _source(folder, files)
    models = _files_of(original, "--original"), _files_of(augmented, "--augmented")
    if out is not None:
        if folder is not None and out.resolve() == folder.resolve():
            raise ConfigError(
                f"--out {out}: got the build's own folder, expected another. Choose another name."
            )
        check_out(out)
    from shortcut_miner.diagnostics.rad.score import score as score_files

    with progress(shown) as on_stage:
        if on_stage is not None:
            on_stage("score")
        report = score_files(source, *models, method, None if dry_run else out)
    for text in report.notes:
        note(shown, f"note: {text}")
    if shown.format == "json":
        print_json(score_document(report))
    else:
        print_scores(report, most)
    return DONE


def _source(folder: Path | None, files: PairFiles) -> Path | PairFiles:
    given = ", ".join(f"--{name.replace('_', '-')}" for name in files.given)
    if folder is not None and given:
        raise ConfigError(f"rad score: got a folder and {given}, expected one of them. Leave the other out.")
    if folder is None and not given:
        raise ConfigError(
            "rad score: got neither a folder nor --pairs, expected what rad build wrote, or --pairs with the "
            "questions of both sides. Give one of them."
        )
    return files if folder is None else folder


def _files_of(values: Sequence[str], option: str) -> dict[str, list[Path]]:
    """Return NAME=FILE pairs by name; a name may have several files."""
    files: dict[str, list[Path]] = {}
    for value in values:
        name, separator, path = value.partition("=")
        if not (separator and name and path):
            raise ConfigError(f"{option}: got {value!r}, expected NAME=FILE. Name the model before the file.")
        files.setdefault(name, []).append(Path(path))
    return files


def score_document(report: "ScoreReport") -> dict[str, Any]:
    """Return scores as one JSON object: metric -> group -> subgroup -> model -> value, n, low, high."""
    from shortcut_miner.scoring.tables import as_dict

    return {"scores": as_dict(report.scores), "counts": report.counts.to_dicts()}


def print_scores(report: "ScoreReport", most: int) -> None:
    """Print a table a metric: a row a type of augmentation, a column a model."""
    models = report.counts["model"].unique(maintain_order=True).to_list()
    for (metric,), table in report.scores.group_by("metric", maintain_order=True):
        print_title(f"{_HEADINGS[str(metric)]} in percent [95% interval]")
        cells: dict[str, dict[str, str]] = {}
        for row in table.iter_rows(named=True):
            cells.setdefault(row["subgroup"], {})[row["model"]] = _cell(row)
        rows = [(name, *(found[model] for model in models)) for name, found in cells.items()]
        print_table(("augmentation", *models), rows[: most + 1], right=models)


def _cell(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return "none right to start from"
    interval = "" if row["low"] is None else f" [{row['low']:.1f}, {row['high']:.1f}]"
    return f"{row['value']:.2f}{interval} of {row['n']:,}"
