"""Questions in flat tables: the words of what is wrong, and forms."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.embeddings import read_embeddings
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.questions.tables import column_names, is_table, read_question_table

Write = Callable[[str, Any], Path]
ONE = {"question_id": 1.0, "question": "Why?", "answer": "so"}


def test_a_list_of_records_is_a_table(write: Write) -> None:
    path = write("q.json", [ONE])
    assert is_table(Content(open_source(path)))
    reading = read_question_table(path, columns=column_names("image_id=question_id"))
    assert reading.table.select("question_id", "image_id", "answer").rows() == [("1", "1", "so")]


def test_broken_lines_are_told_and_counted(write: Write) -> None:
    path = write("q.jsonl", json.dumps(ONE) + "\n{broken\n")
    with pytest.raises(SourceError, match=r"line 2, line: got broken JSON \(JSON is malformed"):
        read_question_table(path)
    assert read_question_table(path, on_bad_row="skip").dropped == {
        "line: expected one JSON object a line": 1
    }


def test_predictions_in_arrow_and_without_answer(tmp_path: Path, write: Write) -> None:
    pl.DataFrame({"question_id": [1], "answer": ["x"]}).write_ipc(tmp_path / "a")
    assert read_predictions(tmp_path / "a").table.rows() == [("1", "x")]
    told = (
        r"got JSON Lines with the keys 'question_id' \(2 lines\), .* Name its columns with --columns, such as"
    )
    with pytest.raises(SourceError, match=told):
        read_predictions(write("p.jsonl", '{"question_id": 1}\n{"question_id": 2}\n'))


def test_vectors_of_text_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pl.DataFrame({"word": ["a"], "vector": [["x"]]}).write_parquet(path)
    with pytest.raises(SourceError, match=r"expected word \(text\) and vector .* Convert its columns"):
        read_embeddings(path, ["a"])
    pl.DataFrame({"word": ["a"], "vector": [[1, 2]]}).write_parquet(path)
    assert np.array_equal(read_embeddings(path, ["a"]).vectors, [[1.0, 2.0]])
