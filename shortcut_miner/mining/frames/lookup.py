"""Looking rules up: by item, answer, modality and strength."""

from collections.abc import Sequence

import polars as pl

from shortcut_miner.errors import ConfigError

SORTABLE = (
    "rule_id",
    "confidence",
    "support",
    "lift",
    "antecedent_count",
    "rule_count",
    "val_confidence",
    "val_antecedent_count",
)


def find_rules(
    rules: pl.DataFrame,
    *,
    contains: Sequence[str] = (),
    answer: str | None = None,
    modality: str | None = None,
    min_confidence: float = 0.0,
    min_count: int = 0,
    sort: str = "rule_id",
    limit: int | None = None,
) -> pl.DataFrame:
    """Return the rules that satisfy every condition.

    Parameters
    ----------
    rules : pl.DataFrame
        schemas.Rules.
    contains : sequence of str
        Words or object labels that must all be in the antecedent.
    answer, modality : str, optional
        Equal to these.
    min_confidence : float
        Least confidence.
    min_count : int
        Least rule_count.
    sort : str
        A column: rule_id ascending, measures descending.
    limit : int, optional
        Most rows.

    >>> from shortcut_miner.mining.frames.tables import mine_rules
    >>> rules = mine_rules([["what", "sport"], ["what", "room"]], ["golf", "attic"], min_count=1)
    >>> find_rules(rules, contains=["sport"])["answer"].to_list()
    ['golf', 'golf']
    """
    if sort not in SORTABLE or sort not in rules.columns:
        known = [name for name in SORTABLE if name in rules.columns]
        raise ConfigError(f"sort: got {sort!r}, expected one of {', '.join(known)}. Choose one.")
    conditions = [pl.col("confidence") >= min_confidence, pl.col("rule_count") >= min_count]
    conditions += [_has_item(item) for item in contains]
    if answer is not None:
        conditions.append(pl.col("answer") == answer)
    if modality is not None:
        conditions.append(pl.col("modality") == modality)
    found = (
        rules.lazy()
        .filter(conditions)
        .sort(sort, "rule_id", descending=[sort != "rule_id", False], nulls_last=True)
    )
    return (found if limit is None else found.head(limit)).collect()


def _has_item(item: str) -> pl.Expr:
    words, objects = pl.col("antecedent_words"), pl.col("antecedent_objects")
    return words.list.contains(item) | objects.list.contains(item)
