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
    if files.pools is not None and config.draw == "balanced":
        raise ConfigError(
            "pools: got a file for the draw 'balanced', expected none: what a question is asked depends "
            "on all others there. Leave --pools out and build on the whole set, or choose --draw paper."
        )
    names = [*outputs.file_names(config), *([LEAK_RECORD] if check_leak else [])]
    run.check_out(out, outputs.COMMAND, options_of(config, limit), names)
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    made = augment_questions(inputs.questions, config, pools=inputs.pools, costs=run.costs, on_stage=on_stage)
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
