"""Build: read the questions, augment them, write the folder."""

from pathlib import Path

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.rad import outputs
from shortcut_miner.diagnostics.rad.augment import augment_questions
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles
from shortcut_miner.diagnostics.rad.inputs import read_inputs
from shortcut_miner.diagnostics.rad.outputs import BuildReport
from shortcut_miner.errors import ConfigError
from shortcut_miner.storage import LEAK_RECORD
from shortcut_miner.timing import OnStage, timed


def build(
    files: RadFiles,
    config: RadConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    force: bool = False,
    check_leak: bool = False,
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
    force : bool
        Replace the folder of a build with other options.
    check_leak : bool
        Also measure how far the answers can be guessed from text alone, into leak.json.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, ConfigError, BackendError
        Bad input, a folder that can't be written, no spaCy model; nothing on disk is changed then.
    """
    run = Run(files=files, backend="spacy", on_stage=on_stage, force=force)
    _check_pools(files, config)
    names = [*outputs.file_names(config), *([LEAK_RECORD] if check_leak else [])]
    run.check_out(out, outputs.COMMAND, options_of(config, limit), names)
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    made = augment_questions(
        inputs.questions,
        config,
        pools=inputs.pools,
        balance=inputs.balance,
        costs=run.costs,
        on_stage=on_stage,
    )
    leak = None
    if check_leak:
        with timed(run.costs, "check for leaks", on_stage):
            leak = outputs.find_leak(made.augmentations)
    facts = inputs.facts
    provenance, figures = outputs.describe(inputs, made, config, limit)
    tables = outputs.make_tables(inputs, made)
    if out is not None:
        publish(
            out,
            run,
            lambda folder: outputs.write(folder, tables, provenance, figures, leak),
            notes=facts.notes,
            warnings=facts.warnings,
        )
    return BuildReport.of(
        run,
        facts,
        provenance,
        out=out,
        figures=figures,
        words=outputs.in_words(provenance, figures, leak),
        tables=tables,
        leak=leak,
    )


def _check_pools(files: RadFiles, config: RadConfig) -> None:
    """Raise ConfigError unless a shard has all that its draw needs of the whole."""
    needed = files.pools is not None and config.draw == "balanced"
    if needed and files.balance is None:
        raise ConfigError(
            "balance: got none beside pools for the draw 'balanced', expected the balance.parquet of the "
            "same build: what a question is asked depends on all others there. Give --balance."
        )
    if files.balance is not None and not needed:
        lacking = "no pools" if files.pools is None else f"the draw {config.draw!r}"
        raise ConfigError(
            f"balance: got a file with {lacking}, expected it beside the pools of the same build and for the "
            "draw 'balanced'. Leave --balance out, or give --pools and --draw balanced."
        )
