"""Pairs and groups against plain Python that tries everything, and what the card promises of them."""

import random
from collections.abc import Sequence

import pytest
from diagnostics.pairs.tables import (
    ANSWERS,
    OBJECTS,
    WORDS,
    Row,
    Rule,
    quadruples,
    questions_of,
    rule_pairs,
    rules_of,
    text_pairs,
)
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.pairs.config import Match, PairsConfig
from shortcut_miner.diagnostics.pairs.groups import find_groups
from shortcut_miner.diagnostics.pairs.pairing import Found, find_pairs
from shortcut_miner.diagnostics.pairs.rows import Rows

MATCHES: tuple[Match, ...] = ("question", "question_type", "antecedent")
some = st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=2).map(tuple)


@st.composite
def row_lists(
    draw: st.DrawFn, most: int = 12, answers: st.SearchStrategy[tuple[str, ...]] = some
) -> list[Row]:
    ids = draw(st.sampled_from(["{}", "n{}", "0{}"]))
    numbers = draw(st.lists(st.integers(1, 120), unique=True, max_size=most))
    return [
        Row(
            question_id=ids.format(number),
            image_id=draw(st.sampled_from("abcd")),
            words=tuple(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))),
            kind=draw(st.sampled_from(["is", "what", None])),
            answers=draw(answers),
            objects=draw(st.none() | st.lists(st.sampled_from(OBJECTS), max_size=2).map(tuple)),
        )
        for number in numbers
    ]


rule_lists = st.lists(
    st.builds(
        Rule,
        words=st.lists(st.sampled_from(WORDS), max_size=1).map(tuple),
        objects=st.lists(st.sampled_from(OBJECTS), max_size=1).map(tuple),
        answer=st.sampled_from(ANSWERS),
    ),
    min_size=1,
    max_size=4,
)


def found(rows: Sequence[Row], rules: Sequence[Rule] | None, config: PairsConfig) -> tuple[Rows, Found]:
    encoded = Rows.of(questions_of(rows))
    return encoded, find_pairs(encoded, None if rules is None else rules_of(rules), config)


def ids_of(rows: Rows, pairs: Sequence[tuple[int, ...]]) -> list[tuple[object, ...]]:
    ids = rows.questions["question_id"].to_list()
    return [(rule, ids[p], ids[n]) for rule, p, n in pairs]


@given(rows=row_lists(), rules=rule_lists, match=st.sampled_from(MATCHES), per_rule=st.integers(1, 3),
       reuse=st.booleans())  # fmt: skip
def test_rule_pairs_are_those_of_plain_python(
    rows: list[Row], rules: list[Rule], match: Match, per_rule: int, reuse: bool
) -> None:
    config = PairsConfig(match=match, rules="all", per_rule=per_rule, reuse=reuse)
    encoded, made = found(rows, rules, config)
    pairs, unpaired = rule_pairs(rows, rules, match, per_rule, reuse=reuse)
    assert ids_of(encoded, made.pairs) == pairs
    assert made.unpaired == unpaired
    for rule, p, n in pairs:
        agree, counter = ({row.question_id: row for row in rows}[one] for one in (p, n))
        assert agree.answer == rules[rule].answer
        assert rules[rule].answer not in counter.answers
        assert agree.image_id != counter.image_id
    ids = [one for _, *both in pairs for one in both]
    assert reuse or len({*ids}) == len(ids)


@given(rows=row_lists(), reuse=st.booleans())
def test_text_pairs_are_those_of_plain_python(rows: list[Row], reuse: bool) -> None:
    encoded, made = found(rows, None, PairsConfig(reuse=reuse))
    pairs, unpaired = text_pairs(rows, reuse=reuse)
    assert ids_of(encoded, made.pairs) == [(-1, *pair) for pair in pairs]
    assert made.unpaired == unpaired


@given(rows=row_lists(), rules=rule_lists, match=st.sampled_from(MATCHES), seed=st.integers(0, 3))
def test_the_order_of_rows_changes_nothing(
    rows: list[Row], rules: list[Rule], match: Match, seed: int
) -> None:
    config = PairsConfig(match=match, rules="all", seed=seed or None)
    encoded, made = found(rows, rules, config)
    shuffled = random.Random(seed).sample(rows, len(rows))
    again, same = found(shuffled, rules, config)
    assert ids_of(encoded, made.pairs) == ids_of(again, same.pairs)
    assert made.unpaired == same.unpaired


yes_or_no = st.sampled_from(["yes", "no"]).map(lambda answer: (answer,))


@given(rows=row_lists(16, yes_or_no | some))
def test_groups_are_those_of_plain_python(rows: list[Row]) -> None:
    encoded = Rows.of(questions_of(rows))
    ids = encoded.questions["question_id"].to_list()
    groups = [tuple(ids[row] for row in group) for group in find_groups(encoded)]
    assert groups == quadruples(rows)
    pairs = [tuple(group[at : at + 2]) for group in groups for at in (0, 2)]
    of_given = find_groups(encoded, [(ids.index(one), ids.index(other)) for one, other in pairs])
    allowed = {frozenset(map(str, pair)) for pair in pairs}
    assert [tuple(ids[row] for row in group) for group in of_given] == quadruples(rows, allowed)


def crossed(*images: tuple[str, str]) -> list[Row]:
    """Return two questions about both images of each pair, with their answers crossed."""
    rows = []
    for place, (one, other) in enumerate(images):
        for at, (image, text, answer) in enumerate(
            [(one, "red", "yes"), (other, "red", "no"), (one, "cat", "no"), (other, "cat", "yes")]
        ):
            rows.append(Row(f"{10 * place + at}", image, (text,), "is", (answer,), None))
    return rows


def test_crossed_questions_are_a_group() -> None:
    encoded = Rows.of(questions_of(crossed(("a", "b"), ("c", "d"))))
    ids = encoded.questions["question_id"].to_list()
    groups = [[ids[row] for row in group] for group in find_groups(encoded)]
    assert groups == [["0", "1", "2", "3"], ["10", "11", "12", "13"]]
    assert find_groups(encoded, given=[(0, 1)]) == []


def test_similar_words_come_before_similar_objects_and_smaller_ids() -> None:
    def row(number: int, text: str, answer: str, objects: tuple[str, ...] | None) -> Row:
        return Row(str(number), f"i{number}", tuple(text.split()), "is", (answer,), objects)

    rule = [Rule(("is",), (), "yes")]
    p = row(9, "is cat red", "yes", ("cat", "dog"))
    rows = [p, row(10, "is dog", "no", ("cat", "dog")), row(100, "is cat", "no", None)]
    config = PairsConfig(match="antecedent", rules="all")
    assert ids_of(*_pairs(rows, rule, config)) == [(0, "9", "100")]
    rows += [row(101, "is cat", "no", ("cat",))]
    assert ids_of(*_pairs(rows, rule, config)) == [(0, "9", "101")]
    rows += [row(99, "cat is", "no", ("dog",))]
    assert ids_of(*_pairs(rows, rule, config)) == [(0, "9", "99")]


def _pairs(
    rows: list[Row], rules: list[Rule], config: PairsConfig
) -> tuple[Rows, list[tuple[int, int, int]]]:
    encoded, made = found(rows, rules, config)
    return encoded, made.pairs


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_a_seed_changes_who_looks_first(seed: int | None) -> None:
    rows = [Row(str(n), f"i{n}", ("is",), "is", ("yes" if n < 40 else "no",), None) for n in range(80)]
    config = PairsConfig(match="antecedent", rules="all", seed=seed, per_rule=5)
    _, pairs = _pairs(rows, [Rule(("is",), (), "yes")], config)
    firsts = [p for _, p, _ in pairs]
    assert len(firsts) == 5
    assert (firsts == [0, 1, 2, 3, 4]) == (seed is None)
    if seed == 1:
        config = PairsConfig(match="antecedent", rules="all", seed=0, per_rule=5)
        assert firsts != [p for _, p, _ in _pairs(rows, [Rule(("is",), (), "yes")], config)[1]]
