"""``rules`` and ``explain``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from shortcut_miner.cli.console import note, print_fields, print_json, print_table
from shortcut_miner.cli.kernels import watched
from shortcut_miner.cli.options import DEFAULT_SHOWN, DONE, INPUTS, METHOD, MostShown, Shown
from shortcut_miner.errors import SourceError

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.diagnostics.vqa_ce.explain import Explanation

Modality = Literal["words", "objects", "multimodal"]
Measure = Literal[
    "rule_id", "confidence", "support", "lift", "antecedent_count", "rule_count", "val_confidence",
    "val_antecedent_count",
]  # fmt: skip
Choose = Parameter(group=METHOD)

# Column of the rules -> its heading; those that a file lacks are left out.
_SHOWN = {
    "rule_id": "rule",
    "antecedent_words": "words",
    "antecedent_objects": "objects",
    "answer": "answer",
    "is_correct": "correct",
    "rule_count": "count",
    "antecedent_count": "of",
    "confidence": "confidence",
    "lift": "lift",
    "val_antecedent_count": "val rows",
    "val_confidence": "val confidence",
}
_NUMBERS = ("rule", "count", "of", "confidence", "lift", "val rows", "val confidence")


def rules(
    source: Annotated[Path, Parameter(group=INPUTS)],
    /,
    *,
    contains: Annotated[tuple[str, ...], Parameter(group=METHOD, consume_multiple=True, negative=())] = (),
    answer: Annotated[str | None, Choose] = None,
    modality: Annotated[Modality | None, Choose] = None,
    min_confidence: Annotated[float, Choose] = 0.0,
    min_count: Annotated[int, Choose] = 0,
    sort: Annotated[Measure, Choose] = "rule_id",
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Look up rules.

    Parameters
    ----------
    source : Path
        A folder with rules.parquet, or such a file.
    contains : tuple of str
        Words or object labels that must all be in the antecedent.
    answer : str, optional
        The rule's answer.
    modality : str, optional
        What the antecedent is made of.
    min_confidence : float
        Least confidence, 0 to 1.
    min_count : int
        Least training rows with antecedent and answer together.
    sort : str
        rule_id: in rule order, that is by confidence and then antecedent_count. A measure: largest first.
    most : int
        Most rules to print.
    """
    from shortcut_miner.mining.frames.lookup import find_rules

    found = find_rules(
        read_rules(source),
        contains=contains,
        answer=answer,
        modality=modality,
        min_confidence=min_confidence,
        min_count=min_count,
        sort=sort,
    )
    if shown.format == "json":
        print_json({"total": len(found), "rules": found.head(most).to_dicts()})
    else:
        print_rules(found.head(most))
        note(shown, how_many(len(found), most))
    return DONE


def read_rules(source: Path) -> "pl.DataFrame":
    """Return the rules of a folder or file.

    Raises
    ------
    SourceError, SchemaError
        No such file, or no rules in it.
    """
    import polars as pl

    from shortcut_miner.schemas import Rules, validated

    path = source / "rules.parquet" if source.is_dir() else source
    try:
        return validated(pl.read_parquet(path), Rules, str(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise SourceError(
            f"{path}: got {reason}, expected rules that shortcut-miner wrote. "
            "Give a folder with rules.parquet, or such a file."
        ) from error


def print_rules(found: "pl.DataFrame") -> None:
    """Print rules, one a line."""
    columns = [name for name in _SHOWN if name in found.columns]
    print_table([_SHOWN[name] for name in columns], found.select(columns).rows(), right=_NUMBERS)


def how_many(total: int, most: int, option: str = "--limit") -> str:
    """Return how many of the rules found are shown.

    >>> how_many(1234, 20)
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
    most: MostShown = 20,
    shown: Shown = DEFAULT_SHOWN,
) -> int:
    """Explain one question.

    Parameters
    ----------
    folder : Path
        What vqa-ce build wrote.
    question_id : str
        One of the validation questions.
    most : int
        Most rules to print.
    """
    from shortcut_miner.diagnostics.vqa_ce.explain import explain as explain_question

    with watched(shown, None, ("match",)):
        explanation = explain_question(folder, question_id)
    if shown.format == "json":
        print_json(explanation_document(explanation, most))
    else:
        print_fields(explanation_fields(explanation))
        if len(explanation.rules):
            print()
            print_rules(explanation.rules.head(most))
            note(shown, how_many(len(explanation.rules), most))
    return DONE


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
    question = explanation.question
    given: list[str] = list(question["answers"] or [question["answer"]])  # type: ignore[call-overload]
    counted = sorted({answer: given.count(answer) for answer in given}.items(), key=lambda one: -one[1])
    objects = question["objects"]
    return {
        "question": f"{question['question']}",
        "image": f"{question['image_id']}",
        "words": ", ".join(question["words"] or ()),  # type: ignore[arg-type]
        "objects": "not known" if objects is None else ", ".join(objects) or "none",  # type: ignore[arg-type]
        "answers": ", ".join(f"{answer} ({count})" for answer, count in counted),
        "subset": explanation.subset,
        "because": explanation.reason,
    }
