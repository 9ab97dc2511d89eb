"""The result JSON of the released evaluation scripts, in both of its layouts.

With a detector: {image: {question: {ans, changes, pred}}}, where ``pred`` lists batches of answers, in the
order of ``changes``. With perfect sight: {image: {object: {changes, prediction, relevant_questions}, answers:
{question: ans}}}, where ``prediction`` has, per change, batches of answers in the order of
``relevant_questions``.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import OnMissingSwap
from shortcut_miner.diagnostics.swapmix.metrics import ATTRIBUTE, CLASS, PlanShape
from shortcut_miner.errors import SchemaError, SourceError, examples, problem_list
from shortcut_miner.sources.opening.files import FileFacts, Source, open_source
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS
from shortcut_miner.sources.opening.repeated_fields import check_keys_once

ORIGINAL = "original"
_Answer = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]  # numbers of answers, kept as int32


class _LayoutError(ValueError):
    """What decoded well, but is not as the scripts write it."""


class _Answered(msgspec.Struct, gc=False):
    ans: _Answer
    changes: list[str]
    pred: list[list[_Answer]]


class _Batches(msgspec.Struct, gc=False):
    pred: list[list[_Answer]]


class _Swapped(msgspec.Struct, gc=False):
    changes: list[str]
    prediction: dict[str, _Batches]
    relevant_questions: list[str]


@dataclasses.dataclass(slots=True)
class _Answers:
    """One question's answers in one run: the original, then one a change."""

    image: str
    right: int
    given: list[int]
    names: list[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Results:
    """Both runs of a model, as rows of a plan.

    Attributes
    ----------
    shape : PlanShape
        The rows; without ``classes`` if the files don't name them.
    answers, right : ndarray of int32
        As :func:`shortcut_miner.diagnostics.swapmix.metrics.judge` takes them.
    files : mapping of str to FileFacts
        What was read.
    notes : tuple of str
        What was decided, in words.
    dropped : mapping of str to int
        Questions that a run lacks, by role.
    """

    shape: PlanShape
    answers: NDArray[np.int32]
    right: NDArray[np.int32]
    files: Mapping[str, FileFacts]
    notes: tuple[str, ...]
    dropped: Mapping[str, int] = dataclasses.field(default_factory=dict)


def read_results(
    class_results: Path, attribute_results: Path, on_missing: OnMissingSwap = "error"
) -> Results:
    """Return the answers of a class run and an attribute run.

    A question that one run lacks is an error, left out, or read as one of which that run swaps nothing.

    Raises
    ------
    SourceError
        A file can't be read or is of another layout.
    SchemaError
        The two files are of other questions or right answers, or a question has too few answers.
    """
    sources = {
        "class_results": open_source(class_results),
        "attribute_results": open_source(attribute_results),
    }
    (classes, of_classes), (attributes, of_attributes) = (_read(source) for source in sources.values())
    unasked = {"class_results": of_classes, "attribute_results": of_attributes}
    odd = sorted(classes.keys() ^ attributes.keys())
    if odd and on_missing == "error":
        raise SchemaError(
            f"{class_results} and {attribute_results}: got {len(odd):,} questions in one of them only "
            f"({examples(odd)}), expected the same questions. Give both runs of one model, or read a missing "
            "question as no such swap with --on-missing no-swap, or leave it out with --on-missing skip."
        )
    unlike = sorted(
        one for one in classes.keys() & attributes.keys() if classes[one].right != attributes[one].right
    )
    if unlike:
        raise SchemaError(
            f"{class_results} and {attribute_results}: got {len(unlike):,} questions with two right "
            f"answers ({examples(unlike)}), expected the same in both. Give both runs of one model."
        )
    dropped = {
        f"{role}: question without an answer": lost
        for role, run, other in (
            ("class_results", classes, attributes), ("attribute_results", attributes, classes),
        )
        if (lost := len(other.keys() - run.keys()))
    }  # fmt: skip
    if on_missing == "skip":
        classes = {one: run for one, run in classes.items() if one in attributes}
        attributes = {one: run for one, run in attributes.items() if one in classes}
        if not classes:
            raise SchemaError(
                f"{class_results} and {attribute_results}: got no question in both, expected at least one. "
                "Give both runs of one model."
            )
    else:
        classes, attributes = (
            run | {one: dataclasses.replace(answered, given=answered.given[:1], names=[])
                   for one, answered in other.items() if one not in run}
            for run, other in ((classes, attributes), (attributes, classes))
        )  # fmt: skip
    found = _joined(classes, attributes, {role: source.facts() for role, source in sources.items()})
    notes = tuple(
        f"{role}: questions about which no object was swapped, so that no answer is known: {count:,}"
        for role, count in unasked.items()
        if count
    )
    return dataclasses.replace(found, notes=notes + found.notes, dropped=dropped)


def _joined(
    classes: dict[str, _Answers], attributes: dict[str, _Answers], files: Mapping[str, FileFacts]
) -> Results:
    ids = sorted(classes)
    answers: list[int] = []
    kind: list[int] = []
    index: list[int] = []
    names: list[str] = []
    for one in ids:
        answers.append(classes[one].given[0])
        kind.append(0)
        index.append(0)
        names.append("")
        for number, run in ((CLASS, classes[one]), (ATTRIBUTE, attributes[one])):
            answers += run.given[1:]
            kind += [number] * (len(run.given) - 1)
            index += _numbered(run.names)
            names += run.names
    known = {name: at for at, name in enumerate(sorted(set(names) - {""}))}
    lengths = np.array([len(classes[one].given) + len(attributes[one].given) - 1 for one in ids], np.int64)
    shape = PlanShape(
        questions=pl.DataFrame({"question_id": ids, "image_id": [classes[one].image for one in ids]}),
        first=np.cumsum(lengths) - lengths,
        kind=np.array(kind, np.uint8),
        index=np.array(index, np.uint32),
        is_padding=np.zeros(len(kind), np.bool_),
        from_class=np.array([known.get(name, -1) for name in names], np.int32),
        classes=list(known),
    )
    differ = sum(classes[one].given[0] != attributes[one].given[0] for one in ids)
    notes = (
        f"questions whose answer without a swap differs between both runs: {differ:,}; the class run's "
        "counts",
    )
    right = np.array([classes[one].right for one in ids], np.int32)
    return Results(shape, np.array(answers, np.int32), right, files, notes if differ else ())


def _numbered(names: list[str]) -> list[int]:
    """Return the number of each swap among those of its class, from 1; 0 where no class is named."""
    seen: defaultdict[str, int] = defaultdict(int)
    numbers = []
    for name in names:
        seen[name] += 1
        numbers.append(seen[name] if name else 0)
    return numbers


def _read(source: Source) -> tuple[dict[str, _Answers], int]:
    """Return a run's answers, and to how many questions of the file it has none."""
    try:
        images = msgspec.json.decode(source.content, type=dict[str, dict[str, msgspec.Raw]])
        check_keys_once(source.path, source.content, 3)
        is_scene = any("answers" in records for records in images.values())
        found: dict[str, _Answers] = {}
        for one, run in _scene_answers(images) if is_scene else _detector_answers(images):
            if found.setdefault(one, run) is not run:
                raise _LayoutError(f"question {one} under the images {found[one].image!r} and {run.image!r}")
    except (*DECODE_ERRORS, _LayoutError) as error:
        raise SourceError(
            f"{source.path}: got {error}, expected the result JSON of the released evaluation scripts. "
            "Check that this is the right file."
        ) from error
    unasked = [one for one, run in found.items() if is_scene and not run.given and not run.names]
    for one in unasked:
        del found[one]
    if not found:
        raise SourceError(f"{source.path}: got no answers, expected some. Check that this is the right file.")
    problems = [
        f"question {one}: got {len(run.given) - 1} answers to swaps, expected {len(run.names)}"
        for one, run in found.items()
        if len(run.given) - 1 != len(run.names)
    ]
    if problems:
        raise SchemaError(
            problem_list(
                f"{source.path}: got questions with another number of answers than changes, expected "
                "one each. Run the evaluation again.",
                problems,
            )
        )
    return found, len(unasked)


def _detector_answers(images: Mapping[str, Mapping[str, msgspec.Raw]]) -> Iterator[tuple[str, _Answers]]:
    for image, records in images.items():
        for question, raw in records.items():
            one = msgspec.json.decode(raw, type=_Answered)
            # A change reads FROM_to_TO.
            names = [change.split("_to_")[0] for change in one.changes if change != ORIGINAL]
            yield question, _Answers(image, one.ans, list(chain.from_iterable(one.pred)), names)


def _scene_answers(images: Mapping[str, Mapping[str, msgspec.Raw]]) -> Iterator[tuple[str, _Answers]]:
    for image, records in images.items():
        if "answers" not in records:
            continue
        right = msgspec.json.decode(records["answers"], type=dict[str, _Answer])
        found = {question: _Answers(image, answer, [], []) for question, answer in right.items()}
        for name, raw in records.items():
            if name == "answers":
                continue
            one = msgspec.json.decode(raw, type=_Swapped)
            if unknown := [question for question in one.relevant_questions if question not in right]:
                raise _LayoutError(f"no answer to the questions {examples(unknown)} of image {image!r}")
            if odd := [change for change in one.prediction if not change.isdecimal()]:
                raise _LayoutError(f"the changes {examples(odd)} of image {image!r}, which are no numbers")
            if one.relevant_questions and len(one.prediction) != len(one.changes):
                raise _LayoutError(
                    f"{len(one.prediction):,} predictions for the {len(one.changes):,} changes of object "
                    f"{name!r} of image {image!r}"
                )
            for change, batches in sorted(one.prediction.items(), key=lambda item: int(item[0])):
                given = list(chain.from_iterable(batches.pred))
                if len(given) != len(one.relevant_questions):
                    raise _LayoutError(
                        f"{len(given):,} answers to the {len(one.relevant_questions):,} questions of change "
                        f"{change}, object {name!r} of image {image!r}"
                    )
                for question, answer in zip(one.relevant_questions, given, strict=True):
                    run = found[question]
                    if change == "0":
                        # Every object repeats the answer without a swap.
                        run.given = run.given or [answer]
                    else:
                        run.given.append(answer)
                        run.names.append("")
        yield from found.items()
