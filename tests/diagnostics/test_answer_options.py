"""The options about answers in every room: what is left out is counted, and the rest scores as if alone."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.room_cases import MODEL

import shortcut_miner as sm
from shortcut_miner.cli.run import run
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.errors import ConfigError, SchemaError, ShortcutMinerError, SourceError
from shortcut_miner.options import AnswerOptions

LEANING = "shortcut_model"


@dataclass(frozen=True)
class Scored:
    """How a room scores: the files of a model by option, the one to change, and its front in Python."""

    name: str
    folder: str
    files: Callable[[Path, str], dict[str, Path]]
    changed: str
    score: Callable[..., ScoreReport]
    id_field: str = "question_id"
    answer_field: str = "answer"

    @property
    def words(self) -> tuple[str, ...]:
        return (self.folder, "score")


def vqa_ce_files(out: Path, model: str) -> dict[str, Path]:
    return {"predictions": out / "world" / f"{model}_results.json"}


def rad_files(out: Path, model: str) -> dict[str, Path]:
    augmented = out / "rad-answers" / f"{model}_results.json"
    return {"original": out / "world" / f"{model}_results.json", "augmented": augmented}


def fpvg_files(out: Path, model: str) -> dict[str, Path]:
    return {one: out / "world" / f"{model}_{one}_regions.json" for one in ("all", "relevant", "irrelevant")}


def swapmix_files(out: Path, model: str) -> dict[str, Path]:
    return {"predictions": out / "swapmix-answers" / f"{model}.parquet"}


def gqa_ood_files(out: Path, model: str) -> dict[str, Path]:
    return {"predictions": out / "gqa-ood-answers" / f"{model}.json"}


ROOMS = (
    Scored("vqa_ce", "vqa-ce", vqa_ce_files, "predictions", sm.vqa_ce.score),
    Scored("rad", "rad", rad_files, "augmented", sm.rad.score),
    Scored("fpvg", "fpvg", fpvg_files, "relevant", sm.fpvg.score, "questionId", "prediction"),
    Scored("swapmix", "swapmix", swapmix_files, "predictions", sm.swapmix.score),
    Scored("gqa_ood", "gqa-ood", gqa_ood_files, "predictions", sm.gqa_ood.score, "questionId", "prediction"),
    Scored("pairs", "pairs", vqa_ce_files, "predictions", sm.pairs.score),
    Scored("slices", "slices", vqa_ce_files, "predictions", sm.slices.score),
    Scored("resplit", "resplit", vqa_ce_files, "predictions", sm.resplit.score),
)
each_room = pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)


@pytest.fixture
def out(demo: Path) -> Path:
    return demo


def records_of(path: Path) -> list[dict[str, Any]]:
    return pl.read_parquet(path).to_dicts() if path.suffix == ".parquet" else json.loads(path.read_text())


def changed_files(
    room: Scored, out: Path, tmp_path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> dict[str, Path]:
    """Return a model's files, those of one option with other records."""
    files = room.files(out, MODEL)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(change(records_of(files[room.changed]))))
    return files | {room.changed: path}


def scored(room: Scored, out: Path, models: dict[str, dict[str, Path]], **options: Any) -> ScoreReport:
    given = {
        role: {name: files[role] for name, files in models.items()} for role in next(iter(models.values()))
    }
    if room.name == "vqa_ce":
        return room.score(out / "vqa-ce", given["predictions"], resamples=0, **options)
    return room.score(out / room.folder, **given, resamples=0, **options)


def first_question(room: Scored, records: list[dict[str, Any]], out: Path) -> str:
    """Return a question that the score needs, by the records of the file to change."""
    if room.name == "fpvg":
        regions = pl.read_parquet(out / "fpvg" / "regions.parquet").filter("is_evaluable")
        return str(regions["question_id"][0])
    if room.name == "resplit":
        return str(pl.read_parquet(out / "resplit" / "split.parquet").filter(subset="test")["question_id"][0])
    if room.name == "pairs":
        return str(pl.read_parquet(out / "pairs" / "pairs.parquet")["question_id_agree"][0])
    return str(records[0][room.id_field])


def without(room: Scored, out: Path) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    def change(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        lost = first_question(room, records, out)
        return [one for one in records if str(one[room.id_field]) != lost]

    return change


def value_of(report: ScoreReport, model: str) -> Iterator[tuple[Any, ...]]:
    columns = ["metric", "group", "subgroup", "model", "value", "n"]
    yield from report.scores.filter(pl.col("model") == model).select(columns).drop("model").rows()


@each_room
def test_missing_answers_are_an_error_that_says_how_to_leave_them_out(
    room: Scored, out: Path, tmp_path: Path
) -> None:
    files = changed_files(room, out, tmp_path, without(room, out))
    with pytest.raises(SchemaError, match="with --on-missing skip"):
        scored(room, out, {"m": files})
    report = scored(room, out, {"m": files}, on_missing="skip")
    assert not report.is_complete
    assert all(reason.endswith("without an answer") for reason in report.dropped)
    assert len(report.dropped) == 1
    assert any("questions left out for all models" in note for note in report.notes)


@pytest.mark.sample(3)
@each_room
def test_a_question_that_one_model_misses_is_left_out_for_all(
    room: Scored, out: Path, tmp_path: Path
) -> None:
    part = changed_files(room, out, tmp_path, without(room, out))
    whole, leaning = room.files(out, MODEL), room.files(out, LEANING)
    both = scored(room, out, {"whole": whole, "m": part, "leaning": leaning}, on_missing="skip")
    shortened: dict[str, dict[str, Path]] = {}
    for name, files in (("whole", whole), ("leaning", leaning)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(without(room, out)(records_of(files[room.changed]))))
        shortened[name] = files | {room.changed: path}
    for name, files in shortened.items():
        alone = scored(room, out, {name: files}, on_missing="skip")
        assert [*value_of(both, name)] == [*value_of(alone, name)]
    assert [row[:3] for row in value_of(both, "m")] == [row[:3] for row in value_of(both, "whole")]
    whole_n = {row[:3]: row[-1] for row in value_of(scored(room, out, {"m": whole}), "m")}
    assert any(row[-1] < whole_n[row[:3]] for row in value_of(both, "m"))


@pytest.mark.sample(3)
@each_room
def test_answers_to_unknown_questions(room: Scored, out: Path, tmp_path: Path) -> None:
    def change(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*records, records[0] | {room.id_field: "nobody"}]

    files = changed_files(room, out, tmp_path, change)
    with pytest.raises(SchemaError, match="leave these answers out with --on-extra ignore"):
        scored(room, out, {"m": files})
    report = scored(room, out, {"m": files}, on_extra="ignore")
    assert list(report.dropped.values()) == [1]
    assert not report.is_complete
    whole = scored(room, out, {"m": room.files(out, MODEL)})
    assert list(value_of(report, "m")) == list(value_of(whole, "m"))
    assert (whole.dropped, whole.is_complete) == ({}, True)


@pytest.mark.sample(3)
@each_room
def test_two_answers_to_one_question(room: Scored, out: Path, tmp_path: Path) -> None:
    def change(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*records, *(one | {room.answer_field: "nonsense"} for one in records)]

    files = changed_files(room, out, tmp_path, change)
    with pytest.raises(ShortcutMinerError, match="with --on-duplicate first"):
        scored(room, out, {"m": files})
    whole = scored(room, out, {"m": room.files(out, MODEL)})
    first, last = (scored(room, out, {"m": files}, on_duplicate=one) for one in ("first", "last"))
    assert list(value_of(first, "m")) == list(value_of(whole, "m"))
    assert list(value_of(last, "m")) != list(value_of(whole, "m"))
    count = len(records_of(room.files(out, MODEL)[room.changed]))
    assert list(first.dropped.values()) == list(last.dropped.values()) == [count]
    assert [reason.rpartition(", ")[2] for reason in (*first.dropped, *last.dropped)] == [
        "the first one kept",
        "the last one kept",
    ]


@each_room
def test_rows_that_do_not_fit(room: Scored, out: Path, tmp_path: Path) -> None:
    def change(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*records, records[0] | {room.id_field: "nobody", room.answer_field: None}]

    files = changed_files(room, out, tmp_path, change)
    with pytest.raises(ShortcutMinerError, match="or skip them with --on-bad-row skip"):
        scored(room, out, {"m": files})
    report = scored(room, out, {"m": files}, on_bad_row="skip")
    assert list(report.dropped.values()) == [1]
    assert next(iter(report.dropped)).endswith(f"{room.answer_field}: expected text")
    assert not report.is_complete


@each_room
def test_a_blank_id_is_a_bad_row(room: Scored, out: Path, tmp_path: Path) -> None:
    def change(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*records, records[0] | {room.id_field: " "}]

    files = changed_files(room, out, tmp_path, change)
    with pytest.raises(SourceError, match=", expected an id"):
        scored(room, out, {"m": files}, on_extra="ignore")
    report = scored(room, out, {"m": files}, on_extra="ignore", on_bad_row="skip")
    assert [reason.endswith(": expected an id") for reason in report.dropped] == [True]


@each_room
def test_answers_in_a_column_of_another_name(room: Scored, out: Path, tmp_path: Path) -> None:
    def change(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {"answer": "right", "said": one.pop(room.answer_field), "one": one.pop(room.id_field)} | one
            for one in records
        ]

    files = room.files(out, MODEL)
    renamed = {}
    for role, path in files.items():
        renamed[role] = tmp_path / f"{role}.json"
        renamed[role].write_text(json.dumps(change(records_of(path))))
    whole = scored(room, out, {"m": files})
    report = scored(room, out, {"m": renamed}, columns="question_id=one,answer=said")
    assert list(value_of(report, "m")) == list(value_of(whole, "m"))
    with pytest.raises(ShortcutMinerError, match=r"expected 'sad' .*; it has 'said'"):
        scored(room, out, {"m": renamed}, columns="question_id=one,answer=sad")


@each_room
def test_a_second_column_that_may_be_the_answer(room: Scored, out: Path, tmp_path: Path) -> None:
    def change(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {"question_id": one.pop(room.id_field), "answer": one.pop(room.answer_field), "response": "x"}
            | one
            for one in records
        ]

    with pytest.raises(
        ShortcutMinerError, match=r"got 'answer' beside 'response'.*--columns answer=response"
    ):
        scored(room, out, {"m": changed_files(room, out, tmp_path, change)})


@pytest.mark.sample(3)
@each_room
def test_two_models_with_the_same_answers_are_a_warning(room: Scored, out: Path) -> None:
    files = room.files(out, MODEL)
    report = scored(room, out, {"m": files, "n": files})
    assert len(report.warnings) == len(files)
    assert report.is_complete
    for text in report.warnings:
        assert re.fullmatch(
            r"(\w+ |)predictions of m and \1predictions of n: got the same answers, expected different "
            r"ones\. Check that each file is the right one\.",
            text,
        )
    assert scored(room, out, {"m": files}).warnings == ()
    assert f"warning: {report.warnings[0]}" in repr(report)


@each_room
def test_what_was_left_out_is_in_the_manifest_and_in_the_exit_code(
    room: Scored, out: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = changed_files(room, out, tmp_path, without(room, out))
    words = [*room.words, str(out / room.folder), "--resamples", "0", "--out", str(tmp_path / "scores")]
    words += [text for role, path in files.items() for text in (f"--{role}", f"m={path}")]
    assert run(words) == 2
    assert "--on-missing skip" in capfd.readouterr().err
    assert not (tmp_path / "scores").exists()
    assert run([*words, "--on-missing", "skip"]) == 3
    err = capfd.readouterr().err
    manifest = json.loads((tmp_path / "scores" / "manifest.json").read_text())
    assert manifest["config"]["on_missing"] == "skip"
    ((reason, count),) = manifest["dropped"].items()
    assert f"left out: {count:,} x {reason}" in err


@each_room
def test_every_room_takes_the_options(room: Scored) -> None:
    config = getattr(sm, room.name).ScoreConfig
    names = [field.name for field in dataclasses.fields(config)]
    assert set(names) >= {field.name for field in dataclasses.fields(AnswerOptions)}
    for name in ("on_missing", "on_extra", "on_duplicate", "on_bad_row"):
        with pytest.raises(ConfigError, match=f"{name}: got 'x', expected one of error, "):
            config(**{name: "x"})
    if room.name == "swapmix":
        assert config(on_missing="no-swap").on_missing == "no-swap"
    else:
        with pytest.raises(ConfigError, match="on_missing: got 'no-swap', expected one of error, skip"):
            config(on_missing="no-swap")


# ---- what looks wrong ----


def test_one_file_for_two_conditions_of_fpvg(out: Path) -> None:
    (room,) = (one for one in ROOMS if one.name == "fpvg")
    files = room.files(out, MODEL)
    report = scored(room, out, {"m": files | {"irrelevant": files["all"]}})
    assert report.warnings == (
        "all predictions of m and irrelevant predictions of m: got the same answers, expected different "
        "ones. Check that each file is the right one.",
    )


def test_training_questions_among_validation_questions(out: Path) -> None:
    world = out / "world"
    names = {
        "train_questions": "v2_OpenEnded_mscoco_{}2014_questions.json",
        "train_annotations": "v2_mscoco_{}2014_annotations.json",
    }
    train = {role: world / name.format("train") for role, name in names.items()}
    val = {role.replace("train", "val"): path for role, path in train.items()}
    report = sm.vqa_ce.build(**train, **val, limit=200)
    assert report.warnings[0] == (
        "validation questions: got 200 of 200 that are training questions too, expected none: rules are "
        "tested where they were mined. Check the files."
    )
    other = {role.replace("train", "val"): world / name.format("val") for role, name in names.items()}
    assert sm.vqa_ce.build(**train, **other, limit=200).warnings == ()


def test_answers_that_no_swap_changes(out: Path, tmp_path: Path) -> None:
    answers = pl.read_parquet(out / "swapmix-answers" / f"{MODEL}.parquet")
    original = answers.filter(perturbation=0).select("question_id", same="answer")
    same = answers.join(original, on="question_id", how="left", maintain_order="left")
    same.select("question_id", "perturbation", answer="same").write_parquet(tmp_path / "same.parquet")
    report = sm.swapmix.score(out / "swapmix", predictions={"m": tmp_path / "same.parquet"}, resamples=0)
    swaps = len(answers) - len(original)
    assert report.warnings == (
        f"m: got the same answer with each of {swaps:,} swaps as without one, expected some change. "
        "Check that the model saw the swaps.",
    )


def test_a_model_that_answers_as_its_baseline_does(out: Path) -> None:
    rules = out / "vqa-ce" / "rules_predictions.json"
    report = sm.vqa_ce.score(out / "vqa-ce", {"m": rules}, resamples=0, baseline="rules (best)")
    assert report.warnings[0] == (
        "predictions of m and the answers of rules (best): got the same answers, expected different ones. "
        "Check that the file is the model's."
    )
    other = out / "world" / "shortcut_model_results.json"
    assert sm.vqa_ce.score(out / "vqa-ce", {"m": other}, resamples=0).warnings == ()
