"""Ids as integers: kept where they are such numbers, numbered where one is not, and put back."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from exports.toolkit_questions import drawn_sets, of_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.exports.numbered import MOST_32, MOST_64, Numbers, number_questions


def sets_with(*ids: str) -> QuestionSets:
    rows = [{"question_id": one, "image_id": "1", "question": "Why?", "answer": "yes"} for one in ids]
    return of_rows(rows)


@pytest.mark.parametrize(
    ("most", "ids"),
    [(MOST_32, ("0", "2147483647", "262148000")), (MOST_64, ("9223372036854775807", "7"))],
)
def test_numbers_that_fit_stay(most: int, ids: tuple[str, ...]) -> None:
    assert number_questions(sets_with(*ids), most) == Numbers(None)


@pytest.mark.parametrize(
    ("most", "odd"),
    [
        (MOST_32, "2147483648"),
        (MOST_64, "9223372036854775808"),
        (MOST_64, "99999999999999999999"),
        (MOST_64, "007"),
        (MOST_64, "-1"),
        (MOST_64, "1.0"),
        (MOST_64, "+1"),
        (MOST_64, "q1"),
        (MOST_64, "1 "),
        (MOST_64, "٣"),
    ],
)
def test_one_id_that_would_come_back_as_another_numbers_all(most: int, odd: str) -> None:
    numbers = number_questions(sets_with("5", odd), most)
    assert numbers.pairs is not None
    assert numbers.pairs.rows() == [(one, at) for at, one in enumerate(sorted(("5", odd)), 1)]
    (note,) = numbers.notes("LAVIS", 64)
    assert note.startswith("question ids: numbered from 1 to 2, as LAVIS keeps ids as numbers of 64 bits")


def test_ids_that_stay_leave_no_map_and_no_note(tmp_path: Path) -> None:
    numbers = number_questions(sets_with("5"), MOST_64)
    numbers.write(tmp_path)
    assert not list(tmp_path.iterdir())
    assert numbers.notes("LAVIS", 64) == ()
    command = "shortcut-miner vqa-ce score built --predictions MODEL=$(ls a/*.json | paste -sd, -)"
    assert numbers.scored(sets_with("5"), "a/*.json") == command


ids = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=4) | st.integers().map(str)


@settings(max_examples=10)
@given(drawn_sets(ids=ids))
def test_the_program_beside_the_map_restores_ids(
    tmp_path_factory: pytest.TempPathFactory, questions: QuestionSets
) -> None:
    folder = tmp_path_factory.mktemp("export")
    (splits,) = questions.sets.values()
    numbers = number_questions(questions, MOST_32)
    asked = [row for table in splits.values() for row in numbers.put_into(table).to_dicts()]
    expected = [name for table in splits.values() for name in table["question_id"]]
    if numbers.pairs is None:
        assert [str(row["question_id"]) for row in asked] == expected
        return
    assert [row["source_id"] for row in asked] == expected
    numbers.write(folder)
    answers = folder / "answers.json"
    answers.write_text(json.dumps([{"question_id": row["question_id"], "answer": "é"} for row in asked]))
    done = subprocess.run(
        [sys.executable, folder / "restore_ids.py", answers], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [{"question_id": name, "answer": "é"} for name in expected]


def test_the_commands_restore_before_they_score(tmp_path: Path) -> None:
    """They run in a shell, with a program in place of ours that says what it got."""
    questions = sets_with("a/1", "007")
    numbers = number_questions(questions, MOST_64)
    out, results = tmp_path / "my export", tmp_path / "results"
    for folder in (out, results, tmp_path / "bin"):
        folder.mkdir()
    numbers.write(out)
    for number in (1, 2):
        answers = [{"question_id": number, "answer": "yes"}]
        (results / f"{number}.json").write_text(json.dumps(answers))
    program = tmp_path / "bin" / "shortcut-miner"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    commands = numbers.scored(questions, "results/*.json").replace("{out}", "'my export'")
    environment = {
        "TMPDIR": str(tmp_path),
        "PATH": f"{program.parent}:{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    *command, files = done.stdout.split()
    assert command == ["vqa-ce", "score", "built", "--predictions"]
    restored = [json.loads(Path(path).read_text()) for path in files.removeprefix("MODEL=").split(",")]
    assert [one["question_id"] for (one,) in restored] == ["007", "a/1"]
