"""Reading what VQA-CE needs: training and validation questions with answers, and object labels."""

import dataclasses
from collections.abc import Sequence
from functools import partial

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.questions import cluster_column, has_known_objects
from shortcut_miner.diagnostics.vqa_ce.tables import TABLE_ROLES, Tables, open_tables, read_tables
from shortcut_miner.errors import ConfigError, examples
from shortcut_miner.item_lists import labelled_images
from shortcut_miner.sources.images.image_ids import check_image_join
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.opening.files import in_background
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.question_sets import read_questions
from shortcut_miner.sources.questions.table_rows import GROUP


@dataclasses.dataclass(frozen=True, slots=True)
class VqaCeInputs:
    """Tables read, with what was decided and lost on the way.

    Attributes
    ----------
    train, val : pl.DataFrame
        schemas.Questions, in file order; of tables also, where they have them, labels (List[String]: the
        question's own objects, null = unknown), attributes (List[String]) and group (String).
    labels : pl.DataFrame or None
        schemas.Labels.
    facts : InputFacts
        Records, drops, notes and warnings.
    has_images : bool
        Whether image_id is of images, and no stand-in for a table's groups or questions.
    """

    train: pl.DataFrame
    val: pl.DataFrame
    labels: pl.DataFrame | None
    facts: InputFacts
    has_images: bool = True


def read_inputs(
    files: VqaCeFiles, config: VqaCeConfig, limit: int | None = None, tables: Tables | None = None
) -> VqaCeInputs:
    """Return the inputs of a build; `limit` keeps the first questions of both splits.

    Parameters
    ----------
    tables : Tables, optional
        What :func:`.tables.open_tables` gives for these files, where they are tables.

    Raises
    ------
    SourceError
        A file that can't be read or has rows that don't fit; see :mod:`shortcut_miner.sources`.
    ConfigError
        Objects are wanted, but there is no detections file and no column of labels.
    """
    tables = tables or open_tables(files, config)
    check_objects(files, config, tables)
    notes: tuple[str, ...] = ()
    detected = in_background(lambda: read_detections(files, config))
    if tables is None:
        train, val, readings = _read_files(files, config, limit)
    else:
        train, val, readings, notes = read_tables(tables, config, limit)
    warnings: list[str | None] = [_shared_warning(train, val), _no_answers_warning(train, val)]
    if tables is not None and (tables.has_images or tables.has_groups):
        notes += _shared_groups_note(train, val)
    labels = None
    detections = detected.result()
    if detections is not None:
        questions = (("training questions", train), ("validation questions", val))
        roles = [*readings]
        readings["detections"], labels = detections, detections.table
        labelled = labelled_images(labels)
        for at, (split, table) in enumerate(questions):
            both = (readings[_role_of(at, roles)], readings["detections"])
            warnings.append(check_image_join(table["image_id"], labelled, left=split, readings=both))
    facts = InputFacts.of(readings, warnings)
    facts = dataclasses.replace(facts, notes=(*facts.notes, *notes))
    return VqaCeInputs(
        train=train, val=val, labels=labels, facts=facts, has_images=tables is None or tables.has_images
    )


def read_detections(files: VqaCeFiles, config: VqaCeConfig) -> Reading | None:
    """Return the object labels of a file of their own; None if there is none, or objects are no items."""
    if config.items == "words" or files.detections is None:
        return None
    return read_labels(files.detections, info=files.detections_info, on_bad_row=config.on_bad_row)


def check_objects(files: VqaCeFiles, config: VqaCeConfig, tables: Tables | None) -> None:
    """Raise ConfigError if objects are wanted and there are none, or half of the files for them."""
    has_labels = tables is not None and tables.has_labels
    if config.items != "words" and files.detections is None and not has_labels:
        raise ConfigError(
            f"items: got {config.items} without detections, expected a file with the images' object labels"
            f"{', or a column of labels' if tables else ''}. Give --detections, or use --items words."
        )
    if files.detections_info is not None and files.detections is None:
        raise ConfigError(
            f"detections_info: got {files.detections_info[0]} without detections, expected both. "
            "Give --detections too."
        )


def count_questions(inputs: VqaCeInputs, config: VqaCeConfig) -> dict[str, int]:
    """Return, by the manifest's names, how many questions each split has, and what they are about.

    That is images, groups of a table, and questions without detections where objects are items.
    """
    columns = {"images": "image_id"} if inputs.has_images else {}
    columns |= {"groups": GROUP} if GROUP in inputs.train.columns else {}
    counts, labelled = {}, None if inputs.labels is None else labelled_images(inputs.labels)
    for split, name, table in (("train", "training", inputs.train), ("val", "validation", inputs.val)):
        counts[f"{split}_questions"] = len(table)
        distinct = table.lazy().select(pl.col(one).n_unique() for one in columns.values()).collect()
        counts |= {f"{split}_{what}": distinct[column].item() for what, column in columns.items()}
        is_known = has_known_objects(table, labelled, config)
        if is_known is not None:
            counts[f"{name}_questions_without_detections"] = int((~is_known).sum())
    return counts


def _read_files(
    files: VqaCeFiles, config: VqaCeConfig, limit: int | None
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Reading]]:
    assert files.train_questions is not None and files.val_questions is not None
    skip = config.on_bad_row
    read = partial(read_questions, on_bad_row=skip, limit=limit)
    validation = in_background(partial(read, files.val_questions, files.val_annotations, roles=_VAL))
    train, readings = read(files.train_questions, files.train_annotations, roles=_TRAIN)
    val, val_readings = validation.result()
    return train, val, readings | val_readings


def _role_of(at: int, roles: Sequence[str]) -> str:
    """Return the reading that holds the training (0) or validation (1) questions; one table may hold both."""
    names = (_TRAIN[0], _VAL[0]) if _TRAIN[0] in roles else TABLE_ROLES
    return names[at] if names[at] in roles else names[0]


def _shared_warning(train: pl.DataFrame, val: pl.DataFrame) -> str | None:
    """Return the warning about questions that are in both splits; None if there are none."""
    shared = val.join(train, on=QUESTION_KEYS, how="semi", maintain_order="left")
    return shared_text(len(shared), len(val))


def shared_text(shared: int, questions: int) -> str | None:
    """Return the warning that so many of the validation questions are in both splits; None if none is."""
    if not shared:
        return None
    return (
        f"validation questions: got {shared:,} of {questions:,} that are training questions too, expected "
        "none: rules are tested where they were mined. Check the files."
    )


def _no_answers_warning(train: pl.DataFrame, val: pl.DataFrame) -> str | None:
    """Return the warning about splits whose answers are written differently; None if they share some."""
    if val["answer"].drop_nulls().is_in(train["answer"].unique().implode()).any():
        return None  # as in nearly all cases, and the answers of all annotators are many
    ours, theirs = (
        pl.concat([rows["answer"], rows["answers"].explode(empty_as_null=False)]).drop_nulls().unique()
        for rows in (train, val)
    )
    return None if theirs.is_in(ours.implode()).any() else no_answers_text(ours, theirs)


def no_answers_text(ours: pl.Series, theirs: pl.Series) -> str | None:
    """Return the warning that training questions have these distinct answers and validation ones those.

    None if the validation questions have none.
    """
    if theirs.is_empty():
        return None
    return (
        f"validation answers: got {examples(theirs.sort())}, none of them an answer of a training question "
        f"({examples(ours.sort())}), expected some in both: no rule can be right. Check the columns."
    )


def _shared_groups_note(train: pl.DataFrame, val: pl.DataFrame) -> tuple[str, ...]:
    """Return the note on groups of questions that are in both splits of somebody's table."""
    name = cluster_column(val)
    groups = val[name].unique()
    return shared_groups_text(name, int(groups.is_in(train[name].unique().implode()).sum()), len(groups))


def shared_groups_text(column: str, shared: int, groups: int) -> tuple[str, ...]:
    """Return the note that so many of the validation questions' groups are in both splits, if any is."""
    what = "images" if column == "image_id" else "groups"
    told = f"{what} in both splits: {shared:,} of {groups:,} of the validation questions"
    return (told,) if shared else ()


QUESTION_KEYS = ("question_id", "image_id", "question")
_TRAIN, _VAL = ("train_questions", "train_annotations"), ("val_questions", "val_annotations")
