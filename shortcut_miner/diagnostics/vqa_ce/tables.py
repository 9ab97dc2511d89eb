"""Anybody's tables as training and validation questions: opened, cut, and read."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.diagnostics.vqa_ce.config import COLUMNS, VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.cuts import draw_note, sides, sides_of, split_names, split_note
from shortcut_miner.diagnostics.vqa_ce.questions import cluster_column
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import named_items
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.table_folders import Part, files_of_table, has_own_splits
from shortcut_miner.sources.questions.table_rows import GROUP, LABELS
from shortcut_miner.sources.questions.tables import (
    QuestionTable,
    Wanted,
    check_same_columns,
    column_names,
    open_question_table,
    read_question_tables,
)

TABLE_ROLES = ("table", "val_table")
# What both tables must have, or neither.
_OF_BOTH = ("question_id", "image_id", "answers", LABELS, GROUP)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Tables that are opened, but not read yet.

    Attributes
    ----------
    train, val : tuple of QuestionTable
        The files of --table, and those of --val-table; without one, the first are cut.
    wanted : Wanted
        Which of their columns are read.
    notes : tuple of str
        Which files and splits of folders were taken, and what else was decided.
    """

    train: tuple[QuestionTable, ...]
    val: tuple[QuestionTable, ...]
    wanted: Wanted
    notes: tuple[str, ...]

    @property
    def has_labels(self) -> bool:
        """Whether questions have object labels of their own."""
        return self.train[0].takes(self.wanted, LABELS)

    @property
    def has_groups(self) -> bool:
        """Whether questions say which group they belong to."""
        return self.train[0].takes(self.wanted, GROUP)

    @property
    def has_images(self) -> bool:
        """Whether questions say which image they are about."""
        return self.train[0].takes(self.wanted, "image_id")


def with_own_splits(files: VqaCeFiles, config: VqaCeConfig) -> VqaCeFiles:
    """Return the files with one folder for both tables where it has splits of its own.

    Raises
    ------
    ConfigError
        Options that the files leave without meaning; nothing says which rows are split, or a cut is asked for
        beside splits of a folder's own.
    """
    config.check_files(files)
    if files.table is None or files.val_table is not None:
        return files
    has_splits, is_cut = has_own_splits(files.table), config.split_column or config.val_share
    if has_splits and is_cut:
        raise ConfigError(
            f"table: got a folder with splits of its own ({files.table[0]}) and a cut, expected one of them. "
            "Leave --split-column and --val-share out, or give the files to cut by name."
        )
    if not has_splits and not is_cut:
        raise ConfigError(
            "table: got nothing that says which rows are split, expected training and validation rows. "
            "Give --val-table, --split-column or --val-share."
        )
    return dataclasses.replace(files, val_table=files.table) if has_splits else files


def open_tables(files: VqaCeFiles, config: VqaCeConfig) -> Tables | None:
    """Return the tables of a build, opened; None where its questions are no tables.

    Raises
    ------
    SourceError
        A file that can't be read, or files with different columns.
    ConfigError
        Labels from two places.
    """
    if files.table is None:
        return None
    notes: tuple[str, ...] = ()
    opened = {}
    roles: tuple[tuple[str, Sequence[Path] | None, Part], ...] = (
        (TABLE_ROLES[0], files.table, "training"), (TABLE_ROLES[1], files.val_table, "validation"),
    )  # fmt: skip
    for role, places, part in roles:
        found = files_of_table(places or (), part)
        opened[role] = tuple(map(open_question_table, found.paths, found.classes))
        notes += tuple(f"{role}: {text}" for text in found.notes)
    names = column_names(config.columns, COLUMNS)
    if config.split_column is not None:
        names["split"] = config.split_column
    if files.detections is not None and names[LABELS] != LABELS:
        raise ConfigError(
            f"columns, detections: got labels from both, expected one of them. Leave labels={names[LABELS]} "
            "or --detections out."
        )
    if files.detections is not None and opened["table"][0].has(LABELS):
        notes += (f"column {LABELS}: left alone, objects are those of --detections",)
    if config.items == "words" or files.detections is not None:
        del names[LABELS]
    told = {names["answer"]: "answer", names["answers"]: "answers"}
    if given := [item for item in named_items(config.item_columns) if item in told]:
        raise ConfigError(
            f"item_columns: got {given[0]}, which is the column of the {told[given[0]]}, expected others: an "
            "answer that is an item tells itself. Leave it out."
        )
    wanted = Wanted(names=names, items=named_items(config.item_columns), is_own=True)
    tables = Tables(train=opened["table"], val=opened["val_table"], wanted=wanted, notes=notes)
    check_same_columns((*tables.train, *tables.val), wanted, _OF_BOTH)
    return tables


def read_tables(
    tables: Tables, config: VqaCeConfig, limit: int | None = None
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Reading], tuple[str, ...]]:
    """Return training and validation questions, the readings by role, and notes on how rows were cut.

    Raises
    ------
    SourceError
        See :func:`shortcut_miner.sources.questions.tables.read_question_tables`.
    ConfigError
        A cut that leaves no row on one side, or a column that does not say how to cut.
    """
    skip, wanted = config.on_bad_row, tables.wanted
    if tables.val:
        read = read_question_tables(tables.train, wanted, on_bad_row=skip, limit=limit)
        before = sum(table.flat.total for table in tables.train)
        val = read_question_tables(tables.val, wanted, first=before, on_bad_row=skip, limit=limit)
        return read.table, val.table, dict(zip(TABLE_ROLES, (read, val), strict=True)), tables.notes
    read = read_question_tables(tables.train, wanted, on_bad_row=skip)
    rows = read.table
    named = sides_of(split_names(rows).unique().to_list(), config) if config.split_column else None
    side = sides(rows, config, named)
    if named is not None:
        note = split_note(dict(split_names(rows).value_counts().iter_rows()), named, config)
    else:
        clusters = rows[cluster_column(rows)]
        parts = {part: clusters.filter(side == part) for part in ("train", "val")}
        note = draw_note(
            config,
            {part: len(ids) for part, ids in parts.items()},
            {part: ids.n_unique() for part, ids in parts.items()},
        )
    train, val_rows = (rows.filter(side == part) for part in ("train", "val"))
    if limit is not None:
        train, val_rows = train.head(limit), val_rows.head(limit)
    return train, val_rows, {TABLE_ROLES[0]: read}, (*tables.notes, note)
