"""Build: read the files, find the shortcuts, write the dataset folder."""

import dataclasses
from functools import partial
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.vqa_ce import figures, outputs, writing
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.frames import HeldFrames
from shortcut_miner.diagnostics.vqa_ce.inputs import count_questions, read_inputs
from shortcut_miner.diagnostics.vqa_ce.outputs import BuildReport
from shortcut_miner.diagnostics.vqa_ce.prepared import prepare_frames
from shortcut_miner.diagnostics.vqa_ce.shortcuts import find_in
from shortcut_miner.diagnostics.vqa_ce.tables import open_tables, with_own_splits
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.search import cut_text
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.timing import OnStage, timed


def build(
    files: VqaCeFiles,
    config: VqaCeConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
    force: bool = False,
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
    threads, backend, on_stage
        See :func:`shortcut_miner.diagnostics.vqa_ce.shortcuts.find_in`.
    force : bool
        Replace the folder of a build with other options.

    Raises
    ------
    SourceError, ConfigError
        Bad input, or an output folder that can't be written; nothing on disk is changed then.
    """
    files = with_own_splits(files, config)
    opened = open_tables(files, config)
    config = config.for_files(files, has_labels=opened is not None and opened.has_labels)
    chosen = resolve_backend(backend)
    run = Run(
        files=files, backend=chosen.name, threads=threads or thread_count(), on_stage=on_stage, force=force
    )
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.file_names(config))
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit, opened)
    with timed(run.costs, "encode", on_stage):
        prepared = prepare_frames(inputs.train, inputs.val, inputs.labels, config)
    found = find_in(
        prepared, config, HeldFrames(),
        threads=run.threads, backend=chosen, costs=run.costs, on_stage=on_stage,
    )  # fmt: skip
    facts = inputs.facts
    if config.max_rules is None:
        run.limits["max_rules"] = found.max_rules
    if not found.is_complete:
        cut = cut_text(found.max_rules, derived=config.max_rules is None)
        facts = dataclasses.replace(facts, warnings=(*facts.warnings, cut))
        config = dataclasses.replace(config, max_rules=found.max_rules)  # what the result depends on
    provenance, told = figures.describe(facts, count_questions(inputs, config), found, config, limit)
    if out is not None:
        publish(
            out,
            run,
            lambda folder: writing.write(folder, found, config, provenance, told),
            notes=facts.notes,
            warnings=facts.warnings,
        )
    return BuildReport.of(
        run,
        facts,
        provenance,
        out=out,
        figures=told,
        words=figures.in_words(provenance),
        tables={name: partial(_whole, blocks) for name, blocks in writing.blocks_of(found, config).items()},
        is_complete=found.is_complete,
    )


def _whole(blocks: writing.Blocks) -> pl.DataFrame:
    return pl.concat(blocks())
