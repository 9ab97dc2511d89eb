import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.swapmix.worlds import Tiny, draw_plan, worlds
from hypothesis import given, settings
from hypothesis import strategies as st

from shortcut_miner.diagnostics.swapmix.build import build
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig, SwapMixConfig
from shortcut_miner.diagnostics.swapmix.metrics import judge, summary
from shortcut_miner.diagnostics.swapmix.outputs import SwapMixFolder
from shortcut_miner.diagnostics.swapmix.results import read_results
from shortcut_miner.diagnostics.swapmix.score import score, score_results
from shortcut_miner.diagnostics.swapmix.shape import read_shape
from shortcut_miner.errors import ConfigError, SchemaError, ShortcutMinerError, SourceError


def by_brute_force(
    plan: pl.DataFrame, right: dict[str, str], said: dict[tuple[str, int], str], config: ScoreConfig
) -> dict[str, float]:
    questions: dict[str, list[dict[str, Any]]] = {}
    for row in plan.iter_rows(named=True):
        questions.setdefault(row["question_id"], []).append(row)
    counts = dict.fromkeys(("right", "class", "attribute", "any", "effective", "literal"), 0)
    for one, rows in questions.items():
        swaps = [
            row
            for row in rows[1:]
            if (config.k is None or row["swap_index"] <= config.k)
            and not (config.exclude_padding and row["is_padding"])
        ]
        original = said[one, 0]
        is_right = original == right[one]
        stays = all(said[one, row["perturbation"]] == right[one] for row in swaps)
        flipped = {row["kind"] for row in swaps if said[one, row["perturbation"]] != original}
        counts["right"] += is_right
        for kind in ("class", "attribute"):
            counts[kind] += is_right and kind in flipped
        counts["any"] += is_right and bool(flipped)
        counts["effective"] += is_right and stays
        counts["literal"] += stays
    n, right_count = len(questions), counts["right"]
    values = {
        "accuracy": right_count / n,
        "effective_accuracy": counts["effective"] / n,
        "effective_accuracy_perturbations_only": counts["literal"] / n,
    }
    if right_count:
        values["object_reliance"] = counts["class"] / right_count
        values["attribute_reliance"] = counts["attribute"] / right_count
        values["context_reliance"] = counts["any"] / right_count
    return values


@given(
    worlds(),
    st.integers(0, 1000),
    st.builds(
        ScoreConfig, k=st.sampled_from([None, 1, 2]), exclude_padding=st.booleans(), resamples=st.just(0)
    ),
)
@settings(max_examples=80, deadline=None)
def test_metrics_equal_brute_force(world: Tiny, seed: int, config: ScoreConfig) -> None:
    import tempfile

    import numpy as np

    tables = draw_plan(world.inputs(), SwapMixConfig(k=3))
    plan, questions = tables["swaps.parquet"], tables["questions.parquet"]
    if plan.is_empty():
        return
    rng = np.random.default_rng(seed)
    said = rng.choice(["yes", "no"], len(plan), p=[0.8, 0.2]).tolist()
    answers = dict(zip(plan.select("question_id", "perturbation").iter_rows(), said, strict=True))
    right = dict(questions.select("question_id", "answer").iter_rows())
    with tempfile.TemporaryDirectory() as out:
        plan.write_parquet(Path(out) / "swaps.parquet")
        shape = read_shape(SwapMixFolder(Path(out) / "swaps.parquet", questions, {}))
    numbers = np.array([one == "yes" for one in said], np.int32)
    verdicts = judge(shape, numbers, np.ones(len(shape.first), np.int32), config)
    scores = summary(shape, verdicts, "m", config)
    found = {row["metric"]: row["value"] / 100 for row in scores.iter_rows(named=True)}
    assert found == pytest.approx(by_brute_force(plan, right, answers, config))
    check_classes(plan, right, answers, config, verdicts.classes)


def check_classes(
    plan: pl.DataFrame, right: dict[str, str], said: dict[Any, str], config: ScoreConfig, found: pl.DataFrame
) -> None:
    cells: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for row in plan.filter(pl.col("kind") != "original").iter_rows(named=True):
        one = row["question_id"]
        is_out = (config.k is not None and row["swap_index"] > config.k) or (
            config.exclude_padding and row["is_padding"]
        )
        if is_out or said[one, 0] != right[one]:
            continue
        flips = said[one, row["perturbation"]] != said[one, 0]
        cells.setdefault((row["from_class"], row["kind"]), []).append((one, flips))
    assert {
        (row["from_class"], row["kind"]): (
            row["swap_count"], row["flip_count"], row["question_count"], row["flipped_question_count"],
        )
        for row in found.iter_rows(named=True)
    } == {
        cell: (
            len(swaps),
            sum(flips for _, flips in swaps),
            len({one for one, _ in swaps}),
            len({one for one, flips in swaps if flips}),
        )
        for cell, swaps in cells.items()
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a plan for the demo world."""
    from shortcut_miner.demo import write_demo_world
    from shortcut_miner.demo.swapmix import run_swapmix

    out = tmp_path_factory.mktemp("demo")
    run_swapmix(write_demo_world(out / "world"), out)
    return out


def answers_of(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "swapmix-answers" / "grounded_model.parquet")


def test_the_demo_tells_its_models_apart(folder: Path) -> None:
    models = {
        name: folder / "swapmix-answers" / f"{name}.parquet" for name in ("shortcut_model", "grounded_model")
    }
    table = score(folder / "swapmix", models, ScoreConfig(resamples=0)).paper_table()
    leaning, grounded = table.to_dicts()
    for metric in ("object_reliance", "attribute_reliance", "context_reliance"):
        assert leaning[metric] > 3 * grounded[metric]
    assert leaning["effective_accuracy"] < leaning["accuracy"]


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "json"])
def test_every_format_scores_alike(folder: Path, tmp_path: Path, kind: str) -> None:
    answers = answers_of(folder).sample(fraction=1.0, shuffle=True, seed=1)
    path = tmp_path / f"answers.{kind}"
    write = {
        "parquet": answers.write_parquet,
        "csv": answers.write_csv,
        "jsonl": answers.write_ndjson,
        "json": answers.write_json,
    }
    write[kind](path)
    found = score(folder / "swapmix", {"m": path}, ScoreConfig(resamples=0)).scores["value"]
    given = score(
        folder / "swapmix",
        {"m": folder / "swapmix-answers" / "grounded_model.parquet"},
        ScoreConfig(resamples=0),
    )
    assert found.to_list() == given.scores["value"].to_list()


def refuse(folder: Path, table: pl.DataFrame, tmp_path: Path) -> str:
    table.write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(ShortcutMinerError) as caught:
        score(folder / "swapmix", {"m": tmp_path / "bad.parquet"}, ScoreConfig(resamples=0))
    return str(caught.value)


def test_missing_repeated_and_unknown_answers_are_named(folder: Path, tmp_path: Path) -> None:
    answers = answers_of(folder)
    first = answers.row(0)[0]
    odd = pl.concat(
        [
            answers.slice(2),
            answers.slice(5, 1),
            answers.head(1).with_columns(perturbation=pl.lit(10**6, pl.UInt32)),
        ]
    )
    message = refuse(folder, odd, tmp_path)
    assert f"2 perturbations of 1 questions without an answer: '{first}'" in message
    assert "1 answers to a perturbation that has one already" in message
    assert f"1 answers to what the plan lacks, question (perturbation): '{first} (1000000)'" in message
    assert "perturbation 0 (no swap) too" in message


def test_bad_tables_are_refused(folder: Path, tmp_path: Path) -> None:
    answers = answers_of(folder)
    assert "got a table without 'perturbation'" in refuse(folder, answers.drop("perturbation"), tmp_path)
    as_text = answers.with_columns(pl.col("perturbation").cast(pl.String))
    assert "column perturbation: got String" in refuse(folder, as_text, tmp_path)
    nulls = answers.with_columns(answer=pl.when(pl.col("perturbation") > 0).then("answer"))
    assert "expected none. Correct them." in refuse(folder, nulls, tmp_path)


def test_broken_text_is_refused(folder: Path, tmp_path: Path) -> None:
    for name, text in (
        ("a.json", '[{"question_id": 1}]'),
        ("b.csv", "a,b\n1,2\n"),
        ("c.csv", "question_id,perturbation,answer\n1,x,y\n"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(SourceError, match=name):
            score(folder / "swapmix", {"m": tmp_path / name}, ScoreConfig(resamples=0))


def test_normalisation_is_an_option(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "loud.parquet"
    answers_of(folder).with_columns(answer="The " + pl.col("answer") + "!").write_parquet(path)
    literal = score(folder / "swapmix", {"m": path}, ScoreConfig(resamples=0)).paper_table()
    assert literal["accuracy"].to_list() == [0.0]
    normalised = score(
        folder / "swapmix", {"m": path}, ScoreConfig(resamples=0, normalize=True)
    ).paper_table()
    assert normalised["accuracy"].item() > 80


def test_answers_to_excluded_questions_are_left_out(folder: Path, tmp_path: Path) -> None:
    questions = pl.read_parquet(folder / "swapmix" / "questions.parquet")
    excluded = questions.drop_nulls("exclusion")["question_id"].to_list()
    assert excluded
    extra = pl.DataFrame({"question_id": excluded, "perturbation": 0, "answer": "yes"})
    both = pl.concat([answers_of(folder), extra], how="vertical_relaxed")
    both.write_parquet(tmp_path / "all.parquet")
    report = score(folder / "swapmix", {"m": tmp_path / "all.parquet"}, ScoreConfig(resamples=0))
    assert report.notes == (f"m: answers to questions that the plan leaves out: {len(excluded)}",)


def test_scores_are_written(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores"
    score(
        folder / "swapmix", {"m": folder / "swapmix-answers" / "grounded_model.parquet"}, ScoreConfig(), out
    )
    names = {
        "scores.parquet",
        "class_flips.parquet",
        "scores.json",
        "scores.md",
        "scores.tex",
        "manifest.json",
    }
    assert {path.name for path in out.iterdir()} == names
    flips = pl.read_parquet(out / "class_flips.parquet")
    assert flips["flip_count"].sum() > 0
    assert flips.select((pl.col("flip_share") == pl.col("flip_count") / pl.col("swap_count")).all()).item()


def test_a_folder_of_another_kind_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(SourceError, match="expected a folder that swapmix build wrote"):
        score(tmp_path, {"m": tmp_path}, ScoreConfig())
    with pytest.raises(ConfigError, match="expected at least one"):
        score(folder / "swapmix", {}, ScoreConfig())


RESULT = '{"1": {"007": {"ans": 3, "changes": ["original", "a_to_b", "a_to_c"], "pred": [[3, 3], [%s]]}}}'


def write_results(tmp_path: Path, classes: str, attributes: str) -> tuple[Path, Path]:
    paths = tmp_path / "classes.json", tmp_path / "attributes.json"
    for path, text in zip(paths, (classes, attributes), strict=True):
        path.write_text(text)
    return paths


def test_results_across_batches(tmp_path: Path) -> None:
    paths = write_results(tmp_path, RESULT % "3", RESULT % "4")
    scores = score_results(*paths, ScoreConfig(resamples=0))
    assert scores.paper_table().row(0) == ("model", 100.0, 0.0, 100.0, 100.0, 0.0, 0.0)
    first_only = score_results(*paths, ScoreConfig(resamples=0, k=1))
    assert first_only.paper_table()["context_reliance"].to_list() == [0.0]


def test_results_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="question 007: got 1 answers to swaps, expected 2"):
        score_results(*write_results(tmp_path, RESULT % "", RESULT % "3"), ScoreConfig())
    other = (RESULT % "3").replace("007", "008")
    with pytest.raises(SchemaError, match=r"got 2 questions in one of them only \('007', '008'\)"):
        score_results(*write_results(tmp_path, RESULT % "3", other), ScoreConfig())
    with pytest.raises(SourceError, match="expected the result JSON of the released evaluation scripts"):
        score_results(*write_results(tmp_path, "[1]", "[1]"), ScoreConfig())
    with pytest.raises(ConfigError, match="exclude_padding: got it with results"):
        score_results(*write_results(tmp_path, RESULT % "3", RESULT % "3"), ScoreConfig(exclude_padding=True))


def test_a_training_plan_cannot_be_scored(tmp_path: Path, folder: Path) -> None:
    from shortcut_miner.diagnostics.swapmix.config import SwapMixFiles

    world = folder / "world"
    files = SwapMixFiles(
        questions=world / "val_balanced_questions.json",
        scene_graphs=world / "val_sceneGraphs.json",
        detections=world / "val_objects.jsonl",
        embeddings=str(world / "word_vectors.txt"),
    )
    build(files, SwapMixConfig(plan="training"), tmp_path / "out", limit=20)
    with pytest.raises(SourceError, match="A training plan can't be scored"):
        score(tmp_path / "out", {"m": folder}, ScoreConfig())


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ({"q": {"ans": 2**40, "changes": ["original"], "pred": [[1]]}}, "Expected `int` <= 2147483647"),
        ({"q": {"ans": 1, "changes": ["original"], "pred": [[-(2**70)]]}}, "Expected `int`"),
        (
            {"answers": {"p": 1}, "o": {"changes": [], "prediction": {}, "relevant_questions": ["q"]}},
            "no answer to the questions 'q' of image 'i'",
        ),
        (
            {
                "answers": {"q": 1},
                "o": {"changes": [], "prediction": {"x": {"pred": [[1]]}}, "relevant_questions": ["q"]},
            },
            "the changes 'x' of image 'i', which are no numbers",
        ),
    ],
)  # fmt: skip
def test_results_that_the_scripts_do_not_write_are_refused(image: object, told: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"i": image}))
    with pytest.raises(SourceError) as caught:
        read_results(path, path)
    assert str(caught.value).startswith(f"{path}: got ")
    assert told in str(caught.value)
