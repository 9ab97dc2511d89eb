"""LAVIS's lists, read as its data sets read them (coco_vqa_datasets of salesforce-lavis 1.0.2)."""

from pathlib import Path

from exports.toolkit_questions import of_rows
from exports.toolkit_readers import read_json

from shortcut_miner.exports.lavis import write
from shortcut_miner.sources.images.image_files import Images

ROWS = [
    {"question_id": "1", "image_id": "7", "question": "Is it?", "answer": "yes", "answers": ["yes", "no"]},
    {"question_id": "2", "image_id": "8", "question": "Who?", "answer": "n/a", "answers": ["n/a", "n/a"]},
    {"question_id": "3", "image_id": "9", "question": "And?", "answer": "yes"},
]


def test_records_have_what_its_data_sets_index(tmp_path: Path) -> None:
    places = {"7": "/images/a.jpg", "8": "/images/b.jpg"}
    write(of_rows(ROWS), Images(kind="files", places=places), tmp_path)
    records = read_json(tmp_path / "vqa-ce_hard.json")
    assert records[0] == {
        "image": "/images/a.jpg",
        "question": "Is it?",
        "question_id": 1,
        "answer": ["yes", "no"],
        "dataset": "vqa",
        "multiple_choice_answer": "yes",
        "source_image_id": "7",
    }
    assert records[2]["image"] == "9"  # not found, which the export has told
    assert all(isinstance(one["question_id"], int) for one in records)


def test_answers_to_rank_are_each_once_and_the_most_frequent_first(tmp_path: Path) -> None:
    rows = [*ROWS, {"question_id": "4", "image_id": "9", "question": "?", "answer": ""}]
    write(of_rows(rows), Images(), tmp_path)
    assert read_json(tmp_path / "answer_list.json") == ["yes", "n/a"]


def test_the_commands_name_the_files_written(tmp_path: Path) -> None:
    exported = write(of_rows(ROWS), Images(), tmp_path)
    assert "for stem in vqa-ce_hard; do" in exported.run
    assert exported.read_back == (
        "shortcut-miner vqa-ce score built --predictions "
        "MODEL=$(ls lavis-results/vqa-ce_*/*/result/val_vqa_result.json | paste -sd, -)"
    )
    assert "image: ids of images alone, which LAVIS can't open; give --images" in exported.notes


def test_addresses_are_told_to_be_of_no_use(tmp_path: Path) -> None:
    images = Images(kind="addresses", places={"7": "https://x/7.jpg"})
    exported = write(of_rows(ROWS), images, tmp_path)
    assert "image: addresses, which LAVIS can't open; give --images a folder" in exported.notes
