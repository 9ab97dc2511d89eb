"""Build: read the questions, split them anew, write the folder."""

import dataclasses
from pathlib import Path

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.resplit import outputs
from shortcut_miner.diagnostics.resplit.config import ResplitConfig, ResplitFiles
from shortcut_miner.diagnostics.resplit.inputs import read_inputs
from shortcut_miner.diagnostics.resplit.outputs import BuildReport
from shortcut_miner.diagnostics.resplit.split import split_questions
from shortcut_miner.timing import OnStage, timed


def build(
    files: ResplitFiles,
    config: ResplitConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the questions, split them anew and write the folder.

    Parameters
    ----------
    files : ResplitFiles
        Inputs.
    config : ResplitConfig
        Options.
    out : Path or None
        Folder to write; None computes without writing.
    limit : int, optional
        Use the first questions of each file only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input, or a folder that can't be written; nothing on disk is changed then.
    """
    config.check_files(files)
    run = Run(files=files, on_stage=on_stage, force=force)
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.file_names(config))
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    with timed(run.costs, "split", on_stage):
        made = split_questions(inputs, config)
    facts = dataclasses.replace(inputs.facts, warnings=(*inputs.facts.warnings, *made.warnings))
    provenance, figures = outputs.describe(inputs, made, config, limit)
    tables = outputs.make_tables(inputs, made)
    if out is not None:
        publish(
            out,
            run,
            lambda folder: outputs.write(folder, tables, provenance, figures, flat=config.flat),
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
    )
