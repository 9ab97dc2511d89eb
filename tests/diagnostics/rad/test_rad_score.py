"""The score against plain counting, its intervals, and its errors."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.rad.tables import questions
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.rad.build import build
from shortcut_miner.diagnostics.rad.config import PairFiles, RadConfig, RadFiles, ScoreConfig
from shortcut_miner.diagnostics.rad.pairs import Aligned
from shortcut_miner.diagnostics.rad.score import score, score_aligned
from shortcut_miner.errors import ConfigError, SchemaError, SourceError

QUICK = ScoreConfig(resamples=0)
KINDS = ("a", "b")


def form_of(kind: str, augmented: int) -> str:
    return f"{kind}: {'odd' if augmented % 2 else 'even'}"


def world(
    pairs: list[tuple[int, int, str]], originals: list[bool], augmented: list[bool], *, is_split: bool = False
) -> tuple[Any, Any, Any]:
    """Return aligned tables and one model's answers that are right where told; annotators may be split."""
    said = (["two"] * 2 + ["five"] * 8, ["yes"] * 9 + ["yes."]) if is_split else (["two"] * 10, ["yes"] * 10)
    first = questions(*[("What?", "two", said[0])] * len(originals))
    second = questions(*[("Is it?", "yes", said[1])] * len(augmented))
    table = pl.DataFrame(
        [(str(100 + one), str(100 + other), kind) for one, other, kind in pairs],
        schema={"original_id": pl.String, "augmented_id": pl.String, "augmentation": pl.String},
        orient="row",
    ).with_columns(form=pl.Series([form_of(kind, other) for _, other, kind in pairs], dtype=pl.String))
    answers = pl.DataFrame(
        {"question_id": first["question_id"], "answer": ["2" if one else "3" for one in originals]}
    )
    also = pl.DataFrame(
        {"question_id": second["question_id"], "answer": ["Yes" if one else "no" for one in augmented]}
    )
    return Aligned(table, first, second), {"m": answers}, {"m": also}


def by_counting(
    pairs: list[tuple[int, int, str]], originals: list[bool], augmented: list[bool]
) -> dict[Any, Any]:
    """Return (metric, subgroup) -> (percent or None, n) by plain loops."""
    found: dict[Any, Any] = {}
    groups = {name for _, other, kind in pairs for name in ("all", kind, form_of(kind, other))}
    for kind in groups:
        own = [
            (one, other)
            for one, other, own_kind in pairs
            if kind in ("all", own_kind, form_of(own_kind, other))
        ]
        sides = {
            "rad": [augmented[other] for one, other in own if originals[one]],
            "rad_backward": [originals[one] for one, other in own if augmented[other]],
            "accuracy_original": [originals[one] for one in {one for one, _ in own}],
            "accuracy_augmented": [augmented[other] for other in {other for _, other in own}],
        }
        for metric, right in sides.items():
            found[metric, kind] = (100 * sum(right) / len(right) if right else None, len(right))
        # Two of ten annotators: 60%; all ten: 100%.
        for side, worth in (("original", 60), ("augmented", 100)):
            right = sides[f"accuracy_{side}"]
            found[f"vqa_accuracy_{side}", kind] = (worth * sum(right) / len(right), len(right))
    return found


@given(st.data())
def test_equals_counting(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 6))
    originals, augmented = (
        data.draw(st.lists(st.booleans(), min_size=size, max_size=size)) for _ in range(2)
    )
    everything = list(itertools.product(range(size), range(size), KINDS))
    pairs = data.draw(st.lists(st.sampled_from(everything), min_size=1, max_size=12, unique=True))
    report = score_aligned(*world(pairs, originals, augmented, is_split=True), QUICK)
    found = {
        (row["metric"], row["subgroup"]): (row["value"], row["n"])
        for row in report.scores.iter_rows(named=True)
    }
    expected = by_counting(pairs, originals, augmented)
    assert found.keys() == expected.keys()
    for key, (value, n) in expected.items():
        assert found[key][1] == n
        assert found[key][0] == (None if value is None else pytest.approx(value, abs=1e-5))
    overall = report.counts.row(0, named=True)
    both = sum(originals[one] and augmented[other] for one, other, _ in pairs)
    assert (overall["augmentation"], overall["pairs"], overall["both_right"]) == (None, len(pairs), both)


def test_intervals_resample_all_images() -> None:
    """Images without a right original are drawn too: n of a resample varies."""
    originals = [at % 3 == 0 for at in range(300)]
    augmented = [at % 2 == 0 for at in range(300)]
    pairs = [(at, at, "a") for at in range(300)]
    aligned, said, also = world(pairs, originals, augmented)
    row = score_aligned(aligned, said, also, ScoreConfig(seed=1)).scores.row(0, named=True)
    drawn = np.random.default_rng(5)
    right, held = np.array(originals), np.array(originals) & np.array(augmented)
    image = np.arange(300) // 2
    ratios = []
    for _ in range(2000):
        times = np.bincount(drawn.integers(0, 150, 150), minlength=150)[image]
        ratios.append(100 * (times * held).sum() / (times * right).sum())
    assert (row["low"], row["high"]) == pytest.approx(np.percentile(ratios, [2.5, 97.5]), abs=1.5)
    assert row["low"] < row["value"] < row["high"]
    again = score_aligned(aligned, said, also, ScoreConfig(seed=1)).scores.row(0, named=True)
    assert again == row


def test_a_share_of_nothing_is_null() -> None:
    scores = score_aligned(*world([(0, 0, "a")], [False], [True]), ScoreConfig(resamples=20)).scores
    row = scores.filter((pl.col("metric") == "rad") & (pl.col("subgroup") == "all")).row(0, named=True)
    assert (row["value"], row["n"], row["low"], row["high"]) == (None, 0, None, None)


def test_the_soft_threshold() -> None:
    aligned, said, also = world([(0, 0, "a")], [True], [True])
    split = aligned.originals.with_columns(answers=pl.lit(["2"] * 2 + ["3"] * 8).cast(pl.List(pl.String)))
    aligned = Aligned(aligned.pairs, split, aligned.augmented)
    values = {}
    for threshold in (0.6, 0.61):
        config = ScoreConfig(correct="soft", threshold=threshold, resamples=0)
        report = score_aligned(aligned, said, also, config)
        values[threshold] = report.scores.filter(metric="accuracy_original", subgroup="all")["value"].item()
        assert set(report.scores["scorer"]) == {f"soft >= {threshold}", "vqa-official"}
    assert values == {0.6: 100, 0.61: 0}  # two of ten annotators: 60 %


@pytest.mark.parametrize(("size", "scorer"), [(1, "any-answer"), (2, "any-answer"), (3, "three-agree")])
def test_soft_accuracy_goes_by_the_number_of_answers(size: int, scorer: str) -> None:
    aligned, said, also = world([(0, 0, "a"), (1, 1, "a")], [True, False], [True, True])
    also = {"m": also["m"].with_columns(pl.col("answer").str.to_lowercase())}
    few = aligned.originals.with_columns(answers=pl.lit(["two"] * size).cast(pl.List(pl.String)))
    report = score_aligned(
        Aligned(aligned.pairs, few, aligned.augmented), said, also, ScoreConfig(correct="soft", resamples=0)
    )
    overall = report.scores.filter(group="overall").select("metric", "value").rows()
    assert dict(overall) == {
        "rad": 100.0, "rad_backward": 50.0, "accuracy_original": 50.0, "accuracy_augmented": 100.0,
        "vqa_accuracy_augmented": 100.0,
    }  # fmt: skip
    assert set(report.scores["scorer"]) == {f"soft >= 0.5 ({scorer}, vqa-official)", "vqa-official"}
    assert report.notes[0].startswith(f"original: scorer {scorer}: all 2 questions have ")
    assert report.notes[1].startswith("augmented: scorer vqa-official: all 2 questions have 10 or more")


def test_answers_that_soft_accuracy_takes_as_wrong_for_their_form_are_told() -> None:
    aligned, said, also = world([(0, 0, "a"), (1, 1, "a")], [False, False], [True, False])
    config = ScoreConfig(correct="soft", resamples=0)
    assert score_aligned(aligned, said, also, config).warnings == (
        "augmented predictions of m: 1 of 2 answers differ from what all annotators gave in their form alone "
        "('Yes', 'yes'), which the official accuracy takes as wrong. --correct equal takes them as right",
    )
    assert score_aligned(aligned, said, also, QUICK).warnings == ()


def test_soft_accuracy_needs_answers_of_the_questions_that_pairs_name() -> None:
    aligned, said, also = world([(0, 0, "a")], [True, True], [True, True])
    also = {"m": also["m"].with_columns(pl.col("answer").str.to_lowercase())}
    config = ScoreConfig(correct="soft", resamples=0)
    for lacking, is_told in (("100", True), ("101", False)):  # no pair names 101
        given = pl.when(pl.col("question_id") != lacking).then("answers")
        part = Aligned(aligned.pairs, aligned.originals.with_columns(answers=given), aligned.augmented)
        if not is_told:
            plain = {"m": said["m"].with_columns(answer=pl.lit("two"))}  # unanimous answers compare as given
            assert score_aligned(part, plain, also, config).scores["value"][0] == 100.0
            continue
        with pytest.raises(ConfigError) as caught:
            score_aligned(part, said, also, config)
        assert str(caught.value) == (
            "correct soft: got 1 original questions without annotators' answers: '100', expected some for "
            "each. Give --correct equal, which compares with the one right answer."
        )
        assert score_aligned(part, said, also, QUICK).scores["value"][0] == 100.0


# ---- files ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    answers = ("red", "blue", "green", "white")
    table = questions(*[("What color is the bus?", answers[at % 4]) for at in range(40)], ("Why?", "because"))
    table.write_parquet(tmp_path / "questions.parquet")
    build(RadFiles(questions=tmp_path / "questions.parquet"), RadConfig(), tmp_path / "rad")
    return tmp_path / "rad"


def answer_files(folder: Path, out: Path) -> tuple[Path, Path]:
    """Write answers that are right everywhere."""
    made = pl.read_parquet(folder / "augmentations.parquet")
    asked = pl.read_parquet(folder / "questions.parquet")
    paths = out / "original.json", out / "augmented.json"
    for path, table in zip(paths, (asked, made), strict=True):
        path.write_text(json.dumps(table.select("question_id", "answer").to_dicts()))
    return paths


def test_a_folder_is_scored_and_written(folder: Path, tmp_path: Path) -> None:
    original, augmented = answer_files(folder, tmp_path)
    out = tmp_path / "scores"
    report = score(folder, {"m": original}, {"m": augmented}, ScoreConfig(resamples=10), out)
    assert set(report.scores["value"]) == {100.0}
    assert {path.name for path in out.iterdir()} == {
        "README.md", "counts.parquet", "manifest.json", "scores.json", "scores.md", "scores.parquet",
        "scores.tex", "scores_long.tex",
    }  # fmt: skip
    written = json.loads((out / "scores.json").read_text())
    assert written["rad"]["overall"]["all"]["m"]["n"] == 40
    assert [one["role"] for one in json.loads((out / "manifest.json").read_text())["inputs"]] == [
        "original predictions of m", "augmented predictions of m", "folder",
    ]  # fmt: skip


def test_scores_of_another_build_need_force(folder: Path, tmp_path: Path) -> None:
    other, out = tmp_path / "other", tmp_path / "scores"
    made = json.loads((folder / "manifest.json").read_text())
    files = RadFiles(questions=folder / "questions.parquet")
    build(files, RadConfig(seed=5), other)
    answers = {"m": tmp_path / "m.csv"}
    both = pl.concat(
        pl.read_parquet(one / "questions.parquet").select("question_id", answer=pl.lit("yes"))
        for one in (folder, other)
    ).unique()
    both.write_csv(answers["m"])
    quick = ScoreConfig(resamples=0, on_extra="ignore")
    for _ in range(2):
        score(folder, answers, answers, quick, out)
    assert json.loads((out / "manifest.json").read_text())["config"]["build"] == made["config"]
    with pytest.raises(ConfigError, match=r"wrote with other options \(build\.seed \d+, now 5\)"):
        score(other, answers, answers, quick, out)
    score(other, answers, answers, quick, out, force=True)
    assert json.loads((out / "manifest.json").read_text())["config"]["build"]["seed"] == 5


def test_several_files_of_one_model(folder: Path, tmp_path: Path) -> None:
    original, augmented = answer_files(folder, tmp_path)
    answers = json.loads(augmented.read_text())
    parts = [tmp_path / "1.json", tmp_path / "2.json"]
    for path, part in zip(parts, (answers[:10], answers[10:]), strict=True):
        path.write_text(json.dumps(part))
    assert score(folder, {"m": original}, {"m": parts}, QUICK).counts["both_right"].to_list() == [40, 40]
    with pytest.raises(SchemaError, match="30 x repeated question id"):
        score(folder, {"m": original}, {"m": [augmented, parts[1]]}, QUICK)


def test_missing_and_unknown_answers_are_errors(folder: Path, tmp_path: Path) -> None:
    original, augmented = answer_files(folder, tmp_path)
    answers = json.loads(augmented.read_text())
    augmented.write_text(json.dumps([*answers[3:], {"question_id": "x", "answer": "yes"}]))
    with pytest.raises(SchemaError) as caught:
        score(folder, {"m": original}, {"m": augmented}, QUICK)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(
        "Correct the files, or leave these questions out for all models with --on-missing skip, or leave "
        "these answers out with --on-extra ignore."
    )
    assert "3 x question without a prediction" in lines[1]
    assert "1 x prediction for an unknown question: 'x'" in lines[2]


def test_answers_to_questions_without_augmentation_are_not_needed(folder: Path, tmp_path: Path) -> None:
    original, augmented = answer_files(folder, tmp_path)
    answers = json.loads(original.read_text())
    original.write_text(json.dumps(answers[:40]))
    assert score(folder, {"m": original}, {"m": augmented}, QUICK).counts["pairs"].to_list() == [40, 40]


def test_models_must_be_the_same_on_both_sides(folder: Path, tmp_path: Path) -> None:
    original, augmented = answer_files(folder, tmp_path)
    with pytest.raises(ConfigError, match="models: got original answers of 'a' and augmented ones of 'b'"):
        score(folder, {"a": original}, {"b": augmented}, QUICK)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_any_pairs_of_tables(ending: str, tmp_path: Path) -> None:
    """Two rephrasings of one question, in tables of one's own."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("question_id,image_id,question,answer\n1,7,What is it?,cat\n2,8,Who?,dog\n")
    second.write_text("question_id,question,answer\n1a,What?,cat\n1b,What then?,cat\n2a,Who then?,dog\n")
    pairs = pl.DataFrame({"original_id": ["1", "1", "2"], "augmented_id": ["1a", "1b", "2a"]})
    path = tmp_path / f"pairs.{ending}"
    {"parquet": pairs.write_parquet, "csv": pairs.write_csv, "jsonl": pairs.write_ndjson}[ending](path)  # type: ignore[operator]
    said, also = tmp_path / "said.csv", tmp_path / "also.csv"
    said.write_text("question_id,answer\n1,A cat\n2,cow\n")
    also.write_text("question_id,answer\n1a,cat\n1b,cow\n2a,dog\n")
    files = PairFiles(pairs=path, questions=first, augmented_questions=second)
    report = score(files, {"m": said}, {"m": also}, QUICK)
    value = dict(report.scores.filter(subgroup="all").select("metric", "value").rows())
    assert value == {
        "rad": 50.0,
        "rad_backward": 50.0,
        "accuracy_original": 50.0,
        "accuracy_augmented": pytest.approx(200 / 3, abs=1e-5),
    }
    assert report.counts["augmentation"].to_list() == [None, "all pairs"]


def test_pairs_and_answers_that_lost_zeros(tmp_path: Path) -> None:
    names = ("first", "second", "pairs", "said")
    first, second, pairs, said = (tmp_path / f"{name}.csv" for name in names)
    first.write_text("question_id,question,answer\n01,What is it?,cat\n02,Who?,dog\n")
    second.write_text("question_id,question,answer\n011,What?,cat\n012,Who then?,dog\n")
    pairs.write_text("original_id,augmented_id\n1,11\n2.0,12.0\n")
    said.write_text("question_id,answer\n1,cat\n2,cow\n")
    (tmp_path / "also.csv").write_text("question_id,answer\n11.0,cat\n12.0,dog\n")
    files = PairFiles(pairs=pairs, questions=first, augmented_questions=second)
    report = score(files, {"m": said}, {"m": tmp_path / "also.csv"}, QUICK)
    value = dict(report.scores.filter(subgroup="all").select("metric", "value").rows())
    assert (value["accuracy_original"], value["accuracy_augmented"], value["rad"]) == (50.0, 100.0, 100.0)
    second.write_text("question_id,question,answer\n011,What?,cat\n0011,Who then?,dog\n")
    with pytest.raises(
        SourceError, match=r"pairs\.csv: got ids that lost leading zeros and may be one of several"
    ):
        score(files, {"m": said}, {"m": said}, QUICK)


def test_pairs_must_fit_their_questions(tmp_path: Path) -> None:
    first = tmp_path / "first.csv"
    first.write_text("question_id,question,answer\n1,What?,cat\n")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("original_id,augmented_id\n1,1\n2,1\n")
    files = PairFiles(pairs=pairs, questions=first, augmented_questions=first)
    with pytest.raises(SchemaError, match=r"pairs: got 1 x original_id that .* lacks: '2'"):
        score(files, {"m": first}, {"m": first}, QUICK)
    pairs.write_text("a,b\n1,1\n")
    with pytest.raises(SourceError, match="expected original_id, augmented_id, augmentation"):
        score(files, {"m": first}, {"m": first}, QUICK)
    with pytest.raises(
        ConfigError, match="pairs: got pairs, expected pairs, questions and augmented_questions"
    ):
        score(PairFiles(pairs=pairs), {"m": first}, {"m": first}, QUICK)


@pytest.mark.parametrize(("name", "told"), [("empty", "no manifest.json in it"), ("none", "no such folder")])
def test_a_folder_of_something_else(name: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=f"got {told}, expected a folder that rad build wrote"):
        score(tmp_path / name, {"m": tmp_path}, {"m": tmp_path}, QUICK)


@given(st.lists(st.tuples(*[st.booleans()] * 4, st.sampled_from(KINDS)), min_size=1, max_size=12))
def test_differences_by_counting(rows: list[tuple[bool, bool, bool, bool, str]]) -> None:
    pairs = [(at, at, row[4]) for at, row in enumerate(rows)]
    aligned, original, augmented = world(pairs, [row[0] for row in rows], [row[1] for row in rows])
    _, other, also = world(pairs, [row[2] for row in rows], [row[3] for row in rows])
    answers = ({**original, "base": other["m"]}, {**augmented, "base": also["m"]})
    report = score_aligned(aligned, *answers, ScoreConfig(resamples=50, baseline="base"))
    assert report.differences is not None
    assert set(report.differences["model"]) == {"m"}
    keys = ["metric", "group", "subgroup"]
    values: dict[tuple[str, ...], float | None] = {}
    for *place, value in report.scores.select(*keys, "model", "value").iter_rows():
        values[tuple(place)] = value
    for row in report.differences.iter_rows(named=True):
        place = (row["metric"].removesuffix("_difference"), row["group"], row["subgroup"])
        own, base = values[*place, "m"], values[*place, "base"]
        if own is None or base is None:
            assert row["value"] is None
        else:
            assert row["value"] == pytest.approx(own - base)
            assert row["low"] - 1e-9 <= row["high"]
    assert len(report.differences) == len(values) // 2


def test_a_model_does_not_differ_from_itself() -> None:
    pairs = [(at, at, "a") for at in range(20)]
    aligned, original, augmented = world(
        pairs, [at % 3 > 0 for at in range(20)], [at % 2 > 0 for at in range(20)]
    )
    twice = ({**original, "same": original["m"]}, {**augmented, "same": augmented["m"]})
    report = score_aligned(aligned, *twice, ScoreConfig(resamples=50, baseline="same"))
    assert report.differences is not None
    told = report.differences.drop_nulls("value")
    assert told.select("value", "low", "high").unique().rows() == [(0.0, 0.0, 0.0)]
    plain = score_aligned(aligned, *twice, ScoreConfig(resamples=0, baseline="same")).differences
    assert plain is not None
    assert plain["value"].to_list() == report.differences["value"].to_list()
    assert plain["low"].null_count() == len(plain)
    assert score_aligned(aligned, *twice, QUICK).differences is None


def test_differences_of_the_official_accuracy() -> None:
    """Questions that 2, 3 and 10 of ten annotators answer so; one model is right where the other is not."""
    split = [["2"] * count + ["5"] * (10 - count) for count in (2, 3, 10)]
    first = questions(*(("How many?", "2", [*said[:-1], said[-1] + "."]) for said in split))
    second = questions(*[("Are there two?", "yes")] * 3)
    ids = first["question_id"]
    pairs = pl.DataFrame({"original_id": ids, "augmented_id": ids, "augmentation": "a"})
    aligned = Aligned(pairs.with_columns(form=pl.lit(None, pl.String)), first, second)
    said = {
        "one": pl.DataFrame({"question_id": ids, "answer": ["2", "2", "3"]}),
        "other": pl.DataFrame({"question_id": ids, "answer": ["3", "3", "2"]}),
    }
    also = dict.fromkeys(said, pl.DataFrame({"question_id": ids, "answer": "yes"}))
    report = score_aligned(aligned, said, also, ScoreConfig(baseline="other", resamples=50))
    values = dict(
        report.scores.filter(metric="vqa_accuracy_original", group="overall").select("model", "value").rows()
    )
    assert values == {"one": pytest.approx((60 + 90) / 3), "other": pytest.approx(100 / 3)}
    told = report.differences
    assert told is not None
    found = told.filter(metric="vqa_accuracy_original_difference", group="overall").row(0, named=True)
    assert (found["value"], found["n"], found["scorer"]) == (pytest.approx(50 / 3), 3, "vqa-official")
    assert found["low"] <= found["value"] <= found["high"]


def test_the_official_accuracy_of_twenty_questions_by_hand() -> None:
    """A model says "2" to all; so many of ten annotators do. Each is left out in turn, and three are enough.

    Of four and more 100%; of three 90 (three times two of three, seven times all); of two 60; of one 30.
    """
    agree = [10, 9, 8, 7, 6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0]
    first = questions(*(("How many?", "2", ["2"] * count + ["5"] * (10 - count)) for count in agree))
    second = questions(*[("Are there two?", "yes")] * 20)
    ids = first["question_id"]
    pairs = pl.DataFrame(
        {"original_id": ids, "augmented_id": ids, "augmentation": ["a"] * 10 + ["b"] * 10},
    ).with_columns(form=pl.lit(None, pl.String))
    said = {"m": pl.DataFrame({"question_id": ids, "answer": ["2"] * 20})}
    also = {"m": pl.DataFrame({"question_id": ids, "answer": ["yes"] * 15 + ["no"] * 5})}
    scores = score_aligned(Aligned(pairs, first, second), said, also, ScoreConfig(resamples=0)).scores
    told = scores.filter(metric="vqa_accuracy_original").select("subgroup", "value", "n").rows()
    # All: (8 x 100 + 3 x 90 + 3 x 60 + 3 x 30) / 20. Of the first ten: (8 x 100 + 2 x 90) / 10.
    assert {group: (round(value, 9), n) for group, value, n in told} == {
        "all": (67.0, 20), "a": (98.0, 10), "b": (36.0, 10),
    }  # fmt: skip
    augmented = scores.filter(metric="vqa_accuracy_augmented").select("subgroup", "value").rows()
    assert dict(augmented) == {"all": 75.0, "a": 100.0, "b": 50.0}
