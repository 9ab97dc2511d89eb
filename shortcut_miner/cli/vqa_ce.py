"""``vqa-ce build`` and ``vqa-ce sweep``."""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from shortcut_miner.cli.console import cost_text, note, print_fields, print_frame, print_json, progress, warn
from shortcut_miner.cli.kernels import note_compiling
from shortcut_miner.cli.options import (
    DEFAULT_SHOWN,
    DONE,
    INCOMPLETE,
    INPUTS,
    METHOD,
    ConfigFile,
    DryRun,
    FirstRows,
    Out,
    Shown,
    Threads,
    check_out,
    numbers_list,
)
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.vqa_ce.build import BuildReport

Files = Annotated[VqaCeFiles, Parameter(name="*", group=INPUTS)]
Method = Annotated[VqaCeConfig, Parameter(name="*", group=METHOD)]
Counts = Annotated[list[int], Parameter(group=METHOD, converter=numbers_list, negative=())]
Confidences = Annotated[list[float], Parameter(group=METHOD, converter=numbers_list, negative=())]
Scorer = Annotated[Literal["vqa-official", "vqa-normalized", "exact"], Parameter(group=METHOD)]

_DEFAULT_METHOD = VqaCeConfig()


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
    """Build a VQA-CE folder.

    Parameters
    ----------
    rows : int, optional
        Use the first questions of both splits only, to try things out.
    config : Path, optional
        TOML file with options of this group, such as min_count = 8. Options given here win over it.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    out : Path, optional
        Folder to write. Needed, except with --dry-run.
    dry_run : bool
        Do all the work, but write nothing.
    """
    if out is None and not dry_run:
        raise ConfigError("--out: got none, expected a folder. Give --out, or --dry-run to write nothing.")
    if out is not None:
        check_out(out)
    from shortcut_miner.diagnostics.vqa_ce.build import build as build_folder

    started = time.perf_counter()
    note_compiling(shown)
    with progress(shown) as on_stage:
        report = build_folder(
            files, method, None if dry_run else out, limit=rows, threads=threads, on_stage=on_stage
        )
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
        "dropped": report.dropped,
        "notes": report.notes,
        "warnings": report.warnings,
        "is_complete": report.is_complete,
        "wall_seconds": wall_seconds,
        "stages": [dataclasses.asdict(cost) for cost in report.costs],
    }


def build_fields(report: "BuildReport", wall_seconds: float) -> dict[str, str]:
    """Return what a build did in words: what was read, found and written, and how long it took."""
    n = {name: f"{count:,}" for name, count in report.counts.items()}
    kinds = ", ".join(f"{n[f'rules_{kind}']} {kind}" for kind in ("words", "objects", "multimodal"))
    left_out = [f"{count:,} {reason}" for reason, count in report.dropped.items()]
    return {
        "training": f"{n['train_questions']} questions about {n['train_images']} images",
        "validation": f"{n['val_questions']} questions about {n['val_images']} images",
        "left out": "; ".join(left_out) if left_out else "nothing",
        "rules": f"{n['rules']} ({kinds}), each in {n['min_count']} or more training rows",
        "classifier": f"{n['classifier_rules']} of them",
        "split": f"{n['easy']} easy, {n['counterexamples']} counterexamples, {n['hard']} hard",
        "written": "nothing (dry run)" if report.out is None else str(report.out),
        "took": cost_text(report.costs, wall_seconds),
    }


def sweep(
    files: Files,
    *,
    rows: FirstRows = None,
    min_counts: Counts = [8, 16, 32, 64],  # noqa: B006  # cyclopts shows it as the default; never changed
    min_confidences: Confidences = [0.2, 0.3, 0.5, 0.7, 0.9],  # noqa: B006
    scorer: Scorer = "vqa-official",
    method: Method = _DEFAULT_METHOD,
    config: ConfigFile = None,
    threads: Threads = None,
    out: Out = None,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Compare thresholds.

    Parameters
    ----------
    rows : int, optional
        Use the first questions of both splits only, to try things out.
    min_counts : list of int
        Thresholds in place of --min-count, with commas between them.
    min_confidences : list of float
        Thresholds in place of --min-confidence, with commas between them.
    scorer : str
        How the rule classifier's answers are scored.
    config : Path, optional
        TOML file with options of this group. Options given here win over it.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    out : Path, optional
        Folder to write sweep.parquet and manifest.json.
    dry_run : bool
        Write nothing, even with --out.
    """
    _check_thresholds_alone(method)
    if out is not None:
        check_out(out)
    from shortcut_miner.diagnostics.vqa_ce.sweep import sweep as sweep_thresholds

    started = time.perf_counter()
    note_compiling(shown)
    with progress(shown) as on_stage:
        table = sweep_thresholds(
            files,
            method,
            min_counts=min_counts,
            min_confidences=min_confidences,
            scorer=scorer,
            limit=rows,
            threads=threads,
            on_stage=on_stage,
        )
    if out is not None and not dry_run:
        chosen = {
            "min_counts": min_counts,
            "min_confidences": min_confidences,
            "scorer": scorer,
            "limit": rows,
        }
        _write_sweep(out, table, files, dataclasses.asdict(method) | chosen)
    if shown.format == "json":
        print_json({"sweep": table.to_dicts()})
    else:
        print_frame(table)
    note(shown, f"took {time.perf_counter() - started:.1f} s")
    return DONE


def _check_thresholds_alone(method: VqaCeConfig) -> None:
    for name, replaced_by in (("min_count", "min_counts"), ("min_confidence", "min_confidences")):
        if getattr(method, name) != getattr(_DEFAULT_METHOD, name):
            given, wanted = (f"--{one.replace('_', '-')}" for one in (name, replaced_by))
            raise ConfigError(f"{given}: got one threshold, expected several. Give {wanted} in a sweep.")
    if method.min_support is not None:
        raise ConfigError("--min-support: got a share, expected counts. Give --min-counts in a sweep.")


def _write_sweep(out: Path, table: "pl.DataFrame", files: VqaCeFiles, config: dict[str, Any]) -> None:
    from shortcut_miner.storage import (
        MANIFEST,
        Provenance,
        file_sha256,
        staged_folder,
        write_json,
        write_parquet,
    )

    given = {role: Path(path) for role, path in dataclasses.asdict(files).items() if path is not None}
    inputs = [
        {"role": role, "name": path.name, "size": path.stat().st_size, "sha256": file_sha256(path)}
        for role, path in given.items()
        if path.is_file()
    ]
    provenance = Provenance(
        command="vqa-ce sweep", config=config, inputs=(), counts={"thresholds": len(table)}, dropped={}
    )
    with staged_folder(out) as folder:
        write_parquet(table, folder / "sweep.parquet", provenance)
        write_json(provenance.for_manifest() | {"inputs": inputs}, folder / MANIFEST)
