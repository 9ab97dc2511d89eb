"""Build: read the questions, augment them, write the folder."""

import dataclasses
from pathlib import Path
from typing import Any

from shortcut_miner.diagnostics.rad import outputs
from shortcut_miner.diagnostics.rad.augment import OnStage, augment_questions
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles
from shortcut_miner.diagnostics.rad.inputs import read_inputs
from shortcut_miner.timing import StageCost, timed


@dataclasses.dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did, for the console and for programs.

    Attributes
    ----------
    out : Path or None
        The folder written; None for a dry run.
    counts : dict of str to int
        Questions, augmentations by type, skipped, as in the manifest.
    dropped : dict of str to int
        Questions without an augmentation, and rows skipped on request, by reason.
    figures : dict
        Counts by type, form and reason; the spaCy model.
    notes : tuple of str
        What was decided while reading.
    costs : list of StageCost
        By stage.
    is_complete : bool
        False if rows of the input were skipped on request.
    """

    out: Path | None
    counts: dict[str, int]
    dropped: dict[str, int]
    figures: dict[str, Any]
    notes: tuple[str, ...]
    costs: list[StageCost]
    is_complete: bool


def build(
    files: RadFiles,
    config: RadConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the questions, make their augmentations and write the folder.

    Parameters
    ----------
    files : RadFiles
        Inputs.
    config : RadConfig
        Options.
    out : Path or None
        Folder to write; None computes without writing.
    limit : int, optional
        Use the first questions only, to try things out.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, ConfigError, BackendError
        Bad input, a folder that can't be written, no spaCy model; nothing on disk is changed then.
    """
    costs: list[StageCost] = []
    with timed(costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    made = augment_questions(inputs.questions, config, pools=inputs.pools, costs=costs, on_stage=on_stage)
    provenance, figures = outputs.describe(inputs, made, config, limit)
    if out is not None:
        with timed(costs, "write", on_stage):
            outputs.write(out, inputs, made, provenance, figures)
        outputs.write_run_record(out, files, costs, inputs)
    return BuildReport(
        out=out,
        counts=dict(provenance.counts),
        dropped=dict(provenance.dropped),
        figures=figures,
        notes=inputs.notes,
        costs=costs,
        is_complete=not inputs.dropped,
    )
