"""A VQA-CE folder's rules and questions as arrays, to be matched again."""

import dataclasses

import polars as pl

from shortcut_miner.diagnostics.vqa_ce.outputs import VqaCeFolder
from shortcut_miner.encoding import build_vocabulary, encode_item_lists
from shortcut_miner.mining.frames.rules import encode_rules
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.text import answer_forms
from shortcut_miner.transactions import Transactions, Vocabulary


@dataclasses.dataclass(frozen=True, slots=True)
class EncodedFolder:
    """Rules and rows of a folder in one vocabulary, ready to be matched."""

    vocabulary: Vocabulary
    rules: RuleArrays
    rows: Transactions


def encode_folder(folder: VqaCeFolder, *, normalise_answers: bool = False) -> EncodedFolder:
    """Return the folder's rules and questions as arrays.

    With `normalise_answers`, answers that VQA normalisation makes equal are one class ("Two." and "2"), as
    when a model's free text is compared with a rule's answer.
    """
    rules, questions = folder.rules, folder.questions
    if normalise_answers:
        rules = rules.with_columns(answer=normalised(rules["answer"]))
        questions = questions.with_columns(answer=normalised(questions["answer"]))
    # The default answer is a class even where no rule has it.
    counted = rules.select("answer", pl.col("answer_count").cast(pl.Int64))
    default = pl.DataFrame({"answer": [folder.default_answer], "answer_count": [0]}, schema=counted.schema)
    answers = pl.concat([counted, default])
    vocabulary = build_vocabulary(
        rules["antecedent_words"],
        rules["antecedent_objects"],
        answers["answer"],
        answers["answer_count"],
        attributes=rules.get_column("antecedent_attributes", default=None),
        counts_are_totals=True,
    )
    return EncodedFolder(
        vocabulary, encode_rules(rules, vocabulary), encode_item_lists(questions, vocabulary)
    )


def normalised(answers: pl.Series) -> pl.Series:
    """Return answers after VQA normalisation; null stays null."""
    forms = answer_forms(answers.drop_nulls().rename("answer"))
    return answers.replace_strict(forms["answer"], forms["normalised"], default=None, return_dtype=pl.String)
