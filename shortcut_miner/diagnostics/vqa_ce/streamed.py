"""Tables of any size made ready for the method on a disk, a batch at a time.

What comes out is equal to reading and encoding them as a whole (:mod:`.inputs`, :mod:`.prepared`). It is made
again by a run after one that was cut off meanwhile; what is complete is used as it is.
"""

import contextlib
import dataclasses
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.cuts import (
    Sides,
    draw_note,
    sides,
    sides_of,
    split_names,
    split_note,
)
from shortcut_miner.diagnostics.vqa_ce.inputs import read_detections, shared_groups_text
from shortcut_miner.diagnostics.vqa_ce.prepared import EncodedQuestions, Prepared, image_objects, no_answers
from shortcut_miner.diagnostics.vqa_ce.questions import cluster_column
from shortcut_miner.diagnostics.vqa_ce.tables import TABLE_ROLES, Tables
from shortcut_miner.diagnostics.vqa_ce.tallies import QuestionTallies, ToTally
from shortcut_miner.encoding_batches import encode_training_batches
from shortcut_miner.errors import ShortcutMinerError
from shortcut_miner.frame_blocks import DiskFrames
from shortcut_miner.item_lists import labelled_images
from shortcut_miner.mining.evidence.verdicts import is_held_out
from shortcut_miner.mining.memory import left
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.row_files import RowFiles, open_row_files
from shortcut_miner.sources.images.image_ids import join_warning
from shortcut_miner.sources.opening.column_pieces import comes_in_pieces, read_pieces
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.table_batches import QuestionBatches
from shortcut_miner.sources.questions.table_rows import GROUP, columns_of
from shortcut_miner.spools import Append
from shortcut_miner.work_folders import finish_part, finished_part

_FACTS = "inputs.json"
_LEAST_MEMORY, _MOST_MEMORY = 1 << 24, 1 << 28
_HALVES = {"train": "training", "val": "validation"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """What was made of tables on a disk.

    Attributes
    ----------
    prepared : Prepared
        Rows and questions, in files.
    facts : InputFacts
        Records, drops, notes and warnings.
    counts : mapping of str to int
        As :func:`shortcut_miner.diagnostics.vqa_ce.inputs.count_questions` gives them.
    """

    prepared: Prepared
    facts: InputFacts
    counts: Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """How the questions of a build's tables come to their sides.

    Attributes
    ----------
    train, val : QuestionBatches
        The questions; `val` is None where those of `train` are cut.
    config : VqaCeConfig
        How they are cut.
    limit : int, optional
        The most questions of each side to use.
    named : Sides, optional
        Which splits of a column are which side.
    """

    train: QuestionBatches
    val: QuestionBatches | None
    config: VqaCeConfig
    limit: int | None
    named: Sides | None = None

    def parts(self, names: Counter[str]) -> Iterator[tuple[str, pl.DataFrame]]:
        """Give the questions of a side, batch by batch; `names` takes how many rows each split has."""
        if self.val is not None:
            for side, tables in (("train", self.train), ("val", self.val)):
                for rows in tables.batches():
                    yield side, rows
            return
        for rows in self.train.batches():
            if self.named is not None:
                names.update(dict(split_names(rows).value_counts().iter_rows()))
            side_of = sides(rows, self.config, self.named)
            for side in _HALVES:
                yield side, rows.filter(side_of == side)

    @property
    def readings(self) -> dict[str, Reading]:
        """What was read, by role, after all parts have been given."""
        read = (self.train,) if self.val is None else (self.train, self.val)
        return {role: one.reading for role, one in zip(TABLE_ROLES, read, strict=False)}


def are_streamed(tables: Tables, distribution: Distribution) -> bool:
    """Return whether tables are read a batch at a time: when that is asked for, or they don't fit in memory.

    Files of other forms than Parquet and Arrow are in memory when they are opened.
    """
    flat = [table.flat for table in (*tables.train, *tables.val)]
    return all(map(comes_in_pieces, flat)) and distribution.needs_files(sum(one.total for one in flat))


def spool_memory(budget: int | None) -> int:
    """Return how many bytes what waits to be written may take, of a budget of the whole process."""
    return max(_LEAST_MEMORY, min(_MOST_MEMORY, left(budget) // 8))


def read_detections_after(
    tables: Tables, files: VqaCeFiles, config: VqaCeConfig, limit: int | None
) -> Reading | None:
    """Return :func:`.inputs.read_detections`; before its errors come those of the tables."""
    try:
        return read_detections(files, config)
    except ShortcutMinerError:
        with tempfile.TemporaryDirectory(prefix="shortcut-miner-") as folder:
            cut = _cut_of(tables, config, Path(folder), limit, _LEAST_MEMORY)
            for _ in cut.parts(Counter()):
                pass
        raise


def prepare_tables(
    tables: Tables,
    detections: Reading | None,
    config: VqaCeConfig,
    folder: Path,
    *,
    limit: int | None,
    memory: int,
) -> Streamed:
    """Return the questions of tables, cut, encoded and counted, in files.

    Parameters
    ----------
    tables : Tables
        Parquet or Arrow.
    detections : Reading or None
        schemas.Labels of a file of detections.
    config : VqaCeConfig
        Options.
    folder : Path
        For the files; what an earlier call of the same inputs and options completed there is used.
    limit : int, optional
        Use the first questions of both splits only.
    memory : int
        Bytes that what waits to be written may take.

    Raises
    ------
    SourceError, ConfigError
        As reading the tables as a whole raises; no training question has an answer.
    """
    labels = None if detections is None else detections.table
    found = finished_part(folder, _FACTS) or _make(tables, detections, config, folder, limit, memory)
    training = open_row_files(folder / "training", names=True)
    images = image_objects(labels, config)

    def encoded(name: str) -> EncodedQuestions:
        frames = DiskFrames(folder / name, memory)
        return EncodedQuestions(frames, images, training.vocabulary, config)

    return Streamed(
        prepared=Prepared(
            training=training,
            validation=encoded("validation"),
            holdout=encoded("holdout") if config.holdout else None,
        ),
        facts=InputFacts.of_json(found["facts"]),
        counts=found["counts"],
    )


def _make(
    tables: Tables,
    detections: Reading | None,
    config: VqaCeConfig,
    folder: Path,
    limit: int | None,
    memory: int,
) -> dict[str, Any]:
    """Write rows to mine and questions; return what is known of them, which is written last."""
    labels = None if detections is None else detections.table
    labelled = None if labels is None else labelled_images(labels)
    cut = _cut_of(tables, config, folder, limit, memory)
    columns = {"image_id": "images"} if tables.has_images else {}
    columns |= {GROUP: "groups"} if tables.has_groups else {}
    cluster = GROUP if tables.has_groups else "image_id"
    may_share = cut.val is not None and tables.train[0].takes(tables.wanted, "question_id")
    drawn = {cluster: columns.get(cluster, "")} if config.val_share else {}
    asked = ToTally(columns=columns | drawn, may_share=may_share, labelled=labelled, config=config)
    names: Counter[str] = Counter()
    for cut_off in (one for one in folder.iterdir() if one.is_dir()):
        shutil.rmtree(cut_off)
    counting = folder / "counting"
    with contextlib.ExitStack() as stack:
        tallies = QuestionTallies(counting, asked, stack, memory)
        put = {
            name: stack.enter_context(DiskFrames(folder / name, memory).writing())
            for name in ("validation", *["holdout"] * config.holdout)
        }
        training = _encoded(_mined(cut, names, tallies, put), labels, config, folder / "training")
    told = (*tables.notes, *_cut_notes(cut, tallies, names, cluster))
    facts = _facts(cut.readings, detections, tallies, tables, told, cluster)
    if not len(training):
        raise no_answers(tallies.rows["train"])
    counts = _counts(tallies, columns, tables, detections, config)
    shutil.rmtree(counting)
    found = {"facts": dataclasses.asdict(facts), "counts": counts}
    finish_part(folder, _FACTS, found, ["training", *put])
    return found


def _mined(
    cut: _Cut, names: Counter[str], tallies: QuestionTallies, put: Mapping[str, Append]
) -> Iterator[pl.DataFrame]:
    """Give the questions to mine; count all that are used, and put down those to split or to hold out."""
    for side, rows in cut.parts(names):
        # A table with a limit of its own gives no more rows.
        room = None if cut.limit is None or cut.val is not None else cut.limit - tallies.rows[side]
        used = rows if room is None else rows.head(max(0, room))
        tallies.add(side, used, rows.slice(len(used)))
        if side == "val":
            put["validation"](used)
        elif "holdout" in put:
            held_out = is_held_out(used[cluster_column(used)], cut.config.seed)
            put["holdout"](used.filter(held_out))
            yield used.filter(~held_out)
        else:
            yield used


def _cut_of(tables: Tables, config: VqaCeConfig, folder: Path, limit: int | None, memory: int) -> _Cut:
    """Return how the tables are cut, which for a column of splits depends on all of its names."""

    def batches(name: str, which: Any, first: int, most: int | None) -> QuestionBatches:
        return QuestionBatches(
            tables=which, wanted=tables.wanted, folder=folder / name, memory=memory, first=first,
            on_bad_row=config.on_bad_row, limit=most,
        )  # fmt: skip

    if tables.val:
        before = sum(table.flat.total for table in tables.train)
        train, val = batches("ids", tables.train, 0, limit), batches("val-ids", tables.val, before, limit)
        return _Cut(train=train, val=val, config=config, limit=limit)
    train = batches("ids", tables.train, 0, None)
    named = None
    if config.split_column is not None:
        names = _names_in_rows(train) if config.on_bad_row == "skip" else _names_in_column(tables)
        try:
            named = sides_of(names, config)
        except ShortcutMinerError:
            _names_in_rows(train)  # what is wrong with the rows is told first
            raise
    return _Cut(train=train, val=None, config=config, limit=limit, named=named)


def _names_in_rows(batches: QuestionBatches) -> set[str]:
    """Return the names of splits that good rows have, after reading all of them."""
    return {name for rows in batches.batches() for name in split_names(rows).unique().to_list()}


def _names_in_column(tables: Tables) -> set[str]:
    """Return the names of splits that rows have, from their column alone."""
    names: set[str] = set()
    for table in tables.train:
        needs = {"split": columns_of(table, tables.wanted)["split"]}
        flat = dataclasses.replace(table.flat, decisions=Counter())
        for piece, _ in read_pieces(flat, needs, advice=tables.wanted.advice):
            names |= {*split_names(piece).unique().to_list()}
    return names


def _encoded(
    batches: Iterator[pl.DataFrame], labels: pl.DataFrame | None, config: VqaCeConfig, folder: Path
) -> RowFiles:
    return encode_training_batches(
        batches,
        labels,
        folder,
        top_answers=config.top_answers,
        answer_ties=config.answer_ties,
        items=config.items or "both",
        tokenizer=config.tokenizer,
        score_threshold=config.score_threshold,
    )


# ---- what is known of them ----


def _cut_notes(
    cut: _Cut, tallies: QuestionTallies, names: Mapping[str, int], cluster: str
) -> tuple[str, ...]:
    if cut.val is not None:
        return ()
    if cut.named is not None:
        return (split_note(names, cut.named, cut.config),)
    return (draw_note(cut.config, tallies.found, tallies.distinct(cluster).found),)


def _facts(
    readings: dict[str, Reading],
    detections: Reading | None,
    tallies: QuestionTallies,
    tables: Tables,
    notes: tuple[str, ...],
    cluster: str,
) -> InputFacts:
    warnings = [*tallies.warnings()]
    if tables.has_images or tables.has_groups:
        clusters = tallies.distinct(cluster)
        notes += shared_groups_text(cluster, clusters.shared, clusters.used["val"])
    if detections is not None:
        for side, role in zip(_HALVES, (*readings, *readings), strict=False):
            warnings.append(
                join_warning(
                    tallies.lost[side],
                    detections.table["image_id"],
                    left=f"{_HALVES[side]} questions",
                    readings=(readings[role], detections),
                )
            )
        readings = readings | {"detections": detections}
    facts = InputFacts.of(readings, warnings)
    return dataclasses.replace(facts, notes=(*facts.notes, *notes))


def _counts(
    tallies: QuestionTallies,
    columns: Mapping[str, str],
    tables: Tables,
    detections: Reading | None,
    config: VqaCeConfig,
) -> dict[str, int]:
    """Return what :func:`shortcut_miner.diagnostics.vqa_ce.inputs.count_questions` returns."""
    clusters = {what: tallies.distinct(column).used for column, what in columns.items()}
    has_objects = config.items != "words" and (tables.has_labels or detections is not None)
    counts = {}
    for side, name in _HALVES.items():
        counts[f"{side}_questions"] = tallies.rows[side]
        counts |= {f"{side}_{what}": used[side] for what, used in clusters.items()}
        if has_objects:
            counts[f"{name}_questions_without_detections"] = tallies.without_detections[side]
    return counts
