"""The metric against equation 4 in plain Python, and what scores say."""

import doctest
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.fpvg import plain
from diagnostics.fpvg.worlds import graph, question, write_run, write_world
from hypothesis import given
from hypothesis import strategies as st

import shortcut_miner.diagnostics.fpvg
from shortcut_miner.diagnostics.fpvg import metric
from shortcut_miner.diagnostics.fpvg.apply import apply_region_lists, apply_regions
from shortcut_miner.diagnostics.fpvg.build import build
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, FpvgConfig, ScoreConfig
from shortcut_miner.diagnostics.fpvg.faithfulness import quadrants, ranking_match, with_changes
from shortcut_miner.diagnostics.fpvg.score import score
from shortcut_miner.errors import ConfigError, SchemaError, SourceError
from shortcut_miner.scoring.intervals import summarise

BOX, FAR = (0, 0, 10, 10), (50, 50, 60, 60)
answer = st.sampled_from(["yes", "no", "red"])
rows = st.lists(st.fixed_dictionaries(dict.fromkeys(("answer", *CONDITIONS), answer)), min_size=1)


@given(rows)
def test_categories_are_those_of_equation_4(table: list[dict[str, str]]) -> None:
    code = metric.codes(pl.DataFrame(table))
    expected = Counter(plain.fpvg(row["answer"], row) for row in table)
    masks = metric.category_masks()
    counts = {name: int(mask[code].sum()) for name, mask in masks.items()}
    assert counts == {
        "good_correct": expected[1, 1],
        "good_wrong": expected[1, 0],
        "bad_correct": expected[0, 1],
        "bad_wrong": expected[0, 0],
    }
    assert sum(counts.values()) == len(table)


@given(rows)
def test_outcomes_add_up_to_categories(table: list[dict[str, str]]) -> None:
    frame = pl.DataFrame(table)
    found = metric.outcome_counts(frame)
    assert sum(found.values()) == len(table)
    code = metric.codes(frame)
    good_wrong = found["II_1_sub3"] + found["II_2_sub1"]
    assert int(metric.is_good()[code].sum()) == found["CC_1"] + good_wrong


def test_shares_sum_to_one_in_every_code() -> None:
    assert np.stack(list(metric.category_masks().values())).sum(axis=0).tolist() == [1] * metric.CODES


# ---- a small world ----


def world(folder: Path, names: list[str]) -> Path:
    """Build a folder with one evaluable question per name, about three images; one is not evaluable."""
    questions = {
        name: question(
            f"i{place % 3}",
            {"1": "o"},
            answer="red" if place % 2 else "yes",
            types={"structural": "query" if place % 2 else "verify", "semantic": "attr", "detailed": "d"},
        )
        for place, name in enumerate(names)
    }
    questions["none"] = question("i0", {})
    images = ["i0", "i1", "i2"]
    files = write_world(
        folder / "in",
        questions,
        {image: graph({"o": BOX}) for image in images},
        {image: [BOX, FAR, (20, 20, 30, 30)] for image in images},
    )
    build(files, FpvgConfig(), folder / "built")
    return folder / "built"


NAMES = [f"0{number}" for number in range(12)]


def answers(**changes: str) -> dict[str, dict[str, str]]:
    given = {condition: dict.fromkeys([*NAMES, "none"], "yes") for condition in CONDITIONS}
    for place, name in enumerate(NAMES):
        if place % 3 == 0:
            given["irrelevant"][name] = "blue"
        if place % 4 == 3:
            given["relevant"][name] = "green"
    return given


@pytest.fixture
def built(tmp_path: Path) -> Path:
    return world(tmp_path, NAMES)


def value(table: pl.DataFrame, **where: str) -> Any:
    found = table.filter(**({"group": "overall", "subgroup": "all"} | where))
    return found["value"].item()


def test_figures_of_a_small_world(tmp_path: Path, built: Path) -> None:
    report = score(built, [write_run(tmp_path, answers())], ScoreConfig(resamples=200))
    scores = report.scores
    # 0, 3, 6, 9 change without the relevant regions; 3 changes with them alone (as 7 and 11 do).
    assert value(scores, metric="fpvg_plus") == pytest.approx(100 * 3 / 12)
    assert value(scores, metric="good_correct") == pytest.approx(100 * 2 / 12)
    assert value(scores, metric="correct_to_incorrect_plus") == 2.0
    assert value(scores, metric="correct_to_incorrect_minus") == pytest.approx(4 / 5)
    assert value(scores, metric="fpvg_plus", group="structural", subgroup="verify") == pytest.approx(100 / 3)
    assert value(scores, metric="accuracy_all", group="every question") == pytest.approx(100 * 7 / 13)
    assert scores.filter(pl.col("low") > pl.col("value")).is_empty()
    assert scores.filter(pl.col("high") < pl.col("value")).is_empty()
    assert scores["scorer"].unique().to_list() == ["exact"]
    parts = ["good_correct", "good_wrong", "bad_correct", "bad_wrong"]
    sums = (
        scores.filter(pl.col("metric").is_in(parts)).group_by("group", "subgroup").agg(pl.col("value").sum())
    )
    assert sums["value"].round(9).to_list() == [100.0] * len(sums)
    assert report.categories.filter(question_id="00")["category"].item() == "good_correct"


def test_intervals_are_those_of_the_package(tmp_path: Path, built: Path) -> None:
    report = score(built, [write_run(tmp_path, answers())], ScoreConfig(resamples=300, seed=5))
    lists = pl.read_parquet(built / "regions.parquet").select("question_id", "image_id")
    plus = report.categories.join(lists, on="question_id").select(
        "image_id", plus=100.0 * pl.col("category").str.starts_with("good")
    )
    theirs = summarise(plus, metric="plus", resamples=300, seed=5).row(0, named=True)
    ours = report.scores.filter(metric="fpvg_plus", group="overall").row(0, named=True)
    assert (ours["value"], ours["n"]) == (pytest.approx(theirs["value"]), theirs["n"])
    assert (ours["low"], ours["high"]) == (pytest.approx(theirs["low"]), pytest.approx(theirs["high"]))


def test_ratios_are_of_resampled_counts_run_by_run(tmp_path: Path, built: Path) -> None:
    """A resample without an incorrect answer has no ratio and is left out."""
    right = {name: "red" if place % 2 else "yes" for place, name in enumerate(NAMES)} | {"none": "yes"}
    wrong_on_one_image = dict.fromkeys(CONDITIONS, right | {NAMES[1]: "blue"})
    given = {"a": answers(), "b": wrong_on_one_image}
    runs = [write_run(tmp_path, table, model=model) for model, table in given.items()]
    report = score(built, runs, ScoreConfig(resamples=200, seed=7))
    drawn = np.random.default_rng(7).integers(0, 3, size=(200, 3))
    known = {}
    for model in given:
        category = dict(report.categories.filter(model=model).select("question_id", "category").iter_rows())
        counts = [Counter(category[name] for image in images for name in NAMES[image::3]) for images in drawn]
        ratios = [found["bad_correct"] / found["bad_wrong"] for found in counts if found["bad_wrong"]]
        of_model = report.scores.filter(metric="correct_to_incorrect_minus", group="overall", model=model)
        n, low, high = of_model.select("n", "low", "high").row(0)
        assert n == sum(name.startswith("bad") for name in category.values())
        assert (low, high) == pytest.approx(np.quantile(ratios, [0.025, 0.975]))
        known[model] = len(ratios)
    assert known["a"] == 200
    assert known["b"] == sum(1 in images for images in drawn) < 200


def test_accuracies_on_every_question_leave_out_missing_answers(tmp_path: Path) -> None:
    built = world(tmp_path, NAMES)
    given = answers()
    del given["irrelevant"]["none"]
    scores = score(built, [write_run(tmp_path, given)], ScoreConfig(resamples=0)).scores
    shown = scores.filter(group="every question").select("metric", "subgroup", "n", "value").rows()
    assert shown == [
        ("accuracy_all", "all", 13, 100 * (7 / 13)),
        ("accuracy_relevant", "all", 13, 100 * (7 / 13)),
        ("accuracy_irrelevant", "all", 12, 100 * (4 / 12)),
    ]


def test_no_resamples_no_intervals(tmp_path: Path, built: Path) -> None:
    scores = score(built, [write_run(tmp_path, answers())], ScoreConfig(resamples=0)).scores
    assert scores["low"].null_count() == len(scores)


def test_normalisation_makes_answers_equal(tmp_path: Path, built: Path) -> None:
    given = answers()
    given["relevant"] = dict.fromkeys(given["relevant"], "Yes.")
    run = write_run(tmp_path, given)
    strict = score(built, [run], ScoreConfig(resamples=0)).scores
    assert value(strict, metric="fpvg_plus") == 0
    loose = score(built, [run], ScoreConfig(resamples=0, normalize=True)).scores
    assert value(loose, metric="fpvg_plus") == pytest.approx(100 * 4 / 12)
    assert loose["scorer"][0] == "vqa-normalized"


def test_a_ratio_without_incorrect_answers_is_left_out(tmp_path: Path, built: Path) -> None:
    given = {condition: {name: "yes" if place % 2 == 0 else "red" for place, name in enumerate(NAMES)}
             for condition in CONDITIONS}  # fmt: skip
    scores = score(built, [write_run(tmp_path, given)], ScoreConfig(resamples=50)).scores
    assert scores.filter(pl.col("metric").str.starts_with("correct_to_incorrect")).is_empty()
    assert value(scores, metric="accuracy_all") == 100


# ---- several runs, lists of questions ----


def test_seeds_and_models(tmp_path: Path, built: Path) -> None:
    runs = []
    for seed in range(3):
        given = answers()
        given["relevant"][NAMES[0]] = f"{seed}" if seed else "yes"
        runs.append(write_run(tmp_path, given, "m", f"{seed}"))
    runs.append(write_run(tmp_path, answers(), "other"))
    report = score(built, runs, ScoreConfig(resamples=0), tmp_path / "out")
    assert report.scores["model"].unique(maintain_order=True).to_list() == ["m@0", "m@1", "m@2", "other"]
    assert report.seeds is not None
    row = report.seeds.filter(metric="fpvg_plus", group="overall").row(0, named=True)
    assert (row["model"], row["runs"]) == ("m", 3)
    assert row["median"] == pytest.approx(100 * 2 / 12)
    assert row["largest_deviation"] == pytest.approx(100 / 12)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "README.md", "scores.parquet", "categories.parquet", "outcomes.parquet", "seeds.parquet",
        "scores.json", "scores.md", "scores.tex", "scores_long.tex", "manifest.json", "per_question.parquet",
        "flips.parquet",
    }  # fmt: skip
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert len(manifest["inputs"]) == 12 + 1  # the last is the build
    assert manifest["config"]["build"]["relevant"] == "path"


def test_two_lists_give_a_drop(tmp_path: Path, built: Path) -> None:
    first, second = tmp_path / "id.json", tmp_path / "ood.txt"
    first.write_text(json.dumps([*NAMES[:6], "none"]))
    second.write_text("\n".join(NAMES[6:]) + "\n")
    run = write_run(tmp_path, answers())
    report = score(built, [run], ScoreConfig(resamples=20), id_lists={"ID": first, "OOD": second})
    assert report.notes == ("ID: 1 of 7 listed questions are not evaluable and left out",)
    assert report.drops is not None
    drop = report.drops.filter(metric="fpvg_plus").row(0, named=True)
    assert (drop["first"], drop["second"]) == ("ID", "OOD")
    assert drop["drop"] == pytest.approx(100 * (1 - 2) / 6)
    groups = report.scores["group"].unique(maintain_order=True).to_list()
    assert groups == [
        "ID", "structural in ID", "semantic in ID", "OOD", "structural in OOD", "semantic in OOD",
        "every question",
    ]  # fmt: skip
    trusting = score(built, [run], ScoreConfig(resamples=0, trust_ids=True), id_lists={"ID": first})
    assert trusting.scores.filter(group="ID")["n"][0] == 7
    assert trusting.drops is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('["01", "01"]', r"got 1 ids more than once \('01'\)"),
        ("[]", "got no ids"),
        ('["x"]', r"got 1 ids that the build lacks \('x'\)"),
        ('["none"]', "got no evaluable question"),
    ],
)
def test_lists_that_do_not_fit(tmp_path: Path, built: Path, content: str, told: str) -> None:
    path = tmp_path / "ids.json"
    path.write_text(content)
    with pytest.raises((SourceError, SchemaError), match=told):
        score(built, [write_run(tmp_path, answers())], ScoreConfig(), id_lists={"x": path})


# ---- ids ----


def test_missing_repeated_and_changed_ids(tmp_path: Path, built: Path) -> None:
    given = answers()
    del given["relevant"]["03"], given["irrelevant"]["04"]
    with pytest.raises(SchemaError) as error:
        score(built, [write_run(tmp_path, given)], ScoreConfig())
    assert str(error.value).splitlines() == [
        "predictions: got ids that don't fit the 12 questions, expected one answer for each and no other. "
        "Correct the files, or leave these questions out for all models with --on-missing skip.",
        "  - relevant predictions of m (m_relevant.json): 1 x question without a prediction: '03'",
        "  - irrelevant predictions of m (m_irrelevant.json): 1 x question without a prediction: '04'",
    ]
    run = write_run(tmp_path, answers())
    records = json.loads(run.all.read_text())
    run.all.write_text(json.dumps([*records, records[0]]))
    with pytest.raises(SourceError, match="'00' 2 times"):
        score(built, [run], ScoreConfig())
    ints = [one | {"questionId": int(one["questionId"])} for one in records if one["questionId"] != "none"]
    run.all.write_text(json.dumps(ints))
    notes = score(built, [run], ScoreConfig(resamples=0)).notes
    assert notes == ("all predictions of m: ids joined that had lost leading zeros: 12 (0 is 00)",)
    run.all.write_text(json.dumps([*records, {"questionId": "77", "prediction": "x"}]))
    with pytest.raises(SchemaError, match="1 x prediction for an unknown question: '77'") as error:
        score(built, [run], ScoreConfig(resamples=0))
    assert "leave these answers out with --on-extra ignore" in str(error.value)
    report = score(built, [run], ScoreConfig(resamples=0, on_extra="ignore"))
    assert report.dropped == {"all predictions of m: answer to a question that nobody asked": 1}
    assert not report.is_complete


def test_runs_and_importances_by_name(tmp_path: Path, built: Path) -> None:
    run = write_run(tmp_path, answers())
    with pytest.raises(ConfigError, match="predictions: got none"):
        score(built, [], ScoreConfig())
    with pytest.raises(ConfigError, match="got 'm' more than once"):
        score(built, [run, run], ScoreConfig())
    with pytest.raises(ConfigError, match="importance: got 'x', expected one of m"):
        score(built, [run], ScoreConfig(), importance={"x": run.all})
    with pytest.raises(SourceError, match="expected a folder that fpvg build wrote"):
        score(tmp_path, [run], ScoreConfig())


# ---- probabilities and importances ----


def test_sufficiency_and_comprehensiveness(tmp_path: Path, built: Path) -> None:
    levels = {"all": 0.9, "relevant": 0.8, "irrelevant": 0.3}
    probability = {c: dict.fromkeys([*NAMES, "none"], level) for c, level in levels.items()}
    probability["irrelevant"]["00"] = 0.9
    run = write_run(tmp_path, answers(), probability=probability)
    report = score(built, [run], ScoreConfig(resamples=10))
    assert value(report.scores, metric="sufficiency") == pytest.approx(0.1)
    assert value(report.scores, metric="comprehensiveness") == pytest.approx(0.6 * 11 / 12)
    plus = value(report.scores, metric="comprehensiveness", group="grounding", subgroup="plus")
    assert plus == pytest.approx(0.4)
    assert report.quadrants is not None
    rows = report.quadrants.filter(threshold=0.2, grounding="plus")
    assert rows.select("is_sufficient", "is_comprehensive", "count").rows() == [
        (True, True, 2),
        (True, False, 1),
    ]
    assert rows["share"].sum() == pytest.approx(100)
    assert report.quadrants.filter(threshold=0.01, grounding="minus")["is_sufficient"].to_list() == [False]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=20))
def test_quadrants_hold_everything(values: list[tuple[float, ...]]) -> None:
    table = with_changes(pl.DataFrame(values, schema=list(CONDITIONS), orient="row")).with_columns(
        model=pl.lit("m"), grounding=pl.lit("plus")
    )
    sums = quadrants(table).group_by("threshold").agg(pl.col("count").sum())
    assert sums["count"].to_list() == [len(values)] * 3


def test_ranking_match(tmp_path: Path, built: Path) -> None:
    path = tmp_path / "importance.csv"
    lines = [f"{name},{region},{[0.2, 0.9, 0.1][region]}" for name in NAMES[:6] for region in range(3)]
    path.write_text("\n".join(["question_id,region_index,importance", *lines]))
    run = write_run(tmp_path, answers())
    scores = score(built, [run], ScoreConfig(resamples=10), importance={"m": path}).scores
    # Region 0 is relevant and second; 1 and 2 are irrelevant, first and last.
    assert value(scores, metric="match_relevant") == 0
    assert value(scores, metric="match_irrelevant") == 50
    assert scores.filter(metric="match_relevant", group="overall")["n"].item() == 6
    path.write_text("question_id,region_index,importance\n00,-1,x\n")
    with pytest.raises(SourceError) as error:
        score(built, [run], ScoreConfig(), importance={"m": path})
    assert "region_index: got null, expected a whole number of 0 or more" in str(error.value)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.data())
def test_ranking_match_by_hand(importances: list[float], data: st.DataObject) -> None:
    size = len(importances)
    relevant = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1)))
    table = pl.DataFrame(
        {"question_id": ["q"] * size, "region_index": list(range(size)), "importance": importances}
    )
    lists = pl.DataFrame({"question_id": ["q"], "relevant": [relevant], "irrelevant": [relevant]})
    ranked = sorted(range(size), key=lambda region: (-importances[region], region))
    expected = 100 * len(set(ranked[: len(relevant)]) & set(relevant)) / len(relevant)
    assert ranking_match(lists, table)["match_relevant"].item() == pytest.approx(expected)


# ---- applying the lists ----


def test_apply_regions_drops_and_pads() -> None:
    features = np.arange(12, dtype=np.float32).reshape(4, 3)
    rows, mask = apply_regions(features, [3, 1])
    assert rows.tolist() == [[9, 10, 11], [3, 4, 5]]
    assert mask.tolist() == [True, True]
    rows, mask = apply_regions(features, np.array([2], np.uint32), pad_to=3)
    assert rows.tolist() == [[6, 7, 8], [0, 0, 0], [0, 0, 0]]
    assert (rows.dtype, mask.tolist()) == (np.float32, [True, False, False])
    rows[:] = -1
    assert features.min() == 0
    assert apply_regions(features, [], pad_to=2)[1].tolist() == [False, False]


def test_apply_regions_refuses_what_does_not_fit() -> None:
    features = np.zeros((2, 3))
    with pytest.raises(ConfigError, match="regions: got 2 for an image with 2 rows"):
        apply_regions(features, [0, 2])
    with pytest.raises(ConfigError, match="pad_to: got 1 for 2 regions"):
        apply_regions(features, [0, 1], pad_to=1)


@pytest.mark.parametrize(
    ("shape", "regions", "message"),
    [
        ((5, 4, 3), [0, 2], r"features: got shape \(5, 4, 3\), expected regions x dimensions"),
        ((), [0], r"features: got shape \(\), expected regions x dimensions"),
        ((4, 3), [1.5], "regions: got 1.5, expected a whole number"),
        ((4, 3), ["1"], "regions: got '1', expected a whole number"),
        ((4, 3), [True], "regions: got True, expected a whole number"),
        ((4, 3), [[0, 1]], r"regions: got \[0, 1\], expected a whole number"),
        ((4, 3), [-1], "regions: got -1 for an image with 4 rows, expected a region from 0 to 3"),
        ((0, 3), [0], "regions: got 0 for an image with 0 rows, expected features of at least one region"),
        ((4, 3), "12", "regions: got '12', expected a list of region indices"),
        ((4, 3), None, "regions: got None, expected a list of region indices"),
    ],
)
def test_apply_regions_is_strict(shape: Any, regions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply_regions(np.zeros(shape), regions)


def test_apply_regions_wants_an_array() -> None:
    with pytest.raises(ValueError, match="features: got list, expected an array or tensor of regions x dim"):
        apply_regions([[1.0]], [0])
    with pytest.raises(ValueError, match=r"pad_to: got 2.5, expected a whole number"):
        apply_regions(np.zeros((2, 1)), [0], pad_to=2.5)  # type: ignore[arg-type]


def test_one_value_a_region() -> None:
    rows, mask = apply_regions(np.array([5, 6, 7]), [2, 0], pad_to=3)
    assert (rows.tolist(), mask.tolist()) == ([7, 5, 0], [True, True, False])


def test_a_batch_of_lists_is_its_images() -> None:
    features = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    lists: list[list[int]] = [[3], [0, 2]]
    for pad_to in (None, 5):
        rows, mask = apply_region_lists(features, lists, pad_to=pad_to)
        assert (rows.shape, rows.dtype) == ((2, pad_to or 2, 3), np.float32)
        for image, regions in enumerate(lists):
            expected, is_region = apply_regions(features[image], regions, pad_to=pad_to or 2)
            assert rows[image].tolist() == expected.tolist()
            assert mask[image].tolist() == is_region.tolist()
    assert apply_region_lists(features, [[], []])[0].shape == (2, 0, 3)


@pytest.mark.parametrize(
    ("shape", "lists", "message"),
    [
        ((4, 3), [[0]], r"features: got shape \(4, 3\), expected images x regions x dimensions"),
        ((2, 4, 3), [[0]], "lists: got 1 for 2 images, expected one an image"),
        ((2, 4, 3), [[0], [4]], r"lists\[1\]: got 4 for an image with 4 rows"),
        ((2, 4, 3), [0, 1], r"lists\[0\]: got 0, expected a list of region indices"),
    ],
)
def test_batches_of_lists_are_strict(shape: Any, lists: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply_region_lists(np.zeros(shape), lists)
    with pytest.raises(ValueError, match="pad_to: got 1 for 2 regions"):
        apply_region_lists(np.zeros((1, 4, 3)), [[0, 1]], pad_to=1)


def test_the_cards_example_runs() -> None:
    pytest.importorskip("h5py")
    card = Path(str(shortcut_miner.diagnostics.fpvg.__file__)).with_name("README.md")
    ran = doctest.testfile(str(card), module_relative=False)
    assert (ran.failed, ran.attempted) == (0, 25)


def test_apply_regions_to_tensors() -> None:
    torch = pytest.importorskip("torch")
    rows, mask = apply_regions(torch.arange(6.0).reshape(3, 2), [2], pad_to=2)
    assert rows.tolist() == [[4, 5], [0, 0]]
    assert mask.tolist() == [True, False]
    assert mask.dtype == torch.bool
    rows, mask = apply_region_lists(torch.arange(6.0).reshape(1, 3, 2), [[2]], pad_to=2)
    assert (rows.tolist(), mask.tolist()) == ([[[4, 5], [0, 0]]], [[True, False]])
