"""The released program's own layouts: restructured questions, and the results of its evaluations."""

import re
from pathlib import Path

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, parse_json
from shortcut_miner.sources.opening.reading import RECORD, Problem, Reading, find_duplicates, settle
from shortcut_miner.sources.opening.repeated_fields import check_keys_once
from shortcut_miner.sources.opening.streams import start_of
from shortcut_miner.sources.shapes import RESTRUCTURED

_THREE_DEEP = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{\s*"[^"]*"\s*:\s*\{')


class _Question(msgspec.Struct, gc=False):
    question: str
    annotations: dict[str, str] = {}


def is_restructured(path: Path) -> bool:
    """Return whether a file looks like ``*_questions_new.json``: {image: {question: {...}}}."""
    if path.is_dir():
        return False
    start = start_of(path)
    return bool(_THREE_DEEP.match(start)) and b'"imageId"' not in start


def read_restructured(path: Path, limit: int | None = None) -> Reading:
    """Return questions of the released layout, with the answers of the file beside it.

    Returns
    -------
    Reading
        question_id, image_id, question, answer (null without ``*_answers_new.json`` beside the file),
        relevant_objects List[String] (in this layout one map of object id to name), in file order.
    """
    source = open_source(path)
    top = parse_json(source).top
    check_keys_once(source.path, source.content, 3)
    ids: list[tuple[str, str]] = []
    questions: list[_Question | None] = []
    problems: list[Problem] = []
    for image, raw in top.items() if isinstance(top, dict) else ():
        try:
            records = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except DECODE_ERRORS:
            records = {"": raw}
        for question_id, record in records.items():
            try:
                questions.append(msgspec.json.decode(record, type=_Question))
            except DECODE_ERRORS as error:
                questions.append(None)
                problems.append(
                    Problem((len(ids),), "question", str(error), "a question and its annotations")
                )
            ids.append((question_id, image))
    table = pl.DataFrame(
        {
            "question_id": [one for one, _ in ids],
            "image_id": [image for _, image in ids],
            "question": [one.question if one else None for one in questions],
            "relevant_objects": [list(one.annotations) if one else None for one in questions],
        },
        schema_overrides={"relevant_objects": pl.List(pl.String), "question": pl.String},
    ).with_row_index(RECORD)
    problems += find_duplicates(table, "question_id")
    settle(source, "questions", problems, len(table), None, lambda at: f"question {ids[at][0]}")
    if table.is_empty():
        raise SourceError(
            f"{path}: got 0 questions, expected at least one. Check that this is the right file."
        )
    images, notes = canonical_image_ids(table["image_id"])
    table = table.drop(RECORD).with_columns(image_id=images).head(limit or len(table))
    answers = _answers_beside(path)
    if answers is None:
        notes += ("no *_answers_new.json beside the questions: answers are not known",)
        table = table.with_columns(answer=pl.lit(None, pl.String))
    else:
        table = table.join(answers, on="question_id", how="left", validate="1:1", maintain_order="left")
    return Reading(table=table, kind=RESTRUCTURED, file=source.facts(), notes=notes)


def _answers_beside(path: Path) -> pl.DataFrame | None:
    """Return question_id and answer from the answers file that belongs to a questions file."""
    name = path.name.replace("questions", "answers")
    places = [path.with_name(name), path.with_name(name.removesuffix(".gz")), path.with_name(f"{name}.gz")]
    beside = next((place for place in places if place.is_file() and place != path), None)
    if beside is None:
        return None
    source = open_source(beside)
    try:
        given = msgspec.json.decode(source.content, type=dict[str, dict[str, str]])
    except DECODE_ERRORS as error:
        raise SourceError(
            f"{beside}: got {error}, expected {{image: {{question: answer}}}}. Correct or remove the file."
        ) from error
    check_keys_once(str(beside), source.content, 2)
    pairs = {question: answer for answers in given.values() for question, answer in answers.items()}
    return pl.DataFrame(
        {"question_id": list(pairs), "answer": list(pairs.values())},
        schema=dict.fromkeys(("question_id", "answer"), pl.String),
    )
