"""MMF's JSON lines, read as its AnnotationDatabase and VQA2Dataset read them (facebookresearch/mmf)."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from exports.toolkit_questions import of_rows
from exports.toolkit_readers import read_lines
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.exports.mmf import _tokens, write
from shortcut_miner.sources.images.image_files import Images

ROWS = [
    {
        "question_id": "1",
        "image_id": "7",
        "question": "What's it, Rex?",
        "answer": "n/a",
        "answers": ["n/a", "<copy>"],
    },
    {"question_id": "2", "image_id": "8", "question": "", "answers": []},
]


def test_records_have_what_its_data_set_indexes(tmp_path: Path) -> None:
    places = {"7": "/images/COCO_val2014_000000000007.jpg"}
    write(of_rows(ROWS), Images(kind="files", places=places), tmp_path)
    first, second = read_lines(tmp_path / "vqa-ce_hard.jsonl")
    assert first == {
        "question_id": 1,
        "image_id": 7,
        "image_name": "COCO_val2014_000000000007",
        "image_path": "/images/COCO_val2014_000000000007.jpg",
        "feature_path": "COCO_val2014_000000000007.npy",
        "question_str": "What's it, Rex?",
        "question_tokens": ["what", "'", "s", "it", "rex"],
        "answers": ["n/a", "<copy>"],
        "answer": "n/a",
    }
    # It looks at the last of `answers` wherever there are any, and counts the tokens.
    assert second["question_tokens"] == []
    assert "answers" not in second
    assert second["feature_path"] == "8.npy"


@pytest.mark.parametrize(("odd", "kept"), [("2147483647", 2147483647), ("2147483648", None), ("01", None)])
def test_ids_of_images_are_all_numbers_of_32_bits_or_all_texts(
    tmp_path: Path, odd: str, kept: int | None
) -> None:
    rows = [{"question_id": str(n), "image_id": one, "question": "?"} for n, one in enumerate(("7", odd))]
    write(of_rows(rows), Images(), tmp_path)
    found = [one["image_id"] for one in read_lines(tmp_path / "vqa-ce_hard.jsonl")]
    assert found == ([7, kept] if kept else ["7", odd])


def test_ids_of_questions_over_32_bits_are_numbered(tmp_path: Path) -> None:
    rows = [{"question_id": "2147483648", "image_id": "7", "question": "?"}]
    exported = write(of_rows(rows), Images(), tmp_path)
    (record,) = read_lines(tmp_path / "vqa-ce_hard.jsonl")
    assert (record["question_id"], record["source_id"]) == (1, "2147483648")
    assert json.loads((tmp_path / "question_ids.json").read_text()) == {"1": "2147483648"}
    assert any("MMF keeps ids as numbers of 32 bits" in note for note in exported.notes)
    assert "restore_ids.py" in exported.read_back


def tokenize(sentence: str) -> list[str]:
    """Return tokens by MMF's rule, said in another way: pieces between and of marks."""
    plain = re.sub(r"[,?]", "", sentence.lower().replace("'s", " 's"))
    return [piece.strip() for piece in re.findall(r"\w+|\W+", plain) if piece.strip()]


@given(st.lists(st.text(st.characters(codec="latin-1"), max_size=20), min_size=1))
def test_tokens_are_those_of_mmf(sentences: list[str]) -> None:
    table = pl.DataFrame({"question": sentences}).select(_tokens(pl.col("question")))
    assert table.to_series().to_list() == [tokenize(one) for one in sentences]


def test_a_folder_whose_name_mmf_takes_for_another_data_set_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "visdial-ce"
    folder.mkdir()
    exported = write(of_rows(ROWS), Images(), folder)
    assert any(
        "MMF takes files with visdial in their path for another data set's" in n for n in exported.notes
    )


def test_the_commands_name_the_files_written(tmp_path: Path) -> None:
    exported = write(of_rows(ROWS), Images(), tmp_path)
    assert "for stem in vqa-ce_hard; do" in exported.run
    assert '"dataset_config.vqa2.annotations.test[0]=$OUT/$stem.jsonl"' in exported.run
    assert exported.read_back == (
        "shortcut-miner vqa-ce score built --predictions "
        "MODEL=$(ls mmf-results/vqa-ce_*/*.json | paste -sd, -)"
    )
