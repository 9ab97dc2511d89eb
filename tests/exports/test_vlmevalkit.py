"""VLMEvalKit's TSVs, read by pandas as it reads them (open-compass/VLMEvalKit: image_base, smp/file)."""

import base64
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from exports.cases import several
from exports.toolkit_questions import of_rows, questions_table
from exports.toolkit_readers import read_tsv
from PIL import Image

from shortcut_miner.errors import SourceError
from shortcut_miner.exports import vlmevalkit
from shortcut_miner.exports.vlmevalkit import write
from shortcut_miner.sources.images.image_files import Images

ROWS = [
    {"question_id": "01", "image_id": "7", "question": "Is it?", "answer": "yes", "question_type": "is it"},
    {"question_id": "2", "image_id": "8", "question": "What?", "answer": "n/a", "answer_type": "other"},
    {"question_id": "3", "image_id": "7", "question": "Is it not?", "answer": "no", "question_type": ""},
]


def picture(path: Path, colour: str) -> Path:
    Image.new("RGB", (8, 8), colour).save(path)
    return path


def images_of(table: pd.DataFrame) -> dict[str, str]:
    """Return each row's image by its rules: a short cell is the index of the row that has the image."""
    table = table[~pd.isna(table["image"])]
    by_index = {str(index): str(image) for index, image in zip(table["index"], table["image"], strict=True)}
    found = {}
    for index, image in by_index.items():
        if len(image) <= 64:
            assert len(by_index[image]) > 64
        found[index] = image if len(image) > 64 else by_index[image]
    return found


def test_ids_of_digits_are_no_numbers_for_pandas(tmp_path: Path) -> None:
    write(of_rows(ROWS), Images(), tmp_path)
    assert read_tsv(tmp_path / "vqa_ce_openended.tsv")["question_id"].to_list() == ["q01", "q2", "q3"]


def test_ids_that_begin_with_a_q_stay_as_they_are(tmp_path: Path) -> None:
    """A score takes a q away where no id of the folder begins so."""
    exported = write(of_rows([ROWS[0], ROWS[1] | {"question_id": "q2"}]), Images(), tmp_path)
    assert read_tsv(tmp_path / "vqa_ce_openended.tsv")["question_id"].to_list() == ["01", "q2"]
    assert "question_id: as it is, for some begin with a q already" in exported.notes


def test_categories_are_types_of_questions_or_of_answers(tmp_path: Path) -> None:
    write(of_rows(ROWS), Images(), tmp_path)
    assert read_tsv(tmp_path / "vqa_ce_openended.tsv")["category"].to_list() == ["is it", "other", "unknown"]


def test_yes_and_no_are_choices_too(tmp_path: Path) -> None:
    exported = write(of_rows(ROWS), Images(), tmp_path)
    table = read_tsv(tmp_path / "vqa_ce_yes_no.tsv")
    assert table[["index", "question_id", "answer", "A", "B"]].to_numpy().tolist() == [
        [0, "q01", "A", "yes", "no"],
        [1, "q3", "B", "yes", "no"],
    ]
    assert (
        "vqa_ce_yes_no: questions answered by yes (A) or no (B); VLMEvalKit evaluates them" in exported.notes
    )
    assert "run.py --data vqa_ce_yes_no" in exported.run


def test_without_yes_and_no_there_are_no_choices(tmp_path: Path) -> None:
    exported = write(of_rows(ROWS[1:2]), Images(), tmp_path)
    assert not list(tmp_path.glob("*yes_no*"))
    assert "yes_no" not in exported.run


def test_an_image_is_written_once_and_pointed_to(tmp_path: Path) -> None:
    places = {
        one: str(picture(tmp_path / f"{one}.png", colour)) for one, colour in (("7", "red"), ("8", "blue"))
    }
    out = tmp_path / "out"
    out.mkdir()
    exported = write(of_rows(ROWS), Images(kind="files", places=places), out)
    for name, ids in (("vqa_ce_openended", ["7", "8", "7"]), ("vqa_ce_yes_no", ["7", "7"])):
        found = images_of(read_tsv(out / f"{name}.tsv"))
        assert [base64.b64decode(found[str(at)]) for at in range(len(ids))] == [
            Path(places[one]).read_bytes() for one in ids
        ]
    table = read_tsv(out / "vqa_ce_openended.tsv")
    assert table["image"].to_list()[2] == "0"
    assert [note for note in exported.notes if "image" in note] == []
    assert "image_path" not in table
    assert "# Without images" not in exported.run


def test_pointers_hold_over_the_rows_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vlmevalkit, "_ROWS_AT_ONCE", 1)
    places = {one: str(picture(tmp_path / f"{one}.png", "red")) for one in ("7", "8")}
    write(of_rows(ROWS), Images(kind="files", places=places), tmp_path)
    assert set(images_of(read_tsv(tmp_path / "vqa_ce_openended.tsv"))) == {"0", "1", "2"}


def test_an_image_too_small_to_be_told_from_a_pointer_still_opens(tmp_path: Path) -> None:
    small = tmp_path / "dot.gif"
    Image.new("L", (1, 1)).save(small)
    assert len(base64.b64encode(small.read_bytes())) <= 64
    write(of_rows(ROWS[:1]), Images(kind="files", places={"7": str(small)}), tmp_path)
    (content,) = images_of(read_tsv(tmp_path / "vqa_ce_openended.tsv")).values()
    assert Image.open(io.BytesIO(base64.b64decode(content))).convert("RGB").size == (1, 1)


def test_questions_without_their_image_are_left_out_and_counted(tmp_path: Path) -> None:
    places = {"8": str(picture(tmp_path / "8.png", "red"))}
    exported = write(of_rows(ROWS), Images(kind="files", places=places), tmp_path)
    assert read_tsv(tmp_path / "vqa_ce_openended.tsv")["question_id"].to_list() == ["q2"]
    assert read_tsv(tmp_path / "vqa_ce_yes_no.tsv").empty
    told = "vqa_ce_openended.tsv: questions left out, as their image was not found: 2"
    assert told in exported.notes


def test_many_images_are_referenced_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vlmevalkit, "_MOST_EMBEDDED", 10)
    places = {one: str(picture(tmp_path / f"{one}.png", "red")) for one in ("7", "8")}
    exported = write(of_rows(ROWS), Images(kind="files", places=places), tmp_path)
    table = read_tsv(tmp_path / "vqa_ce_openended.tsv")
    assert table["image_path"].to_list() == [places[one] for one in ("7", "8", "7")]
    assert "image" not in table
    assert any(note.startswith("images: by path, as they take") for note in exported.notes)


def test_addresses_are_written_as_paths(tmp_path: Path) -> None:
    places = {one: f"https://x/{one}.jpg" for one in ("7", "8")}
    write(of_rows(ROWS), Images(kind="addresses", places=places), tmp_path)
    paths = read_tsv(tmp_path / "vqa_ce_openended.tsv")["image_path"].to_list()
    assert paths == ["https://x/7.jpg", "https://x/8.jpg", "https://x/7.jpg"]


def test_an_image_that_is_gone_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = picture(tmp_path / "7.png", "red")

    def fail(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(SourceError) as error:
        write(of_rows(ROWS[:1]), Images(kind="files", places={"7": str(place)}), tmp_path)
    expected = (
        f"{place}: got Permission denied, expected an image that can be read. "
        "Check the file and its permissions, or correct --images."
    )
    assert str(error.value) == expected


def test_without_images_the_commands_say_what_will_stop(tmp_path: Path) -> None:
    exported = write(of_rows(ROWS), Images(), tmp_path)
    assert "# Without images VLMEvalKit stops at open questions (KeyError 'image_path')" in exported.run


def test_results_of_the_first_set_are_scored(tmp_path: Path) -> None:
    parts = {"vqa-ce": {"hard": questions_table(ROWS[:2])}, "originals": {"all": questions_table(ROWS[2:])}}
    exported = write(several(parts), Images(), tmp_path)
    assert "--data vqa_ce_openended originals_openended" in exported.run
    results = "vlmevalkit-results/MODEL/T*/MODEL_vqa_ce_openended.xlsx"
    command = f"shortcut-miner vqa-ce score built --predictions MODEL=$(ls -t {results} | head -n 1)"
    assert exported.read_back == command


PACKAGE = """
class CustomVQADataset:
    TYPE = "VQA"
    def __init__(self, dataset):
        self.dataset_name = dataset
    @classmethod
    def supported_datasets(cls):
        return []
    def build_prompt(self, line):
        return [{"type": "image", "value": "7.jpg"}, {"type": "text", "value": line["question"]}]

DATASET_CLASSES = [CustomVQADataset]

def build_dataset(name):
    for one in DATASET_CLASSES:
        if name in one.supported_datasets():
            return one(dataset=name)
    return CustomVQADataset(name)
"""
RUN = """
import json, sys
from vlmeval.dataset import build_dataset

if __name__ == "__main__":
    name = sys.argv[sys.argv.index("--data") + 1]
    print(json.dumps([sys.argv[0], build_dataset(name).build_prompt({"question": "Is it?"})[-1]["value"]]))
"""


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("vqa_ce_openended", "Is it?\nAnswer the question using a single word or phrase."),
        ("another", "Is it?"),
    ],
)
def test_the_program_asks_our_sets_for_short_answers(tmp_path: Path, name: str, asked: Any) -> None:
    """It runs with a package in place of VLMEvalKit that has the functions it uses, as they are there."""
    out, checkout = tmp_path / "out", tmp_path / "checkout"
    (checkout / "vlmeval" / "dataset").mkdir(parents=True)
    (checkout / "vlmeval" / "__init__.py").write_text("")
    (checkout / "vlmeval" / "dataset" / "__init__.py").write_text(PACKAGE)
    (checkout / "run.py").write_text(RUN)
    out.mkdir()
    write(of_rows(ROWS), Images(), out)
    command = [sys.executable, out / "run_short_answers.py", "--data", name, "--mode", "infer"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["run.py", asked]
