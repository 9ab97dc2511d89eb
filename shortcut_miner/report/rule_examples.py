"""Questions of each rule: those where it fires and is right, and those where it fires and is wrong."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.diagnostics.vqa_ce.encoded import encode_folder
from shortcut_miner.diagnostics.vqa_ce.outputs import VqaCeFolder
from shortcut_miner.encoding import accepted_classes
from shortcut_miner.mining.matcher import match_pairs
from shortcut_miner.report.pages import label

EXAMPLES = 3  # of each kind, a rule
Ints = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class Examples:
    """Validation questions of rules.

    Attributes
    ----------
    supporting, counterexamples : list of list of int
        A list a rule: positions in `questions` where some annotator gave its answer, and where none did.
    questions : dict of str to list
        Columns question_id, image_id, question, answer of the questions that are named.
    """

    supporting: list[list[int]]
    counterexamples: list[list[int]]
    questions: dict[str, list[Any]]


def rule_examples(folder: VqaCeFolder, each: int = EXAMPLES) -> Examples:
    """Return the first questions by id on which each rule fires, right and wrong.

    Parameters
    ----------
    folder : VqaCeFolder
        Its rules are those to look for.
    each : int
        Most questions a rule and kind.
    """
    count = len(folder.rules)
    rule, row, is_right = _first_pairs(folder, each) if count else (np.zeros(0, np.int64),) * 3
    named, position = np.unique(row, return_inverse=True)
    shown = folder.questions[named].select("question_id", "image_id", "question", "answer")
    return Examples(
        supporting=_lists(rule, position, is_right == 1, count),
        counterexamples=_lists(rule, position, is_right == 0, count),
        questions={name: [label(text or "") for text in shown[name].to_list()] for name in shown.columns},
    )


def _first_pairs(folder: VqaCeFolder, each: int) -> tuple[Ints, Ints, Ints]:
    """Return rule, row and whether the rule is right (1 or 0) of the first rows a rule and kind."""
    encoded = encode_folder(folder)
    offsets, classes = accepted_classes(folder.questions, encoded.vocabulary)
    class_count = encoded.vocabulary.class_count
    accepting = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    right = np.unique(accepting[classes >= 0] * class_count + classes[classes >= 0])
    kept = np.zeros((3, 0), np.int64)
    for first, pair_offsets, rules in match_pairs(encoded.rules, encoded.rows):
        rule = rules.astype(np.int64)
        row = first + np.repeat(np.arange(len(pair_offsets) - 1), np.diff(pair_offsets))
        is_right = np.isin(row * class_count + encoded.rules.answers[rule], right).astype(np.int64)
        kept = _firsts(np.concatenate([kept, np.stack([rule, row, is_right])], axis=1), each)
    return kept[0], kept[1], kept[2]


def _firsts(pairs: NDArray[np.int64], each: int) -> NDArray[np.int64]:
    """Return the first `each` rows of every rule and kind, in order of rule, kind and row."""
    rule, row, is_right = pairs
    ordered = pairs[:, np.lexsort((row, is_right, rule))]
    key = ordered[0] * 2 + ordered[2]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    rank = np.arange(len(key)) - np.repeat(starts, np.diff(np.append(starts, len(key))))
    return ordered[:, rank < each]


def _lists(rule: Ints, position: Ints, is_kept: NDArray[np.bool_], count: int) -> list[list[int]]:
    """Return the kept positions of each rule; pairs are in order of rules."""
    counts = np.bincount(rule[is_kept], minlength=count)
    ends = np.cumsum(counts)
    flat = position[is_kept].tolist()
    return [flat[end - size : end] for end, size in zip(ends.tolist(), counts.tolist(), strict=True)]
