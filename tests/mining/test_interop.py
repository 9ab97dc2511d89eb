import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import rules_frame, rules_schema
from reference import ATTRIBUTE, OBJECT, WORD, Rule, build_rules, count_answers
from strategies import Table, tables

from shortcut_miner.errors import BackendError, ConfigError, SchemaError
from shortcut_miner.mining.frames.mlxtend import from_mlxtend, from_onehot, to_mlxtend
from shortcut_miner.mining.frames.tables import mine_rules
from shortcut_miner.schemas import Rules

pandas = pytest.importorskip("pandas")
patterns = pytest.importorskip("mlxtend.frequent_patterns")

COLUMNS = [
    "antecedents",
    "consequents",
    "antecedent support",
    "consequent support",
    "support",
    "confidence",
    "lift",
    "representativity",
    "leverage",
    "conviction",
    "zhangs_metric",
    "jaccard",
    "certainty",
    "kulczynski",
]
MULTIMODAL = pl.DataFrame(
    {
        "words": [["what", "dog"], ["what"], ["what", "dog"], ["is"]],
        "objects": [["dog"], ["cat"], ["dog"], []],
    }
)


# One rule as mlxtend gives it: a -> x in the only row.
FRAME = pandas.DataFrame(
    {
        "antecedents": [frozenset({"a"})],
        "consequents": [frozenset({"x"})],
        "antecedent support": [1.0],
        "consequent support": [1.0],
        "support": [1.0],
    }
)


def rules_of(table: Table) -> pl.DataFrame:
    """Return all rules of a strategy's table as the brute force finds them."""
    rules = build_rules(table.rows, min_count=1, min_confidence=0, superset_filter="none")
    frame = rules_frame(rules, count_answers(table.rows), max(len(table.rows), 1))
    lift = (
        pl.col("rule_count")
        * pl.col("transaction_count")
        / (pl.col("antecedent_count") * pl.col("answer_count"))
    )
    return frame.with_columns(lift=lift)


def sides_of(frame: Any) -> list[tuple[frozenset[str], frozenset[str]]]:
    return list(zip(frame["antecedents"], frame["consequents"], strict=True))


class TestToMlxtend:
    @pytest.mark.parametrize("seed", range(3))
    def test_equals_mlxtend_on_the_same_rules(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        onehot = pandas.DataFrame(
            random.random((60, 6)) < [0.9, 0.7, 0.5, 0.5, 0.3, 1.1], columns=list("abcdef")
        )
        classes = np.array(["x", "y", "z"])[
            (onehot["a"] + onehot["b"] * random.integers(0, 2, 60)).to_numpy()
        ]
        if seed == 2:
            classes[:] = "x"  # consequent support 1: conviction and certainty have no denominator
        ours = to_mlxtend(
            mine_rules(onehot, classes, min_count=3, min_confidence=0, max_antecedent=5),
            answer_prefix="class=",
        )

        together = onehot.assign(**{f"class={name}": classes == name for name in np.unique(classes)})
        itemsets = patterns.fpgrowth(together, min_support=2.5 / 60, use_colnames=True, max_len=6)
        with np.errstate(divide="ignore", invalid="ignore"):  # its certainty divides before it looks
            theirs = patterns.association_rules(itemsets, metric="support", min_threshold=0.0)
        place = {sides: number for number, sides in enumerate(sides_of(theirs))}
        expected = theirs.iloc[[place[sides] for sides in sides_of(ours)]]

        assert list(ours.columns) == COLUMNS == list(theirs.columns)
        assert len(ours) > 20
        for name in COLUMNS[2:]:
            assert ours[name].dtype == np.float64
            np.testing.assert_allclose(
                ours[name].to_numpy(), expected[name].to_numpy(), rtol=1e-10, atol=1e-15, err_msg=name
            )
        assert {type(items) for items in ours["antecedents"]} == {frozenset}

    def test_objects_and_answers_have_prefixes(self) -> None:
        rules = mine_rules(MULTIMODAL, ["yes", "no", "yes", "no"], min_count=2, min_confidence=0.6)
        frame = to_mlxtend(rules)
        assert frozenset({"what", "dog", "object: dog"}) in set(frame["antecedents"])
        assert set(frame["consequents"]) == {frozenset({"yes"})}
        frame = to_mlxtend(rules, object_prefix="V_", answer_prefix="= ")
        assert frozenset({"what", "dog", "V_dog"}) in set(frame["antecedents"])
        assert set(frame["consequents"]) == {frozenset({"= yes"})}

    @pytest.mark.parametrize("prefix", ["", "do"])
    def test_a_prefix_that_words_have(self, prefix: str) -> None:
        """A word that begins with it would come back as an object; without a prefix nothing does."""
        rules = mine_rules(MULTIMODAL, ["yes", "no", "yes", "no"], min_count=2, min_confidence=0.6)
        with pytest.raises(
            ConfigError, match=f"^object_prefix: got '{prefix}', expected one that no word begins"
        ):
            to_mlxtend(rules, object_prefix=prefix)
        words = mine_rules(MULTIMODAL.select("words"), ["yes", "no", "yes", "no"], min_count=2)
        if prefix:
            with pytest.raises(ConfigError, match=r"unlike 'dog'\. Choose another\.$"):
                to_mlxtend(words, object_prefix=prefix)
        else:
            again = from_mlxtend(to_mlxtend(words, object_prefix=""), 4, object_prefix="")
            assert again.equals(words)

    def test_attributes_have_a_prefix_too(self) -> None:
        rows = MULTIMODAL.with_columns(attributes=pl.Series([["a=1"], ["a=1"], ["a=1"], []]))
        rules = mine_rules(rows, ["yes", "no", "yes", "no"], min_count=2, min_confidence=0.6)
        frame = to_mlxtend(rules)
        assert frozenset({"dog", "object: dog", "attribute: a=1"}) in set(frame["antecedents"])
        assert from_mlxtend(frame, 4).equals(rules)
        for prefixes, told in (
            ({"attribute_prefix": ""}, "attribute_prefix: got '', expected one that no word begins with"),
            ({"attribute_prefix": "wh"}, "attribute_prefix: got 'wh', expected one that no word begins with"),
            ({"object_prefix": "at"}, "object_prefix: got 'at', expected one that no attribute begins with"),
        ):
            with pytest.raises(ConfigError, match=f"^{told}, unlike "):
                to_mlxtend(rules, **prefixes)
        alone = mine_rules(rows.select("objects"), ["yes", "no", "yes", "no"], min_count=2)
        with pytest.raises(ConfigError, match=r"^object_prefix: got '', expected .*, unlike 'dog'\. Choose"):
            to_mlxtend(alone, object_prefix="")  # "dog" would come back as a word

    def test_a_word_that_begins_like_an_object(self) -> None:
        rules = mine_rules([["object: dog", "x"], ["x"]], ["a", "b"], min_count=1)
        with pytest.raises(ConfigError) as error:
            to_mlxtend(rules)
        assert str(error.value) == (
            "object_prefix: got 'object: ', expected one that no word begins with, unlike 'object: dog'. "
            "Choose another."
        )
        assert from_mlxtend(to_mlxtend(rules, object_prefix="V_"), 2, object_prefix="V_").equals(rules)

    @pytest.mark.parametrize("wrong", [5, None, [1], pandas.DataFrame({"answer": ["x"]})], ids=repr)
    def test_what_is_no_polars_frame(self, wrong: Any) -> None:
        kind = f"{type(wrong).__module__}.{type(wrong).__name__}"
        with pytest.raises(SchemaError) as error:
            to_mlxtend(wrong)
        assert str(error.value) == (
            f"rules: got {kind}, expected a Polars DataFrame. "
            "Pass one (pl.from_pandas for a pandas frame, .collect() for a LazyFrame)."
        )

    @pytest.mark.parametrize("name", ["object_prefix", "attribute_prefix", "answer_prefix"])
    def test_prefixes_that_are_no_text(self, name: str) -> None:
        rules = mine_rules([["a"]], ["x"], min_count=1)
        for call in (lambda: to_mlxtend(rules, **{name: 5}), lambda: from_mlxtend(FRAME, 1, **{name: 5})):
            with pytest.raises(ConfigError) as error:
                call()
            assert str(error.value) == f"{name}: got 5, expected a text. Pass a text."

    def test_no_rules(self) -> None:
        frame = to_mlxtend(mine_rules([], []))
        assert list(frame.columns) == COLUMNS
        assert len(frame) == 0

    def test_a_table_that_is_no_rules(self) -> None:
        with pytest.raises(SchemaError, match=r"^rules: got a table that breaks the Rules schema"):
            to_mlxtend(pl.DataFrame({"answer": ["x"]}))

    def test_without_pandas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rules = mine_rules([["a"]], ["x"], min_count=1)
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(BackendError) as error:
            to_mlxtend(rules)
        assert str(error.value) == (
            "to_mlxtend: got no pandas, expected it to be installed. "
            "Run pip install 'shortcut-miner[interop]'."
        )
        # Nothing else needs it.
        assert from_onehot(np.eye(2, dtype=bool)).to_list() == [["item_0"], ["item_1"]]
        assert mine_rules(np.eye(2, dtype=bool), ["x", "y"], min_count=1).height == 2


class TestFromMlxtend:
    @given(table=tables(), shuffle=st.integers(0, 99))
    def test_there_and_back(self, table: Table, shuffle: int) -> None:
        rules = rules_of(table)
        count = max(len(table.rows), 1)
        frame = to_mlxtend(rules.sample(fraction=1, shuffle=True, seed=shuffle), answer_prefix="answer: ")
        again = from_mlxtend(frame, count, answer_prefix="answer: ")
        assert dict(again.schema) == rules_schema(attributes="antecedent_attributes" in rules.columns)
        assert again.drop("lift").equals(rules.drop("lift"))
        np.testing.assert_allclose(again["lift"], rules["lift"], rtol=1e-12)

    def test_large_counts_come_back_whole(self) -> None:
        rule = Rule(
            frozenset({(WORD, "a"), (OBJECT, "a"), (ATTRIBUTE, "a")}), "x", 1_234_567_891, 1_000_000_007
        )
        rules = rules_frame([rule], {"x": 2_000_000_011}, 3_000_000_019)
        again = from_mlxtend(to_mlxtend(rules), 3_000_000_019)
        assert again.drop("lift").equals(rules.drop("lift"))

    def test_mlxtends_own_rules(self) -> None:
        rows = [["a", "b", "yes"], ["a", "b", "yes"], ["a", "no"], ["b", "yes"]]
        names = ["a", "b", "no", "yes"]
        onehot = pandas.DataFrame([[name in row for name in names] for row in rows], columns=names)
        itemsets = patterns.fpgrowth(onehot, min_support=0.2, use_colnames=True)
        theirs = patterns.association_rules(itemsets, metric="confidence", min_threshold=0.3)
        is_class = theirs["consequents"].isin([frozenset({"yes"}), frozenset({"no"})])
        is_plain = ~theirs["antecedents"].map(lambda items: bool(items & {"yes", "no"})).astype(bool)
        ours = from_mlxtend(theirs[is_class & is_plain], 4)
        mined = mine_rules([row[:-1] for row in rows], [row[-1] for row in rows], min_count=1)
        # mlxtend lists every answer of an antecedent, we the best.
        best = ours.join(mined, on=["antecedent_words", "answer"], how="semi", maintain_order="left")
        assert len(ours) > len(best) == 3
        assert best.drop("rule_id").equals(mined.drop("rule_id"))

    def test_texts_are_not_taken_apart(self) -> None:
        frame = FRAME.assign(antecedents=["cat dog"], consequents=["y"])
        with pytest.raises(SchemaError) as error:
            from_mlxtend(frame, 1)
        assert str(error.value).splitlines() == [
            "mlxtend frame: got rules whose sides are not sets of items, expected frozensets, as mlxtend's "
            "association_rules returns them. Turn each side into a set: {'cat', 'dog'} for a text 'cat dog'.",
            "  - antecedents: 1 of 1 are texts, such as 'cat dog'",
            "  - consequents: 1 of 1 are texts, such as 'y'",
        ]
        with pytest.raises(SchemaError, match=r"  - consequents: 1 of 1 are float, such as nan$"):
            from_mlxtend(FRAME.assign(consequents=[float("nan")]), 1)

    def test_what_is_no_frame_or_no_count(self) -> None:
        with pytest.raises(SchemaError, match=r"^mlxtend frame: got int, expected a pandas DataFrame\. Pass"):
            from_mlxtend(5, 1)
        for count in (0, 1.5, "1", None):
            with pytest.raises(ConfigError, match=f"^transaction_count: got {count!r}, expected "):
                from_mlxtend(FRAME, count)  # type: ignore[arg-type]

    def test_items_that_are_numbers(self) -> None:
        frame = to_mlxtend(mine_rules([["7"], ["7"]], ["x", "x"], min_count=1))
        frame["antecedents"] = [frozenset({7})]
        assert from_mlxtend(frame, 2)["antecedent_words"].to_list() == [["7"]]

    def test_no_rules(self) -> None:
        empty = from_mlxtend(to_mlxtend(mine_rules([], [])), 10)
        assert empty.schema == Rules.create_empty().schema
        assert empty.height == 0

    def test_missing_columns(self) -> None:
        frame = to_mlxtend(mine_rules([["a"]], ["x"], min_count=1)).drop(columns=["support", "antecedents"])
        with pytest.raises(SchemaError) as error:
            from_mlxtend(frame, 1)
        assert str(error.value) == (
            "mlxtend frame: got no column 'antecedents', 'support', expected mlxtend's association rules. "
            "Pass what mlxtend.frequent_patterns.association_rules returns."
        )

    def test_all_that_does_not_fit_at_once(self) -> None:
        frame = pandas.DataFrame(
            {
                "antecedents": [frozenset({"a"})] * 3,
                "consequents": [frozenset({"=x"}), frozenset({"=x", "b"}), frozenset({"y"})],
                "antecedent support": [0.5, 0.5, 0.5],
                "consequent support": [0.5, 0.5, 0.5],
                "support": [0.25, 0.3, float("nan")],
            }
        )
        with pytest.raises(SchemaError) as error:
            from_mlxtend(frame, 4, answer_prefix="=")
        title, several, stranger, counts = str(error.value).splitlines()
        assert title == (
            "mlxtend frame: got rules that don't fit, expected one answer each and supports over "
            "transaction_count rows. Correct these."
        )
        assert several.startswith("  - 1 consequents of several items, such as {")
        assert several.endswith("}: keep rules with one")
        assert stranger == "  - 1 consequents without '=', such as 'y'"
        assert counts == ("  - rule_count: 2 supports that are no whole number of 4 rows, such as 1.2 rows")
