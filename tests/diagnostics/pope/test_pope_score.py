"""Numbers of polling against plain Python, whose answers are needed, and other labels."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.pope.worlds import answers, write_objects, write_questions
from hypothesis import given
from hypothesis import strategies as st

import shortcut_miner as sm
from shortcut_miner.diagnostics.pope.measured import counted, judged_answers, measured
from shortcut_miner.diagnostics.pope.parsing import parse_answer, parsed
from shortcut_miner.errors import ConfigError, SchemaError, SourceError

TEXT = "Is there a {} in the image?"
LABELS, SAID = ("yes", "no"), ("yes", "no", None)


@st.composite
def polls(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, list[str | None]]]:
    """Return questions of two strategies, and what two models say."""
    row = st.tuples(
        st.sampled_from(["popular", "random"]), st.sampled_from(["i", "j", "k"]),
        st.sampled_from(["dog", "cat", None]), st.integers(1, 3), st.sampled_from(LABELS),
    )  # fmt: skip
    rows = draw(
        st.lists(row, min_size=1, max_size=14, unique_by=lambda one: (one[0], one[1], one[3], one[4]))
    )
    names = ["strategy", "image_id", "object", "slot", "answer"]
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String) | {"slot": pl.UInt32}, orient="row")
    said = {
        model: draw(st.lists(st.sampled_from(SAID), min_size=len(rows), max_size=len(rows))) for model in "mn"
    }
    ids = pl.format("q{}", "at").alias("question_id")
    return table.with_row_index("at").select(ids, *names), said


def judged(asked: pl.DataFrame, said: dict[str, list[str | None]]) -> pl.DataFrame:
    tables = [
        judged_answers(asked, asked.select("question_id", said=pl.Series(one, dtype=pl.String)), model)
        for model, one in said.items()
    ]
    return pl.concat(tables)


def numbers(rows: list[tuple[dict[str, Any], str | None]]) -> dict[str, float | None]:
    """Return every number of one model's rows: questions, each with what is said."""
    tp, fp, tn, fn = (
        sum(row["answer"] == label and said == word for row, said in rows)
        for label, word in (("yes", "yes"), ("no", "yes"), ("no", "no"), ("yes", "no"))
    )

    def share(part: float, whole: float) -> float | None:
        return 100 * part / whole if whole else None

    precision, recall = share(tp, tp + fp), share(tp, tp + fn)
    known = precision is not None and recall is not None and precision + recall > 0
    pairs: dict[tuple[Any, ...], list[bool]] = {}
    for row, said in rows:
        pairs.setdefault((row["strategy"], row["image_id"], row["slot"]), []).append(said == row["answer"])
    both = [all(one) for one in pairs.values() if len(one) == 2]
    return {
        "accuracy": share(tp + tn, tp + fp + tn + fn),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if known else None,  # type: ignore[operator]
        "yes_ratio": share(tp + fp, tp + fp + tn + fn),
        "paired": share(sum(both), len(both)),
    }


@given(polls())
def test_numbers_of_all_of_each_strategy_and_object(
    poll: tuple[pl.DataFrame, dict[str, list[str | None]]],
) -> None:
    asked, said = poll
    scores, differences = measured(judged(asked, said), "strict", baseline="n", resamples=3, seed=0)
    assert differences is not None
    strategies = sorted({*asked["strategy"]})
    objects = sorted({one for one in asked["object"] if one is not None})
    cells = (
        [("overall", "all")]
        + [("strategy", one) for one in strategies]
        + [("object", one) for one in objects]
    )
    found = {
        (row["metric"], row["group"], row["subgroup"], row["model"]): row
        for row in scores.iter_rows(named=True)
    }
    f1: dict[str, list[float | None]] = {"m": [], "n": []}
    for group, subgroup in cells:
        for model, words in said.items():
            rows = list(zip(asked.to_dicts(), words, strict=True))
            if group != "overall":
                rows = [one for one in rows if one[0][group] == subgroup]
            expected = numbers(rows)
            if group == "object":  # a pair is of two objects
                del expected["paired"]
            f1[model] += [expected["f1"]] if group == "strategy" else []
            for metric, value in expected.items():
                given_value = found[metric, group, subgroup, model]["value"]
                assert given_value == (None if value is None else pytest.approx(value, abs=1e-9)), metric
    for model, values in f1.items():
        mean = None if None in values else sum(values) / len(values)  # type: ignore[arg-type]
        assert found["mean_f1", "overall", "all", model]["value"] == (
            None if mean is None else pytest.approx(mean, abs=1e-9)
        )
    assert not scores.filter(pl.col("metric") == "mean_f1", pl.col("group") != "overall").height
    for row in differences.iter_rows(named=True):
        key = row["metric"].removesuffix("_difference"), row["group"], row["subgroup"]
        first, second = (found[*key, model]["value"] for model in "mn")
        known = first is not None and second is not None
        assert row["value"] == (pytest.approx(first - second, abs=1e-9) if known else None)


@given(polls())
def test_counts(poll: tuple[pl.DataFrame, dict[str, list[str | None]]]) -> None:
    asked, said = poll
    strategies = tuple(sorted({*asked["strategy"]}))
    counts = counted(judged(asked, said), strategies, ["m", "n"])
    for row in counts.iter_rows(named=True):
        of_strategy = [
            (one, word)
            for one, word in zip(asked.to_dicts(), said[row["model"]], strict=True)
            if one["strategy"] == row["strategy"]
        ]
        yes = sum(one["answer"] == "yes" and word is not None for one, word in of_strategy)
        assert row["tp"] + row["fn"] == yes
        assert row["unparsed"] == sum(word is None for _, word in of_strategy)
        assert row["tp"] + row["fp"] + row["tn"] + row["fn"] + row["unparsed"] == len(of_strategy)
        assert row["both_right"] <= row["pairs"]


@given(polls())
def test_swapping_yes_and_no_swaps_precision_with_that_of_no(
    poll: tuple[pl.DataFrame, dict[str, list[str | None]]],
) -> None:
    asked, said = poll
    other = {"yes": "no", "no": "yes", None: None}
    swapped = asked.with_columns(answer=pl.col("answer").replace_strict({"yes": "no", "no": "yes"}))
    moved = {model: [other[word] for word in words] for model, words in said.items()}
    counts = counted(judged(asked, said), ("popular", "random"), ["m", "n"])
    mirrored = counted(judged(swapped, moved), ("popular", "random"), ["m", "n"])
    pairs = {"tp": "tn", "tn": "tp", "fp": "fn", "fn": "fp"}
    assert mirrored.select(**pairs).equals(counts.select(*pairs))
    assert mirrored["both_right"].equals(counts["both_right"])


@given(st.lists(st.text("yesno. ,N'", max_size=9), min_size=1))
def test_parsing_a_column_is_parsing_each_answer(texts: list[str]) -> None:
    for parser in ("pope", "repope", "strict"):
        found = parsed(pl.Series(texts, dtype=pl.String), parser)  # type: ignore[arg-type]
        assert found.to_list() == [parse_answer(one, parser) for one in texts]  # type: ignore[arg-type]


def test_the_strict_parser_reads_the_first_word() -> None:
    texts = ["Yes.", "no", " NO, it isn't", "**Yes**", "Nope", "Well, yes", "", "yes-no", "None"]
    assert [parse_answer(one, "strict") for one in texts] == [
        "yes", "no", "no", "yes", None, None, None, "yes", None,
    ]  # fmt: skip


# ---- files ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    world = {"1": ["a", "b"], "2": ["b", "c"], "3": ["d", "a"]}
    objects = write_objects(tmp_path / "o.jsonl", world)
    sm.pope.build(objects=objects, image_count=3, objects_per_image=2, out=tmp_path / "out")
    return tmp_path / "out"


def questions_of(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "questions.parquet")


def overall(report: Any) -> dict[str, float | None]:
    return dict(report.scores.filter(group="overall", model="m").select("metric", "value").rows())


def test_a_model_that_always_says_yes(folder: Path, tmp_path: Path) -> None:
    said = dict.fromkeys(questions_of(folder)["question_id"], "Yes, there is.")
    report = sm.pope.score(folder, {"m": answers(tmp_path / "m.jsonl", said)}, out=tmp_path / "s")
    found = overall(report)
    assert found["f1"] == pytest.approx(200 / 3)
    assert found["mean_f1"] == pytest.approx(200 / 3)
    assert (found["accuracy"], found["recall"], found["yes_ratio"], found["paired"]) == (
        50.0,
        100.0,
        100.0,
        0.0,
    )
    assert report.counts["strategy"].to_list() == ["random", "popular", "adversarial"]
    assert (
        (tmp_path / "s" / "scores.tex")
        .read_text()
        .splitlines()[2]
        .startswith("Model & random Acc & random P & ")
    )


def test_a_model_that_always_says_no(folder: Path, tmp_path: Path) -> None:
    said = dict.fromkeys(questions_of(folder)["question_id"], "no")
    found = overall(sm.pope.score(folder, {"m": answers(tmp_path / "m.jsonl", said)}, resamples=0))
    assert (found["accuracy"], found["recall"], found["yes_ratio"]) == (50.0, 0.0, 0.0)
    assert (found["precision"], found["f1"], found["mean_f1"]) == (None, None, None)


def test_answers_by_strategy_are_those_by_whole_ids(folder: Path, tmp_path: Path) -> None:
    asked = questions_of(folder)
    whole = {row["question_id"]: "yes" if row["number"] % 3 else "no" for row in asked.iter_rows(named=True)}
    parts: dict[str, Path] = {}
    for strategy in ("random", "popular", "adversarial"):
        said = {str(n): whole[f"{strategy}_{n}"] for n in asked.filter(strategy=strategy)["number"]}
        parts[f"m:{strategy}"] = answers(tmp_path / f"{strategy}.jsonl", said)
    one = sm.pope.score(folder, {"m": answers(tmp_path / "m.jsonl", whole)}, resamples=3)
    three = sm.pope.score(folder, parts, resamples=3)
    assert three.scores.equals(one.scores)
    files = {name: folder / f"coco_pope_{name}.json" for name in ("random", "popular", "adversarial")}
    released = sm.pope.score(questions=files, predictions=parts, resamples=3)
    assert released.scores.equals(one.scores)
    assert released.counts.equals(one.counts)
    with pytest.raises(
        ConfigError, match="predictions: got 'm:likely', expected MODEL, or MODEL:STRATEGY with one"
    ):
        sm.pope.score(folder, {"m:likely": parts["m:random"]})
    with pytest.raises(ConfigError) as told:
        sm.pope.score(folder, {"m": parts["m:random"]})
    assert str(told.value) == (
        "predictions of m: got ids such as '1', expected ids such as 'adversarial_1', as the "
        "questions are of several strategies. Give a file for each, as in --predictions m:random=FILE."
    )
    with pytest.raises(SchemaError, match="12 x question without a prediction: 'adversarial_1', "):
        sm.pope.score(folder, {name: parts[name] for name in ("m:random", "m:popular")})


def test_answers_are_joined_by_id_and_not_by_place(folder: Path, tmp_path: Path) -> None:
    said = dict(questions_of(folder).select("question_id", "answer").rows())
    backwards = dict(reversed([*said.items()]))
    report = sm.pope.score(folder, {"m": answers(tmp_path / "m.jsonl", backwards)}, resamples=0)
    assert overall(report)["accuracy"] == 100.0


def test_answers_that_are_neither(folder: Path, tmp_path: Path) -> None:
    said = dict(questions_of(folder).select("question_id", "answer").rows()) | {"random_1": "Maybe"}
    path = answers(tmp_path / "m.jsonl", said)
    report = sm.pope.score(folder, {"m": path}, parser="strict", resamples=0)
    assert report.warnings == (
        "predictions of m: 1 answers are neither yes nor no by the parser strict, and are in no count",
    )
    assert report.counts["unparsed"].to_list() == [1, 0, 0]
    assert overall(report)["accuracy"] == 100.0
    assert sm.pope.score(folder, {"m": path}, resamples=0).counts["unparsed"].sum() == 0


def test_what_can_not_be_scored(folder: Path, tmp_path: Path) -> None:
    path = answers(tmp_path / "m.jsonl", {"random_1": "yes"})
    with pytest.raises(
        ConfigError, match=r"predictions: got none, expected at least one\. Give --predictions"
    ):
        sm.pope.score(folder, {})
    with pytest.raises(
        ConfigError, match="pope score: got neither a folder nor --questions, expected what pope"
    ):
        sm.pope.score(predictions={"m": path})
    with pytest.raises(ConfigError, match="pope score: got a folder and --questions, expected"):
        sm.pope.score(folder, {"m": path}, questions={"random": folder / "coco_pope_random.json"})
    with pytest.raises(ConfigError, match=r"baseline: got 'x', expected one of m\. Name one of them\."):
        sm.pope.score(folder, {"m": path}, baseline="x")
    with pytest.raises(SchemaError, match="35 x question without a prediction"):
        sm.pope.score(folder, {"m": path})


def test_bad_files_of_questions(tmp_path: Path) -> None:
    rows = [
        (1, "i", TEXT.format("a"), "yes"),
        (2, "i", TEXT.format("a"), "no"),
        (3, "i", TEXT.format("b"), "maybe"),
        (4, "j", TEXT.format("b"), "Yes"),
        (4, "k", TEXT.format("b"), "no"),
        (6, "k", " ", "no"),
    ]
    path = write_questions(tmp_path / "q.json", rows)
    said = {"m": answers(tmp_path / "m.jsonl", {1: "yes"})}
    with pytest.raises(SourceError) as told:
        sm.pope.score(questions={"random": path}, predictions=said)
    assert str(told.value) == (
        f"{path}: got 6 bad of 6 questions, expected none. Fix them.\n"
        "  - line 1 and line 2, image and text: got 'i: Is there a a in the image?' 2 times, expected a "
        "question about an image once, with one label\n"
        "  - line 3, label: got 'maybe', expected yes or no\n"
        "  - line 4 and line 5, question_id: got '4' 2 times, expected an id that occurs once\n"
        "  - line 6, text: got ' ', expected a question"
    )
    (tmp_path / "bare.jsonl").write_text('{"question_id": 1, "image": "i", "label": "yes"}\n')
    with pytest.raises(SourceError, match="expected a table with text"):
        sm.pope.score(questions={"random": tmp_path / "bare.jsonl"}, predictions=said)
    good = write_questions(tmp_path / "good.json", [(1, "i", TEXT.format("a"), "yes")])
    with pytest.raises(SourceError, match="got the same questions in several files, expected each once"):
        sm.pope.score(questions={"random": [good, good]}, predictions=said)


def test_older_files_and_lists(tmp_path: Path) -> None:
    rows = [(at, f"i{at}", TEXT.format("imange"), "yes") for at in (1, 2, 5)]
    path = write_questions(tmp_path / "q.json", rows)
    said = {"m": answers(tmp_path / "m.jsonl", {1: "yes", 2: "no", 5: "yes"})}
    report = sm.pope.score(questions={"random": path}, predictions=said, resamples=0)
    assert report.notes == (
        "questions of random: 3 questions with ids up to 5, as in an older release of POPE",
    )
    (tmp_path / "list.json").write_text(f"[{','.join(path.read_text().splitlines())}]")
    listed = sm.pope.score(questions={"random": tmp_path / "list.json"}, predictions=said, resamples=0)
    assert listed.scores.equals(report.scores)


def test_other_labels(folder: Path, tmp_path: Path) -> None:
    asked = questions_of(folder)
    said = dict(asked.select("question_id", "answer").rows())
    rows = [
        (at, image, text, "no")
        for at, (image, text) in enumerate(
            asked.select("image", "question").unique(maintain_order=True).rows()[::2]
        )
    ]
    relabel = write_questions(tmp_path / "r.json", rows)
    path = answers(tmp_path / "m.jsonl", said)
    report = sm.pope.score(folder, {"m": path}, relabel=relabel, resamples=2, out=tmp_path / "s")
    pairs = {(image, text) for _, image, text, _ in rows}
    kept = [row for row in asked.iter_rows(named=True) if (row["image"], row["question"]) in pairs]
    no = sum(row["answer"] == "no" for row in kept)
    assert report.relabelled is not None
    table = report.relabelled.filter(group="overall", metric="accuracy")
    assert dict(table.select("labels", "value").rows()) == {
        "original": 100.0,
        "kept": 100.0,
        "relabelled": pytest.approx(100 * no / len(kept)),
    }
    assert table["n"].to_list() == [36, len(kept), len(kept)]
    assert pl.read_parquet(tmp_path / "s" / "relabelled.parquet").equals(report.relabelled)
    with pytest.raises(
        SourceError, match=r"relabel: got none of the 36 questions among 1 labels, expected other"
    ):
        other = write_questions(tmp_path / "x.json", [(1, "zz", "Is there?", "no")])
        sm.pope.score(folder, {"m": path}, relabel=other)
    with pytest.raises(
        SourceError, match=r"relabel: got both labels for 1 questions: .*, expected one each\."
    ):
        opposite = write_questions(tmp_path / "y.json", [(*rows[0][:3], "yes")])
        sm.pope.score(folder, {"m": path}, relabel=[relabel, opposite])


def test_what_is_offered_to_evaluators(folder: Path, tmp_path: Path) -> None:
    done = sm.export(folder, "vqa-json", out=tmp_path / "x")
    assert [(split, count) for _, split, count in done.questions] == [
        ("random", 12), ("popular", 12), ("adversarial", 12),
    ]  # fmt: skip
