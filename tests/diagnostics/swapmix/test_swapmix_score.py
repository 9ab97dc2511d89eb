import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.swapmix.worlds import Tiny, draw_plan, worlds
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.swapmix.build import build
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig, SwapMixConfig
from shortcut_miner.diagnostics.swapmix.metrics import NO_SWAP, judge, summary
from shortcut_miner.diagnostics.swapmix.plan_folder import SwapMixFolder
from shortcut_miner.diagnostics.swapmix.results import read_results
from shortcut_miner.diagnostics.swapmix.score import score, score_any, score_results
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
def test_metrics_equal_brute_force(world: Tiny, seed: int, config: ScoreConfig) -> None:
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


@given(worlds(), st.data())
def test_swaps_without_an_answer_count_as_not_made(world: Tiny, data: st.DataObject) -> None:
    import numpy as np

    tables = draw_plan(world.inputs(), SwapMixConfig(k=3))
    plan, questions = tables["swaps.parquet"], tables["questions.parquet"]
    if plan.is_empty():
        return
    keys = plan.select("question_id", "perturbation").rows()
    said = {key: data.draw(st.sampled_from(["yes", "no"])) for key in keys}
    lost = {key for key in keys if key[1] > 0 and data.draw(st.booleans())}
    right = dict(questions.select("question_id", "answer").iter_rows())
    with tempfile.TemporaryDirectory() as out:
        plan.write_parquet(Path(out) / "swaps.parquet")
        shape = read_shape(SwapMixFolder(Path(out) / "swaps.parquet", questions, {}))
    config = ScoreConfig(resamples=0)
    numbers = [NO_SWAP if key in lost else said[key] == "yes" for key in keys]
    verdicts = judge(shape, np.array(numbers, np.int32), np.ones(len(shape.first), np.int32), config)
    found = {row["metric"]: row["value"] / 100 for row in summary(shape, verdicts, "m", config).to_dicts()}
    made = plan.filter(pl.Series([key not in lost for key in keys]))
    assert found == pytest.approx(by_brute_force(made, right, said, config))
    check_classes(made, right, said, config, verdicts.classes)


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
    assert refuse(folder, answers.drop("perturbation"), tmp_path).endswith(
        "bad.parquet: got a table with the columns 'question_id', 'answer', expected 'perturbation' (the "
        "perturbation of each row) too. Name its columns with --columns, such as --columns perturbation=NAME."
    )
    as_text = answers.with_columns(pl.col("perturbation").cast(pl.String))
    assert "column perturbation: got String" in refuse(folder, as_text, tmp_path)
    nulls = answers.with_columns(answer=pl.when(pl.col("perturbation") > 0).then("answer"))
    assert "expected none. Fix them, or skip them with --on-bad-row skip." in (
        message := refuse(folder, nulls, tmp_path)
    )
    assert "row 0, answer: got null, expected text" in message


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
    assert report.notes == (
        f"predictions of m: answers to questions that the plan leaves out: {len(excluded)}",
    )


def test_scores_are_written(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores"
    score(
        folder / "swapmix", {"m": folder / "swapmix-answers" / "grounded_model.parquet"}, ScoreConfig(), out
    )
    names = {
        "README.md",
        "scores.parquet",
        "class_flips.parquet",
        "per_question.parquet",
        "scores.json",
        "scores.md",
        "scores.tex",
        "scores_long.tex",
        "manifest.json",
    }
    assert {path.name for path in out.iterdir()} == names
    config = json.loads((out / "manifest.json").read_text())["config"]
    assert config["k"] == config["build"]["k"] > 0  # the swaps that are read, if not told
    flips = pl.read_parquet(out / "class_flips.parquet")
    assert flips["flip_count"].sum() > 0
    assert flips.select((pl.col("flip_share") == pl.col("flip_count") / pl.col("swap_count")).all()).item()


def test_a_folder_of_another_kind_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(SourceError, match="expected a folder that swapmix build wrote"):
        score(tmp_path, {"m": tmp_path}, ScoreConfig())
    with pytest.raises(ConfigError, match="expected at least one"):
        score(folder / "swapmix", {}, ScoreConfig())


def test_missing_swaps_read_as_not_made_give_the_figures_of_a_smaller_plan(
    folder: Path, tmp_path: Path
) -> None:
    """The class swaps alone, read from a file without any attribute swap: attribute reliance is 0."""
    swaps = pl.read_parquet(folder / "swapmix" / "swaps.parquet")
    kept = swaps.filter(pl.col("kind") != "attribute").select("question_id", "perturbation")
    answers = answers_of(folder)
    part = answers.join(kept, on=["question_id", "perturbation"], how="semi", maintain_order="left")
    part.write_parquet(tmp_path / "classes.parquet")
    given = {"m": tmp_path / "classes.parquet"}
    with pytest.raises(SchemaError, match="read them as no such swap with --on-missing no-swap"):
        score(folder / "swapmix", given, ScoreConfig(resamples=0))
    report = score(folder / "swapmix", given, ScoreConfig(resamples=0, on_missing="no-swap"))
    whole = score(
        folder / "swapmix",
        {"m": folder / "swapmix-answers" / "grounded_model.parquet"},
        ScoreConfig(resamples=0),
    ).paper_table()
    found = report.paper_table()
    for metric in ("accuracy", "object_reliance"):
        assert found[metric].to_list() == whole[metric].to_list()
    assert found["attribute_reliance"].to_list() == [0.0]
    assert found["context_reliance"].to_list() == found["object_reliance"].to_list()
    assert report.dropped == {"predictions of m: perturbation without an answer": len(answers) - len(part)}
    assert not report.is_complete
    assert report.class_flips["kind"].unique().to_list() == ["class"]


def test_without_an_answer_without_a_swap_nothing_can_be_said(folder: Path, tmp_path: Path) -> None:
    answers = answers_of(folder)
    answers.slice(1).write_parquet(tmp_path / "m.parquet")
    given = {"m": tmp_path / "m.parquet"}
    with pytest.raises(SchemaError, match="1 perturbations of 1 questions without an answer") as caught:
        score(folder / "swapmix", given, ScoreConfig(resamples=0, on_missing="no-swap"))
    assert "with --on-missing skip." in str(caught.value)
    report = score(folder / "swapmix", given, ScoreConfig(resamples=0, on_missing="skip"))
    assert report.scores["n"].max() == answers["question_id"].n_unique() - 1


def test_more_swaps_than_the_plan_has(folder: Path) -> None:
    given = {"m": folder / "swapmix-answers" / "grounded_model.parquet"}
    k = json.loads((folder / "swapmix" / "manifest.json").read_text())["config"]["k"]
    assert len(score(folder / "swapmix", given, ScoreConfig(resamples=0, k=k)).scores) > 0
    with pytest.raises(ConfigError) as caught:
        score(folder / "swapmix", given, ScoreConfig(resamples=0, k=50))
    assert str(caught.value) == (
        f"k: got 50, expected at most {k}, the swaps of each kind and object that there are. Change --k."
    )


@pytest.mark.parametrize(
    ("given", "got", "advice"),
    [
        ({"predictions"}, "--predictions alone", "Give a folder too"),
        ({"folder"}, "a folder alone", "Give --predictions too"),
        ({"class_results"}, "--class-results alone", "Give --attribute-results too"),
        ({"attribute_results"}, "--attribute-results alone", "Give --class-results too"),
        (set(), "nothing", "Give one or the other"),
        ({"folder", "class_results"}, "a folder and --class-results", "Leave one or the other out"),
    ],
)
def test_what_is_not_given_is_named(given: set[str], got: str, advice: str, tmp_path: Path) -> None:
    files: dict[str, Any] = dict.fromkeys(given, tmp_path)
    predictions = {"m": tmp_path} if "predictions" in given else {}
    with pytest.raises(ConfigError) as caught:
        score_any(
            files.get("folder"), predictions, files.get("class_results"), files.get("attribute_results"),
            ScoreConfig(),
        )  # fmt: skip
    assert str(caught.value) == (
        f"swapmix score: got {got}, expected a folder that swapmix build wrote with --predictions, or "
        f"--class-results with --attribute-results. {advice}."
    )


RESULT = '{"1": {"007": {"ans": 3, "changes": ["original", "a_to_b", "a_to_c"], "pred": [[3, 3], [%s]]}}}'


def scene(predictions: list[list[int]]) -> dict[str, object]:
    """Return an image of perfect-sight results: one object, asked about in p and q, and r about none."""
    batches = {str(change): {"pred": [given]} for change, given in enumerate(predictions)}
    swapped = {"changes": ["original", "a"], "prediction": batches, "relevant_questions": ["p", "q"]}
    return {"answers": {"p": 1, "q": 1, "r": 1}, "o": swapped}


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
    with pytest.raises(SchemaError, match=r"got 2 questions in one of them only \('007', '008'\)") as caught:
        score_results(*write_results(tmp_path, RESULT % "3", other), ScoreConfig())
    assert "read a missing question as no such swap with --on-missing no-swap" in str(caught.value)
    with pytest.raises(SchemaError, match="got no question in both, expected at least one"):
        score_results(*write_results(tmp_path, RESULT % "3", other), ScoreConfig(on_missing="skip"))
    other = (RESULT % "3").replace('"ans": 3', '"ans": 4')
    with pytest.raises(SchemaError, match=r"got 1 questions with two right answers \('007'\)"):
        score_results(*write_results(tmp_path, RESULT % "3", other), ScoreConfig())
    twice = json.dumps({"1": json.loads(RESULT % "3")["1"], "2": json.loads(RESULT % "4")["1"]})
    with pytest.raises(SourceError, match="question 007 under the images '1' and '2'"):
        score_results(*write_results(tmp_path, RESULT % "3", twice), ScoreConfig())
    with pytest.raises(ConfigError, match="k: got 3, expected at most 2, the swaps of each kind"):
        score_results(*write_results(tmp_path, RESULT % "3", RESULT % "3"), ScoreConfig(k=3))
    with pytest.raises(ConfigError, match="columns: got 'answer=x', expected none with result files"):
        score_results(*write_results(tmp_path, RESULT % "3", RESULT % "3"), ScoreConfig(columns="answer=x"))
    with pytest.raises(SourceError, match="expected the result JSON of the released evaluation scripts"):
        score_results(*write_results(tmp_path, "[1]", "[1]"), ScoreConfig())
    with pytest.raises(ConfigError, match="exclude_padding: got it with results"):
        score_results(*write_results(tmp_path, RESULT % "3", RESULT % "3"), ScoreConfig(exclude_padding=True))


def test_a_question_that_one_run_lacks(tmp_path: Path) -> None:
    """Question 7 changes under a class swap, 8 (in the class run alone) does not, 9 (in the other) does."""
    one = '"%s": {"ans": 3, "changes": ["original", "a_to_b"], "pred": [[3, %s]]}'
    paths = write_results(
        tmp_path,
        '{"1": {' + ", ".join([one % ("7", 4), one % ("8", 3)]) + "}}",
        '{"1": {' + ", ".join([one % ("7", 3), one % ("9", 5)]) + "}}",
    )
    report = score_results(*paths, ScoreConfig(resamples=0, on_missing="no-swap"))
    found = report.paper_table().row(0, named=True)
    third = pytest.approx(100 / 3)
    assert found == {
        "model": "model", "accuracy": 100.0, "object_reliance": third, "attribute_reliance": third,
        "context_reliance": pytest.approx(200 / 3), "effective_accuracy": third,
        "effective_accuracy_perturbations_only": third,
    }  # fmt: skip
    lost = {
        "class_results: question without an answer": 1,
        "attribute_results: question without an answer": 1,
    }
    assert (report.dropped, report.is_complete) == (lost, False)
    skipped = score_results(*paths, ScoreConfig(resamples=0, on_missing="skip"))
    assert skipped.paper_table().row(0) == ("model", 100.0, 100.0, 0.0, 100.0, 0.0, 0.0)
    assert (skipped.scores["n"].to_list(), skipped.dropped) == ([1] * 6, lost)


def test_a_question_about_which_nothing_was_swapped_is_told(tmp_path: Path) -> None:
    flips, stays = (json.dumps({"i": scene([[1, 2], [changed, 2]])}) for changed in (5, 1))
    report = score_results(*write_results(tmp_path, flips, stays), ScoreConfig(resamples=0))
    assert report.paper_table().row(0) == ("model", 50.0, 100.0, 0.0, 100.0, 0.0, 0.0)
    assert report.scores["n"].to_list() == [2, 1, 1, 1, 2, 2]
    told = "questions about which no object was swapped, so that no answer is known: 1"
    assert report.notes == (f"class_results: {told}", f"attribute_results: {told}")


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


@pytest.mark.parametrize("rows", [50, 1 << 20])
def test_answers_that_are_all_lists_of_one_text(
    folder: Path, tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shortcut_miner.diagnostics.swapmix.answers._ROWS_AT_ONCE", rows)
    path = tmp_path / "lists.parquet"
    listed = answers_of(folder).with_columns(answer=pl.format("['{}']", "answer"))
    assert len(listed) > 50
    listed.write_parquet(path)
    report = score(folder / "swapmix", {"m": path}, ScoreConfig(resamples=0))
    assert report.notes == (f"predictions of m: answer, lists written as text, unpacked: {len(listed):,}",)
    given = folder / "swapmix-answers" / "grounded_model.parquet"
    told = score(folder / "swapmix", {"m": given}, ScoreConfig(resamples=0)).scores["value"]
    assert report.scores["value"].to_list() == told.to_list()
    is_last = pl.int_range(pl.len()) == len(listed) - 1
    listed.with_columns(answer=pl.when(is_last).then(pl.lit("red")).otherwise("answer")).write_parquet(path)
    if rows == 50:
        with pytest.raises(SourceError, match="got lists written as text in the first answers and other"):
            score(folder / "swapmix", {"m": path}, ScoreConfig(resamples=0))
    else:
        literal = score(folder / "swapmix", {"m": path}, ScoreConfig(resamples=0)).paper_table()
        assert literal["accuracy"].to_list() == [0.0]


def test_answers_whose_ids_are_floats_without_leading_zeros(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "zeros.csv"
    answers = answers_of(folder)
    answers.with_columns(pl.col("question_id").cast(pl.Float64)).write_csv(path)
    report = score(folder / "swapmix", {"m": path}, ScoreConfig(resamples=0))
    assert report.notes == (
        f"predictions of m: question_id, floats read as whole numbers: {len(answers):,}",
        f"predictions of m: ids joined that had lost leading zeros: {answers['question_id'].n_unique():,}",
    )
    given = score(
        folder / "swapmix",
        {"m": folder / "swapmix-answers" / "grounded_model.parquet"},
        ScoreConfig(resamples=0),
    )
    assert report.scores["value"].to_list() == given.scores["value"].to_list()


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
        (scene([[1, 1], [2]]), "1 answers to the 2 questions of change 1, object 'o' of image 'i'"),
        (scene([[1, 1], [2, 2, 2]]), "3 answers to the 2 questions of change 1, object 'o' of image 'i'"),
        (scene([[1, 1]]), "1 predictions for the 2 changes of object 'o' of image 'i'"),
    ],
)  # fmt: skip
def test_results_that_the_scripts_do_not_write_are_refused(image: object, told: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"i": image}))
    with pytest.raises(SourceError) as caught:
        read_results(path, path)
    assert str(caught.value).startswith(f"{path}: got ")
    assert told in str(caught.value)
