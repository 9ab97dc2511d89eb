"""Reading what is split anew: questions with answers of one file or several, rules, images' objects."""

import dataclasses
from functools import partial

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.rule_folders import RuleFolder, read_rule_folder
from shortcut_miner.datasets.scores import build_record
from shortcut_miner.diagnostics.resplit.config import ANTECEDENT, ResplitConfig, ResplitFiles
from shortcut_miner.errors import SchemaError, SourceError, examples, problem_list
from shortcut_miner.item_lists import certain_labels, labelled_images
from shortcut_miner.sources.images.image_ids import check_image_join
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.question_sets import read_questions
from shortcut_miner.sources.questions.tables import column_names
from shortcut_miner.tokenizers import tokenize


@dataclasses.dataclass(frozen=True, slots=True)
class ResplitInputs:
    """What was read.

    Attributes
    ----------
    questions : pl.DataFrame
        schemas.Questions of all files, sorted by question_id, without rows that were skipped; with rules also
        words and objects (null: not known).
    folder : RuleFolder or None
        Where rules are from.
    facts : InputFacts
        Records, drops, notes and warnings.
    """

    questions: pl.DataFrame
    folder: RuleFolder | None
    facts: InputFacts


def read_inputs(files: ResplitFiles, config: ResplitConfig, limit: int | None = None) -> ResplitInputs:
    """Return the inputs of a build; `limit` keeps the first questions of each file.

    Raises
    ------
    SourceError, SchemaError
        A file or folder that can't be read or has rows that don't fit; an id in two files; no value in a
        column that makes groups.
    ConfigError
        Annotations of a file that holds its own answers, or none of one that doesn't.
    """
    table, readings = _read_all(files, config, limit)
    _check_ids(table, files)
    warnings: list[str | None] = []
    folder = None if files.from_rules is None else read_rule_folder(files.from_rules)
    if folder is not None:
        table = table.with_columns(words=tokenize(table["question"], folder.manifest["config"]["tokenizer"]))
        objects = pl.lit(None, pl.List(pl.String))
        if files.detections is not None:
            labels = read_labels(
                [*files.detections],
                info=None if files.detections_info is None else [*files.detections_info],
                on_bad_row=config.on_bad_row,
            )
            readings["detections"] = labels
            both = (readings["questions"], labels)
            join = partial(check_image_join, left="questions", readings=both)
            warnings.append(join(table["image_id"], labels.table["image_id"]))
            table = _with_objects(table, labels.table, folder.manifest["config"]["score_threshold"])
        else:
            table = table.with_columns(objects=objects)
            with_objects = int((folder.rules["antecedent_objects"].list.len() > 0).sum())
            if with_objects:
                warnings.append(
                    f"detections: got none, so that {with_objects:,} of {len(folder.rules):,} rules, which "
                    "have objects, fire nowhere. Give --detections of the detector they were mined with."
                )
    table, dropped = _without_gaps(table, files, config)
    facts = InputFacts.of(readings, warnings)
    records = facts.records
    if folder is not None:
        record = build_record(folder.path, folder.manifest)
        records = (*records, dataclasses.replace(record, role="from_rules"))
    facts = dataclasses.replace(facts, records=records, dropped={**facts.dropped, **dropped})
    return ResplitInputs(table.sort("question_id"), folder, facts)


def _read_all(
    files: ResplitFiles, config: ResplitConfig, limit: int | None
) -> tuple[pl.DataFrame, dict[str, Reading]]:
    """Return the questions of all files one after another, and what was read by role."""
    columns = column_names(config.columns)
    tables = []
    parts: dict[str, list[Reading]] = {}
    for at, path in enumerate(files.questions):
        annotations = None if files.annotations is None else files.annotations[at]
        table, readings = read_questions(
            path, annotations, columns, on_bad_row=config.on_bad_row, limit=limit
        )
        tables.append(table)
        for role, reading in readings.items():
            parts.setdefault(role, []).append(reading)
    return pl.concat(tables), {role: _together(some) for role, some in parts.items()}


def _together(readings: list[Reading]) -> Reading:
    """Return several readings of one role as one, whose parts they are."""
    first, *others = readings
    if not others:
        return first
    dropped: dict[str, int] = {}
    for one in readings:
        for reason, count in one.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    notes = tuple(dict.fromkeys(note for one in readings for note in one.notes))
    return dataclasses.replace(first, dropped=dropped, notes=notes, parts=tuple(readings))


def _check_ids(table: pl.DataFrame, files: ResplitFiles) -> None:
    ids = table["question_id"]
    twice = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    if len(twice):
        names = ", ".join(path.name for path in files.questions)
        raise SchemaError(
            f"questions ({names}): got {len(twice):,} ids in several files: {examples(twice)}, expected each "
            "question in one of them. Give each file once, or rename the ids of one."
        )


def _with_objects(table: pl.DataFrame, labels: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Return questions with the objects of their images; null where nothing is known of an image."""
    known = labelled_images(labels).to_frame()
    listed = (
        certain_labels(labels, threshold).collect().group_by("image_id").agg(objects=pl.col("item").sort())
    )
    of_images = known.join(listed, on="image_id", how="left", validate="1:1").with_columns(
        pl.col("objects").fill_null([])
    )
    return table.join(of_images, on="image_id", how="left", validate="m:1", maintain_order="left")


def _without_gaps(
    table: pl.DataFrame, files: ResplitFiles, config: ResplitConfig
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the questions with a value in each column that is needed, and how many others are left out."""
    keys = ("question_type", "answer") if config.method == "vqa-vs-like" else config.keys
    needed = [*dict.fromkeys([*(key for key in keys if key != ANTECEDENT), "answer"])]
    lacking = {name: table.filter(pl.col(name).is_null())["question_id"] for name in needed}
    problems = [
        f"{len(ids):,} x question without {name}: {examples(ids)}"
        for name, ids in lacking.items()
        if len(ids)
    ]
    if not problems:
        return table, {}
    is_whole = pl.all_horizontal(pl.col(needed).is_not_null())
    kept = table.filter(is_whole)
    if config.on_bad_row != "skip" or kept.is_empty():
        names = ", ".join(path.name for path in files.questions)
        advice = ", or skip them with --on-bad-row skip" if len(kept) else ""
        title = f"questions ({names}): got some without what groups are made of, expected it in every row. "
        raise SourceError(problem_list(f"{title}Fill it in{advice}.", problems))
    dropped = {f"questions: no {name}": len(ids) for name, ids in lacking.items() if len(ids)}
    return kept, dropped
