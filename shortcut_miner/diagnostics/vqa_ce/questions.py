"""What is asked of the columns of questions in more than one place."""

import polars as pl

from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.sources.questions.table_rows import GROUP, LABELS


def cluster_column(questions: pl.DataFrame) -> str:
    """Return the column whose values' questions stay together: a table's groups, else images."""
    return GROUP if GROUP in questions.columns else "image_id"


def has_known_objects(
    questions: pl.DataFrame, labelled: pl.Series | None, config: VqaCeConfig
) -> pl.Series | None:
    """Return Boolean per question: whether its objects are known; None if objects are no items.

    `labelled` are the images of a file of detections.
    """
    if config.items == "words":
        return None
    if LABELS in questions.columns:
        return questions[LABELS].is_not_null()
    return None if labelled is None else questions["image_id"].is_in(labelled.implode())
