"""The metric: what each question's three answers say, as one small number a question, and what to count.

Five facts about a question (see :data:`FACTS`) make a code from 0 to 31; every figure of the article is a sum
over codes divided by another one. Reich et al. (2023), section 3 (equation 4) and appendix C.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Bools = NDArray[np.bool_]

FACTS = (
    "all_is_correct",
    "relevant_is_correct",
    "irrelevant_is_correct",
    "relevant_is_same",
    "irrelevant_is_same",
)
CODES = 1 << len(FACTS)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number to report: `part` of `whole`, as masks over codes; in percent unless it `is_ratio`.

    With `less`, another part and its whole, what that share comes to is subtracted.
    """

    name: str
    part: Bools
    whole: Bools
    is_ratio: bool = False
    less: tuple[Bools, Bools] | None = None


def codes(answers: pl.DataFrame) -> NDArray[np.int64]:
    """Return each question's code.

    Parameters
    ----------
    answers : pl.DataFrame
        answer (the right one), all, relevant, irrelevant: String, without nulls.

    Examples
    --------
    >>> row = {"answer": ["red"], "all": ["red"], "relevant": ["red"], "irrelevant": ["blue"]}
    >>> [name for bit, name in enumerate(FACTS) if codes(pl.DataFrame(row))[0] >> bit & 1]
    ['all_is_correct', 'relevant_is_correct', 'relevant_is_same']
    """
    facts = answers.select(
        all_is_correct=pl.col("all") == pl.col("answer"),
        relevant_is_correct=pl.col("relevant") == pl.col("answer"),
        irrelevant_is_correct=pl.col("irrelevant") == pl.col("answer"),
        relevant_is_same=pl.col("relevant") == pl.col("all"),
        irrelevant_is_same=pl.col("irrelevant") == pl.col("all"),
    )
    return packed(facts)


def packed(facts: pl.DataFrame) -> NDArray[np.int64]:
    """Return each row's Booleans as one number: its bit 0 is the first column, and so on."""
    return sum(
        (facts[name].to_numpy().astype(np.int64) << bit for bit, name in enumerate(facts.columns)),
        start=np.zeros(len(facts), np.int64),
    )


def bit_masks(bits: int) -> Bools:
    """Return bits x codes: in which codes of so many bits each bit is set."""
    is_set: Bools = (np.arange(1 << bits) >> np.arange(bits)[:, None] & 1).astype(np.bool_)
    return is_set


def fact(name: str) -> Bools:
    """Return in which codes a fact holds."""
    holds: Bools = bit_masks(len(FACTS))[FACTS.index(name)]
    return holds


def is_good() -> Bools:
    """Return the codes of FPVG+: the answer stays with the relevant regions, and changes without them."""
    return fact("relevant_is_same") & ~fact("irrelevant_is_same")


def category_masks() -> dict[str, Bools]:
    """Return the codes of each category: FPVG+ or FPVG-, and a correct or wrong answer under all regions."""
    good, correct = is_good(), fact("all_is_correct")
    return {
        "good_correct": good & correct,
        "good_wrong": good & ~correct,
        "bad_correct": ~good & correct,
        "bad_wrong": ~good & ~correct,
    }


def figures() -> list[Figure]:
    """Return every figure that answers alone give, in the order of the report."""
    every, correct = np.ones(CODES, np.bool_), fact("all_is_correct")
    good, same_relevant, same_irrelevant = is_good(), fact("relevant_is_same"), fact("irrelevant_is_same")
    found = [Figure("fpvg_plus", good, every), Figure("fpvg_minus", ~good, every)]
    found += [Figure(name, mask, every) for name, mask in category_masks().items()]
    found += [
        Figure("accuracy_all", correct, every),
        Figure("accuracy_relevant", fact("relevant_is_correct"), every),
        Figure("accuracy_irrelevant", fact("irrelevant_is_correct"), every),
    ]
    found += _drops(good)
    found += _correct_to_incorrect("", good)
    for condition in ("relevant", "irrelevant"):
        after = fact(f"{condition}_is_correct")
        for before_name, before in (("correct", correct), ("incorrect", ~correct)):
            for after_name, now in (("correct", after), ("incorrect", ~after)):
                name = f"{condition}_{before_name}_to_{after_name}"
                found.append(Figure(name, before & now, every))
    by_correctness = (fact("relevant_is_correct") == correct) & (fact("irrelevant_is_correct") != correct)
    for suffix, kept in (
        ("_by_relevant_alone", same_relevant),
        ("_by_irrelevant_alone", ~same_irrelevant),
        ("_by_correctness", by_correctness),
    ):
        found.append(Figure(f"fpvg_plus{suffix}", kept, every))
        found += _correct_to_incorrect(suffix, kept)
    return found


def _drops(good: Bools) -> list[Figure]:
    """Return what accuracy loses: with some regions alone, relative to all; and from FPVG+ to FPVG-."""
    correct = fact("all_is_correct")
    after = {name: fact(f"{name}_is_correct") for name in ("relevant", "irrelevant")}
    return [
        *(Figure(f"relative_drop_{name}", correct, correct, less=(after[name], correct)) for name in after),
        Figure("accuracy_plus", good & correct, good),
        Figure("accuracy_minus", ~good & correct, ~good),
        Figure("accuracy_plus_to_minus", good & correct, good, less=(~good & correct, ~good)),
    ]


def _correct_to_incorrect(suffix: str, good: Bools) -> list[Figure]:
    """Return correct over incorrect answers inside FPVG+ and FPVG- (the article's Tables 4 and 7)."""
    correct = fact("all_is_correct")
    return [
        Figure(f"correct_to_incorrect_plus{suffix}", good & correct, good & ~correct, is_ratio=True),
        Figure(f"correct_to_incorrect_minus{suffix}", ~good & correct, ~good & ~correct, is_ratio=True),
    ]


# The released script's names of what can happen, by correctness under all, relevant and irrelevant regions;
# `same` are equalities between the three answers where correctness leaves them open.
OUTCOMES: dict[str, tuple[str, str]] = {
    "CC_1": ("CCI", ""),
    "CC_2": ("CCC", ""),
    "CI_1_sub1": ("CII", "relevant=irrelevant"),
    "CI_1_sub2": ("CII", "relevant!=irrelevant"),
    "CI_2": ("CIC", ""),
    "IC_1": ("ICC", ""),
    "IC_2_sub1": ("ICI", "all=irrelevant"),
    "IC_2_sub2": ("ICI", "all!=irrelevant"),
    "II_1_sub1": ("III", "all=relevant all=irrelevant"),
    "II_1_sub2": ("III", "all!=relevant all=irrelevant"),
    "II_1_sub3": ("III", "all=relevant all!=irrelevant"),
    "II_1_sub4": ("III", "all!=relevant all!=irrelevant relevant=irrelevant"),
    "II_1_sub5": ("III", "all!=relevant all!=irrelevant relevant!=irrelevant"),
    "II_2_sub1": ("IIC", "all=relevant"),
    "II_2_sub2": ("IIC", "all!=relevant"),
}


def outcome_counts(answers: pl.DataFrame) -> dict[str, int]:
    """Return how many questions had each of the released script's outcomes; they add up to all.

    Parameters
    ----------
    answers : pl.DataFrame
        As for :func:`codes`.
    """
    table = answers.lazy()
    counted = [_is_outcome(*rule).sum().alias(name) for name, rule in OUTCOMES.items()]
    return table.select(counted).collect().row(0, named=True)


def _is_outcome(correctness: str, equalities: str) -> pl.Expr:
    conditions = ("all", "relevant", "irrelevant")
    parts = [
        (pl.col(name) == pl.col("answer")) == (letter == "C")
        for name, letter in zip(conditions, correctness, strict=True)
    ]
    for equality in equalities.split():
        first, second = equality.replace("!", "").split("=")
        parts.append((pl.col(first) == pl.col(second)) == ("!" not in equality))
    return pl.all_horizontal(parts)
