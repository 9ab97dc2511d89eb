"""One dataframely schema per table that modules hand to each other.

Ids are ``String`` everywhere: GQA ids have leading zeros, VQA ids are numbers, and both survive.
``null`` means "not known"; an empty list means "none found".
"""

import dataframely as dy
import polars as pl

from shortcut_miner.errors import SchemaError

SUBSETS = ("easy", "counterexamples", "hard")
MODALITIES = ("words", "objects", "multimodal")


def _is_not_empty(column: str) -> pl.Expr:
    return pl.col(column).str.len_bytes() > 0


class Questions(dy.Schema):
    """Questions with their answers, one row a question.

    ``answers`` lists every annotator's answer in file order. ``answer_record_key`` numbers the other
    fields of those answer records (equal number = equal fields); null means that all are distinct.
    """

    question_id = dy.String(primary_key=True)
    image_id = dy.String(nullable=False)
    question = dy.String(nullable=False)
    question_type = dy.String(nullable=True)
    answer_type = dy.String(nullable=True)
    answer = dy.String(nullable=True)
    answers = dy.List(dy.String(nullable=False), nullable=True)
    answer_record_key = dy.List(dy.UInt8(nullable=False), nullable=True)
    split = dy.String(nullable=True)

    @dy.rule()
    def question_id_is_not_empty(cls) -> pl.Expr:
        return _is_not_empty("question_id")

    @dy.rule()
    def image_id_is_not_empty(cls) -> pl.Expr:
        return _is_not_empty("image_id")


class Labels(dy.Schema):
    """Object labels that a detector (or annotators) gave to images, one row a detection.

    An image without any row in a detections file is *not known*; an image with an empty list has one
    row whose ``label`` is null.
    """

    image_id = dy.String(nullable=False)
    label = dy.String(nullable=True)
    score = dy.Float64(nullable=True)


class Rules(dy.Schema):
    """Class-association rules: antecedent (words + objects) -> answer, with their four counts."""

    rule_id = dy.UInt32(primary_key=True)
    antecedent_words = dy.List(dy.String(nullable=False), nullable=False)
    antecedent_objects = dy.List(dy.String(nullable=False), nullable=False)
    answer = dy.String(nullable=False)
    modality = dy.String(nullable=False)
    transaction_count = dy.UInt64(nullable=False)
    antecedent_count = dy.UInt64(nullable=False)
    answer_count = dy.UInt64(nullable=False)
    rule_count = dy.UInt64(nullable=False)
    antecedent_support = dy.Float64(nullable=False)
    support = dy.Float64(nullable=False)
    confidence = dy.Float64(nullable=False)
    lift = dy.Float64(nullable=False)

    @dy.rule()
    def counts_are_nested(cls) -> pl.Expr:
        return (
            (pl.col("rule_count") <= pl.col("antecedent_count"))
            & (pl.col("rule_count") <= pl.col("answer_count"))
            & (pl.col("antecedent_count") <= pl.col("transaction_count"))
            & (pl.col("answer_count") <= pl.col("transaction_count"))
        )

    @dy.rule()
    def modality_is_known(cls) -> pl.Expr:
        return pl.col("modality").is_in(MODALITIES)


class Split(dy.Schema):
    """Which subset each evaluated question fell into, and why."""

    question_id = dy.String(primary_key=True)
    subset = dy.String(nullable=False)
    matching_rule_count = dy.UInt32(nullable=False)
    correct_rule_count = dy.UInt32(nullable=False)
    best_rule_id = dy.UInt32(nullable=True)
    best_correct_rule_id = dy.UInt32(nullable=True)

    @dy.rule()
    def subset_is_known(cls) -> pl.Expr:
        return pl.col("subset").is_in(SUBSETS)


class Predictions(dy.Schema):
    """One model's answers, one row a question."""

    question_id = dy.String(primary_key=True)
    answer = dy.String(nullable=False)


def validated(frame: pl.DataFrame, schema: type[dy.Schema], what: str) -> pl.DataFrame:
    """Return `frame` if it satisfies `schema`; extra columns are kept.

    Raises
    ------
    SchemaError
        Lists every breach at once: missing columns, wrong types, nulls, repeated keys, broken rules.
    """
    try:
        schema.validate(frame)
    except (dy.exc.SchemaError, dy.exc.ValidationError) as error:
        reasons = str(error).split("\n\nResolved plan", maxsplit=1)[0]
        raise SchemaError(
            f"{what}: got a table that breaks the {schema.__name__} schema, expected all of it to hold.\n"
            f"{reasons}\nSee {schema.__module__}.{schema.__name__} for the columns and rules."
        ) from error
    return frame
