import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import options, tiny_world, write_world
from hypothesis import given
from hypothesis import strategies as st
from strategies import is_id

from shortcut_miner.cli.run import run
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig
from shortcut_miner.diagnostics.vqa_ce.score import score
from shortcut_miner.errors import ConfigError, SchemaError, SourceError
from shortcut_miner.scoring.accuracy import score_questions, soft_label_table
from shortcut_miner.sources.answers.formats import SOFT_LABELS
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]
LABELS = {"7": {"NA": 1, "a b": 0.3}, "007": {}, "2": {"": 1.5, "null": 0, 'x"\u2028\n': 0.667}}


def as_list(labels: Any) -> list[dict[str, Any]]:
    return [
        {"sent": "What?", "question_id": one, "label": weights, "class": 1, "img_id": "COCO_val2014_7"}
        for one, weights in labels.items()
    ]


def message_of(path: Path, on_bad_row: Any = "error") -> str:
    with pytest.raises(SourceError) as caught:
        read_soft_labels(path, on_bad_row=on_bad_row)
    return str(caught.value)


FORMS = {"list": as_list(LABELS), "indented list": json.dumps(as_list(LABELS), indent=4), "object": LABELS}


@pytest.mark.parametrize("form", [*FORMS, "parquet", "gzip"])
def test_every_form_gives_the_table_that_the_scorer_reads(write: Write, tmp_path: Path, form: str) -> None:
    wanted = soft_label_table(LABELS)
    kind = SOFT_LABELS[form == "parquet"].kind
    if form == "parquet":
        path = tmp_path / "labels"
        wanted.select("weight", "answer", pl.lit(1).alias("other"), "question_id").write_parquet(path)
    elif form == "gzip":
        path = write("labels", gzip.compress(b"\xef\xbb\xbf" + json.dumps(LABELS).encode()))
    else:
        path = write("labels", FORMS[form])
    reading = read_soft_labels(path)
    assert reading.table.equals(wanted)
    assert reading.table.schema == wanted.schema
    assert reading.kind == kind
    assert reading.notes == ("questions without labels, where no answer scores: 1",)
    found = recognise(path)
    held = {"labels": 6} if form == "parquet" else {"questions": 3}
    known_as = "LXMERT questions JSON" if "list" in form else kind  # which are read as weights too
    assert (found.kind, found.counts, found.is_known) == (known_as, held, True)
    assert "vqa-ce score --soft-labels" in found.goes_to


def test_ids_are_numbers_or_texts(write: Write) -> None:
    path = write(
        "labels", [{"question_id": 2971475, "label": {"racing": 1}}, {"question_id": "03", "label": {}}]
    )
    assert read_soft_labels(path).table.rows() == [("2971475", "racing", 1.0), ("03", None, None)]


def test_bad_records_of_a_list_are_told_at_once(write: Write) -> None:
    records = [
        {"question_id": 1, "label": {"a": 1}},
        {"question_id": 2, "label": {"a": "1"}},
        {"question_id": 3, "label": {"a": True}},
        {"question_id": 4, "label": {"a": math.nan}},
        {"question_id": 5, "label": ["a"]},
        {"label": {"a": 1}},
        {"question_id": " ", "label": {"a": 1}},
        {"question_id": 9, "label": {"a": 1, "b": -0.1}},
        {"question_id": 1, "label": {}},
        None,
    ]
    path = write("labels", records)
    lines = message_of(path).splitlines()
    assert lines == [
        f"{path}: got 10 bad of 10 questions, expected none. Fix them.",
        "  - record 0 and record 8, question_id: got '1' 2 times, expected an id that occurs once",
        "  - record 1, label[...]: got text, expected a number",
        "  - record 2, label[...]: got true or false, expected a number",
        "  - record 3, label[...]: got null, expected a number",
        '  - record 4, label: got ["a"], expected an object',
        "  - record 5, question_id: got no such field, expected a whole number or text",
        "  - record 6, question_id: got ' ', expected an id",
        "  - record 7, weight: got -0.1, expected a number of at least 0",
        "  - record 9, record: got null, expected an object",
    ]
    records[8] = {"question_id": 10, "label": {}}
    reading = read_soft_labels(write("labels", records), on_bad_row="skip")
    assert reading.table.rows() == [("1", "a", 1.0), ("10", None, None)]
    assert sum(reading.dropped.values()) == 8
    assert reading.notes[0] == "NaN or infinite numbers read as null: 1"
    path = write("labels", [{"question_id": 1, "label": {}}, {"question_id": 6}])
    assert "  - record 1, label: got no such field, expected " in message_of(path)


def test_bad_entries_of_an_object_are_told_by_their_question(write: Write) -> None:
    path = write("labels", '{"1": {"a": 1}, "2": {"a": -2}, "3": {"b": null}, "4": 5, "": {}}')
    assert message_of(path).splitlines()[1:] == [
        "  - question '2', weight: got -2.0, expected a number of at least 0",
        "  - question '3', label[...]: got null, expected a number",
        "  - question '4', label: got 5, expected an object",
        "  - question '', question_id: got '', expected an id",
    ]
    assert read_soft_labels(path, on_bad_row="skip").table.rows() == [("1", "a", 1.0)]


def test_a_question_that_an_object_has_twice(write: Write) -> None:
    path = write("labels", '{"1": {"a": 1}, "2": {"a\\": {": 1}, "1" : {"b": 1}, "3": {"c": 1}}')
    assert message_of(path).splitlines()[1:] == [
        "  - question '1', question_id: got 2 entries, expected an id that occurs once"
    ]
    path = write("labels", b'{"1": {"a": {"b": 1}}, "2": {"\xff": {"c": 1}}, "3": {"d": 1}}')
    assert "question '2', label: got bytes that are no UTF-8" in message_of(path)
    path = write("labels", [{"question_id": 1, "label": 5}, {"question_id": 2, "label": {"a": []}}])
    assert "got 2 bad of 2 questions" in message_of(path, "skip")
    once = write("labels", '{"1": {"a": 1}, "2": {"a\\": {": 1}}')
    assert read_soft_labels(once).table["answer"].to_list() == ["a", 'a": {']


def test_bad_rows_of_parquet(tmp_path: Path) -> None:
    rows = [
        ("1", "a", 1.0),
        ("1", "a", 0.5),
        (None, "a", 1.0),
        ("2", "b", None),
        ("3", "c", math.nan),
        ("4", "d", math.inf),
        ("5", None, None),
        ("5", "e", 1.0),
        ("6", "f", 1.0),
    ]
    path = tmp_path / "labels.parquet"
    columns = {"question_id": pl.String, "answer": pl.String, "weight": pl.Float64}
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(path)
    assert message_of(path).splitlines()[1:] == [
        "  - row 0, answer: got 'a', expected an answer that a question has once",
        "  - row 1, answer: got 'a', expected an answer that a question has once",
        "  - row 2, question_id: got null, expected an id",
        "  - row 3, weight: got null, expected a number of at least 0",
        "  - row 4, weight: got nan, expected a number of at least 0",
        "  - row 5, weight: got inf, expected a number of at least 0",
        "  - row 6, answer: got null, expected null only as a question's one row",
    ]
    kept = read_soft_labels(path, on_bad_row="skip").table
    assert kept.rows() == [("5", "e", 1.0), ("6", "f", 1.0)]
    pl.DataFrame({"question_id": ["1"], "label": ["a"], "weight": [1]}).write_parquet(path)
    assert message_of(path).splitlines()[1:] == ["  - column answer: got no such column, expected text"]


@pytest.mark.parametrize(
    ("content", "got", "advice"),
    [
        ([], "an empty JSON list", "Check that this is the right file"),
        ({"1": {}}, "a JSON object with the keys '1' (1 keys)", "Check that this is the right file"),
        (
            [{"question_id": 1, "answer": "x"}], "VQA results JSON (1 answers)",
            "Give it to vqa-ce score --predictions, rad score --original and --augmented, or fpvg score "
            "--all",
        ),
        (
            {"1": {"classes": ["a"], "scores": [1]}}, "image-to-detection JSON (1 images)",
            "Give it to vqa-ce build --detections",
        ),
    ],
)  # fmt: skip
def test_other_formats_are_named(write: Write, content: Any, got: str, advice: str) -> None:
    path = write("labels", content)
    assert message_of(path) == (
        f"{path}: got {got}, expected soft labels JSON ([{{question_id, label: {{answer: weight}}}}] or "
        "{question_id: {answer: weight}}), or Parquet with the columns question_id, answer, weight. "
        f"{advice}."
    )


@pytest.mark.parametrize("content", ["question_id,answer,weight\n1,a,1\n", '{"1": {"a": 1', "\xff", " "])
def test_what_is_no_json(write: Write, content: str) -> None:
    assert ", expected " in message_of(write("labels", content.encode("latin-1")))


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
IDS = TEXTS.filter(is_id)
WEIGHTS = st.dictionaries(TEXTS, st.floats(0, 2, allow_subnormal=False), max_size=4)


@given(labels=st.dictionaries(IDS, WEIGHTS, min_size=1, max_size=6).filter(lambda one: any(one.values())))
def test_what_is_written_is_read_back(write: Write, labels: dict[str, dict[str, float]]) -> None:
    wanted = soft_label_table(labels)
    assert read_soft_labels(write("labels", as_list(labels))).table.equals(wanted)
    if not {"questions", "annotations"} & labels.keys():
        assert read_soft_labels(write("labels", labels)).table.equals(wanted)


@given(data=st.data(), on_bad_row=st.sampled_from(["error", "skip"]))
def test_damaged_files_are_read_or_refused(write: Write, data: st.DataObject, on_bad_row: Any) -> None:
    content = json.dumps(data.draw(st.sampled_from([as_list(LABELS), LABELS]))).encode()
    tokens = [b"", b"null", b"NaN", b'"\\ud800"', b"[]", b"{}", b"1e999", b"\xff", b'"', b"}", b'"7": {']
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        until = data.draw(st.integers(at, min(len(content), at + 12)))
        content = content[:at] + data.draw(st.sampled_from(tokens)) + content[until:]
    try:
        reading = read_soft_labels(write("damaged", content), on_bad_row=on_bad_row)
    except SourceError as error:
        assert ", expected " in str(error)
    else:
        assert not reading.table.is_empty()
        assert on_bad_row == "skip" or not reading.dropped


@pytest.mark.real
def test_real_answers_score_as_plain_counting_says(real_data: Path) -> None:
    files = {
        name: real_data / "predictions" / f"okvqa_val_{name}.json" for name in ("pica_vinvl", "soft_labels")
    }
    answers = read_predictions(files["pica_vinvl"]).table
    reading = read_soft_labels(files["soft_labels"])
    questions = reading.table.select("question_id", image_id="question_id").unique(maintain_order=True)
    scored = score_questions(questions, answers, scorer="soft-labels", soft_labels=reading.table)
    weights = {one["question_id"]: one["label"] for one in json.loads(files["soft_labels"].read_text())}
    given = {one["question_id"]: one["answer"] for one in json.loads(files["pica_vinvl"].read_text())}
    plain = [100 * min(1, weights[one].get(given[one], 0)) for one in weights]
    assert scored["accuracy"].to_list() == pytest.approx(plain)
    assert len(scored) == 5046
    assert scored["accuracy"].mean() == pytest.approx(math.fsum(plain) / len(plain))
    assert f"{scored['accuracy'].mean():.4f}" == "48.0626"


# ---- vqa-ce score --soft-labels ----


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    files = write_world(tiny_world(), folder / "in")
    tokens = ["vqa-ce", "build", *options(files), "--min-count", "2", "--out", str(folder / "out"), "--quiet"]
    assert run(tokens) == 0
    return folder / "out"


IDS_ASKED = range(2000, 2006)
GIVEN = [{"question_id": n, "answer": "golf" if n % 2 else "red"} for n in IDS_ASKED]
WEIGHED = {str(n): {"golf": 0.3, "red": 1.4} for n in IDS_ASKED}


def test_score_weighs_answers(built: Path, write: Write, tmp_path: Path) -> None:
    predictions = {"m": write("p.json", GIVEN)}
    labels = write("labels.json", WEIGHED | {"2000": {}, "9": {"golf": 1}})
    report = score(built, predictions, ScoreConfig(resamples=0), tmp_path / "out", soft_labels=labels)
    overall = report.scores.filter((pl.col("group") == "overall") & (pl.col("model") == "m"))
    assert overall["value"].item() == pytest.approx(100 * (0 + 2 * 1 + 3 * 0.3) / 6)
    assert set(report.scores["scorer"]) == {"soft-labels"}
    assert report.notes == ("soft labels: questions without labels, where no answer scores: 1",)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["config"]["scorer"] == "soft-labels"
    assert [(one["role"], one["name"]) for one in manifest["inputs"]] == [
        ("predictions of m", "p.json"), ("soft labels", "labels.json"),
        ("folder", f"{built.name}/manifest.json"),
    ]  # fmt: skip
    again = write("again.json", as_list(dict(reversed((WEIGHED | {"2000": {}, "9": {"golf": 1}}).items()))))
    score(built, predictions, ScoreConfig(resamples=0), tmp_path / "again", soft_labels=again)
    hashes = [
        json.loads((tmp_path / name / "manifest.json").read_text())["inputs"][1]["content_sha256"]
        for name in ("out", "again")
    ]
    assert hashes[0] == hashes[1]


def test_the_scorer_defaults_to_what_the_files_allow(built: Path, write: Write, tmp_path: Path) -> None:
    predictions = {"m": write("p.json", GIVEN)}
    report = score(built, predictions, ScoreConfig(resamples=0), tmp_path / "out")
    assert set(report.scores["scorer"]) == {"vqa-official"}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["config"]["scorer"] == "vqa-official"
    with pytest.raises(
        ConfigError, match=r"scorer soft-labels: got no soft labels, expected .*--soft-labels FILE"
    ):
        score(built, predictions, ScoreConfig(scorer="soft-labels"))
    labels = write("labels.json", WEIGHED)
    with pytest.raises(
        ConfigError, match="scorer exact: got soft labels, expected soft labels for the scorer"
    ):
        score(built, predictions, ScoreConfig(scorer="exact"), soft_labels=labels)
    with pytest.raises(
        ConfigError, match=r"scorer: got 'x', expected one of .*, soft-labels. Change --scorer"
    ):
        ScoreConfig(scorer="x")  # type: ignore[arg-type]


def test_questions_without_soft_labels_are_told(built: Path, write: Write) -> None:
    labels = write("labels.json", {"2000": {"golf": 1}})
    with pytest.raises(SchemaError, match="5 x question without soft labels: '2001'"):
        score(built, {"m": write("p.json", GIVEN)}, ScoreConfig(), soft_labels=labels)


def test_the_command_takes_soft_labels(built: Path, write: Write, capfd: pytest.CaptureFixture[str]) -> None:
    predictions, labels = write("p.json", GIVEN), write("labels.json", WEIGHED)
    tokens = ["vqa-ce", "score", str(built), "--predictions", f"m={predictions}", "--format", "json"]
    capfd.readouterr()
    assert run([*tokens, "--soft-labels", str(labels), "--resamples", "0"]) == 0
    overall = json.loads(capfd.readouterr().out)["scores"]["accuracy"]["overall"]["all"]["m"]
    assert (overall["scorer"], round(overall["value"], 6)) == ("soft-labels", 65.0)
    assert run([*tokens, "--soft-labels", str(labels), "--scorer", "vqa-official"]) == 2
    assert "scorer vqa-official: got soft labels" in capfd.readouterr().err
    assert run([*tokens, "--soft-labels", str(predictions)]) == 2
    assert "p.json: got VQA results JSON (6 answers), expected soft labels JSON" in capfd.readouterr().err
