import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from plain import rules_frame, rules_schema, table_rules
from reference import ATTRIBUTE, OBJECT, WORD, Row
from strategies import Table, has_attributes, names_of, tables

from shortcut_miner.errors import ConfigError, SchemaError, ShortcutMinerError
from shortcut_miner.mining.frames.onehot import from_onehot
from shortcut_miner.mining.frames.tables import match_rule_pairs, match_rules, mine_rules
from shortcut_miner.schemas import ANTECEDENT, Rules

pandas = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

ROWS = [["what", "sport"], ["what", "color"], ["sport", "what"], [], ["color"], ["what"]]
ANSWERS = ["tennis", "red", "tennis", "red", "red", "tennis"]
ITEMS = ["color", "sport", "what"]
ONEHOT = np.array([[item in row for item in ITEMS] for row in ROWS])

# Every form that transactions can have, all of the same rows.
FORMS: dict[str, Callable[[], Any]] = {
    "lists": lambda: ROWS,
    "tuples with repeats": lambda: [tuple(row + row) for row in ROWS],
    "sets": lambda: [set(row) for row in ROWS],
    "generators": lambda: ((item for item in row) for row in ROWS),
    "numpy strings": lambda: [np.array(row, dtype=np.str_) for row in ROWS],
    "polars lists": lambda: pl.Series(ROWS, dtype=pl.List(pl.String)),
    "polars categories": lambda: pl.Series(ROWS, dtype=pl.List(pl.Categorical)),
    "pandas lists": lambda: pandas.Series(ROWS),
    "polars bool": lambda: pl.DataFrame(ONEHOT, schema=ITEMS),
    "polars int": lambda: pl.DataFrame(ONEHOT.astype(np.uint8), schema=ITEMS),
    "polars float": lambda: pl.DataFrame(ONEHOT.astype(np.float32), schema=ITEMS),
    "pandas bool": lambda: pandas.DataFrame(ONEHOT, columns=ITEMS),
    "pandas int": lambda: pandas.DataFrame(ONEHOT.astype(int), columns=ITEMS),
    "pandas index": lambda: pandas.DataFrame(ONEHOT, columns=ITEMS, index=list("uvwxyz")),
    "pandas boolean": lambda: pandas.DataFrame(ONEHOT, columns=ITEMS).astype("boolean"),
    "pandas Int64": lambda: pandas.DataFrame(ONEHOT, columns=ITEMS).astype("Int64"),
    "pandas sparse": lambda: pandas.DataFrame.sparse.from_spmatrix(
        sparse.csr_matrix(ONEHOT.astype(np.int8)), columns=ITEMS
    ),
    "pandas sparse filled with 1": lambda: pandas.DataFrame(ONEHOT.astype(int), columns=ITEMS).astype(
        pandas.SparseDtype(int, 1)
    ),
    "pandas sparse filled with True": lambda: pandas.DataFrame(ONEHOT, columns=ITEMS).astype(
        pandas.SparseDtype(bool, True)
    ),
    "pandas sparse without zeros": lambda: pandas.DataFrame(
        np.where(ONEHOT, 1.0, np.nan), columns=ITEMS
    ).astype(pandas.SparseDtype(float, np.nan)),
    "pandas objects": lambda: pandas.DataFrame(ONEHOT, columns=ITEMS).astype(object),
    "pandas objects called as list columns": lambda: (
        pandas.DataFrame(ONEHOT, columns=ITEMS).assign(words=False).astype(object)
    ),
    "pandas categories": lambda: pandas.DataFrame(ONEHOT, columns=ITEMS).astype("category"),
    "pandas categories of numbers": lambda: pandas.DataFrame(ONEHOT.astype(int), columns=ITEMS).astype(
        "category"
    ),
    "pandas mixed": lambda: pandas.DataFrame(ONEHOT, columns=ITEMS).astype({"what": int, "sport": float}),
    "polars list columns": lambda: pl.DataFrame({"words": ROWS, "noise": range(len(ROWS))}),
    "pandas list columns": lambda: pandas.DataFrame({"words": ROWS, "noise": range(len(ROWS))}),
}
FRAMES = [name for name, form in FORMS.items() if isinstance(form(), pl.DataFrame | pandas.DataFrame)]
# And those without names of their own.
MATRICES: dict[str, Callable[[], Any]] = {
    "bool": lambda: ONEHOT,
    "int": lambda: ONEHOT.astype(int),
    "float": lambda: ONEHOT.astype(float),
    "fortran": lambda: np.asfortranarray(ONEHOT),
    "csr": lambda: sparse.csr_matrix(ONEHOT),
    "csc": lambda: sparse.csc_array(ONEHOT.astype(np.float32)),
    "coo with explicit zeros": lambda: sparse.coo_array(
        (ONEHOT.ravel().astype(np.int8), tuple(index.ravel() for index in np.indices(ONEHOT.shape))),
        shape=ONEHOT.shape,
    ),
    "dok": lambda: sparse.dok_array(ONEHOT.astype(np.int64)),
}
ANSWER_FORMS: dict[str, Callable[[], Any]] = {
    "list": lambda: ANSWERS,
    "tuple": lambda: tuple(ANSWERS),
    "numpy": lambda: np.array(ANSWERS),
    "numpy objects": lambda: np.array(ANSWERS, dtype=object),
    "polars": lambda: pl.Series(ANSWERS),
    "polars categories": lambda: pl.Series(ANSWERS, dtype=pl.Categorical),
    "polars enum": lambda: pl.Series(ANSWERS, dtype=pl.Enum(["red", "tennis"])),
    "pandas": lambda: pandas.Series(ANSWERS, index=range(10, 16)),
    "pandas categories": lambda: pandas.Series(ANSWERS, dtype="category"),
}


def expected_rules(**options: Any) -> list[reference.Rule]:
    return reference.build_rules(
        reference.word_rows(ROWS, ANSWERS), **{"superset_filter": "none", "min_count": 1, **options}
    )


def lists_of(table: Table) -> pl.DataFrame:
    """Return a strategy's rows as a frame of words, objects and answer."""
    return pl.DataFrame(
        {
            "words": [names_of(row.items, WORD) for row in table.rows],
            "objects": [names_of(row.items, OBJECT) for row in table.rows],
            "attributes": [names_of(row.items, ATTRIBUTE) for row in table.rows],
            "answer": [row.answer for row in table.rows],
        },
        schema=dict.fromkeys(("words", "objects", "attributes"), pl.List(pl.String)) | {"answer": pl.String},
    ).drop([] if has_attributes(table.rows) else ["attributes"])


class TestMineRules:
    @given(
        table=tables(max_weight=3),
        min_count=st.integers(1, 4),
        max_antecedent=st.integers(1, 5),
        min_confidence=st.sampled_from([0, 0.3, 0.5, 2 / 3, 1]),
        superset_filter=st.sampled_from(["none", "immediate", "all"]),
        empty_rule=st.booleans(),
        threads=st.sampled_from([None, 1, 3]),
    )
    def test_equals_brute_force(self, table: Table, threads: int | None, **options: Any) -> None:
        rules = mine_rules(lists_of(table), "answer", weights=table.weights, threads=threads, **options)
        assert table_rules(rules) == reference.build_rules(table.rows, weights=table.weights, **options)
        assert dict(rules.schema) == rules_schema(attributes=has_attributes(table.rows))
        Rules.validate(rules)

    @pytest.mark.parametrize("form", FORMS)
    def test_forms_of_transactions(self, form: str) -> None:
        rules = mine_rules(FORMS[form](), ANSWERS, min_count=1)
        assert table_rules(rules) == expected_rules()
        assert len(rules) == 5

    @pytest.mark.parametrize("form", MATRICES)
    def test_matrices(self, form: str) -> None:
        rules = mine_rules(MATRICES[form](), ANSWERS, min_count=1, item_names=ITEMS)
        assert table_rules(rules) == expected_rules()
        numbered = mine_rules(MATRICES[form](), ANSWERS, min_count=1)["antecedent_words"].explode()
        assert sorted(numbered.unique()) == ["item_0", "item_1", "item_2"]

    @pytest.mark.parametrize("form", ANSWER_FORMS)
    def test_forms_of_answers(self, form: str) -> None:
        assert table_rules(mine_rules(ROWS, ANSWER_FORMS[form](), min_count=1)) == expected_rules()

    @pytest.mark.parametrize(
        "answers",
        [[1, 0, 1, 0, 0, 1], np.array([1, 0, 1, 0, 0, 1]), pandas.Series([1, 0, 1, 0, 0, 1], dtype="int8")],
    )
    def test_numbers_as_answers(self, answers: Any) -> None:
        expected = mine_rules(ROWS, list("101001"), min_count=1)
        assert mine_rules(ROWS, answers, min_count=1).equals(expected)

    @pytest.mark.parametrize("form", FRAMES)
    def test_answers_as_a_column(self, form: str) -> None:
        frame = FORMS[form]()
        if isinstance(frame, pl.DataFrame):
            frame = frame.with_columns(target=pl.Series(ANSWERS))
        else:
            frame = frame.assign(target=ANSWERS)
        assert table_rules(mine_rules(frame, "target", min_count=1)) == expected_rules()

    def test_words_and_objects(self) -> None:
        rows = pl.DataFrame(
            {"words": [["dog"], ["dog"], None, ["cat"]], "objects": [["dog"], ["dog"], ["dog"], None]}
        )
        rules = mine_rules(rows, ["yes", "yes", "yes", "no"], min_count=2)
        assert rules.select("antecedent_words", "antecedent_objects", "modality").rows() == [
            ([], ["dog"], "objects"),
            (["dog"], [], "words"),
            (["dog"], ["dog"], "multimodal"),
        ]
        objects = mine_rules(rows.select("objects"), ["yes", "yes", "yes", "no"], min_count=2)
        assert objects["modality"].to_list() == ["objects"]
        assert "antecedent_attributes" not in objects.columns
        assert objects["antecedent_count"].to_list() == [3]

    def test_attributes(self) -> None:
        """They are items of their own, and rules of them fire on rows that have them alone."""
        rows = pl.DataFrame({"words": [["a=1"], ["a=1"], []], "attributes": [["a=1"], ["a=1"], ["b=2"]]})
        rules = mine_rules(rows, ["yes", "yes", "no"], min_count=2)
        assert rules.select("antecedent_words", "antecedent_attributes", "modality").rows() == [
            ([], ["a=1"], "attributes"),
            (["a=1"], [], "words"),
            (["a=1"], ["a=1"], "multimodal"),
        ]
        assert rules.columns[1:4] == list(ANTECEDENT)
        assert match_rules(rules, rows)["matching_rule_count"].to_list() == [3, 3, 0]
        assert match_rules(rules, rows.drop("attributes"))["matching_rule_count"].to_list() == [1, 1, 0]
        assert match_rule_pairs(rules.drop("antecedent_attributes")[1:2], rows).rows() == [(0, 1), (1, 1)]
        pandas_rows = pandas.DataFrame(rows.to_dict(as_series=False))
        assert mine_rules(pandas_rows, ["yes", "yes", "no"], min_count=2).equals(rules)
        broken = rules.with_columns(antecedent_attributes=pl.lit("a=1"))
        with pytest.raises(
            SchemaError, match=r"(?s)^rules: got a table.*'antecedent_attributes', got: String"
        ):
            match_rules(broken, rows)

    def test_weights(self) -> None:
        doubled = mine_rules(ROWS, ANSWERS, min_count=2, weights=[2] * 6)
        plain = mine_rules(ROWS, ANSWERS, min_count=1)
        counts = [name for name in plain.columns if name.endswith("_count")]
        assert doubled.with_columns(pl.col(counts) // 2).equals(plain)
        assert mine_rules(ROWS, ANSWERS, min_count=2, weights=np.full(6, 2, np.uint8)).equals(doubled)

    @pytest.mark.parametrize(
        ("rows", "answers"),
        [
            ([], []),
            (np.empty((0, 3)), []),
            (np.empty((2, 0)), ["x", "y"]),
            (pl.DataFrame(), []),
            (pandas.DataFrame({"a": []}, dtype=bool), []),
            (pl.Series([], dtype=pl.List(pl.String)), np.array([], dtype=str)),
            ([[]] * 9, ["x"] * 9),
            ([["a"]] * 9, [f"answer {k}" for k in range(9)]),
        ],
    )
    def test_nothing_to_find_is_typed(self, rows: Any, answers: Any) -> None:
        for superset_filter in ("none", "immediate", "all"):
            rules = mine_rules(rows, answers, superset_filter=superset_filter)
            assert rules.schema == Rules.create_empty().schema
            assert rules.height == 0
        matched = match_rules(rules, rows, answers)
        assert matched["matching_rule_count"].to_list() == [0] * len(answers)

    def test_empty_rule(self) -> None:
        rules = mine_rules(ROWS, ANSWERS, min_count=1, empty_rule=True, superset_filter="all")
        assert table_rules(rules) == expected_rules(empty_rule=True, superset_filter="all")
        assert rules.filter(pl.col("antecedent_words").list.len() == 0)["rule_count"].to_list() == [3]


class TestErrors:
    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (
                lambda: mine_rules(ROWS, ANSWERS[:4]),
                ConfigError,
                "transactions: got 6 rows and 4 answers, expected one answer a row. "
                "Pass lists of equal length.",
            ),
            (
                lambda: mine_rules(ROWS, [*ANSWERS[:4], None, None]),
                SchemaError,
                "answers: got nulls in 2 rows (4, 5), expected a value everywhere. "
                "Fill these or leave the rows out.",
            ),
            (
                lambda: mine_rules(ROWS, None),
                SchemaError,
                "answers: got NoneType, expected text or whole numbers. Pass a list or a column.",
            ),
            (
                lambda: mine_rules(ROWS, [0.5] * 6),
                SchemaError,
                "answers: got type Float64, expected text or whole numbers. Turn them into text.",
            ),
            (
                lambda: mine_rules(ROWS, [*ANSWERS[:5], 3]),
                SchemaError,
                "answers: got values of type int, str, expected text or whole numbers. Turn them into text.",
            ),
            (
                lambda: mine_rules(ROWS, [["x"]] * 6),
                SchemaError,
                "answers: got type List(String), expected text or whole numbers. Turn them into text.",
            ),
            (
                lambda: mine_rules(ROWS, "answer"),
                ConfigError,
                "answers: got the text 'answer', expected one answer a row, or the name of a DataFrame's "
                "column. Pass a list.",
            ),
            (
                lambda: mine_rules(pl.DataFrame({"a": [1], "b": [0]}), "answer"),
                ConfigError,
                "answers: got 'answer', expected one of the columns 'a', 'b'. Name the column of answers.",
            ),
            (
                lambda: mine_rules(["what sport", "what"], ["x", "y"]),
                SchemaError,
                "transactions: got str for row 0, expected a list of items in each row. "
                "Split texts into words first.",
            ),
            (
                lambda: mine_rules("what sport", ["x"]),
                SchemaError,
                "transactions: got str, expected rows of items: lists of text, a one-hot frame or a matrix. "
                "Pass one of these.",
            ),
            (
                lambda: mine_rules(pl.LazyFrame({"a": [1]}), ["x"]),
                SchemaError,
                "transactions: got LazyFrame, expected rows of items: lists of text, a one-hot frame or a "
                "matrix. Pass one of these.",
            ),
            (
                lambda: mine_rules([["a"], 7], ["x", "y"]),
                SchemaError,
                "transactions: got int for row 1, expected a list of items in each row. "
                "Split texts into words first.",
            ),
            (
                lambda: mine_rules([["a"], None], ["x", "y"]),
                SchemaError,
                "transactions: got nulls in 1 rows (1), expected a value everywhere. "
                "Fill these or leave the rows out.",
            ),
            (
                lambda: mine_rules(pandas.Series([["a"], float("nan")]), ["x", "y"]),
                SchemaError,
                "transactions: got float for row 1, expected a list of items in each row. "
                "Split texts into words first.",
            ),
            (
                lambda: mine_rules(pl.Series([["a"], None]), ["x", "y"]),
                SchemaError,
                "transactions: got nulls in 1 rows (1), expected a value everywhere. "
                "Fill these or leave the rows out.",
            ),
            (
                lambda: mine_rules([["a"], ["b", None]], ["x", "y"]),
                SchemaError,
                "items of transactions: got nulls in 1 rows (1), expected a value everywhere. "
                "Fill these or leave the rows out.",
            ),
            (
                lambda: mine_rules([[1, 0], [0, 1]], ["x", "y"]),
                SchemaError,
                "transactions: got lists of nothing but 0 and 1, expected items. Pass a one-hot matrix as a "
                "NumPy array or a DataFrame; turn items that have these names into text.",
            ),
            (
                lambda: mine_rules(pl.Series([[1, 0]]), ["x"]),
                SchemaError,
                "transactions: got lists of nothing but 0 and 1, expected items. Pass a one-hot matrix as a "
                "NumPy array or a DataFrame; turn items that have these names into text.",
            ),
            (
                lambda: mine_rules([[0.5], [1.5]], ["x", "y"]),
                SchemaError,
                "items of transactions: got type Float64, expected text or whole numbers. "
                "Turn them into text.",
            ),
            (
                lambda: mine_rules(pl.Series([[True]]), ["x"]),
                SchemaError,
                "transactions: got type List(Boolean), expected lists of text or whole numbers. "
                "Turn the items into text.",
            ),
            (
                lambda: mine_rules([["a", 7]], ["x"]),
                SchemaError,
                "items of transactions: got values of type int, str, expected text or whole numbers. "
                "Turn them into text.",
            ),
            (
                lambda: mine_rules([["a"], ["b"]], pandas.Series(["x", float("nan")])),
                SchemaError,
                "answers: got nulls in 1 rows (1), expected a value everywhere. "
                "Fill these or leave the rows out.",
            ),
            (
                lambda: mine_rules(pl.DataFrame({"words": [["a", None]]}), ["x"]),
                SchemaError,
                "items of words: got nulls in 1 rows (0), expected a value everywhere. "
                "Fill these or leave the rows out.",
            ),
            (
                lambda: mine_rules(ROWS, ANSWERS, item_names=ITEMS),
                ConfigError,
                "item_names: got names for transactions that name their items, expected them for matrices "
                "only. Leave item_names out.",
            ),
            (
                lambda: mine_rules(pl.DataFrame({"a": [1]}), ["x"], item_names=["b"]),
                ConfigError,
                "item_names: got names beside a DataFrame, expected them for matrices only. "
                "Rename the frame's columns instead.",
            ),
            (
                lambda: mine_rules(ONEHOT, ANSWERS, item_names=["a", "b"]),
                ConfigError,
                "item_names: got 2 names, expected 3, one a column. Name every column.",
            ),
            (
                lambda: mine_rules(ONEHOT, ANSWERS, item_names=["a", "b", "a"]),
                ConfigError,
                "items: got repeated names 'a', expected distinct columns. Rename or merge these columns.",
            ),
            (
                lambda: mine_rules(ROWS, ANSWERS, min_confidence=30),
                ConfigError,
                "min_confidence: got 30, expected a number from 0 to 1. Change --min-confidence.",
            ),
            (
                lambda: mine_rules(ROWS, ANSWERS, min_confidence=float("nan")),
                ConfigError,
                "min_confidence: got nan, expected a number from 0 to 1. Change --min-confidence.",
            ),
            (
                lambda: mine_rules(ROWS, ANSWERS, superset_filter="some"),
                ConfigError,
                "superset_filter: got 'some', expected one of immediate, all, none. "
                "Change --superset-filter.",
            ),
            (
                lambda: mine_rules(ROWS, ANSWERS, threads=0),
                ConfigError,
                "threads: got 0, expected 1 or more. Leave it out to use all processors.",
            ),
            (
                lambda: mine_rules(ROWS, ANSWERS, min_count=2.5),
                ConfigError,
                "min_count: got 2.5, expected a whole number of 1 or more. Change --min-count.",
            ),
            (
                lambda: mine_rules(ROWS, ANSWERS, weights=[1, 1]),
                ConfigError,
                "weights: got int64 of shape (2,) with least value 1, expected 6 integers of 1 or more. "
                "Pass one weight a row.",
            ),
            (
                lambda: mine_rules(ROWS, ANSWERS, min_count=1, max_rules=2),
                ConfigError,
                "max_rules: got more than 2 antecedents, expected at most that many. Raise min_count (now 1) "
                "or max_rules, or lower max_antecedent (now 4).",
            ),
            (
                lambda: match_rules(mine_rules(ROWS, ANSWERS), ROWS, threads=-1),
                ConfigError,
                "threads: got -1, expected 1 or more. Leave it out to use all processors.",
            ),
            (
                lambda: match_rules(mine_rules(ROWS, ANSWERS), ROWS, [["x", None]] * 6),
                SchemaError,
                "answers: got nulls in 6 rows (0, 1, 2, 3, 4 and 1 more), expected a value everywhere. "
                "Fill these or leave the rows out.",
            ),
        ],
    )
    def test_message(self, call: Callable[[], Any], error: type[ShortcutMinerError], message: str) -> None:
        with pytest.raises(error) as raised:
            call()
        assert str(raised.value) == message

    def test_rules_without_a_column(self) -> None:
        rules = mine_rules(ROWS, ANSWERS, min_count=1).drop("answer")
        for match in (match_rules, match_rule_pairs):
            with pytest.raises(
                SchemaError, match=r"(?s)^rules: got a table that breaks the Rules schema.*answer"
            ):
                match(rules, ROWS)


@pytest.mark.parametrize("form", [list, pl.Series, pandas.Series])
def test_items_that_are_whole_numbers_become_text(form: Any) -> None:
    rows = [[7, 12], [7, 3], [7, 12]]
    found = mine_rules(form(rows), ["x", "y", "x"], min_count=1)
    assert found.equals(mine_rules([[*map(str, row)] for row in rows], ["x", "y", "x"], min_count=1))
    assert match_rules(found, form(rows))["matching_rule_count"].to_list() == [3, 3, 3]


TITLE = (
    "transactions: got columns that are not one-hot, expected True/False or 1/0 in every cell. "
    "Fill missing cells and turn the others into bool."
)


class TestFromOnehot:
    @pytest.mark.parametrize("form", [name for name in FRAMES if "list" not in name])
    def test_frames(self, form: str) -> None:
        lists = from_onehot(FORMS[form]())
        assert lists.dtype == pl.List(pl.String)
        assert lists.to_list() == [sorted(row) for row in ROWS]

    def test_column_names_become_text(self) -> None:
        assert from_onehot(pandas.DataFrame([[1, 1]], columns=[3, "b"])).to_list() == [["3", "b"]]
        with pytest.raises(ConfigError, match=r"^items: got repeated names '3', expected distinct columns\."):
            from_onehot(pandas.DataFrame([[1, 1]], columns=[3, "3"]))
        with pytest.raises(ConfigError, match=r"^items: got repeated names 'a', expected distinct columns\."):
            from_onehot(pandas.DataFrame([[True, False]], columns=["a", "a"]))

    def test_all_wrong_columns_of_a_polars_frame(self) -> None:
        frame = pl.DataFrame(
            {
                "good": [1, 0, 1],
                "missing": [True, None, None],
                "two": [0, 2, 1],
                "nan": [0.0, 1.0, float("nan")],
                "text": ["1", "0", "1"],
            }
        )
        with pytest.raises(SchemaError) as error:
            from_onehot(frame)
        assert str(error.value).splitlines() == [
            TITLE,
            "  - column 'missing': got 2 nulls",
            "  - column 'two': got 1 cells such as 2",
            "  - column 'nan': got 1 cells such as nan",
            "  - column 'text': got type String",
        ]

    def test_all_wrong_columns_of_a_pandas_frame(self) -> None:
        frame = pandas.DataFrame(
            {
                "good": [1, 0, 1],
                "missing": pandas.array([True, None, None], dtype="boolean"),
                "two": [0, 2, 1],
                "nan": [0.0, 1.0, float("nan")],
                "text": ["1", "0", "1"],
                "mixed": pandas.Series([True, "x", 1], dtype=object),
                "lists": [[1], [0, 1], []],
                "names": pandas.Categorical(["a", "b", "a"]),
                "stored zeros": pandas.arrays.SparseArray([0.0, np.nan, 1.0], fill_value=np.nan),
                "stored twos": pandas.arrays.SparseArray([2.0, np.nan, 1.0], fill_value=np.nan),
            }
        )
        with pytest.raises(SchemaError) as error:
            from_onehot(frame)
        assert [re.sub("type (object|str)", "type text", line) for line in str(error.value).splitlines()] == [
            TITLE,
            "  - column 'missing': got 2 nulls",
            "  - column 'two': got 1 cells such as 2",
            "  - column 'nan': got 1 nulls",
            "  - column 'text': got type text",
            "  - column 'mixed': got type text",
            "  - column 'lists': got type text",
            "  - column 'names': got type category",
            "  - column 'stored zeros': got 1 nulls",
            "  - column 'stored twos': got 1 cells such as 2.0",
        ]

    @pytest.mark.parametrize("shape", [np.asarray, sparse.csr_matrix])
    def test_all_wrong_columns_of_a_matrix(self, shape: Any) -> None:
        with pytest.raises(SchemaError) as error:
            from_onehot(shape(np.array([[1.0, 2.0, 0.0], [1.0, 0.5, np.nan]])))
        assert str(error.value).splitlines() == [
            TITLE,
            "  - column 1: got 2 cells such as 2.0",
            "  - column 2: got 1 cells such as nan",
        ]

    def test_sparse_entries_that_repeat_add_up(self) -> None:
        twice = sparse.coo_array((np.array([1, 1]), ([0, 0], [1, 1])), shape=(1, 2))
        with pytest.raises(SchemaError, match="column 1: got 1 cells such as 2"):
            from_onehot(twice)

    def test_wide_and_long(self) -> None:
        random = np.random.default_rng(0)
        holds = random.random((500, 300)) < 0.02
        expected = [[f"item_{k}" for k in np.flatnonzero(row)] for row in holds]
        assert from_onehot(holds).to_list() == expected
        assert from_onehot(sparse.csc_matrix(holds)).to_list() == expected


class TestMatchRules:
    @given(data=st.data(), table=tables(min_rows=1), other=tables(), several=st.booleans())
    def test_equals_brute_force(self, data: st.DataObject, table: Table, other: Table, several: bool) -> None:
        rules = mine_rules(lists_of(table), "answer", min_count=1, min_confidence=0, empty_rule=True)
        rules = rules.sample(fraction=0.7, shuffle=True, seed=data.draw(st.integers(0, 99)))
        plain = table_rules(rules)
        rows = lists_of(other)
        fired = reference.match(plain, other.rows)
        answers: Any = [row.answer for row in other.rows]
        accepted = [[answer] for answer in answers]
        if several:
            accepted = answers = [[answer, "no", "unheard of"][: k % 4] for k, answer in enumerate(answers)]
            answers = pl.Series(answers, dtype=pl.List(pl.String))
        right = [reference.right(plain, *pair) for pair in zip(fired, accepted, strict=True)]
        ids = rules["rule_id"].to_list()

        matched = match_rules(rules, rows, "answer" if not several else answers)
        assert matched.to_dict(as_series=False) == {
            "row": list(range(len(other.rows))),
            "matching_rule_count": [len(hits) for hits in fired],
            "correct_rule_count": [len(hits) for hits in right],
            "best_rule_id": [ids[hits[0]] if hits else None for hits in fired],
            "best_correct_rule_id": [ids[hits[0]] if hits else None for hits in right],
        }
        assert {*matched.dtypes} == {pl.UInt32}
        assert match_rules(rules, rows).equals(matched.select("row", "matching_rule_count", "best_rule_id"))
        pairs = match_rule_pairs(rules, rows)
        assert pairs.rows() == [(row, ids[k]) for row, hits in enumerate(fired) for k in hits]
        assert pairs.schema == {"row": pl.UInt32, "rule_id": pl.UInt32}

    @pytest.mark.parametrize("form", FORMS)
    def test_forms_of_transactions(self, form: str) -> None:
        rules = mine_rules(ROWS, ANSWERS, min_count=1)
        expected = match_rules(rules, ROWS, ANSWERS)
        assert expected["matching_rule_count"].sum() > 6
        assert match_rules(rules, FORMS[form](), ANSWERS).equals(expected)
        assert match_rule_pairs(rules, FORMS[form]()).equals(match_rule_pairs(rules, ROWS))

    @pytest.mark.parametrize("form", MATRICES)
    def test_matrices(self, form: str) -> None:
        rules = mine_rules(ROWS, ANSWERS, min_count=1)
        matrix = MATRICES[form]()
        assert match_rules(rules, matrix, item_names=ITEMS).equals(match_rules(rules, ROWS))
        assert match_rules(rules, matrix)["matching_rule_count"].sum() == 0
        assert match_rule_pairs(rules, matrix, item_names=ITEMS).equals(match_rule_pairs(rules, ROWS))

    def test_numbers_as_answers(self) -> None:
        rules = mine_rules(ROWS, [1, 0, 1, 0, 0, 1], min_count=1)
        text = match_rules(rules, ROWS, list("101001"))
        assert text["correct_rule_count"].sum() > 3
        assert match_rules(rules, ROWS, np.array([1, 0, 1, 0, 0, 1])).equals(text)
        assert match_rules(rules, ROWS, [[1], [0], [1], [0], [0], [1]]).equals(text)

    def test_the_order_of_the_table_decides_which_is_best(self) -> None:
        rules = mine_rules(ROWS, ANSWERS, min_count=1)
        row = [["what", "sport"]]
        fired = match_rule_pairs(rules, row)["rule_id"].to_list()
        assert len(fired) == 3
        assert match_rules(rules, row)["best_rule_id"].to_list() == [min(fired)]
        assert match_rules(rules.reverse(), row)["best_rule_id"].to_list() == [max(fired)]

    def test_extra_columns_do_no_harm(self) -> None:
        rules = mine_rules(ROWS, ANSWERS, min_count=1).with_columns(note=pl.lit("x"))
        assert match_rules(rules, ROWS)["matching_rule_count"].sum() > 6

    def test_a_rule_that_repeats_an_item_fires_as_a_set(self) -> None:
        rules = rules_frame([reference.Rule(frozenset({(WORD, "a")}), "x", 2, 1)], {"x": 1}, 4)
        rules = rules.with_columns(antecedent_words=pl.Series([["a", "a"]]))
        assert match_rules(rules, [["a"], ["b"]])["matching_rule_count"].to_list() == [1, 0]


def test_rows_of_the_reference_are_what_the_frame_says() -> None:
    table = Table([Row(frozenset({(WORD, "a"), (OBJECT, "b")}), "x")], [1])
    assert lists_of(table).rows() == [(["a"], ["b"], "x")]
