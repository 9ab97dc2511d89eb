"""The accuracy for other programs, one question at a time: the one of the whole package, to the last bit."""

import ast
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shortcut_miner.exports.official_accuracy import official_accuracy, question_accuracy
from shortcut_miner.exports.standalone import standalone_text
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.sources.questions.vqa import read_vqa

GOLDEN = Path(__file__).parents[1] / "golden" / "vqa_accuracy"
LMMS_EVAL = ("answer_text.py", "exports/official_accuracy.py", "exports/lmms_eval_utils.py")
INSPECT_AI = ("answer_text.py", "exports/official_accuracy.py", "exports/inspect_ai_task.py.txt")

answer = st.sampled_from(["red", "Red", "red.", " red\n", "the red", "two", "2", "", "t-shirt", "t shirt"])
keyed = st.lists(st.tuples(answer, st.integers(0, 3)), min_size=1, max_size=14)
question = st.one_of(
    st.tuples(st.lists(answer, min_size=1, max_size=14), st.none()),
    st.builds(lambda records: ([a for a, _ in records], [key for _, key in records]), keyed),
)


@given(asked=question, said=answer)
@example(asked=(["red"] * 10, [0] * 10), said="red")
@example(asked=(["red"] * 10, [0] * 7 + [1, 2, 3]), said="red")
@example(asked=(["red"] * 10, [0] * 8 + [1, 2]), said="red")
def test_a_question_scores_as_it_does_here(asked: tuple[list[str], list[int] | None], said: str) -> None:
    answers, keys = asked
    table = pl.DataFrame(
        {"question_id": ["1"], "image_id": ["7"], "answers": [answers], "answer_record_key": [keys]},
        schema_overrides={"answers": pl.List(pl.String), "answer_record_key": pl.List(pl.UInt8)},
    )
    scored = score_questions(table, pl.DataFrame({"question_id": ["1"], "answer": [said]}))
    assert question_accuracy(table.row(0, named=True), said) == scored["accuracy"].item()


@pytest.mark.parametrize("missing", [{"answers": None}, {"answers": []}, {}])
def test_without_annotators_the_one_answer_counts(missing: dict[str, Any]) -> None:
    assert question_accuracy({"answer": "red"} | missing, "red") == 100.0
    assert question_accuracy({"answer": "red"} | missing, "Red") == 0.0


def test_odd_cases_of_the_official_program() -> None:
    for case in json.loads((GOLDEN / "quirk_cases.json").read_text(encoding="utf-8")):
        answers = case["answers"]
        keys = [0] * len(answers) if case["without_answer_id"] else list(range(len(answers)))
        assert official_accuracy(answers, keys, case["prediction"]) == case["accuracy"], case["note"]


@pytest.mark.real
@pytest.mark.parametrize("model", ["p1_plain", "p2_mixed"])
def test_real_predictions_score_as_the_official_program_says(real_data: Path, model: str) -> None:
    golden, files = real_data.parent / "golden" / "vqa_accuracy", real_data / "vqa60k"
    said, expected = (
        json.loads(gzip.decompress((golden / f"{model}_{name}.json.gz").read_bytes()))
        for name in ("predictions", "expected")
    )
    questions, _, _ = read_vqa(files / "questions_valid.json.gz", files / "annotations_valid.json.gz")
    asked = {row["question_id"]: row for row in questions.iter_rows(named=True)}
    scored = {
        str(one["question_id"]): question_accuracy(asked[str(one["question_id"])], one["answer"])
        for one in said
    }
    assert scored == {str(one["question_id"]): one["accuracy"] for one in expected["per_question"]}


# ---- the text that goes into other programs' folders ----


def test_a_text_that_stands_alone_imports_nothing_of_this_package_and_scores_the_same(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text(standalone_text(*LMMS_EVAL), encoding="utf-8")
    code = (
        "import sys, utils\n"
        "doc = {'question_id': '1', 'answers': ['2 dogs'] * 8 + ['dogs'] * 2}\n"
        "print(utils.process_results(doc, ['The two dogs! ']))\n"
        "print(sorted(name for name in sys.modules if name.startswith(('shortcut_miner', 'polars'))))\n"
    )
    # -S: without the installed packages.
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    submission = {"question_id": "1", "answer": "The two dogs!"}
    assert done.stdout.splitlines() == [str({"accuracy": 100.0, "submission": submission}), "[]"]


def test_modules_that_become_one_define_no_name_twice() -> None:
    for names in (LMMS_EVAL, INSPECT_AI):
        body = ast.parse(standalone_text(*names)).body
        defined = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        assigned = [
            target.id
            for node in body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        assert len(defined + assigned) == len({*defined, *assigned})
