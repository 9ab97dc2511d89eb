"""The questions of each rule, compared with looking at every question."""

from typing import Any

import polars as pl
from report.folders import Folders

from shortcut_miner.diagnostics.vqa_ce.outputs import read_folder
from shortcut_miner.report.rule_examples import rule_examples
from shortcut_miner.report.rule_rows import chosen_rules


def test_examples_are_the_first_questions_by_id(folders: Folders) -> None:
    folder = read_folder(folders.out / "vqa-ce")
    found = rule_examples(folder, 2)
    asked = folder.questions.to_dicts()
    ids = found.questions["question_id"]
    for position in range(0, len(folder.rules), 97):
        rule = folder.rules.row(position, named=True)
        fires = [one for one in asked if is_fired(rule, one)]
        right = [one["question_id"] for one in fires if rule["answer"] in (one["answers"] or [one["answer"]])]
        wrong = [one["question_id"] for one in fires if one["question_id"] not in right]
        assert [ids[at] for at in found.supporting[position]] == right[:2]
        assert [ids[at] for at in found.counterexamples[position]] == wrong[:2]
    assert any(found.supporting) and any(found.counterexamples)


def is_fired(rule: dict[str, Any], question: dict[str, Any]) -> bool:
    has_words = {*rule["antecedent_words"]} <= {*(question["words"] or ())}
    return has_words and {*rule["antecedent_objects"]} <= {*(question["objects"] or ())}


def test_all_rules_are_chosen_where_they_fit(folders: Folders) -> None:
    rules = folders.table("vqa-ce", "rules")
    assert chosen_rules(rules, len(rules)).equals(rules)


def test_what_is_not_known_is_never_chosen_for_its_measure() -> None:
    lifts = pl.Series("lift", [None, None, None, 2.0, None], dtype=pl.Float64)
    rules = pl.DataFrame({"rule_id": range(5), "lift": lifts})
    assert chosen_rules(rules, 2)["rule_id"].to_list() == [0, 3]


def test_of_equal_measures_the_first_rules_are_chosen() -> None:
    rules = pl.DataFrame({"rule_id": range(5), "lift": [1.0, 3.0, 3.0, 3.0, 3.0]})
    assert chosen_rules(rules, 2)["rule_id"].to_list() == [0, 1]


def test_rules_that_are_first_twice_leave_room_for_the_next() -> None:
    rules = pl.DataFrame({"rule_id": range(6), "lift": [9.0, 8.0, 3.0, 4.0, 5.0, 6.0]})
    assert chosen_rules(rules, 4)["rule_id"].to_list() == [0, 1, 2, 3]
