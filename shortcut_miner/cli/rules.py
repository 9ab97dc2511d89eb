"""``rules`` and ``explain``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from shortcut_miner.cli.console import note, print_fields, print_json, print_table, print_text, warn
from shortcut_miner.cli.kernels import watched
from shortcut_miner.cli.options import DEFAULT_SHOWN, DONE, INPUTS, METHOD, OUTPUT, DryRun, MostShown, Shown
from shortcut_miner.cli.pictures import FilesGiven, ImagesGiven, document, print_picture, target_picture
from shortcut_miner.errors import ConfigError, SourceError

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.vqa_ce.explain import Explanation

Modality = Literal["words", "objects", "attributes", "multimodal"]
Verdict = Literal["chance", "unstable", "prior", "redundant", "real"]
Choose = Parameter(group=METHOD)
ChosenVerdict = Annotated[
    Verdict | None, Parameter(group=METHOD, help="Only rules with this verdict; see the room's card.")
]
MaxQ = Annotated[
    float | None,
    Parameter(group=METHOD, help="Only rules whose q value over the searched family is below this, 0 to 1."),
]

WRITERS = ("vqa-ce build", "mine")
# Column of the rules -> its heading; those that a file lacks are left out.
_SHOWN = {
    "rule_id": "rule",
    "antecedent_words": "words",
    "antecedent_objects": "objects",
    "antecedent_attributes": "attributes",
    "answer": "answer",
    "is_correct": "correct",
    "rule_count": "count",
    "antecedent_count": "of",
    "confidence": "confidence",
    "lift": "lift",
    "val_antecedent_count": "val rows",
    "val_confidence": "val confidence",
    "holdout_p_holm": "holdout p",
    "q_value_by": "q",
    "verdict": "verdict",
}
_NUMBERS = ("rule", "count", "of", "confidence", "lift", "val rows", "val confidence", "holdout p", "q")
_SPARE = ("lift", "val rows", "val confidence", "of", "holdout p", "count", "q", "rule")


def rules(
    source: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    contains: Annotated[tuple[str, ...], Parameter(group=METHOD, consume_multiple=1, negative=())] = (),
    answer: Annotated[str | None, Choose] = None,
    modality: Annotated[Modality | None, Choose] = None,
    min_confidence: Annotated[float, Choose] = 0.0,
    min_count: Annotated[int, Choose] = 0,
    verdict: ChosenVerdict = None,
    max_q: MaxQ = None,
    sort: Annotated[str, Choose] = "rule_id",
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Look up rules.

    Parameters
    ----------
    source : Path
        What vqa-ce build or mine wrote, or the rules.parquet of it.
    contains : tuple of str
        Words, object labels or attributes (column=value) that must all be in the antecedent.
    answer : str, optional
        The rule's answer.
    modality : str, optional
        What the antecedent is made of.
    min_confidence : float
        Least confidence, 0 to 1.
    min_count : int
        Least training rows with antecedent and answer together.
    sort : str
        rule_id: in rule order, that is by confidence and then antecedent_count. Any other column of numbers
        in rules.parquet: largest first, but p and q values smallest first.
    most : int
        Most rules to print.
    """
    from shortcut_miner.mining.frames.lookup import find_rules, unknown_terms

    known = read_rules(source)
    found = find_rules(
        known,
        contains=contains,
        answer=answer,
        modality=modality,
        min_confidence=min_confidence,
        min_count=min_count,
        verdict=verdict,
        max_q=max_q,
        sort=sort,
    )
    for text in unknown_terms(known, contains=contains, answer=answer):
        warn(text)
    if shown.format == "json":
        print_json({"total": len(found), "rules": found.head(most).to_dicts()})
    else:
        print_rules(found.head(most))
        note(shown, how_many(len(found), most, "--limit"))
    return DONE


def read_rules(source: Path) -> "pl.DataFrame":
    """Return the rules of a folder or file.

    Raises
    ------
    SourceError, SchemaError
        No such file, no rules in it, or files of two builds.
    """
    from shortcut_miner.datasets.folders import open_folder, read_written_table
    from shortcut_miner.schemas import Rules

    if source.is_dir():
        return open_folder(source, *WRITERS).table("rules", Rules)
    if not source.exists():
        raise SourceError(
            f"{source}: got no such file or folder, expected what {' or '.join(WRITERS)} wrote, or the "
            "rules.parquet of it. Check the path."
        )
    return read_written_table(source, Rules)


def print_rules(found: "pl.DataFrame") -> None:
    """Print rules, one a line."""
    if found.is_empty():
        print_text("no such rule")
        return
    columns = [name for name in _SHOWN if name in found.columns]
    headings = [_SHOWN[name] for name in columns]
    print_table(headings, found.select(columns).rows(), right=_NUMBERS, spare=_SPARE)


def how_many(total: int, most: int, option: str) -> str:
    """Return how many of the rules found are shown.

    >>> how_many(1234, 20, "--limit")
    '20 of 1,234 rules; see more with --limit 1234'
    """
    if total > most:
        return f"{most:,} of {total:,} rules; see more with {option} {total}"
    return f"{total:,} rule" + ("" if total == 1 else "s")


def explain(
    folder: Annotated[Path, Parameter(group=INPUTS)],
    question_id: Annotated[str, Parameter(group=INPUTS)],
    /,
    *,
    verdict: ChosenVerdict = None,
    max_q: MaxQ = None,
    images: ImagesGiven = None,
    detections: FilesGiven = None,
    detections_info: FilesGiven = None,
    rule: Annotated[int | None, Parameter(group=OUTPUT)] = None,
    most: MostShown = 20,
    out: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    dry_run: DryRun = False,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Explain one question.

    Parameters
    ----------
    folder : Path
        What vqa-ce build wrote.
    question_id : str
        One of the validation questions.
    detections : list of Path, optional
        Boxes with labels, of the detector whose labels the build read; by default what it read, if that has
        boxes.
    detections_info : list of Path, optional
        The file that their format needs beside.
    rule : int, optional
        The rule to draw, of those that fire; by default the first of them that has objects.
    most : int
        Most rules to print.
    out : Path, optional
        PNG of the image and the rule's objects to write; an earlier picture is replaced, no other file.
    """
    from shortcut_miner.diagnostics.vqa_ce.explain import explain as explain_question
    from shortcut_miner.diagnostics.vqa_ce.show import show as show_question

    is_drawn = _is_drawn(out, images, detections, detections_info, rule)
    with watched(shown, None, ("match",)):
        explanation = explain_question(folder, question_id, verdict=verdict, max_q=max_q)
    picture = None
    with target_picture(out, dry_run=dry_run, needs_out=False) as target:
        if is_drawn:
            picture = show_question(
                folder,
                explanation,
                images=images,
                detections=detections,
                detections_info=detections_info,
                rule=rule,
                out=target,
            )
    if shown.format == "json":
        drawn = {} if picture is None else {"picture": document(picture, target)}
        print_json(explanation_document(explanation, most) | drawn)
    else:
        print_fields(explanation_fields(explanation))
        if len(explanation.rules) or verdict or max_q is not None:
            print_text("")
            print_rules(explanation.rules.head(most))
            note(shown, how_many(len(explanation.rules), most, "--limit"))
        if picture is not None:
            print_text("")
            return print_picture(picture, target, shown)
    return DONE


def _is_drawn(out: Path | None, *needs_out: object) -> bool:
    """Return whether a picture is asked for; raise ConfigError if only what it is made of is given."""
    if out is None and any(one is not None for one in needs_out):
        raise ConfigError(
            "--out: got none, expected a PNG's name, as images, detections and rules are given to be drawn. "
            "Give --out."
        )
    return out is not None


def explanation_document(explanation: "Explanation", most: int) -> dict[str, Any]:
    """Return an explanation as one JSON object."""
    return {
        "question": explanation.question,
        "subset": explanation.subset,
        "reason": explanation.reason,
        "total": len(explanation.rules),
        "rules": explanation.rules.head(most).to_dicts(),
    }


def explanation_fields(explanation: "Explanation") -> dict[str, str]:
    """Return the question and its subset in words."""
    from shortcut_miner.transactions import KINDS

    question = explanation.question
    given: list[str] = list(question["answers"] or [question["answer"]])  # type: ignore[call-overload]
    counted = sorted({answer: given.count(answer) for answer in given}.items(), key=lambda one: -one[1])
    items: dict[str, Any] = {kind: question[kind] for kind in KINDS if kind in question}
    return {
        "question": f"{question['question']}",
        **_places(question),
        **{kind: "not known" if one is None else ", ".join(one) or "none" for kind, one in items.items()},
        "answers": ", ".join(f"{answer} ({count})" for answer, count in counted),
        "subset": explanation.subset,
        "because": explanation.reason,
    }


def _places(question: Mapping[str, object]) -> dict[str, str]:
    """Return the image and the group of a question; rows of a table may have neither of their own."""
    image, group = question["image_id"], question.get("group")
    own = {"image": image} if image not in (group, question["question_id"]) else {}
    return {name: f"{value}" for name, value in (own | {"group": group}).items() if value is not None}
