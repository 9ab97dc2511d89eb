"""What mined rules say of each question: the antecedent of the best one, and the items that VQA-VS groups by.

Si et al., "Language Prior Is Not the Only Shortcut" (Findings of EMNLP 2022): nine kinds of shortcuts, by the
type of a question, its key word or words, and its image's key object or objects. Here the key is what the
most confident rule of that size says, not what mutual information does.
"""

import dataclasses
from collections.abc import Mapping

import polars as pl

from shortcut_miner.mining.frames.tables import match_rules
from shortcut_miner.scoring.head_tail import answer_counts, is_rare, judge_groups
from shortcut_miner.transactions import KINDS

NONE = "none"
# Shortcut -> the columns of which its concept is made.
SHORTCUTS: Mapping[str, tuple[str, ...]] = {
    "QT": ("QT",),
    "KW": ("KW",),
    "KWP": ("KWP",),
    "KO": ("KO",),
    "KOP": ("KOP",),
    "QT+KW": ("QT", "KW"),
    "QT+KO": ("QT", "KO"),
    "KW+KO": ("KW", "KO"),
    "QT+KW+KO": ("QT", "KW", "KO"),
}
# Words and objects that a rule of each kind has.
_SIZES = {"KW": (1, 0), "KWP": (2, 0), "KO": (0, 1), "KOP": (0, 2)}
_AND, _BETWEEN = " + ", ", "


def antecedents(rules: pl.DataFrame) -> pl.Series:
    """Return each rule's antecedent as text: its words, then its objects and attributes, marked.

    >>> items = {"antecedent_words": [["sport", "what"]], "antecedent_objects": [["tennis racket"]]}
    >>> antecedents(pl.DataFrame(items)).to_list()
    ['sport what V_tennis_racket']
    """
    kinds = [("antecedent_words", ""), ("antecedent_objects", "V_"), ("antecedent_attributes", "A_")]
    marked = [
        pl.col(name).list.eval(pl.lit(mark) + pl.element().str.replace_all(" ", "_", literal=True))
        for name, mark in kinds
        if name in rules.columns
    ]
    return rules.select(pl.concat_list(marked).list.join(" ")).to_series()


def best_antecedent(rules: pl.DataFrame, questions: pl.DataFrame) -> pl.Series:
    """Return the antecedent of the first rule that fires on each question, "none" where none does.

    Parameters
    ----------
    rules : pl.DataFrame
        schemas.Rules in rule order.
    questions : pl.DataFrame
        words and objects, List[String].
    """
    rows = questions.select(name for name in KINDS if name in questions.columns)
    best = match_rules(rules, rows)["best_rule_id"]
    texts = antecedents(rules)
    return best.replace_strict(rules["rule_id"], texts, default=NONE, return_dtype=pl.String).fill_null(NONE)


def concepts(rules: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Return each question's concept of each of `SHORTCUTS`, String; null where it has none.

    The parts are the question's type, and what the first rule that fires has of so many words or objects.
    """
    words, objects = (pl.col(f"antecedent_{kind}").list.len() for kind in ("words", "objects"))
    parts = {"QT": questions["question_type"]}
    is_named = "antecedent_attributes" in rules.columns
    has_no_attributes = pl.col("antecedent_attributes").list.len() == 0 if is_named else pl.lit(value=True)
    for name, (word_count, object_count) in _SIZES.items():
        of_size = (words == word_count) & (objects == object_count)
        texts = best_antecedent(rules.filter(of_size, has_no_attributes), questions)
        parts[name] = texts.set(texts == NONE, None)
    table = pl.DataFrame(parts)
    return table.select(
        pl.concat_str(*columns, separator=_AND).alias(name) for name, columns in SHORTCUTS.items()
    )


@dataclasses.dataclass(frozen=True, slots=True)
class ShortcutGroups:
    """The groups of each shortcut, and which questions of the test are of its tail.

    Attributes
    ----------
    groups : pl.DataFrame
        shortcut, concept, train_count, answer_count, entropy, is_kept, test_count, ood_count; sorted.
    ood : pl.Series
        List[String] a question: the shortcuts whose tail it is of; null outside the test.
    """

    groups: pl.DataFrame
    ood: pl.Series


def shortcut_groups(
    found: pl.DataFrame, answers: pl.Series, subset: pl.Series, alpha: float
) -> ShortcutGroups:
    """Return the groups of all shortcuts, by the answers of training rows.

    Parameters
    ----------
    found : pl.DataFrame
        What :func:`concepts` gives.
    answers, subset : pl.Series
        Each question's answer, and "train", "val" or "test".
    alpha : float
        See :func:`shortcut_miner.scoring.head_tail.is_rare`.
    """
    tables, tails = [], {}
    for name in SHORTCUTS:
        rows = pl.DataFrame({"group": found[name], "answer": answers, "subset": subset})
        counts = answer_counts(rows.filter(pl.col("subset") == "train").drop_nulls("group"))
        groups = judge_groups(counts)[0] if len(counts) else _no_groups(counts)
        tails[name] = _is_tail(rows, counts, groups, alpha)
        tested = (
            rows.with_columns(is_ood=tails[name])
            .filter(pl.col("subset") == "test")
            .group_by("group")
            .agg(test_count=pl.len().cast(pl.Int64), ood_count=pl.col("is_ood").sum().cast(pl.Int64))
        )
        joined = groups.join(tested, on="group", how="left", validate="1:1", maintain_order="left")
        tables.append(joined.select(pl.lit(name).alias("shortcut"), pl.all()))
    of_test = pl.DataFrame(tails).select(
        pl.concat_list(pl.when(name).then(pl.lit(name)) for name in SHORTCUTS).list.drop_nulls()
    ).to_series()  # fmt: skip
    return ShortcutGroups(
        groups=pl.concat(tables)
        .rename({"group": "concept", "row_count": "train_count"})
        .with_columns(pl.col("test_count", "ood_count").fill_null(0)),
        ood=of_test.set(subset != "test", None),
    )


def _no_groups(counts: pl.DataFrame) -> pl.DataFrame:
    numbers = dict.fromkeys(("row_count", "answer_count"), pl.UInt64)
    return counts.select("group").with_columns(
        *(pl.lit(None, dtype).alias(name) for name, dtype in numbers.items()),
        entropy=pl.lit(None, pl.Float64),
        is_kept=pl.lit(None, pl.Boolean),
    )


def _is_tail(rows: pl.DataFrame, counts: pl.DataFrame, groups: pl.DataFrame, alpha: float) -> pl.Series:
    """Return whether a row is of the test, in a kept group, with an answer that is rare there in training."""
    joined = rows.join(groups, on="group", how="left", validate="m:1", maintain_order="left").join(
        counts, on=["group", "answer"], how="left", validate="m:1", maintain_order="left"
    )
    known = joined.with_columns(pl.col("count").fill_null(0))
    is_kept = known["is_kept"].fill_null(value=False)
    return is_kept & is_rare(known, alpha).fill_null(value=False) & (rows["subset"] == "test")
