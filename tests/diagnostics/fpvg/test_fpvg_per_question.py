"""Figures of the article beyond its metric, on a world of 20 questions whose every number is counted by hand.

Questions 00 to 07 are FPVG+ and right under all regions, 08 and 09 FPVG+ and wrong; 10 to 15 FPVG- and right
(the answer stays without the relevant regions), 16 to 19 FPVG- and wrong (it changes with them alone).
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.fpvg.worlds import graph, question, write_run, write_world

from shortcut_miner.diagnostics.fpvg.answers import ModelRun
from shortcut_miner.diagnostics.fpvg.build import build
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, FpvgConfig, ScoreConfig
from shortcut_miner.diagnostics.fpvg.report import ScoreReport
from shortcut_miner.diagnostics.fpvg.score import score
from shortcut_miner.errors import ConfigError

NAMES = [f"{number:02d}" for number in range(20)]
PLAIN = ScoreConfig(resamples=0)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Build: region 0 is relevant, 1 and 2 are irrelevant, 3 is neither."""
    files = write_world(
        tmp_path,
        {name: question(f"i{int(name) % 4}", {"1": "o"}, answer="red") for name in NAMES},
        {f"i{at}": graph({"o": (0, 0, 10, 10)}) for at in range(4)},
        {f"i{at}": [(0, 0, 10, 10), (50, 50, 60, 60), (80, 80, 90, 90), (5, 0, 15, 10)] for at in range(4)},
    )
    build(files, FpvgConfig(leave_one_out=True), tmp_path / "built")
    return tmp_path / "built"


def answers() -> dict[str, dict[str, str]]:
    given: dict[str, dict[str, str]] = {condition: {} for condition in CONDITIONS}
    for at, name in enumerate(NAMES):
        is_right, is_good = at < 8 or 10 <= at < 16, at < 10
        answer = "red" if is_right else "blue"
        given["all"][name] = answer
        given["relevant"][name] = answer if is_good or is_right else "green"
        given["irrelevant"][name] = "grey" if is_good else answer
    return given


def probabilities() -> dict[str, dict[str, float]]:
    """Sufficiency is 0.005 for 00 to 05, else 0.1; comprehensiveness 0.3 for 00 to 03 and 10, else 0.1."""
    sufficiency = {name: 0.005 if at < 6 else 0.1 for at, name in enumerate(NAMES)}
    lost = {name: 0.3 if at < 4 or at == 10 else 0.1 for at, name in enumerate(NAMES)}
    return {
        "all": dict.fromkeys(NAMES, 0.5),
        "relevant": {name: 0.5 - value for name, value in sufficiency.items()},
        "irrelevant": {name: 0.5 - value for name, value in lost.items()},
    }


@pytest.fixture
def run(tmp_path: Path) -> ModelRun:
    return write_run(tmp_path, answers(), probability=probabilities())


def value(report: ScoreReport, metric: str, column: str = "value", **where: str) -> Any:
    chosen = {"group": "overall", "subgroup": "all"} | where
    return report.scores.filter(metric=metric, **chosen)[column].item()


def test_drops_relative_to_all_regions_and_from_plus_to_minus(built: Path, run: ModelRun) -> None:
    report = score(built, [run], PLAIN)
    # 14 of 20 are right with all regions; the same 14 with the relevant ones, 6 with the irrelevant ones.
    assert value(report, "accuracy_all") == pytest.approx(70)
    assert value(report, "relative_drop_relevant") == 0
    assert value(report, "relative_drop_irrelevant") == pytest.approx(100 * 8 / 14)
    assert value(report, "relative_drop_irrelevant", "n") == 14
    # 8 of 10 in FPVG+ are right, 6 of 10 in FPVG-.
    assert value(report, "accuracy_plus") == pytest.approx(80)
    assert value(report, "accuracy_minus") == pytest.approx(60)
    assert value(report, "accuracy_plus_to_minus") == pytest.approx(20)
    assert value(report, "accuracy_plus_to_minus", "n") == 20


def test_intervals_of_differences_hold_them(built: Path, run: ModelRun) -> None:
    report = score(built, [run], ScoreConfig(resamples=200))
    for metric in ("relative_drop_irrelevant", "accuracy_plus_to_minus"):
        assert value(report, metric, "low") <= value(report, metric) <= value(report, metric, "high")


def test_quadrants_with_two_thresholds(built: Path, run: ModelRun) -> None:
    def counts(config: ScoreConfig) -> dict[tuple[str, bool, bool], int]:
        placed = score(built, [run], config).quadrants
        assert placed is not None
        pair = placed.filter(pl.col("threshold").is_null())
        assert pair["suff_threshold"].unique().to_list() == [config.suff_threshold]
        return {tuple(row[:3]): row[3] for row in pair.select(
            "grounding", "is_sufficient", "is_comprehensive", "count").iter_rows()}  # fmt: skip

    # The article's 1% and 20%.
    assert counts(PLAIN) == {
        ("plus", True, True): 4, ("plus", True, False): 2, ("plus", False, False): 4,
        ("minus", False, True): 1, ("minus", False, False): 9,
    }  # fmt: skip
    other = ScoreConfig(resamples=0, suff_threshold=0.2, comp_threshold=0.4)
    assert counts(other) == {("plus", True, False): 10, ("minus", True, False): 10}
    with pytest.raises(ConfigError, match="suff_threshold: got 2"):
        ScoreConfig(suff_threshold=2)


def test_flips_between_runs_and_their_median(built: Path, tmp_path: Path) -> None:
    """The second run loses 00 and 01 to FPVG-, and wins 10."""
    other = answers()
    other["irrelevant"] |= {"00": "red", "01": "red", "10": "grey"}
    runs = [write_run(tmp_path, given, seed=seed) for seed, given in (("0", answers()), ("1", other))]
    report = score(built, runs, PLAIN)
    assert report.flips is not None
    assert report.flips.rows() == [
        (None, "m@0", "m@1", 10, 2, 20.0),
        (None, "m@1", "m@0", 9, 1, pytest.approx(100 / 9)),
    ]
    assert report.seeds is not None
    drops = report.seeds.filter(metric="accuracy_plus_to_minus", group="overall").row(0, named=True)
    # 20 under the first; under the second 7 of 9 and 7 of 11.
    second = 100 * (7 / 9 - 7 / 11)
    assert drops["median"] == pytest.approx((20 + second) / 2)
    assert score(built, runs[:1], PLAIN).flips is None


def write_importances(path: Path, values: dict[str, list[float]], column: str = "importance") -> Path:
    rows = [(name, at, one) for name, few in values.items() for at, one in enumerate(few)]
    pl.DataFrame(rows, schema=["question_id", "region_index", column], orient="row").write_csv(path)
    return path


def test_importances_of_several_methods(built: Path, run: ModelRun, tmp_path: Path) -> None:
    attention = write_importances(
        tmp_path / "a.csv", {"00": [0.6, 0.1, 0.1, 0.2], "10": [0.1, 0.5, 0.2, 0.2], "11": [0, 0, 0, 0]}
    )
    gradients = write_importances(tmp_path / "g.csv", {"00": [-0.5, 0.1, 0.1, 0.2]})
    report = score(built, [run], PLAIN, importance={"m:attention": attention, "m:gradients": gradients})
    # Of 00 the relevant region comes first; of 10 last; of 11, where all are equal, by its number.
    assert value(report, "match_relevant_by_attention") == pytest.approx(100 * 2 / 3)
    assert value(report, "mass_relevant_by_attention") == pytest.approx((60 + 10) / 2)
    assert value(report, "mass_relevant_by_attention", "n") == 2  # nothing lies on any region of 11
    assert value(report, "match_relevant_by_gradients") == 0
    assert report.scores.filter(metric="mass_relevant_by_gradients").is_empty()
    assert value(report, "mass_relevant_by_attention", group="grounding", subgroup="plus") == pytest.approx(
        60
    )
    single = report.per_question
    assert single.columns == [
        "question_id", "model", "category", "sufficiency", "comprehensiveness",
        "match_relevant_by_attention", "match_irrelevant_by_attention", "mass_relevant_by_attention",
        "match_relevant_by_gradients", "match_irrelevant_by_gradients", "mass_relevant_by_gradients",
    ]  # fmt: skip
    assert len(single) == 20
    first = single.filter(question_id="00").row(0)
    assert first[:3] == ("00", "m", "good_correct")
    # Of its two most important regions, 0 and 3, none is irrelevant; the gradients' are 3 and 1.
    assert first[3:] == (pytest.approx(0.005), pytest.approx(0.3), 100, 0, pytest.approx(60), 0, 50, None)
    assert single.filter(question_id="19").row(0)[5:] == (None,) * 6


def test_regions_left_out_one_by_one(built: Path, run: ModelRun, tmp_path: Path) -> None:
    """A region is worth what the answer loses without it: 0.5 is the probability with all regions."""
    asked = pl.read_parquet(built / "leave_one_out.parquet")
    assert asked.columns == ["question_id", "image_id", "region_index"]
    assert asked.filter(question_id="03").rows() == [("03", "i3", region) for region in range(4)]
    assert len(asked) == 4 * len(NAMES)
    values = {"00": [0.1, 0.45, 0.5, 0.4], "10": [0.5, 0.3, 0.4, 0.5]}
    file = write_importances(tmp_path / "loo.csv", values, "probability")
    report = score(built, [run], PLAIN, importance={"m:loo": file})
    assert value(report, "match_relevant_by_loo") == 50
    assert value(report, "match_irrelevant_by_loo") == 50  # 0 and 3 of 00; 1 and 2 of 10
    # 0.4 of 0.4 + 0.05 + 0 + 0.1; and 0 of 0.2 + 0.1.
    assert value(report, "mass_relevant_by_loo") == pytest.approx((100 * 0.4 / 0.55 + 0) / 2)
    without = write_run(tmp_path, answers(), "n")
    with pytest.raises(ConfigError, match="got probabilities without a region in"):
        score(built, [without], PLAIN, importance={"n:loo": file})


def test_names_of_methods(built: Path, run: ModelRun, tmp_path: Path) -> None:
    file = write_importances(tmp_path / "a.csv", {"00": [1, 0, 0, 0]})
    with pytest.raises(ConfigError, match="importance: got 'x:a', expected one of m, with :METHOD after it"):
        score(built, [run], PLAIN, importance={"x:a": file})
    assert value(score(built, [run], PLAIN, importance={"m": file}), "mass_relevant") == 100
