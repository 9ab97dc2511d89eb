"""What is written for each toolkit reads back as it was."""

from collections.abc import Callable
from pathlib import Path

import pytest
from exports.toolkit_questions import EXACT, drawn_sets
from exports.toolkit_readers import TOOLKITS, Rows, read_json
from hypothesis import given

from shortcut_miner import VqaCeConfig, VqaCeFiles, build_vqa_ce
from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.exporter import Exporter
from shortcut_miner.exports.lxmert import write as write_lxmert
from shortcut_miner.exports.questions import read_question_sets
from shortcut_miner.sources.images.image_files import Images

each_toolkit = pytest.mark.parametrize(("exporter", "read"), TOOLKITS, ids=[one.name for one, _ in TOOLKITS])
Read = Callable[[Path, str], Rows]


def check_comes_back(questions: QuestionSets, exporter: Exporter, read: Read, folder: Path) -> None:
    exporter.write(questions, Images(), folder)
    for split, table in questions.sets["vqa-ce"].items():
        assert list(read(folder, split)) == table.select(EXACT).to_dicts()


@each_toolkit
@given(questions=drawn_sets())
def test_every_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, exporter: Exporter, read: Read, questions: QuestionSets
) -> None:
    check_comes_back(questions, exporter, read, tmp_path_factory.mktemp(exporter.name))


# ---- the real subset ----


@pytest.fixture(scope="session")
def real_sets(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> QuestionSets:
    out, folder = tmp_path_factory.mktemp("real") / "vqa-ce", real_data / "vqa60k"
    files = VqaCeFiles(
        train_questions=folder / "questions_train.json.gz",
        train_annotations=folder / "annotations_train.json.gz",
        val_questions=folder / "questions_valid.json.gz",
        val_annotations=folder / "annotations_valid.json.gz",
        detections=folder / "image_to_detection.json.gz",
    )
    build_vqa_ce(files, VqaCeConfig(), out=out)
    return read_question_sets(out)


@pytest.mark.real
@each_toolkit
def test_the_real_subset_comes_back(
    tmp_path: Path, real_sets: QuestionSets, exporter: Exporter, read: Read
) -> None:
    check_comes_back(real_sets, exporter, read, tmp_path)


@pytest.mark.real
def test_yes_is_worth_as_much_by_lxmerts_labels_as_by_the_official_evaluation(
    tmp_path: Path, real_sets: QuestionSets
) -> None:
    """LXMERT's evaluator adds up the labels of the answers that are given."""
    write_lxmert(real_sets, Images(), tmp_path)
    found = {}
    for split in ("counterexamples", "easy", "hard"):
        labels = [one["label"] for one in read_json(tmp_path / f"vqa-ce_{split}.json")]
        found[split] = round(100 * sum(one.get("yes", 0) for one in labels) / len(labels), 2)
    assert found == {"counterexamples": 3.05, "easy": 35.62, "hard": 7.56}
