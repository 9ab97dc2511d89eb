"""LXMERT's lists, read as its data set reads them (airsplay/lxmert: tasks/vqa_data)."""

from pathlib import Path

import polars as pl
import pytest
from exports.cases import several
from exports.toolkit_questions import of_rows, questions_table
from exports.toolkit_readers import read_json
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.exports.lxmert import answer_weights, write
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.images.image_files import Images

ROWS = [
    {
        "question_id": "1",
        "image_id": "7",
        "question": "How many?",
        "answers": ["Two"] * 7 + ["2"] * 2 + ["3"],
    },
    {"question_id": "2", "image_id": "8", "question": "Who?", "answer_type": "other"},
    {"question_id": "3", "image_id": "7", "question": "Is it?", "answer": "n/a"},
]


def test_records_have_what_its_data_set_indexes(tmp_path: Path) -> None:
    images = Images(kind="files", places={"7": "/images/COCO_val2014_000000000007.jpg"})
    write(of_rows(ROWS), images, tmp_path)
    first, second, third = read_json(tmp_path / "vqa-ce_hard.json")
    assert first["img_id"] == "COCO_val2014_000000000007"
    assert (first["question_id"], first["sent"]) == (1, "How many?")
    assert first["label"] == {"2": 1.0, "3": 0.3}
    assert second["label"] == {}  # a batch needs labels of all or of none
    assert third["label"] == {"n/a": 1.0}


def test_where_no_answer_is_known_no_record_has_a_label(tmp_path: Path) -> None:
    write(of_rows(ROWS[1:2]), Images(), tmp_path)
    (record,) = read_json(tmp_path / "vqa-ce_hard.json")
    assert record == {"question_id": 2, "img_id": "8", "sent": "Who?", "answer_type": "other"}
    assert read_json(tmp_path / "trainval_label2ans.json") == []


def test_every_label_is_in_the_tables_of_answers(tmp_path: Path) -> None:
    more = {"question_id": "4", "image_id": "7", "question": "?", "answers": ["3", "a"]}
    write(of_rows([*ROWS, more]), Images(), tmp_path)
    answers = read_json(tmp_path / "trainval_label2ans.json")
    assert answers == ["3", "", "2", "n/a"]
    assert read_json(tmp_path / "trainval_ans2label.json") == {one: at for at, one in enumerate(answers)}


def test_questions_to_predict_are_each_once_and_without_labels(tmp_path: Path) -> None:
    parts = {"hard": questions_table(ROWS[:2]), "easy": questions_table([ROWS[2], ROWS[0]])}
    write(several({"vqa-ce": parts}), Images(), tmp_path)
    records = read_json(tmp_path / "vqa-ce_questions.json")
    assert [one["question_id"] for one in records] == [1, 2, 3]
    assert not any({"label", "answer", "answers"} & one.keys() for one in records)


@pytest.mark.parametrize(("given_by", "weight"), [(1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (9, 1.0)])
def test_weights_of_ten_annotators_are_those_of_lxmert(given_by: int, weight: float) -> None:
    answers = ["red"] * given_by + [f"c{n}" for n in range(10 - given_by)]
    weights = answer_weights(pl.DataFrame({"answers": [answers]}))
    assert weights.filter(pl.col("answer") == "red")["weight"].to_list() == [weight]


def test_the_most_frequent_answer_stands_first() -> None:
    """Of ten annotators, four are enough for a weight of 1."""
    lists = [["no"] * 4 + ["yes"] * 6, ["yes", "no", "no", "yes"]]
    weights = answer_weights(pl.DataFrame({"answers": lists}))
    assert weights.rows() == [(0, "yes", 1.0), (0, "no", 1.0), (1, "yes", 2 / 3), (1, "no", 2 / 3)]


words = st.sampled_from(["Yes", "yes", "the dog", "dog!", "Two", "2", "none", "n/a", "red\tfox", ""])


@given(st.lists(st.lists(words, min_size=1, max_size=13), min_size=1, max_size=5))
def test_a_weight_is_the_accuracy_of_answering_so(lists: list[list[str]]) -> None:
    table = questions_table(
        [
            {"question_id": str(n), "image_id": "1", "question": "?", "answers": one}
            for n, one in enumerate(lists)
        ]
    )
    weights = answer_weights(table)
    assert weights["row"].n_unique() == len(lists)
    asked = table.with_row_index("row").join(weights, on="row").with_row_index("number")
    single = asked.with_columns(question_id=pl.col("number").cast(pl.String))
    predictions = single.select("question_id", answer="answer_right")
    scores = score_questions(single.drop("answer_right"), predictions)
    assert scores["accuracy"].to_list() == pytest.approx([100 * one for one in asked["weight"]])


def test_labels_are_read_as_soft_labels(tmp_path: Path) -> None:
    write(of_rows(ROWS), Images(), tmp_path)
    table = read_soft_labels(tmp_path / "vqa-ce_hard.json").table
    rows = table.select("question_id", "answer", "weight").rows()
    assert sorted(rows, key=str) == [("1", "2", 1.0), ("1", "3", 0.3), ("2", None, None), ("3", "n/a", 1.0)]


def test_the_commands_name_the_files_written(tmp_path: Path) -> None:
    exported = write(of_rows(ROWS), Images(), tmp_path)
    assert "for set in vqa-ce; do" in exported.run
    assert 'cp "$OUT/${set}_questions.json" lxmert-run/data/vqa/test.json' in exported.run
    assert exported.read_back == (
        "shortcut-miner vqa-ce score built --predictions "
        "MODEL=$(ls lxmert-results/vqa-ce/test_predict.json | paste -sd, -)"
    )
    assert any(note.startswith("img_id: the image's id.") for note in exported.notes)
