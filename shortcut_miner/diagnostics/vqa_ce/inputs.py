"""Reading what VQA-CE needs: training and validation questions with answers, and object labels."""

import dataclasses

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.errors import ConfigError
from shortcut_miner.sources.images.image_ids import check_image_join
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.questions.question_sets import read_questions


@dataclasses.dataclass(frozen=True, slots=True)
class VqaCeInputs:
    """Tables read, with what was decided and lost on the way.

    Attributes
    ----------
    train, val : pl.DataFrame
        schemas.Questions, in file order.
    labels : pl.DataFrame or None
        schemas.Labels.
    facts : InputFacts
        Records, drops, notes and warnings.
    """

    train: pl.DataFrame
    val: pl.DataFrame
    labels: pl.DataFrame | None
    facts: InputFacts


def read_inputs(files: VqaCeFiles, config: VqaCeConfig, limit: int | None = None) -> VqaCeInputs:
    """Return the inputs of a build; `limit` keeps the first questions of both splits.

    Raises
    ------
    SourceError
        A file that can't be read or has rows that don't fit; see :mod:`shortcut_miner.sources`.
    ConfigError
        Objects are wanted, but there is no detections file.
    """
    if config.items != "words" and files.detections is None:
        raise ConfigError(
            f"items: got {config.items} without detections, expected a file with the images' object labels. "
            "Give --detections, or use --items words."
        )
    if files.detections_info is not None and files.detections is None:
        raise ConfigError(
            f"detections_info: got {files.detections_info[0]} without detections, expected both. "
            "Give --detections too."
        )
    skip = config.on_bad_row
    train, readings = read_questions(
        files.train_questions, files.train_annotations, roles=_TRAIN, on_bad_row=skip, limit=limit
    )
    val, val_readings = read_questions(
        files.val_questions, files.val_annotations, roles=_VAL, on_bad_row=skip, limit=limit
    )
    readings |= val_readings
    warnings: list[str | None] = [_shared_warning(train, val)]
    labels = None
    if config.items != "words" and files.detections is not None:
        readings["detections"] = read_labels(files.detections, info=files.detections_info, on_bad_row=skip)
        labels = readings["detections"].table
        splits = (
            ("training questions", train, "train_questions"),
            ("validation questions", val, "val_questions"),
        )
        for split, table, role in splits:
            both = (readings[role], readings["detections"])
            warnings.append(
                check_image_join(table["image_id"], labels["image_id"], left=split, readings=both)
            )
    return VqaCeInputs(train=train, val=val, labels=labels, facts=InputFacts.of(readings, warnings))


def _shared_warning(train: pl.DataFrame, val: pl.DataFrame) -> str | None:
    """Return the warning about questions that are in both splits; None if there are none."""
    keys = ["question_id", "image_id", "question"]
    shared = len(val.join(train, on=keys, how="semi", maintain_order="left"))
    if not shared:
        return None
    return (
        f"validation questions: got {shared:,} of {len(val):,} that are training questions too, expected "
        "none: rules are tested where they were mined. Check the files."
    )


_TRAIN, _VAL = ("train_questions", "train_annotations"), ("val_questions", "val_annotations")
