"""Build: read the files, find every question's relevant and irrelevant regions, write the folder."""

from pathlib import Path

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.fpvg import outputs
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles
from shortcut_miner.diagnostics.fpvg.inputs import read_inputs
from shortcut_miner.diagnostics.fpvg.lists import region_lists
from shortcut_miner.diagnostics.fpvg.outputs import BuildReport
from shortcut_miner.timing import OnStage, timed


def build(
    files: FpvgFiles,
    config: FpvgConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    force: bool = False,
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
    force : bool
        Replace the folder of a build with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts.

    Raises
    ------
    SourceError, ConfigError, BackendError
        Bad input, or an output folder that can't be written; nothing on disk is changed then.
    """
    run = Run(files=files, on_stage=on_stage, force=force)
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.file_names(config))
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    with timed(run.costs, "match", on_stage):
        lists = region_lists(inputs, config)
    facts = inputs.facts
    provenance, figures = outputs.describe(inputs, lists, config, limit)
    tables = outputs.make_tables(inputs, lists, config)
    if out is not None:
        publish(
            out,
            run,
            lambda folder: outputs.write(folder, lists, tables, config, provenance, figures),
            notes=facts.notes,
            warnings=facts.warnings,
        )
    return BuildReport.of(
        run,
        facts,
        provenance,
        out=out,
        figures=figures,
        words=outputs.in_words(provenance, figures),
        tables=tables,
        lists=lists,
    )
