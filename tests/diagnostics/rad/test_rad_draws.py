"""The draw: the same whatever order, shard, threads or hash seed; its distribution; what each row keeps."""

import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from diagnostics.rad.tables import questions
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import chisquare

from shortcut_miner.diagnostics.rad.augment import augment_questions
from shortcut_miner.diagnostics.rad.config import RadConfig
from shortcut_miner.diagnostics.rad.how_many import OTHER_VERB
from shortcut_miner.diagnostics.rad.pools import NO_OTHER_ANSWER, _positions, answer_pools
from shortcut_miner.diagnostics.rad.sources import NO_NOUN_PHRASE, NO_OPENING, find_sources
from shortcut_miner.errors import SchemaError
from shortcut_miner.keyed_draws import draw_below, draw_uniform, draw_words, id_keys
from shortcut_miner.text import normalise_answer

COLORS = [
    "white",
    "red",
    "blue",
    "black",
    "brown",
    "gray",
    "grey",
    "black and white",
    "light blue",
    "maroon",
    "clear",
]
NUMBERS = ["0", "1", "2", "3", "10", "21", "many"]
KINDS = ["dog", "bulldog", "apple", "wooden", "tennis", "vegetables", "unknown", "ham", "2"]
COLOR_TEXTS = [
    "What color is the  bus?",
    "what color is the man's shirt??",
    "What color is the dog , on the left ?",
]
COUNT_TEXTS = [
    "How many people are wearing hats?", "How many benches?", "How many dogs are next to each other?",
    "How many scissors are there?", "How many cars are red?", "How  many birds in the sky ?",
]  # fmt: skip
KIND_TEXTS = [
    "What kind of animal is this?",
    "What kind of ham sandwich is this ?",
    "What kind of a thing is this?",
]

ASKED = ((COLOR_TEXTS, COLORS), (COUNT_TEXTS, NUMBERS), (KIND_TEXTS, KINDS), (["Why?"], COLORS))


def answered(texts: list[str], answers: list[str]) -> st.SearchStrategy[tuple[str, str, list[str]]]:
    one = st.sampled_from(answers)
    return st.tuples(st.sampled_from(texts), one, st.lists(one, min_size=1, max_size=10))


rows = st.one_of(*(answered(texts, answers) for texts, answers in ASKED))


def varied(count: int = 600) -> pl.DataFrame:
    asked = [(text, answers) for texts, answers in ASKED[:3] for text in texts]
    return questions(
        *(
            (text, answers[at % len(answers)])
            for at in range(count)
            for text, answers in [asked[at % len(asked)]]
        )
    )


@given(st.lists(rows, min_size=1, max_size=40), st.integers(0, 5), st.sampled_from(["type", "subject"]))
def test_properties_of_every_row(drawn: list[tuple[str, str, list[str]]], seed: int, pool_by: str) -> None:
    table = questions(*drawn)
    result = augment_questions(table, RadConfig(seed=seed, pool_by=pool_by))  # type: ignore[arg-type]
    made, skipped = result.augmentations, result.skipped
    assert sorted([*made["question_id"], *skipped["question_id"]]) == sorted(table["question_id"])
    joined = made.join(table.select("question_id", "answers"), on="question_id", how="left", validate="1:1")
    for row in joined.iter_rows(named=True):
        text, asked = row["question"], row["substituted_answer"]
        assert text.count("?") == 1
        assert text.endswith("?")
        assert "  " not in text
        assert " ?" not in text
        if row["augmentation"] == "how-many":
            assert text.startswith("Is there one ") == (asked == "1")
            assert not (asked == "1" and ("each other" in text or "scissors" in text))
        said = {normalise_answer(one) for one in (row["original_answer"], *row["answers"])}
        if row["answer"] == "yes":
            assert normalise_answer(asked) == normalise_answer(row["original_answer"])
        else:
            assert normalise_answer(asked) not in said


def test_row_order_and_shards_change_nothing() -> None:
    table = varied()
    whole = augment_questions(table)
    shuffled = augment_questions(table.sample(fraction=1, shuffle=True, seed=3))
    assert_frame_equal(whole.augmentations, shuffled.augmentations)
    assert_frame_equal(whole.skipped, shuffled.skipped)
    shards = [augment_questions(table[at::3], pools=whole.pools).augmentations for at in range(3)]
    assert_frame_equal(whole.augmentations, pl.concat(shards).sort("question_id", "augmentation"))


def test_the_types_chosen_change_no_other_draw() -> None:
    table = varied()
    whole = augment_questions(table).augmentations
    alone = augment_questions(table, RadConfig(types="colors")).augmentations
    assert_frame_equal(whole.filter(pl.col("augmentation") == "colors"), alone)


def test_another_seed_draws_otherwise() -> None:
    table = varied()
    one, other = (augment_questions(table, RadConfig(seed=seed)).augmentations for seed in (0, 1))
    assert_frame_equal(one.select("question_id"), other.select("question_id"))
    assert 0.3 < (one["answer"] == other["answer"]).mean() < 0.7


@pytest.mark.sample(1)
@pytest.mark.parametrize(("draw", "files"), [("paper", 12), ("balanced", 13)])
def test_the_same_bytes_for_any_threads_and_hash_seed(tmp_path: Path, draw: str, files: int) -> None:
    varied(1200).write_parquet(tmp_path / "questions.parquet")
    code = (
        "import sys, hashlib, polars as pl\n"
        "from shortcut_miner.diagnostics.rad.build import build\n"
        "from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles\n"
        "from pathlib import Path\n"
        "build(RadFiles(questions=Path(sys.argv[1])), RadConfig(draw=sys.argv[3]), Path(sys.argv[2]))\n"
    )
    contents = []
    for threads, seed in ((1, 0), (4, 1)):
        out = tmp_path / f"out-{threads}"
        env = os.environ | {"POLARS_MAX_THREADS": str(threads), "PYTHONHASHSEED": str(seed)}
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "questions.parquet"), str(out), draw],
            env=env,
            check=True,
        )
        contents.append({path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"})
    assert contents[0] == contents[1]
    assert len(contents[0]) == files


def test_no_answers_follow_the_pool() -> None:
    """Rows with the same original answer draw from the rest of the pool, by its weights."""
    answers = ["red"] * 6000 + ["blue"] * 2500 + ["green"] * 1000 + ["black and white"] * 500
    table = questions(*(("What color is the bus?", answer) for answer in answers))
    made = augment_questions(table).augmentations
    no = made.filter((pl.col("answer") == "no") & (pl.col("original_answer") == "red"))
    counts = Counter(no["substituted_answer"])
    others = ("blue", "green", "black and white")
    assert counts.keys() == set(others)
    expected = np.array([2500, 1000, 500]) / 4000 * len(no)
    assert chisquare([counts[one] for one in others], expected).pvalue > 0.001


def test_a_question_without_another_answer_is_skipped_before_the_coin() -> None:
    table = questions(*[("What color is the bus?", "red")] * 50)
    result = augment_questions(table)
    assert result.augmentations.is_empty()
    assert set(result.skipped["reason"]) == {NO_OTHER_ANSWER}


def test_pools_by_subject() -> None:
    table = questions(
        *[("What kind of animal is this?", one) for one in ("dog", "cat", "cow")] * 20,
        *[("What kind of tree is this?", one) for one in ("oak tree", "palm", "elm")] * 20,
    )
    made = augment_questions(table, RadConfig(pool_by="subject")).augmentations
    animals = made.filter(pl.col("original_question").str.contains("animal"))["substituted_answer"]
    assert set(animals) == {"dog", "cat", "cow"}
    anything = augment_questions(table).augmentations
    animals = anything.filter(pl.col("original_question").str.contains("animal"))["substituted_answer"]
    assert set(animals) == {"dog", "cat", "cow", "oak tree", "palm", "elm"}


def test_forms_can_be_chosen() -> None:
    table = questions(*[(text, number) for text in COUNT_TEXTS for number in ("2", "3", "4")])
    made = augment_questions(table, RadConfig(forms="bare,are")).augmentations
    assert set(made["form"]) == {"bare", "are"}


def test_new_forms_are_asked_for() -> None:
    numbers = [(f"How many {noun} do you see?", number) for noun in ("dogs", "cats") for number in ("2", "3")]
    colors = [("What color are the buses?", one) for one in ("red", "blue")]
    cut = [("What color is the man wearing?", one) for one in ("red", "blue")]
    table = questions(*numbers, *colors, *cut)
    assert augment_questions(table).augmentations["form"].to_list() == ["color"] * 2
    assert set(augment_questions(table).skipped["reason"]) == {OTHER_VERB, NO_OPENING}
    made = augment_questions(table, RadConfig(forms="all"))
    assert made.skipped["reason"].to_list() == [NO_NOUN_PHRASE] * 2
    assert made.augmentations["form"].to_list() == ["seen"] * 4 + ["color-are"] * 2
    assert set(made.augmentations["question"]) <= {
        *(f"Are there {n} {noun} visible?" for n in ("two", "three") for noun in ("dogs", "cats")),
        *(f"Is the color of the buses {one}?" for one in ("red", "blue")),
    }


def test_pools_of_another_shape_are_refused() -> None:
    with pytest.raises(SchemaError, match="pools: got the problems below, expected the pools"):
        augment_questions(varied(20), pools=pl.DataFrame({"a": [1]}))


def test_pools_count_eligible_originals() -> None:
    colors = ("red", "red", "clear")
    table = questions(*(("What color is the bus?", color) for color in colors))
    eligible = find_sources(table, RadConfig()).eligible
    assert answer_pools(eligible).rows() == [("colors", "colors", "red", 2)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.data())
def test_places_skip_what_is_excluded(weights: list[int], data: st.DataObject) -> None:
    excluded = sorted(data.draw(st.sets(st.integers(0, len(weights) - 1), max_size=len(weights) - 1)))
    rest = [at for at, weight in enumerate(weights) if at not in excluded for _ in range(weight)]
    ends = np.cumsum(weights).astype(np.int64)
    pairs = pl.DataFrame(
        [(row, at) for row in range(len(rest)) for at in excluded],
        schema={"row": pl.UInt32, "position": pl.UInt32}, orient="row",
    )  # fmt: skip
    places = np.arange(len(rest), dtype=np.int64)
    found = _positions(places, pairs, ends - weights, np.array(weights, np.int64), ends)
    assert found.tolist() == rest


def test_keys_depend_on_seed_kind_and_id_alone() -> None:
    ids = pl.Series([str(n) for n in range(1000)])
    keys = id_keys(ids, 0, "coin")
    assert (id_keys(ids.reverse(), 0, "coin")[::-1] == keys).all()
    assert (id_keys(pl.concat([ids, ids]), 0, "coin") == np.concatenate([keys, keys])).all()
    assert len(set(keys)) == 1000
    for other in (id_keys(ids, 1, "coin"), id_keys(ids, 0, "coins")):
        assert not (other == keys).any()
    assert id_keys(ids[:0], 0, "coin").shape == (0,)


def test_draws_are_pinned_and_even() -> None:
    """SplitMix64's published first outputs from state 0, so that no update changes a draw unnoticed."""
    zero = np.zeros(1, np.uint64)
    assert [int(draw_words(zero, at)[0]) for at in range(3)] == [
        0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F,
    ]  # fmt: skip
    assert int(id_keys(pl.Series(["7"]), 0, "coin")[0]) == 0x26EDC7FDCF03CF70
    keys = id_keys(pl.Series([str(n) for n in range(60_000)]), 0, "die")
    counts = np.bincount(draw_below(keys, 1, 6))
    assert chisquare(counts).pvalue > 0.001
    heads = (draw_uniform(keys, 0) < 0.5).sum()
    assert abs(heads - 30_000) < 3 * math.sqrt(60_000) / 2
