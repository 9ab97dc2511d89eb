"""Several augmentations of each question: their draws, their ids, what reads them."""

import json
from pathlib import Path

import polars as pl
import pytest
from diagnostics.rad.tables import questions
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shortcut_miner.diagnostics.rad.augment import augment_questions
from shortcut_miner.diagnostics.rad.build import build
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles, ScoreConfig
from shortcut_miner.diagnostics.rad.exported import question_sets
from shortcut_miner.diagnostics.rad.outputs import read_folder
from shortcut_miner.diagnostics.rad.score import score
from shortcut_miner.errors import ConfigError
from shortcut_miner.keyed_draws import draw_uniform, id_keys

COLORS = ("red", "blue", "green", "white")


def asked(count: int = 40) -> pl.DataFrame:
    return questions(
        *[("What color is the bus?", COLORS[at % 4]) for at in range(count)],
        *[("How many dogs are there?", str(at % 5)) for at in range(count)],
    )


@given(st.integers(1, 5), st.integers(0, 100), st.sampled_from(["paper", "balanced"]))
def test_every_question_has_so_many(several: int, seed: int, draw: str) -> None:
    config = RadConfig(per_question=several, seed=seed, draw=draw)  # type: ignore[arg-type]
    made = augment_questions(asked(), config).augmentations
    assert made["question_id"].is_unique().all()
    assert len(made) == 80 * several
    if several == 1:
        assert "original_id" not in made.columns
        return
    assert set(made["original_id"].value_counts()["count"]) == {several}
    assert (
        made["question_id"] == made["original_id"] + "_" + made["question_id"].str.split("_").list[1]
    ).all()
    same = made["substituted_answer"] == made["original_answer"]
    assert ((made["answer"] == "yes") == same).all()


def test_the_first_is_what_one_alone_is() -> None:
    one = augment_questions(asked()).augmentations
    several = augment_questions(asked(), RadConfig(per_question=3)).augmentations
    first = several.filter(pl.col("question_id").str.ends_with("_1"))
    assert_frame_equal(
        first.drop("question_id").rename({"original_id": "question_id"}), one, check_column_order=False
    )
    alike = several.group_by("original_id").agg(pl.col("question").n_unique())["question"]
    assert alike.max() > 1


def test_the_coins_are_keyed() -> None:
    """Draw k of a question tosses its 2k-th random number."""
    made = augment_questions(asked(), RadConfig(per_question=3, seed=4)).augmentations
    colors = made.filter(augmentation="colors")
    for at in range(3):
        rows = colors.filter(pl.col("question_id").str.ends_with(f"_{at + 1}"))
        coins = draw_uniform(id_keys(rows["original_id"], 4, "rad colors"), 2 * at)
        assert (rows["answer"] == "yes").to_list() == (coins < 0.5).tolist()


def test_each_balanced_draw_says_yes_as_often_as_no() -> None:
    made = augment_questions(asked(), RadConfig(per_question=3, draw="balanced")).augmentations
    draw = made["question_id"].str.split("_").list[1]
    counts = (
        made.with_columns(draw=draw).group_by("draw", "augmentation").agg((pl.col("answer") == "yes").sum())
    )
    assert counts["answer"].to_list() == [20] * 6


def test_what_reads_them(tmp_path: Path) -> None:
    asked().write_parquet(tmp_path / "questions.parquet")
    report = build(
        RadFiles(questions=tmp_path / "questions.parquet"), RadConfig(per_question=2), tmp_path / "rad"
    )
    assert report.words["colors"].startswith("80 of 40 that open so (")
    assert report.words["colors"].endswith(", 2 of each question)")
    folder = read_folder(tmp_path / "rad")
    figures = folder.manifest["figures"]["by_type"]["colors"]
    assert (figures["openings"], figures["augmentations"], figures["share_of_questions"]) == (40, 80, 0.5)
    written = json.loads((tmp_path / "rad" / "yes-no_from_colors_val_questions.json").read_text())[
        "questions"
    ]
    assert len({one["question_id"] for one in written}) == 80
    assert len(question_sets(tmp_path / "rad").sets["originals"]["originals"]) == 80
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    folder.questions.select("question_id", "answer").write_csv(first)
    folder.augmentations.select("question_id", answer=pl.lit("yes")).write_csv(second)
    scored = score(tmp_path / "rad", {"m": first}, {"m": second}, ScoreConfig(resamples=0))
    overall = scored.counts.row(0, named=True)
    yes = (folder.augmentations["answer"] == "yes").sum()
    assert (overall["pairs"], overall["original_right"], overall["both_right"]) == (160, 160, yes)


@pytest.mark.parametrize("value", [0, -1, 1001, 1.5])
def test_how_many_may_be_asked_for(value: float) -> None:
    with pytest.raises(
        ConfigError, match=f"per_question: got {value}, expected a whole number from 1 to 1,?000"
    ):
        RadConfig(per_question=value)  # type: ignore[arg-type]
