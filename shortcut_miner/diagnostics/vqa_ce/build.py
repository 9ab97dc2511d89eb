"""Build: read the files, find the shortcuts, write the dataset folder."""

import contextlib
import dataclasses
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.content_digest import row_sums
from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.vqa_ce import figures, outputs, writing
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import check_objects, count_questions, read_inputs
from shortcut_miner.diagnostics.vqa_ce.outputs import BuildReport
from shortcut_miner.diagnostics.vqa_ce.prepared import Prepared, prepare_frames
from shortcut_miner.diagnostics.vqa_ce.shortcuts import Shortcuts, find_in
from shortcut_miner.diagnostics.vqa_ce.streamed import (
    are_streamed,
    prepare_tables,
    read_detections_after,
    spool_memory,
)
from shortcut_miner.diagnostics.vqa_ce.tables import TABLE_ROLES, Tables, open_tables, with_own_splits
from shortcut_miner.frame_blocks import DiskFrames, FrameSpool, HeldFrames
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.search import cut_text
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.timing import OnStage, timed
from shortcut_miner.work_folders import work_folder


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """Inputs that are read and encoded, and where to go on with them.

    Attributes
    ----------
    prepared : Prepared
        Rows and questions.
    facts : InputFacts
        Records, drops, notes and warnings.
    counts : mapping of str to int
        See :func:`shortcut_miner.diagnostics.vqa_ce.inputs.count_questions`.
    spool : FrameSpool
        For the validation questions with what the rules make of them.
    distribution : Distribution
        Where to mine, with a folder for what is in between.
    """

    prepared: Prepared
    facts: InputFacts
    counts: Mapping[str, int]
    spool: FrameSpool
    distribution: Distribution


def build(
    files: VqaCeFiles,
    config: VqaCeConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
    distribution: Distribution | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the files, find the shortcuts and write the dataset folder.

    Tables that do not fit in memory, and those of a build whose `distribution` says where or in how much
    memory to mine, are read and judged a batch at a time, by way of files. The result is the same.

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
    distribution : Distribution, optional
        Where to mine, in how many shards, in how much memory, and where to keep what is in between: by
        default a hidden folder beside `out`, which a run that is killed leaves for the next one to go on.
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
    distribution = distribution or Distribution()
    run = Run(
        files=files, backend=chosen.name, threads=threads or thread_count(), on_stage=on_stage, force=force,
        executor=distribution.executor_name, limits=distribution.limits,
    )  # fmt: skip
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.file_names(config))
    given = (files, config, out, limit, distribution, run)
    ready_to_mine = (
        _on_disk(*given, opened)
        if opened is not None and are_streamed(opened, distribution)
        else _in_memory(*given, opened)
    )
    warnings: list[str] = []
    with ready_to_mine as ready:
        found = find_in(
            ready.prepared, config, ready.spool,
            distribution=ready.distribution, threads=run.threads, backend=chosen, costs=run.costs,
            on_stage=on_stage, counts=run.limits, warnings=warnings,
        )  # fmt: skip
        facts = dataclasses.replace(ready.facts, warnings=(*ready.facts.warnings, *warnings))
        if config.max_rules is None:
            run.limits["max_rules"] = found.max_rules
        if not found.is_complete:
            facts, config = _cut_off(facts, config, found)
        provenance, told = figures.describe(facts, ready.counts, found, config, limit, run.threads)
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


def _cut_off(facts: InputFacts, config: VqaCeConfig, found: Shortcuts) -> tuple[InputFacts, VqaCeConfig]:
    """Return facts and options that tell the cap which ended the search."""
    cut = cut_text(found.max_rules, derived=config.max_rules is None)
    facts = dataclasses.replace(facts, warnings=(*facts.warnings, cut))
    return facts, dataclasses.replace(config, max_rules=found.max_rules)


def _whole(blocks: writing.Blocks) -> pl.DataFrame:
    return pl.concat(blocks())


@contextlib.contextmanager
def _in_memory(
    files: VqaCeFiles,
    config: VqaCeConfig,
    out: Path | None,
    limit: int | None,
    distribution: Distribution,
    run: Run,
    tables: Tables | None,
) -> Iterator[_Ready]:
    """Give the inputs, read as a whole; the work folder is needed only where the search is distributed."""
    with timed(run.costs, "read", run.on_stage):
        inputs = read_inputs(files, config, limit, tables)
        counts = count_questions(inputs, config)
    with contextlib.ExitStack() as stack:
        if out is not None and distribution.is_asked:
            purpose = _purpose(config, limit, [*map(dataclasses.asdict, inputs.facts.records)])
            work = stack.enter_context(work_folder(out, purpose, distribution.work))
            distribution = dataclasses.replace(distribution, work=work / "shards")
        with timed(run.costs, "encode", run.on_stage):
            prepared = prepare_frames(inputs.train, inputs.val, inputs.labels, config)
        facts = inputs.facts
        del inputs  # the training questions are not needed any more
        yield _Ready(
            prepared=prepared,
            facts=facts,
            counts=counts,
            spool=HeldFrames(),
            distribution=distribution,
        )


@contextlib.contextmanager
def _on_disk(
    files: VqaCeFiles,
    config: VqaCeConfig,
    out: Path | None,
    limit: int | None,
    distribution: Distribution,
    run: Run,
    tables: Tables,
) -> Iterator[_Ready]:
    """Give the inputs, read a batch at a time and kept in the work folder."""
    check_objects(files, config, tables)
    memory = spool_memory(distribution.memory)
    with contextlib.ExitStack() as stack:
        with timed(run.costs, "read", run.on_stage):
            detections = read_detections_after(tables, files, config, limit)
            if out is None:
                if distribution.work is not None:
                    distribution.work.mkdir(parents=True, exist_ok=True)
                work = Path(tempfile.mkdtemp(prefix="shortcut-miner-", dir=distribution.work))
            else:
                purpose = _purpose(config, limit, _told_of(tables, detections))
                work = stack.enter_context(work_folder(out, purpose, distribution.work))
            spool = DiskFrames(work / "judged", memory)
            if out is None:  # the report reads its tables from there
                weakref.finalize(spool, shutil.rmtree, work, ignore_errors=True)
            streamed = prepare_tables(tables, detections, config, work, limit=limit, memory=memory)
        yield _Ready(
            prepared=streamed.prepared,
            facts=streamed.facts,
            counts=streamed.counts,
            spool=spool,
            distribution=dataclasses.replace(distribution, work=work / "shards"),
        )


def _told_of(tables: Tables, detections: Reading | None) -> list[Any]:
    """Return what tells inputs from others before they are read: the files of each role, and their names.

    Names of classes may come from a file beside a table's.
    """
    told: list[Any] = [
        [role, dataclasses.asdict(one.file.facts()), {name: [*of] for name, of in one.flat.classes.items()}]
        for role, files in zip(TABLE_ROLES, (tables.train, tables.val), strict=True)
        for one in files
    ]
    if detections is not None:
        files = [dataclasses.asdict(one.file) for one in detections.parts or (detections,)]
        told.append(["detections", files, row_sums(detections.table).sha256()])
    return told


def _purpose(config: VqaCeConfig, limit: int | None, inputs: list[Any]) -> dict[str, Any]:
    """Return what the files in a work folder depend on."""
    return {"command": outputs.COMMAND, "options": options_of(config, limit), "inputs": inputs}
