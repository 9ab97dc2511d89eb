import subprocess
from pathlib import Path

import polars as pl
import pytest
from exports.cases import content, hard_table, official, question_tables, sets_of, several
from hypothesis import given
from polars.testing import assert_frame_equal

from shortcut_miner.exports.vqa_json import write
from shortcut_miner.schemas import Questions
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.sources.images.image_files import Images
from shortcut_miner.sources.questions.vqa import read_vqa

COLUMNS = Questions.column_names()


def read_back(folder: Path, stem: str = "vqa-ce_easy") -> pl.DataFrame:
    table, _, _ = read_vqa(folder / f"{stem}_questions.json", folder / f"{stem}_annotations.json")
    return table


@given(question_tables())
def test_what_is_written_reads_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, table: pl.DataFrame
) -> None:
    folder = tmp_path_factory.mktemp("out")
    questions = sets_of(table)
    write(questions, Images(), folder)
    assert_frame_equal(read_back(folder), questions.sets["vqa-ce"]["easy"].select(COLUMNS))


@given(question_tables(numbers=True))
def test_the_official_program_would_take_it(
    tmp_path_factory: pytest.TempPathFactory, table: pl.DataFrame
) -> None:
    """Its rules: integer ids, the same in both files; what its header has; distinct records stay distinct."""
    folder = tmp_path_factory.mktemp("out")
    write(sets_of(table), Images(), folder)
    asked, annotated = (content(folder / f"vqa-ce_easy_{name}.json") for name in ("questions", "annotations"))
    assert {*asked} == {
        "info", "license", "task_type", "data_type", "data_subtype", "questions",
    }  # fmt: skip
    assert {*annotated} == {"info", "license", "data_type", "data_subtype", "annotations"}
    ids = [[one["question_id"] for one in asked["questions"]]]
    ids.append([one["question_id"] for one in annotated["annotations"]])
    assert ids[0] == ids[1]
    assert all(type(one) is int for one in ids[0])
    keys = dict(table.select("question_id", "answer_record_key").iter_rows())
    for one in annotated["annotations"]:
        numbers = [record["answer_id"] for record in one["answers"]]
        expected = keys[str(one["question_id"])]
        assert len(set(numbers)) == (len(numbers) if expected is None else len(set(expected)))


def test_texts_that_look_like_nothing_survive(tmp_path: Path) -> None:
    table = hard_table()
    write(sets_of(table), Images(), tmp_path)
    assert_frame_equal(read_back(tmp_path), table.select(COLUMNS))


def test_ids_that_are_no_numbers_stay_text_in_all_files_and_are_told(tmp_path: Path) -> None:
    table = hard_table()
    questions = several(
        {
            "vqa-ce": {
                "easy": table,
                "hard": table.head(2).with_columns(question_id="q" + pl.col("question_id")),
            }
        }
    )
    exported = write(questions, Images(), tmp_path)
    assert exported.notes == (
        "question_id: ids that are no numbers stay text, which the official evaluation refuses",
    )
    assert content(tmp_path / "vqa-ce_easy_questions.json")["questions"][0]["question_id"] == "1000"
    assert content(tmp_path / "vqa-ce_easy_questions.json")["questions"][0]["image_id"] == 0


def test_questions_without_answers_are_told(tmp_path: Path) -> None:
    nothing = pl.lit(None, pl.List(pl.String))
    table = hard_table().head(3).with_columns(answers=nothing)
    alone = sets_of(table)
    assert write(alone, Images(), tmp_path).notes == ()
    assert content(tmp_path / "vqa-ce_easy_annotations.json")["annotations"][2]["answers"] == [
        {"answer": "None", "answer_confidence": "yes", "answer_id": 1}
    ]
    without = sets_of(table.with_columns(answer=pl.lit(None, pl.String)))
    assert write(without, Images(), tmp_path).notes == (
        "questions without any answer: 3; the official evaluation stops at them",
    )


def test_the_commands_name_every_pair_of_files(tmp_path: Path) -> None:
    exported = write(sets_of(hard_table(), "hard"), Images(), tmp_path)
    assert "for NAME in vqa-ce_easy vqa-ce_hard; do" in exported.run
    shell = exported.run.replace("{out}", "OUT")
    assert subprocess.run(["bash", "-n", "-c", shell], check=False).returncode == 0
    assert exported.read_back == "shortcut-miner vqa-ce score built --predictions NAME=RESULTS.json"
    assert {path.name for path in tmp_path.iterdir()} == {
        f"vqa-ce_{split}_{kind}.json" for split in ("easy", "hard") for kind in ("questions", "annotations")
    }


@pytest.mark.real
def test_the_official_accuracy_of_real_files_stays_the_same(real_data: Path, tmp_path: Path) -> None:
    files = real_data / "vqa60k"
    table, _, _ = read_vqa(files / "questions_valid.json.gz", files / "annotations_valid.json.gz")
    write(sets_of(table), Images(), tmp_path)
    again = read_back(tmp_path)
    assert_frame_equal(again, table.select(COLUMNS).sort("question_id"))
    yes = again.select("question_id", answer=pl.lit("yes"))
    ours = float(score_questions(again, yes)["accuracy"].mean())  # type: ignore[arg-type]
    said = dict.fromkeys(again["question_id"].to_list(), "yes")
    assert official(tmp_path / "vqa-ce_easy_annotations.json", said) == pytest.approx(ours, abs=1e-9)
    assert round(ours, 2) == 20.85


@pytest.mark.parametrize(("question_id", "expected"), [(str(2**63 - 1), 2**63 - 1), (str(2**63), str(2**63))])
def test_ids_are_numbers_as_long_as_64_bits_hold_them(
    tmp_path: Path, question_id: str, expected: int | str
) -> None:
    table = hard_table()[:1].with_columns(question_id=pl.lit(question_id))
    write(sets_of(table), Images(), tmp_path)
    (asked,) = content(tmp_path / "vqa-ce_easy_questions.json")["questions"]
    assert asked["question_id"] == expected


def test_files_are_ascii_for_programs_that_open_them_without_an_encoding(tmp_path: Path) -> None:
    write(sets_of(hard_table()), Images(), tmp_path)
    assert all(path.read_bytes().isascii() for path in tmp_path.iterdir())
