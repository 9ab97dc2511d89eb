"""Build: read the files, draw the plan, write the folder."""

import dataclasses
from pathlib import Path

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.swapmix import outputs
from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.swapmix.inputs import read_inputs
from shortcut_miner.diagnostics.swapmix.outputs import BuildReport, Drawn
from shortcut_miner.diagnostics.swapmix.prepared import prepare_plan
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.timing import OnStage, timed

_STAGE = "draw and write"


def build(
    files: SwapMixFiles,
    config: SwapMixConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    threads: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the files, draw the plan and write the folder.

    Parameters
    ----------
    files : SwapMixFiles
        Inputs.
    config : SwapMixConfig
        Options.
    out : Path or None
        Folder to write; None draws the plan without writing.
    limit : int, optional
        Use the first questions only, to try things out.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    force : bool
        Replace the folder of a build with other options.
    on_stage : callable, optional
        Told the name of each stage before it starts.

    Raises
    ------
    SourceError, ConfigError
        Bad input, or an output folder that can't be written; nothing on disk is changed then.
    """
    run = Run(files=files, backend="numba", threads=threads or thread_count(), on_stage=on_stage, force=force)
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.file_names(config))
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    with timed(run.costs, "prepare", on_stage):
        ready = prepare_plan(inputs, config, files)
    facts = dataclasses.replace(inputs.facts, warnings=(*inputs.facts.warnings, *outputs.warnings(ready)))
    done: list[Drawn] = []

    def draw(folder: Path | None) -> None:
        done.append(outputs.draw_plan(folder, inputs, ready, config, limit, run.threads))

    if out is None:
        with timed(run.costs, _STAGE, on_stage):
            draw(None)
    else:
        publish(out, run, draw, notes=facts.notes, warnings=facts.warnings, stage=_STAGE)
    (drawn,) = done
    return BuildReport.of(
        run,
        facts,
        drawn.provenance,
        out=out,
        figures=outputs.figures(ready),
        words=outputs.in_words(drawn.provenance),
        tables=outputs.make_tables(inputs, ready, drawn, config, run.threads),
    )
