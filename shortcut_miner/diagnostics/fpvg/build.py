"""Build: read the files, find every question's relevant and irrelevant regions, write the folder."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import polars as pl

from shortcut_miner.diagnostics.fpvg import outputs
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles
from shortcut_miner.diagnostics.fpvg.inputs import read_inputs
from shortcut_miner.diagnostics.fpvg.lists import region_lists
from shortcut_miner.timing import StageCost, timed

OnStage = Callable[[str], None]


@dataclasses.dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did, for the console and for programs.

    Attributes
    ----------
    out : Path or None
        The folder written; None for a dry run.
    lists : pl.DataFrame
        The region lists; see :func:`shortcut_miner.diagnostics.fpvg.lists.region_lists`.
    counts : dict of str to int
        Questions, images, and how many questions each exclusion took, as in the manifest.
    figures : dict of str to float or None
        Mean regions of an evaluable question: all, relevant, irrelevant (the article's Table 5).
    dropped : dict of str to int
        Rows skipped on request, by reason.
    notes, warnings : tuple of str
        What was decided, and what may be wrong.
    costs : list of StageCost
        By stage.
    is_complete : bool
        False if rows were skipped on request.
    """

    out: Path | None
    lists: pl.DataFrame
    counts: dict[str, int]
    figures: dict[str, float | None]
    dropped: dict[str, int]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    costs: list[StageCost]
    is_complete: bool


def build(
    files: FpvgFiles,
    config: FpvgConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the files, find the region lists and write the dataset folder.

    Parameters
    ----------
    files : FpvgFiles
        Inputs.
    config : FpvgConfig
        Options.
    out : Path or None
        Folder to write; None computes without writing.
    limit : int, optional
        Use the first questions only, to try things out.
    on_stage : callable, optional
        Called with the name of each stage before it starts.

    Raises
    ------
    SourceError, ConfigError, BackendError
        Bad input, or an output folder that can't be written; nothing on disk is changed then.
    """
    costs: list[StageCost] = []
    with timed(costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    with timed(costs, "match", on_stage):
        lists = region_lists(inputs, config)
    provenance, figures = outputs.describe(inputs, lists, config, limit)
    if out is not None:
        with timed(costs, "write", on_stage):
            outputs.write(out, inputs, lists, config, provenance, figures)
        outputs.write_run_record(out, files, costs, inputs)
    return BuildReport(
        out=out,
        lists=lists,
        counts=dict(provenance.counts),
        figures=figures,
        dropped=dict(provenance.dropped),
        notes=inputs.notes,
        warnings=inputs.warnings,
        costs=costs,
        is_complete=not inputs.dropped,
    )
