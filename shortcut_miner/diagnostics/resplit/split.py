"""Every question's side: whole groups by the walk, or images by a draw; and a validation set by image."""

import dataclasses
from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.resplit.config import ANTECEDENT, ResplitConfig
from shortcut_miner.diagnostics.resplit.inputs import ResplitInputs
from shortcut_miner.diagnostics.resplit.rule_groups import best_antecedent, concepts, shortcut_groups
from shortcut_miner.diagnostics.resplit.shift import overall_shift, shift_table
from shortcut_miner.diagnostics.resplit.walk import coverage, walk_groups, walk_order
from shortcut_miner.errors import ConfigError
from shortcut_miner.keyed_draws import draw_uniform, id_keys

SIDES = ("train", "test", "val")
OOD = "ood"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Questions split anew.

    Attributes
    ----------
    split : pl.DataFrame
        question_id, subset ("train", "test", "val"), group UInt32 (its position in `groups`; null with
        vqa-vs-like), with vqa-vs-like ood List[String]; sorted by question_id.
    groups : pl.DataFrame
        See the room's card.
    shift : pl.DataFrame
        See :func:`.shift.shift_table`.
    figures : dict
        Coverage of concepts, and shift over all answers.
    warnings : tuple of str
        What may be wrong.
    """

    split: pl.DataFrame
    groups: pl.DataFrame
    shift: pl.DataFrame
    figures: dict[str, Any]
    warnings: tuple[str, ...]


def split_questions(inputs: ResplitInputs, config: ResplitConfig) -> Split:
    """Return the questions split anew.

    Raises
    ------
    ConfigError
        Fewer than two groups, or a side without a question.
    """
    return _by_groups(inputs, config) if config.method == "vqa-cp" else _by_images(inputs, config)


def _by_groups(inputs: ResplitInputs, config: ResplitConfig) -> Split:
    table = inputs.questions
    if ANTECEDENT in config.keys:
        assert inputs.folder is not None
        table = table.with_columns(antecedent=best_antecedent(inputs.folder.chosen("kept"), table))
    groups = table.group_by(config.keys).agg(row_count=pl.len()).sort(config.keys)
    if len(groups) < 2:
        raise ConfigError(
            f"group_by: got {len(groups)} group by {config.group_by}, expected two or more: each is on one "
            "side as a whole. Change --group-by."
        )
    keys = list(groups.select(config.keys).iter_rows())
    sizes = groups["row_count"].to_numpy().astype(np.int64)
    walked = walk_groups(keys, sizes, walk_order(keys, sizes, config.order, config.seed), config.least_test)
    groups = groups.with_columns(
        position=pl.Series(walked.position.astype(np.uint32)),
        subset=pl.Series(np.where(walked.is_test, "test", "train"), dtype=pl.String),
        reason=pl.Series(walked.reason),
    ).select(*config.keys, "position", pl.col("row_count").cast(pl.UInt32), "subset", "reason")
    joined = table.join(groups, on=config.keys, how="left", validate="m:1", maintain_order="left")
    subset = _with_validation(joined["subset"], table["image_id"], config)
    split = table.select("question_id", subset=subset, group=joined["position"])
    largest = int(sizes.max())
    warnings = []
    if largest > config.least_test * int(sizes.sum()):
        warnings.append(
            f"groups: got one of {largest:,} of {len(table):,} rows, expected none larger than the test "
            "share: the test may be larger than asked. Look at groups.parquet, or change --group-by."
        )
    tested = int(sizes[walked.is_test].sum())
    if tested < config.least_test * int(sizes.sum()):
        warnings.append(
            f"test: got {tested:,} of {len(table):,} rows, expected {config.test_share:g} of them: groups "
            "that cover the test went to training, and none is left. Ask for a smaller --test-share."
        )
    return _made(table, split, groups.sort("position"), coverage(keys, sizes, walked.is_test), warnings)


def _by_images(inputs: ResplitInputs, config: ResplitConfig) -> Split:
    assert inputs.folder is not None
    table = inputs.questions
    keys = id_keys(table["image_id"], config.seed, "resplit test")
    is_test = pl.Series(draw_uniform(keys, 0) < float(config.least_test))
    side = pl.select(pl.when(is_test).then(pl.lit("test")).otherwise(pl.lit("train"))).to_series()
    subset = _with_validation(side, table["image_id"], config)
    found = shortcut_groups(concepts(inputs.folder.rules, table), table["answer"], subset, config.alpha)
    split = table.select("question_id", subset=subset, group=pl.lit(None, pl.UInt32), **{OOD: found.ood})
    return _made(table, split, found.groups, {}, [])


def _with_validation(side: pl.Series, images: pl.Series, config: ResplitConfig) -> pl.Series:
    """Return sides with "val" in place of "train" for the questions of some images, drawn by their ids."""
    drawn = draw_uniform(id_keys(images, config.seed, "resplit val"), 0) < config.val_share
    return side.set((side == "train") & pl.Series(drawn), "val")


def _made(
    table: pl.DataFrame,
    split: pl.DataFrame,
    groups: pl.DataFrame,
    figures: dict[str, Any],
    warnings: list[str],
) -> Split:
    counts = dict(split["subset"].value_counts().iter_rows())
    if lacking := [side for side in ("train", "test") if not counts.get(side)]:
        raise ConfigError(
            f"split: got no row for {' and '.join(lacking)} of {len(table):,}, expected some on both sides. "
            "Change --test-share, --val-share, --group-by or --seed."
        )
    sides = table.select("question_type", "answer", is_test=split["subset"] == "test")
    return Split(
        split=split,
        groups=groups,
        shift=shift_table(sides),
        figures=figures | {"shift": overall_shift(sides)},
        warnings=tuple(warnings),
    )
