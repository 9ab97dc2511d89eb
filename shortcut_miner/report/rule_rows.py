"""The rules that a page holds, in columns, as compact as JSON can be."""

from typing import Any

import polars as pl

from shortcut_miner.report.pages import label
from shortcut_miner.report.rule_examples import Examples
from shortcut_miner.schemas import ANTECEDENT

# The first rules by each of these are held where there are more: column -> whether the greatest come first.
CHOSEN_BY = {
    "rule_id": False,
    "rule_count": True,
    "lift": True,
    "leverage": True,
    "q_value_by": False,
    "improvement": True,
    "modality_gain": True,
    "val_confidence_low": True,
    "shrinkage": True,
}
_WHOLE = ("rule_count", "antecedent_count", "val_rule_count", "val_antecedent_count")
_MEASURES = (
    "confidence", "confidence_low", "confidence_high", "lift", "leverage", "q_value_by", "improvement",
    "modality_gain", "val_confidence", "val_confidence_low", "val_confidence_high", "shrinkage",
)  # fmt: skip
_DIGITS = 4


def chosen_rules(rules: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return at most `most` rules, in rule order: all of them, or the first by each of :data:`CHOSEN_BY`.

    Rules that are first by several measures leave room for the next ones in rule order.

    >>> rules = pl.DataFrame({"rule_id": [0, 1, 2, 3], "lift": [1.0, 2.0, 3.0, 9.0]})
    >>> chosen_rules(rules, 2)["rule_id"].to_list()
    [0, 3]
    """
    if len(rules) <= most:
        return rules
    measures = {name: greatest for name, greatest in CHOSEN_BY.items() if name in rules.columns}
    each = max(1, most // len(measures))
    ids = [
        rules.lazy()
        .filter(pl.col(name).is_not_null())
        .sort(name, "rule_id", descending=[greatest, False])
        .head(each)
        .select(pl.col("rule_id").alias("chosen"))
        for name, greatest in measures.items()
    ]
    chosen = pl.concat(pl.collect_all(ids))["chosen"].unique()
    is_chosen = rules["rule_id"].is_in(chosen.implode())
    room = max(0, most - int(is_chosen.sum()))
    return rules.filter(is_chosen | ((~is_chosen).cum_sum() <= room))


def rule_rows(
    rules: pl.DataFrame, total: int, examples: Examples, exploited: pl.DataFrame | None
) -> dict[str, Any]:
    """Return what the rule table holds: columns of numbers, and texts once.

    Parameters
    ----------
    rules : pl.DataFrame
        Those to hold, with the columns of schemas.Rules and maybe further measures.
    total : int
        How many there are.
    examples : Examples
        Questions of these rules.
    exploited : pl.DataFrame or None
        model and rule_id of the shortcuts that models exploit.
    """
    texts: dict[str, int] = {}  # as shown -> number
    known: dict[str, int] = {}  # as they are -> number

    def number(text: str) -> int:
        if text not in known:
            known[text] = texts.setdefault(label(text), len(texts))
        return known[text]

    def numbers(values: pl.Series) -> list[Any]:
        if values.dtype == pl.List(pl.String):
            return [[number(one) for one in each] for each in values.to_list()]
        return [number(one) for one in values.to_list()]

    named = [name for name in ("modality", "verdict") if name in rules.columns]
    columns: dict[str, list[Any]] = {"rule_id": rules["rule_id"].to_list()}
    columns |= {name: numbers(rules[name]) for name in ANTECEDENT if name in rules.columns}
    columns |= {name: numbers(rules[name].fill_null("")) for name in ("answer", *named)}
    columns |= {name: rules[name].to_list() for name in _WHOLE if name in rules.columns}
    columns |= {
        name: [_rounded(one) for one in rules[name].to_list()] for name in _MEASURES if name in rules.columns
    }
    by = {} if exploited is None else _exploited_by(exploited)
    if by:
        columns["exploited_by"] = [[number(model) for model in by.get(one, ())] for one in columns["rule_id"]]
    return {
        "total": total,
        "columns": columns,
        "texts": list(texts),
        "supporting": examples.supporting,
        "counterexamples": examples.counterexamples,
        "questions": examples.questions,
    }


def _exploited_by(exploited: pl.DataFrame) -> dict[int, list[str]]:
    grouped = exploited.group_by("rule_id", maintain_order=True).agg("model")
    return dict(grouped.iter_rows())


def _rounded(value: float | None) -> float | int | None:
    """Return a number with the digits that are shown, as short as it can be written."""
    if value is None or value != value:
        return None
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e9 else short
