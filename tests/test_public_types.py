"""Public functions given a value of a wrong type: one clear error, whichever function and argument it is."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import shortcut_miner as sm
from shortcut_miner.errors import ShortcutMinerError

ROWS, ANSWERS = [["a"]], ["x"]
RULES = sm.mine_rules(ROWS, ANSWERS, min_count=1)

CALLS: dict[str, Callable[[Any], object]] = {
    "mine_rules": lambda value: sm.mine_rules(value, ANSWERS),
    "mine_rules answers": lambda value: sm.mine_rules(ROWS, value),
    "match_rules": lambda value: sm.match_rules(value, ROWS),
    "match_rules transactions": lambda value: sm.match_rules(RULES, value),
    "to_mlxtend": sm.to_mlxtend,
    "from_mlxtend": lambda value: sm.from_mlxtend(value, 1),
    "read_vqa": lambda value: sm.read_vqa(value, value),
    "read_predictions": sm.read_predictions,
    "score_questions": lambda value: sm.score_questions(value, value),
    "write_demo_world": sm.write_demo_world,
    "vqa_ce.score": lambda value: sm.vqa_ce.score(value, {}),
    "rad.build": lambda value: sm.rad.build(questions=value),
}
for option in ("min_count", "min_confidence", "superset_filter", "empty_rule", "weights", "backend"):
    CALLS[f"mine_rules {option}"] = lambda value, name=option: sm.mine_rules(ROWS, ANSWERS, **{name: value})


@pytest.mark.parametrize("value", [object(), b"x", 5.5, pl.LazyFrame({"a": ["x"]})], ids=type)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("error")
def test_a_wrong_type_is_told(call: Callable[[Any], object], value: object) -> None:
    with pytest.raises(ShortcutMinerError, match=r"^[^:]+: got (?s:.)+, expected (?s:.)+\."):
        call(value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sm.read_predictions(5), "path: got int, expected a text or Path. Pass the file's name."),  # type: ignore[arg-type]
        (
            lambda: sm.score_questions(5, 5),  # type: ignore[arg-type]
            "questions: got builtins.int, expected a Polars DataFrame. "
            "Pass one (pl.from_pandas for a pandas frame, .collect() for a LazyFrame).",
        ),
        (
            lambda: sm.mine_rules(ROWS, ANSWERS, weights=5),  # type: ignore[arg-type]
            "weights: got int64 of shape () with least value 5, expected 1 integers of 1 or more. "
            "Pass one weight a row.",
        ),
        (
            lambda: sm.mine_rules(ROWS, ANSWERS, superset_filter=pl.DataFrame({"a": ["x"]})),  # type: ignore[arg-type]
            "superset_filter: got DataFrame, expected one of immediate, all, none. Change --superset-filter.",
        ),
    ],
    ids=["path", "frame", "weights", "choice"],
)
def test_messages(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ShortcutMinerError) as error:
        call()
    assert str(error.value) == message
