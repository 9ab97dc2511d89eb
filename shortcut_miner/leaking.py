"""How far a built folder's questions can be answered without images: from text, objects' names, by rules."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.folders import Run, open_folder, publish, write_manifest, write_tables
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.datasets.scores import build_record
from shortcut_miner.diagnostics.vqa_ce.outputs import COMMAND as VQA_CE
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.exports.questions import read_question_sets
from shortcut_miner.options import (
    OnBadRow,
    PathText,
    as_path,
    as_path_if_given,
    check_counts,
)
from shortcut_miner.scoring.leak import Prior, check_scikit_learn, leak_check
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.storage import MANIFEST, InputRecord, Provenance, read_json_file
from shortcut_miner.timing import OnStage, StageCost, in_parts, timed

COMMAND = "leak-check"
TABLE = "leaks"
WHOLE = "all"
_NO_ANSWER = "questions without an answer"
# Sets that ask about the answers to other questions have these columns.
_PRIOR = Prior(context="original_question", given="original_answer", asked="substituted_answer")
_SCHEMA = {
    **dict.fromkeys(("set", "subset"), pl.String),
    **dict.fromkeys(("row_count", "answer_count"), pl.UInt32),
    **dict.fromkeys(("majority", "text", "objects", "text_and_objects"), pl.Float64),
    "rule_rows": pl.UInt32,
    "rules": pl.Float64,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LeakFiles:
    """What is read: the built folder, objects of its images, and rules that answer its questions."""

    folder: Path
    detections: Path | None = None
    detections_info: Path | None = None
    rules: Path | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LeakReport:
    """How far a folder's sets can be answered without images.

    Attributes
    ----------
    leaks : pl.DataFrame
        A row a subset: set, subset ("all": those of a set together), row_count, answer_count (distinct ones),
        and in percent: majority (the most frequent answer), text, objects, text_and_objects (see
        :func:`shortcut_miner.scoring.leak.leak_check`; null where objects are not known), and rules (what the
        rule classifier answers right, of its rule_rows questions here; null where it answers none).
    out : Path or None
        The folder written; None where nothing was.
    notes, warnings : tuple of str
        What was decided, and what may be wrong.
    dropped : dict of str to int
        Questions left out, by reason.
    costs : list of StageCost
        By stage.
    """

    leaks: pl.DataFrame
    out: Path | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: dict[str, int] = dataclasses.field(default_factory=dict)
    costs: list[StageCost] = dataclasses.field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """False if something was left out by request."""
        return not self.dropped.keys() - {_NO_ANSWER}


def check_leaks(
    folder: PathText,
    *,
    detections: PathText | None = None,
    detections_info: PathText | None = None,
    on_bad_row: OnBadRow = "error",
    rules: PathText | None = None,
    folds: int = 5,
    seed: int = 0,
    limit: int | None = None,
    out: PathText | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> LeakReport:
    """Return how far each set of a built folder can be answered without its images.

    Parameters
    ----------
    folder : path
        What a ``build`` wrote; its questions are those that ``export`` writes.
    detections, detections_info : path, optional
        Names of objects by image, as ``vqa-ce build`` takes them; without it those that the questions have.
    on_bad_row : {"error", "skip"}
        Whether images that can't be read are left out and counted.
    rules : path, optional
        A VQA-CE folder whose rule classifier answers the questions that are its validation questions too; by
        default the folder itself, if it is one.
    folds, seed
        See :func:`shortcut_miner.scoring.leak.leak_check`.
    limit : int, optional
        The first questions of each subset only, to try things out.
    out : path, optional
        Folder for leaks.parquet and its manifest.
    force : bool
        Replace what a run with other options wrote there.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    BackendError
        scikit-learn is missing.
    """
    check_scikit_learn()
    path, target = as_path("folder", folder), as_path_if_given("out", out)
    files = LeakFiles(
        folder=path,
        detections=as_path_if_given("detections", detections),
        detections_info=as_path_if_given("detections_info", detections_info),
        rules=as_path_if_given("rules", rules),
    )
    check_counts(limit=limit)
    if files.detections_info is not None and files.detections is None:
        raise ConfigError(
            f"detections_info: got {files.detections_info} without detections, expected both. "
            "Give --detections too."
        )
    run = Run(files=files, on_stage=on_stage, force=force)
    config = {"folds": folds, "seed": seed, "on_bad_row": on_bad_row, "limit": limit}
    run.check_out(target, COMMAND, config, (f"{TABLE}.parquet",))
    with timed(run.costs, "read", on_stage):
        sets = read_question_sets(path).first(limit)
        facts, known = _objects(files, on_bad_row)
        predicted, records = _rule_answers(files, sets)
        subsets, gone = _subsets(sets, known, predicted)
        _check_known(files, [rows for _, _, rows in subsets])
    with timed(run.costs, "check for leaks", on_stage):
        rows = [
            _row(name, subset, table, folds, seed)
            for name, subset, table in in_parts(subsets, "check for leaks", on_stage, "subsets")
        ]
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    dropped = {_NO_ANSWER: gone} if gone else {}
    provenance = Provenance(
        command=COMMAND,
        config=config,
        inputs=(build_record(path, read_json_file(path / MANIFEST)), *facts.records, *records),
        counts={"subsets": len(table)},
        dropped={**facts.dropped, **dropped},
    )
    gone_note = (f"{_NO_ANSWER}: {gone:,}, left out",) if gone else ()
    notes = (*facts.notes, *gone_note)
    if target is not None:
        write = partial(_write, provenance=provenance, table=table)
        publish(target, run, write, notes=notes, warnings=facts.warnings)
    return LeakReport(
        leaks=table,
        out=target,
        notes=tuple(dict.fromkeys((*notes, *run.notes))),
        warnings=facts.warnings,
        dropped=dict(provenance.dropped),
        costs=run.costs,
    )


def _objects(files: LeakFiles, on_bad_row: OnBadRow) -> tuple[InputFacts, pl.DataFrame | None]:
    """Return the names of objects in each image as lists, and what was read."""
    if files.detections is None:
        return InputFacts.of({}), None
    reading = read_labels(files.detections, info=files.detections_info, on_bad_row=on_bad_row)
    listed = reading.table.group_by("image_id").agg(objects=pl.col("label").drop_nulls().unique())
    return InputFacts.of({"detections": reading}), listed


def _check_known(files: LeakFiles, subsets: Sequence[pl.DataFrame]) -> None:
    """Raise SourceError if what was given says nothing of any question."""
    given = {"objects": (files.detections, "images"), "predicted": (files.rules, "questions")}
    for column, (path, what) in given.items():
        if path is not None and all(rows[column].null_count() == len(rows) for rows in subsets):
            raise SourceError(
                f"{path}: got nothing about the {what} of {files.folder}, expected some of them. "
                f"Give what was made for these {what}."
            )


def _rule_answers(
    files: LeakFiles, sets: QuestionSets
) -> tuple[pl.DataFrame | None, tuple[InputRecord, ...]]:
    """Return what a rule classifier answers: question_id, predicted; and the record of its folder."""
    if files.rules is None and sets.command != VQA_CE:
        return None, ()
    folder = open_folder(files.rules or files.folder, VQA_CE)
    answers = folder.table("rule_predictions").select("question_id", predicted="answer")
    own = () if files.rules is None else (build_record(folder.path, folder.manifest),)
    return answers, own


def _subsets(
    sets: QuestionSets, objects: pl.DataFrame | None, predicted: pl.DataFrame | None
) -> tuple[list[tuple[str, str, pl.DataFrame]], int]:
    """Return set, name and rows of each subset, and how many questions without an answer are left out.

    Rows have image_id, question, answer, further columns that are needed, and, where they are known, objects
    and predicted.
    """
    found: list[tuple[str, str, pl.DataFrame]] = []
    gone = 0
    for name, splits in sets.sets.items():
        parts = {split: _with_knowledge(table, objects, predicted) for split, table in splits.items()}
        answered = {split: table.drop_nulls("answer") for split, table in parts.items()}
        gone += sum(len(parts[split]) - len(table) for split, table in answered.items())
        whole = pl.concat([*answered.values()], how="diagonal")
        found += [(name, WHOLE, whole)] if len(answered) > 1 else []
        found += [(name, split, table) for split, table in answered.items()]
    some = [one for one in found if len(one[2])]
    if not some:
        raise SourceError(f"{sets.path}: got no question with an answer, expected some. Give another build.")
    return some, gone


def _with_knowledge(
    table: pl.DataFrame, objects: pl.DataFrame | None, predicted: pl.DataFrame | None
) -> pl.DataFrame:
    if "source_image_id" in table.columns:  # each drawn image has an id of its own
        table = table.with_columns(image_id="source_image_id", question_id="source_question_id")
    if objects is not None:
        table = table.drop("objects", strict=False).join(
            objects, on="image_id", how="left", validate="m:1", maintain_order="left"
        )
    if predicted is not None:
        table = table.join(predicted, on="question_id", how="left", validate="m:1", maintain_order="left")
    return table


def _row(name: str, subset: str, rows: pl.DataFrame, folds: int, seed: int) -> dict[str, object]:
    check: Callable[..., pl.DataFrame] = partial(leak_check, rows, folds=folds, seed=seed)
    has_prior = {_PRIOR.context, _PRIOR.given, _PRIOR.asked} <= {*rows.columns}
    text = check(prior=_PRIOR if has_prior else None)
    told = {"majority": text["majority"][0], "text": text["accuracy"][0]}
    if "objects" in rows.columns and rows["objects"].null_count() < len(rows):
        told["objects"] = check(text=None, objects="objects")["accuracy"][0]
        told["text_and_objects"] = check(objects="objects")["accuracy"][0]
    told |= dict(_by_rules(rows))
    counts = {"row_count": len(rows), "answer_count": rows["answer"].n_unique()}
    return dict.fromkeys(_SCHEMA) | {"set": name, "subset": subset} | counts | told


def _by_rules(rows: pl.DataFrame) -> Iterator[tuple[str, object]]:
    answered = rows.drop_nulls("predicted") if "predicted" in rows.columns else rows.clear()
    if len(answered):
        right = int((answered["predicted"] == answered["answer"]).sum())
        yield "rule_rows", len(answered)
        yield "rules", round(100 * right / len(answered), 1)


def _write(folder: Path, provenance: Provenance, table: pl.DataFrame) -> None:
    write_tables(folder, provenance, {TABLE: table})
    write_manifest(folder, provenance)
