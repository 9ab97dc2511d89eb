"""Build: read rules and questions, find the pairs, write the folder."""

from pathlib import Path

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.pairs import outputs
from shortcut_miner.diagnostics.pairs.config import PairsConfig, PairsFiles
from shortcut_miner.diagnostics.pairs.given import checked, positions
from shortcut_miner.diagnostics.pairs.groups import find_groups
from shortcut_miner.diagnostics.pairs.inputs import PairsInputs, read_inputs
from shortcut_miner.diagnostics.pairs.outputs import BuildReport, Made
from shortcut_miner.diagnostics.pairs.pairing import Found, find_pairs
from shortcut_miner.diagnostics.pairs.rows import Rows
from shortcut_miner.timing import OnStage, timed


def build(
    files: PairsFiles,
    config: PairsConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the questions and rules, find the pairs and write the folder.

    Parameters
    ----------
    files : PairsFiles
        Inputs.
    config : PairsConfig
        Options; ``rules`` None becomes "kept", or "none" without a folder.
    out : Path or None
        Folder to write; None computes without writing.
    limit : int, optional
        Use the first questions only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input, or a folder that can't be written; nothing on disk is changed then.
    """
    config = config.for_files(files)
    run = Run(files=files, on_stage=on_stage, force=force)
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.file_names(config))
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    with timed(run.costs, "pair", on_stage):
        made = make_pairs(inputs, config)
    provenance, figures = outputs.describe(inputs, made, config, limit)
    warnings = outputs.warnings_of(made)
    tables = outputs.make_tables(inputs, made, config)
    if out is not None:
        publish(
            out,
            run,
            lambda folder: outputs.write(folder, tables, provenance, figures),
            notes=inputs.facts.notes,
            warnings=warnings,
        )
    return BuildReport.of(
        run,
        outputs.with_warnings(inputs.facts, warnings),
        provenance,
        out=out,
        figures=figures,
        words=outputs.in_words(provenance, figures),
        tables=tables,
    )


def make_pairs(inputs: PairsInputs, config: PairsConfig) -> Made:
    """Return the pairs of the inputs, found or given, and groups if they are wanted."""
    rows = Rows.of(inputs.questions)
    if inputs.pairs is None:
        found, misfits = find_pairs(rows, inputs.rules, config), {}
        groups = find_groups(rows) if config.groups else []
    else:
        given = positions(rows, inputs.pairs)
        found, misfits = Found([(-1, *pair) for pair in given], {}), checked(rows, given)
        groups = find_groups(rows, given) if config.groups else []
    return Made(rows=rows, found=found, groups=groups, misfits=misfits)
