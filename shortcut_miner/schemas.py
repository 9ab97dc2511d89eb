"""One dataframely schema per table that modules hand to each other.

Ids are ``String`` everywhere: GQA ids have leading zeros, VQA ids are numbers, and both survive.
``null`` means "not known"; an empty list means "none found".
"""

import types
from typing import Any, ClassVar

import dataframely as dy
import polars as pl

from shortcut_miner.errors import SchemaError

SUBSETS = ("easy", "counterexamples", "hard")
# Kinds of items in the order of transactions.KINDS, and the columns of rules that list them.
MODALITIES = ("words", "objects", "attributes", "multimodal")
ANTECEDENT = ("antecedent_words", "antecedent_objects", "antecedent_attributes")
VERDICTS = ("chance", "unstable", "prior", "redundant", "real")
SWAP_KINDS = ("original", "class", "attribute")


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


class GqaQuestions(Questions):
    """GQA questions: the types of their programs, and the scene-graph objects that their texts name.

    ``relevant_*`` list the object ids of one annotation map each (words of the question, the answer and the
    full answer) as the file has them, comma-joined ids included; null where the file has no such map.
    """

    structural = dy.String(nullable=True)
    semantic = dy.String(nullable=True)
    relevant_question = dy.List(dy.String(nullable=False), nullable=True)
    relevant_answer = dy.List(dy.String(nullable=False), nullable=True)
    relevant_full_answer = dy.List(dy.String(nullable=False), nullable=True)


class Images(dy.Schema):
    """Images, with what a detector says about each.

    ``region_count`` is null where the detector says nothing about the image, 0 where it found nothing.
    """

    image_id = dy.String(primary_key=True)
    width = dy.Float64(nullable=True)
    height = dy.Float64(nullable=True)
    region_count = dy.UInt32(nullable=True)


class Regions(dy.Schema):
    """Boxes that a detector gave to images, in pixels, one row a region.

    ``region_index`` is the row in the detector's own array. ``is_padding`` marks rows that fill that array
    up: beyond the image's count, or with an all-zero box.
    """

    image_id = dy.String(primary_key=True)
    region_index = dy.UInt32(primary_key=True)
    is_padding = dy.Bool(nullable=False)
    label = dy.String(nullable=True)
    score = dy.Float64(nullable=True)
    x1 = dy.Float32(nullable=False)
    y1 = dy.Float32(nullable=False)
    x2 = dy.Float32(nullable=False)
    y2 = dy.Float32(nullable=False)
    attributes = dy.List(dy.String(nullable=False), nullable=True)


class SceneObjects(dy.Schema):
    """Annotated objects of images, with boxes in pixels."""

    image_id = dy.String(primary_key=True)
    object_id = dy.String(primary_key=True)
    name = dy.String(nullable=False)
    x1 = dy.Float64(nullable=False)
    y1 = dy.Float64(nullable=False)
    x2 = dy.Float64(nullable=False)
    y2 = dy.Float64(nullable=False)
    attributes = dy.List(dy.String(nullable=False), nullable=False)


class SplitQuestions(Questions):
    """Evaluated questions with the items of each; objects are null where nothing is known of the image.

    Where columns are items, ``attributes`` lists them as "column=value"; where groups were given, ``group``
    says which questions belong together.
    """

    optional_columns: ClassVar[dict[str, Any]] = {
        "attributes": dy.List(dy.String(nullable=False), nullable=True),
        "group": dy.String(nullable=False),
    }

    words = dy.List(dy.String(nullable=False), nullable=True)
    objects = dy.List(dy.String(nullable=False), nullable=True)


class RegionLists(dy.Schema):
    """A question's relevant and irrelevant regions, by index; `exclusion` says why it is not evaluable."""

    question_id = dy.String(primary_key=True)
    image_id = dy.String(nullable=False)
    relevant = dy.List(dy.UInt32(nullable=False), nullable=True)
    irrelevant = dy.List(dy.UInt32(nullable=False), nullable=True)
    region_count = dy.UInt32(nullable=True)
    is_evaluable = dy.Bool(nullable=False)
    exclusion = dy.String(nullable=True)


class ImageBoxes(dy.Schema):
    """A detector's :class:`Regions`, with the size of the image they were made for, where it is known."""

    image_id = dy.String(primary_key=True)
    region_index = dy.UInt32(primary_key=True)
    is_padding = dy.Bool(nullable=False)
    label = dy.String(nullable=True)
    score = dy.Float64(nullable=True)
    x1 = dy.Float32(nullable=False)
    y1 = dy.Float32(nullable=False)
    x2 = dy.Float32(nullable=False)
    y2 = dy.Float32(nullable=False)
    width = dy.Float64(nullable=True)
    height = dy.Float64(nullable=True)


class ObjectBoxes(dy.Schema):
    """The boxes of annotated objects, with the size of the image that they were made for."""

    image_id = dy.String(primary_key=True)
    object_id = dy.String(primary_key=True)
    x1 = dy.Float64(nullable=False)
    y1 = dy.Float64(nullable=False)
    x2 = dy.Float64(nullable=False)
    y2 = dy.Float64(nullable=False)
    width = dy.Float64(nullable=True)
    height = dy.Float64(nullable=True)


class PlannedQuestions(Questions):
    """Questions of a plan with the rows that each has in it; `exclusion` says why one has none."""

    exclusion = dy.String(nullable=True)
    row_count = dy.UInt32(nullable=True)


class Rules(dy.Schema):
    """Class-association rules: antecedent (words + objects) -> answer, with their four counts.

    Where columns are items, ``antecedent_attributes`` lists those of the antecedent as "column=value".
    """

    optional_columns: ClassVar[dict[str, Any]] = {
        "antecedent_attributes": dy.List(dy.String(nullable=False), nullable=False)
    }

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


class KeptRules(Rules):
    """Rules of a build, with whether the rule classifier keeps them."""

    in_classifier = dy.Bool(nullable=False)


class MeasuredRules(Rules):
    """Rules with their further measures; what is not known is null.

    On validation rows the columns have the prefix ``val_``, with a holdout also ``holdout_`` (not required).
    :mod:`shortcut_miner.mining.evidence.verdicts` defines them.
    """

    confidence_low = dy.Float64(nullable=False)
    confidence_high = dy.Float64(nullable=False)
    leverage = dy.Float64(nullable=False)
    certainty = dy.Float64(nullable=False)
    log10_p_value = dy.Float64(nullable=False)
    q_value_bh = dy.Float64(nullable=False)
    q_value_by = dy.Float64(nullable=False)
    improvement = dy.Float64(nullable=True)
    improvement_log10_p = dy.Float64(nullable=True)
    modality_gain = dy.Float64(nullable=True)
    prior = dy.Float64(nullable=True)
    val_transaction_count = dy.UInt64(nullable=False)
    val_antecedent_count = dy.UInt64(nullable=False)
    val_answer_count = dy.UInt64(nullable=False)
    val_rule_count = dy.UInt64(nullable=False)
    val_confidence = dy.Float64(nullable=True)
    val_confidence_low = dy.Float64(nullable=True)
    val_confidence_high = dy.Float64(nullable=True)
    val_lift = dy.Float64(nullable=True)
    val_leverage = dy.Float64(nullable=True)
    val_certainty = dy.Float64(nullable=True)
    val_log10_p_value = dy.Float64(nullable=True)
    shrinkage = dy.Float64(nullable=True)
    verdict = dy.String(nullable=True)

    @dy.rule()
    def verdict_is_known(cls) -> pl.Expr:
        return pl.col("verdict").is_in(VERDICTS)


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


class Augmentations(dy.Schema):
    """Yes/no questions made from other questions, one row an augmentation.

    original_id is there where a question has several augmentations, and each of these an id of its own.
    """

    optional_columns: ClassVar[dict[str, Any]] = {
        "original_id": dy.String(nullable=False),
        "target": dy.Float64(nullable=False),
    }
    question_id = dy.String(primary_key=True)
    augmentation = dy.String(primary_key=True)
    image_id = dy.String(nullable=False)
    question = dy.String(nullable=False)
    answer = dy.String(nullable=False)
    form = dy.String(nullable=False)
    question_type = dy.String(nullable=False)
    original_question = dy.String(nullable=False)
    original_answer = dy.String(nullable=False)
    substituted_answer = dy.String(nullable=False)
    split = dy.String(nullable=False)

    @dy.rule()
    def answer_is_yes_or_no(cls) -> pl.Expr:
        return pl.col("answer").is_in(["yes", "no"])


class SkippedSources(dy.Schema):
    """Questions that give no augmentation, and why; augmentation is null where no type's opening fits."""

    question_id = dy.String(primary_key=True)
    augmentation = dy.String(nullable=True)
    reason = dy.String(nullable=False)


class AugmentationPairs(dy.Schema):
    """Which question is an augmentation of which; one original may have several."""

    original_id = dy.String(nullable=False)
    augmented_id = dy.String(nullable=False)
    augmentation = dy.String(nullable=False)
    form = dy.String(nullable=True)  # type and form of sentence; null where the pairs are somebody else's


class Swaps(dy.Schema):
    """A SwapMix plan: which region takes which donor's features, one row a perturbation of a question.

    Perturbation 0 is the question as it is, with ``kind`` "original" and no object or donor. A perfect-sight
    plan has neither region_index nor donor_region_index.
    """

    question_id = dy.String(primary_key=True)
    perturbation = dy.UInt32(primary_key=True)
    image_id = dy.String(nullable=False)
    object_id = dy.String(nullable=True)
    region_index = dy.UInt32(nullable=True)
    kind = dy.String(nullable=False)
    swap_index = dy.UInt32(nullable=True)
    from_class = dy.String(nullable=True)
    to_class = dy.String(nullable=True)
    from_attribute = dy.String(nullable=True)
    to_attribute = dy.String(nullable=True)
    is_padding = dy.Bool(nullable=False)
    donor_image_id = dy.String(nullable=True)
    donor_object_id = dy.String(nullable=True)
    donor_region_index = dy.UInt32(nullable=True)

    @dy.rule()
    def kind_is_known(cls) -> pl.Expr:
        return pl.col("kind").is_in(SWAP_KINDS)

    @dy.rule()
    def only_the_original_has_no_swap(cls) -> pl.Expr:
        is_original = pl.col("perturbation") == 0
        return (
            (is_original == (pl.col("kind") == "original"))
            & (is_original == pl.col("object_id").is_null())
            & (is_original == pl.col("swap_index").is_null())
        )


class QuestionPairs(dy.Schema):
    """Two questions that a shortcut answers alike, and that have different answers.

    Without a rule the two are the first and the second of a pair as it was found or given.
    """

    pair_id = dy.UInt32(primary_key=True)
    rule_id = dy.UInt32(nullable=True)
    rule_answer = dy.String(nullable=True)
    question_id_agree = dy.String(nullable=False)
    question_id_counter = dy.String(nullable=False)
    question_similarity = dy.Float64(nullable=False)
    object_similarity = dy.Float64(nullable=True)
    answer_agree = dy.String(nullable=False)
    answer_counter = dy.String(nullable=False)
    match = dy.String(nullable=False)

    @dy.rule()
    def questions_differ(cls) -> pl.Expr:
        return pl.col("question_id_agree") != pl.col("question_id_counter")


class QuestionGroups(dy.Schema):
    """Two yes/no questions about two images, each right with yes on one of them and with no on the other.

    ``question_id_QI`` is question Q about image I; yes is right for 00 and 11.
    """

    group_id = dy.UInt32(primary_key=True)
    image_id_0 = dy.String(nullable=False)
    image_id_1 = dy.String(nullable=False)
    question_id_00 = dy.String(nullable=False)
    question_id_01 = dy.String(nullable=False)
    question_id_10 = dy.String(nullable=False)
    question_id_11 = dy.String(nullable=False)


class SlicedQuestions(SplitQuestions):
    """Rows that slices are of, with what is looked at: ``outcome``, larger is worse.

    Of questions there is the model's accuracy in percent, of two models also the other one's.
    """

    optional_columns: ClassVar[dict[str, Any]] = {
        "attributes": dy.List(dy.String(nullable=False), nullable=True),
        "accuracy": dy.Float64(nullable=False),
        "accuracy_b": dy.Float64(nullable=False),
        "outcome_b": dy.Int64(nullable=False),
    }

    outcome = dy.Int64(nullable=False)
    is_held_out = dy.Bool(nullable=False)


class Slices(dy.Schema):
    """Slices: rows that share items, with their mean outcome and how surely it is above that of the others.

    The worst come first. ``divergence`` is the mean minus that of all rows, the slice's among them;
    ``item_shares`` is how much of it each item brings, in the order of words, objects and attributes.
    """

    optional_columns: ClassVar[dict[str, Any]] = {
        "outcome_sum_b": dy.Int64(nullable=False),
        "mean_b": dy.Float64(nullable=False),
        "holdout_count": dy.UInt64(nullable=True),
        "holdout_mean": dy.Float64(nullable=True),
        "holdout_divergence": dy.Float64(nullable=True),
        "holdout_p": dy.Float64(nullable=True),
    }

    slice_id = dy.UInt32(primary_key=True)
    words = dy.List(dy.String(nullable=False), nullable=False)
    objects = dy.List(dy.String(nullable=False), nullable=False)
    attributes = dy.List(dy.String(nullable=False), nullable=False)
    length = dy.UInt32(nullable=False)
    count = dy.UInt64(nullable=False)
    outcome_sum = dy.Int64(nullable=False)
    mean = dy.Float64(nullable=False)
    divergence = dy.Float64(nullable=False)
    share = dy.Float64(nullable=True)
    p_value = dy.Float64(nullable=True)
    q_value = dy.Float64(nullable=True)
    t_beta = dy.Float64(nullable=True)
    t_welch = dy.Float64(nullable=True)
    sliceline_score = dy.Float64(nullable=True)
    is_redundant = dy.Bool(nullable=False)
    item_shares = dy.List(dy.Float64(nullable=False), nullable=False)


class SliceItems(dy.Schema):
    """The items of slices: each alone, and over all slices of items of columns (null for other items)."""

    kind = dy.String(primary_key=True)
    item = dy.String(primary_key=True)
    count = dy.UInt64(nullable=False)
    divergence = dy.Float64(nullable=False)
    global_divergence = dy.Float64(nullable=True)


class SliceCover(dy.Schema):
    """Slices to read first: what each adds to the outcome that those before it explain."""

    rank = dy.UInt32(primary_key=True)
    slice_id = dy.UInt32(nullable=False)
    new_outcome = dy.Int64(nullable=False)
    explained = dy.Float64(nullable=False)


class Resplit(dy.Schema):
    """The side of each question of a set that was split anew, and its group's position there."""

    question_id = dy.String(primary_key=True)
    subset = dy.String(nullable=False)
    group = dy.UInt32(nullable=True)

    @dy.rule()
    def subset_is_known(cls) -> pl.Expr:
        return pl.col("subset").is_in(("train", "test", "val"))


class ResplitOod(Resplit):
    """The same with the shortcuts under which a test question's answer is rare; null outside the test."""

    ood = dy.List(dy.String(nullable=False), nullable=True)


def antecedent_columns(rules: pl.DataFrame) -> list[str]:
    """Return those columns of rules that list the items of their antecedents."""
    return [name for name in ANTECEDENT if name in rules.columns]


def check_frame(frame: object, what: str) -> None:
    """Raise SchemaError unless `frame` is a Polars DataFrame, whose columns can be looked at then."""
    if not isinstance(frame, pl.DataFrame):
        raise SchemaError(
            f"{what}: got {type(frame).__module__}.{type(frame).__name__}, expected a Polars DataFrame. "
            "Pass one (pl.from_pandas for a pandas frame, .collect() for a LazyFrame)."
        )


def _with_optional_columns(schema: type[dy.Schema], frame: pl.DataFrame) -> type[dy.Schema]:
    """Return the schema with those of its optional columns that `frame` has."""
    optional: dict[str, Any] = getattr(schema, "optional_columns", {})
    present = {name: column for name, column in optional.items() if name in frame.columns}
    if not present:
        return schema
    return types.new_class(schema.__name__, (schema,), exec_body=lambda body: body.update(present))


def validated(frame: pl.DataFrame, schema: type[dy.Schema], what: str) -> pl.DataFrame:
    """Return `frame` if it is a Polars frame that satisfies `schema`; extra columns are kept.

    A schema's ``optional_columns`` are checked where `frame` has them.

    Raises
    ------
    SchemaError
        Lists every breach at once: missing columns, wrong types, nulls, repeated keys, broken rules.
    """
    check_frame(frame, what)
    try:
        _with_optional_columns(schema, frame).validate(frame)
    except (dy.exc.SchemaError, dy.exc.ValidationError) as error:
        reasons = str(error).split("\n\nResolved plan", maxsplit=1)[0]
        raise SchemaError(
            f"{what}: got a table that breaks the {schema.__name__} schema, expected all of it to hold.\n"
            f"{reasons}\nSee {schema.__module__}.{schema.__name__} for the columns and rules."
        ) from error
    return frame
