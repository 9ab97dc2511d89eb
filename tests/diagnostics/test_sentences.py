"""Answers in sentences score nothing and are told; with an extraction they score as what is in them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shortcut_miner as sm
from shortcut_miner import rooms
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.errors import ConfigError

MODEL = "grounded_model"


def as_sentences(source: Path, target: Path) -> Path:
    """Write a file of answers again, each as a sentence."""
    if source.suffix == ".parquet":
        table = pl.read_parquet(source)
        table.with_columns(answer=pl.format("Well!\nThe answer: {}.", "answer")).write_parquet(target)
        return target
    records = json.loads(source.read_text(encoding="utf-8"))
    for record in records:
        name = "prediction" if "prediction" in record else "answer"
        record[name] = f"Well!\nThe answer: {record[name]}."
    target.write_text(json.dumps(records), encoding="utf-8")
    return target


def answer_files(demo: Path, room: str) -> dict[str, Path]:
    world = demo / "world"
    if room == "fpvg":
        return {name: world / f"{MODEL}_{name}_regions.json" for name in ("all", "relevant", "irrelevant")}
    if room == "swapmix":
        return {"predictions": demo / "swapmix-answers" / f"{MODEL}.parquet"}
    if room == "gqa_ood":
        return {"predictions": demo / "gqa-ood-answers" / f"{MODEL}.json"}
    if room == "rad":
        augmented = demo / "rad-answers" / f"{MODEL}_results.json"
        return {"original": world / f"{MODEL}_results.json", "augmented": augmented}
    return {"predictions": world / f"{MODEL}_results.json"}


def scored(demo: Path, room: str, files: dict[str, Path], **options: Any) -> ScoreReport:
    models = {option: {"m": path} for option, path in files.items()}
    report: ScoreReport = getattr(sm, room).score(
        demo / room.replace("_", "-"), **models, resamples=0, **options
    )
    return report


def sentences(demo: Path, room: str, out: Path) -> dict[str, Path]:
    return {
        option: as_sentences(path, out / f"{option}{path.suffix}")
        for option, path in answer_files(demo, room).items()
    }


# POPE's own parsers make yes or no of sentences.
each_room = pytest.mark.parametrize("room", [name for name in rooms.NAMES if name != "pope"])


@each_room
def test_sentences_are_told_and_short_answers_are_not(room: str, demo: Path, tmp_path: Path) -> None:
    assert scored(demo, room, answer_files(demo, room)).warnings == ()
    report = scored(demo, room, sentences(demo, room, tmp_path))
    told = [text for text in report.warnings if "--extract first-line, last-word, choices" in text]
    assert len(told) == (2 if room == "rad" else 1)
    assert "predictions of m: " in told[0]
    assert " answers have more words than any accepted answer to their question, as in 'Well!" in told[0]
    assert ", and 0 are right. " in told[0]
    assert report.extracted_answers is None


@pytest.mark.sample(6)
@each_room
@pytest.mark.parametrize("how", ["after:the answer:", "choices"])
def test_an_extraction_gives_the_scores_of_the_answers(
    room: str, how: str, demo: Path, tmp_path: Path
) -> None:
    plain = scored(demo, room, answer_files(demo, room))
    out = tmp_path / "out"
    report = scored(demo, room, sentences(demo, room, tmp_path), extract=how, out=out)
    if how == "choices" and room in ("swapmix", "pairs"):  # wrong answers that hold one choice become equal
        is_accuracy = pl.col("metric") == "accuracy"
        assert report.scores.filter(is_accuracy).equals(plain.scores.filter(is_accuracy))
    else:
        assert report.scores.equals(plain.scores)
    assert report.warnings == ()
    texts = report.extracted_answers
    assert texts is not None
    assert set(texts["model"]) == {"m"}
    assert texts["raw_answer"].str.starts_with("Well!\nThe answer: ").all()
    assert pl.read_parquet(out / "extracted_answers.parquet").equals(texts)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["config"]["extract"] == how
    changed = texts.filter(pl.col("raw_answer") != pl.col("answer"))
    counted = int(changed["count"].sum()) if room == "swapmix" else len(changed)
    assert manifest["counts"]["answers_changed"] == counted > 0
    assert sum(f": extract {how}: " in note for note in report.notes) == len(answer_files(demo, room))


@each_room
def test_both_texts_of_each_answer_are_kept(room: str, demo: Path, tmp_path: Path) -> None:
    texts = scored(demo, room, sentences(demo, room, tmp_path), extract="after:answer:").extracted_answers
    assert texts is not None
    whose = {
        "vqa_ce": ["question_id"],
        "gqa_ood": ["question_id"],
        "pairs": ["question_id"],
        "slices": ["question_id"],
        "resplit": ["question_id"],
        "rad": ["side", "question_id"],
        "fpvg": ["condition", "question_id"],
    }
    columns = [
        "model",
        *whose.get(room, ()),
        "raw_answer",
        "answer",
        *(["count"] if room == "swapmix" else []),
    ]
    assert texts.columns == columns
    said = texts.select(raw_answer=pl.format("Well!\nThe answer: {}.", "answer"))
    assert said["raw_answer"].equals(texts["raw_answer"])


@each_room
def test_without_an_extraction_nothing_more_is_written(room: str, demo: Path, tmp_path: Path) -> None:
    scored(demo, room, answer_files(demo, room), out=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert "extracted_answers.parquet" not in names
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert "answers_changed" not in manifest["counts"]
    assert manifest["config"]["extract"] is None


def test_result_files_hold_no_texts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="extract: got 'choices', expected none with result files, whose"):
        sm.swapmix.score(class_results=tmp_path, attribute_results=tmp_path, extract="choices")


@each_room
def test_the_papers_table_has_a_row_a_model(room: str, demo: Path, tmp_path: Path) -> None:
    heads = {
        "vqa_ce": "Model & Overall & Counterexamples & Easy",
        "rad": "Model & Original & Augmented & RAD & RAD (colors) & RAD (how-many) & RAD (what-kind)",
        "fpvg": "Model & Accuracy & FPVG+ & FPVG+ correct & FPVG+ wrong & FPVG- correct & FPVG- wrong",
        "swapmix": "Model & Accuracy & Object reliance & Attribute reliance & Context reliance & "
        "Effective accuracy",
        "gqa_ood": "Model & Acc-all & Acc-tail & Acc-head & Delta",
        "resplit": "Model & Test & Test (number) & Test (other) & Test (yes/no) & Val & Drop",
        "pairs": "Model & Accuracy & Both & Agree & Counter & Shortcut",
        "slices": "Model & Error rate",
    }
    report = scored(demo, room, answer_files(demo, room), out=tmp_path / "out")
    lines = (tmp_path / "out" / "scores.tex").read_text(encoding="utf-8").splitlines()
    assert lines[1:4] == [r"\toprule", rf"{heads[room]} \\", r"\midrule"]
    rows = report.scores.filter(model="m").select("metric", "group", "subgroup", "value").iter_rows()
    values = {(metric, group, subgroup): value for metric, group, subgroup, value in rows}
    cells = [f"${values[place]:.2f}$" for place in report.paper_columns().values()]
    assert lines[4] == rf"m & {' & '.join(cells)} \\"
    long = (tmp_path / "out" / "scores_long.tex").read_text(encoding="utf-8").splitlines()
    assert long[2].startswith("metric & group & subgroup & n & m")


@each_room
def test_intervals_in_the_papers_table_are_an_option(room: str, demo: Path, tmp_path: Path) -> None:
    files = {option: {"m": path} for option, path in answer_files(demo, room).items()}
    folder = demo / room.replace("_", "-")
    getattr(sm, room).score(folder, **files, resamples=5, out=tmp_path / "plain")
    getattr(sm, room).score(folder, **files, resamples=5, out=tmp_path / "with", tex_intervals=True)
    plain, told = ((tmp_path / name / "scores.tex").read_text("utf-8") for name in ("plain", "with"))
    assert "[" not in plain
    assert told.count("[$") >= len(plain.splitlines()[4].split("&")) - 1


def test_a_list_of_ids_has_its_own_columns(demo: Path, tmp_path: Path) -> None:
    regions = pl.read_parquet(demo / "fpvg" / "regions.parquet").filter("is_evaluable")["question_id"]
    lists = {}
    for name, ids in (("i_d", regions.head(40)), ("ood", regions.tail(40))):
        lists[name] = tmp_path / f"{name}.json"
        lists[name].write_text(json.dumps(ids.to_list()), encoding="utf-8")
    scored(demo, "fpvg", answer_files(demo, "fpvg"), ids=lists, out=tmp_path / "out")
    head = (tmp_path / "out" / "scores.tex").read_text(encoding="utf-8").splitlines()[2]
    assert head.startswith(r"Model & i\_d: Accuracy & i\_d: FPVG+ & ")
    assert r" & ood: Accuracy & ood: FPVG+ & " in head
