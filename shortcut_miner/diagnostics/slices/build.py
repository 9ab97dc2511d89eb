"""Build: read rows with their outcome, search their slices, write the folder."""

from pathlib import Path

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.slices import outputs
from shortcut_miner.diagnostics.slices.answers import Models
from shortcut_miner.diagnostics.slices.config import SlicesConfig, SlicesFiles
from shortcut_miner.diagnostics.slices.found import find_slices
from shortcut_miner.diagnostics.slices.inputs import SlicesSources, read_inputs
from shortcut_miner.diagnostics.slices.outputs import BuildReport
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.timing import OnStage, timed


def build(
    files: SlicesFiles,
    models: Models,
    config: SlicesConfig,
    out: Path | None,
    *,
    folder: Path | None = None,
    limit: int | None = None,
    threads: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read rows with their outcome, search their slices and write the folder.

    Parameters
    ----------
    files : SlicesFiles
        Inputs; none with a `folder`.
    models : mapping of str to sequence of Path
        Model -> its answers, one model or two; none of a table.
    config : SlicesConfig
        Options.
    out : Path or None
        Folder to write; None computes without writing.
    folder : Path, optional
        What another build wrote, whose questions are taken.
    limit : int, optional
        Use the first rows only, to try things out.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`. The result is the same for any.
    force : bool
        Replace the folder of a build with other options.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input, or a folder that can't be written; nothing on disk is changed then.
    """
    sources = SlicesSources.of(folder, files, models, config)
    run = Run(
        files=sources, backend="numba", threads=threads or thread_count(), on_stage=on_stage, force=force
    )
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.file_names())
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(sources, config, limit, on_stage)
    with timed(run.costs, "search", on_stage):
        found = find_slices(inputs, config, run.threads)
    facts = inputs.facts
    provenance = outputs.describe(facts, found, config, limit)
    if out is not None:
        publish(
            out,
            run,
            lambda target: outputs.write(target, found, provenance),
            notes=facts.notes,
            warnings=facts.warnings,
        )
    return BuildReport.of(
        run,
        facts,
        provenance,
        out=out,
        figures=found.figures,
        words=outputs.in_words(found, config),
        tables=outputs.make_tables(found),
    )
