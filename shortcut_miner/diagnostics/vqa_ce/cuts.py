"""Which rows of one table are trained on, and which are split: by a column of theirs, or by a draw."""

from collections.abc import Collection, Mapping

import polars as pl

from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.diagnostics.vqa_ce.questions import cluster_column
from shortcut_miner.errors import ConfigError
from shortcut_miner.keyed_draws import draw_uniform, id_keys
from shortcut_miner.sources.questions.table_folders import Part, split_for

_PARTS: tuple[Part, ...] = ("training", "validation")

Sides = Mapping[str, str]  # name of a split -> "train" or "val"


def sides_of(names: Collection[str], config: VqaCeConfig) -> Sides:
    """Return which of the names in the split column is that of each side.

    Raises
    ------
    SourceError
        No name for a side, or several.
    """
    advice = "Name another column, or cut by --val-share"
    train, val = (split_for(part, sorted(names), _where(config), advice) for part in _PARTS)
    return {train: "train", val: "val"}


def sides(rows: pl.DataFrame, config: VqaCeConfig, named: Sides | None) -> pl.Series:
    """Return each row's side, "train" or "val"; null for a row of another split than those `named`.

    Without names it is drawn for each group: a group's side follows from its name and the seed, so that
    neither the order of rows nor other groups matter.
    """
    if named is not None:
        return split_names(rows).replace_strict(named, default=None, return_dtype=pl.String)
    keys = id_keys(rows[cluster_column(rows)], config.seed, "val_share")
    is_val = pl.Series(draw_uniform(keys, 0) < (config.val_share or 0))
    return pl.select(pl.when(is_val).then(pl.lit("val")).otherwise(pl.lit("train"))).to_series()


def split_names(rows: pl.DataFrame) -> pl.Series:
    """Return the name of each row's split, "" where there is none."""
    return rows["split"].fill_null("")


def split_note(counts: Mapping[str, int], named: Sides, config: VqaCeConfig) -> str:
    """Return what a split column says, in words; `counts` are rows by name."""
    train, val = named
    others = [f"{counts[name]:,} of {name!r}" for name in sorted(counts) if name not in named]
    left_out = f"; rows left out: {', '.join(others)}" if others else ""
    return f"{_where(config)}: mined from {train!r}, split {val!r}{left_out}"


def draw_note(config: VqaCeConfig, rows: Mapping[str, int], groups: Mapping[str, int]) -> str:
    """Return what a draw came to, in words; `rows` and `groups` are counts by side.

    Raises
    ------
    ConfigError
        It leaves no row on one side.
    """
    share, all_rows, all_groups = config.val_share or 0, sum(rows.values()), sum(groups.values())
    if not (rows["train"] and rows["val"]):
        raise ConfigError(
            f"val_share: got no {'validation' if rows['train'] else 'training'} rows with {share} of "
            f"{all_groups:,} groups and seed {config.seed}, expected some on both sides. "
            "Change --val-share or --seed, or name smaller groups."
        )
    return (
        f"--val-share {share:g}: {rows['val']:,} of {all_rows:,} rows ({rows['val'] / all_rows:.1%}), "
        f"{groups['val']:,} of {all_groups:,} groups"
    )


def _where(config: VqaCeConfig) -> str:
    return f"--split-column {config.split_column}"
