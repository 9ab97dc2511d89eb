"""Build: read the files, find the shortcuts, write the dataset folder."""

import dataclasses
from pathlib import Path

from shortcut_miner.diagnostics.vqa_ce import outputs
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
from shortcut_miner.diagnostics.vqa_ce.shortcuts import OnStage, find_shortcuts
from shortcut_miner.timing import StageCost, timed


@dataclasses.dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did, for the console and for programs.

    Attributes
    ----------
    out : Path or None
        The folder written; None for a dry run.
    counts : dict of str to int
        Rows, rules and subset sizes, as in the manifest.
    dropped : dict of str to int
        Rows left out, by reason.
    notes, warnings : tuple of str
        What was decided, and what may be wrong.
    costs : list of StageCost
        By stage.
    is_complete : bool
        False if ``max_rules`` cut the search or rows were skipped on request.
    """

    out: Path | None
    counts: dict[str, int]
    dropped: dict[str, int]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    costs: list[StageCost]
    is_complete: bool


def build(
    files: VqaCeFiles,
    config: VqaCeConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    threads: int | None = None,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the files, find the shortcuts and write the dataset folder.

    Parameters
    ----------
    files : VqaCeFiles
        Inputs.
    config : VqaCeConfig
        Options; ``items`` None becomes both, or words without detections.
    out : Path or None
        Folder to write; None computes without writing.
    limit : int, optional
        Use the first questions only, to try things out.
    threads, on_stage
        See :func:`find_shortcuts`.

    Raises
    ------
    SourceError, ConfigError
        Bad input, or an output folder that can't be written; nothing on disk is changed then.
    """
    if config.items is None:
        config = dataclasses.replace(config, items="both" if files.detections else "words")
    costs: list[StageCost] = []
    with timed(costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    found = find_shortcuts(
        inputs.train, inputs.val, inputs.labels, config, threads=threads, costs=costs, on_stage=on_stage
    )
    provenance, figures = outputs.describe(inputs, found, config, limit)
    if out is not None:
        with timed(costs, "write", on_stage):
            outputs.write(out, inputs, found, config, provenance, figures)
        outputs.write_run_record(out, files, costs, inputs, threads)
    warnings = list(inputs.warnings)
    if not found.is_complete:
        warnings.append(
            f"mining stopped after max_rules = {config.max_rules:,} antecedents; what it found is exact, but "
            "rules are missing. Raise --min-count or --max-rules."
        )
    return BuildReport(
        out=out,
        counts=dict(provenance.counts),
        dropped=dict(provenance.dropped),
        notes=inputs.notes,
        warnings=tuple(warnings),
        costs=costs,
        is_complete=found.is_complete and not inputs.dropped,
    )
