"""What is written for lmms-eval and inspect_ai, read without them; tests/consumers runs them."""

import ast
import json
import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of
from shortcut_miner.exports import inspect_ai, lmms_eval
from shortcut_miner.exports.exporter import scored
from shortcut_miner.exports.tasks import POST_PROMPT, task_name
from shortcut_miner.sources.images.image_files import Images, find_images

SCHEMA = {
    "question_id": pl.String,
    "image_id": pl.String,
    "question": pl.String,
    "question_type": pl.String,
    "answer_type": pl.String,
    "answer": pl.String,
    "answers": pl.List(pl.String),
    "answer_record_key": pl.List(pl.UInt8),
    "split": pl.String,
}
text = st.one_of(
    st.sampled_from(["n/a", "None", "null", "1.0", "", "yes", "a\ttab", 'a "quote"', "{}", "two\r\nlines"]),
    st.text(st.characters(exclude_categories=["Cs"])),
)
answered = st.tuples(
    text, text, st.lists(text, min_size=1, max_size=10), st.none() | st.lists(st.integers(0, 3), min_size=1)
)


def table_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Return questions of (question, answer, answers, answer_record_key)."""
    full = [
        (str(at), f"image {at % 3}", asked, None, "other", answer, answers, keys, None)
        for at, (asked, answer, answers, keys) in enumerate(rows)
    ]
    return pl.DataFrame(full, schema=SCHEMA, orient="row")


def sets_of(path: Path, **sets: dict[str, pl.DataFrame]) -> QuestionSets:
    answers = " ".join(f"--{name} {{predictions of {name}}}" for name in sets)
    return question_sets_of(
        path, command="rad build", title="odd", sets=sets, read_back=f"rad score D {answers}"
    )


ROWS = [("What?", "red", ["red"] * 10, None), ("Who?", "two", ["two", "2"], None), ("?", "x", ["x"], [0])]


@pytest.fixture
def two_sets(tmp_path: Path) -> QuestionSets:
    table = table_of(ROWS)
    return sets_of(
        tmp_path, many={"how-many": table[:2], "colors": table[2:]}, originals={"originals": table}
    )


def task_file(path: Path) -> dict[str, Any]:
    class Loader(yaml.SafeLoader):
        """YAML with functions by their names."""

    Loader.add_constructor("!function", lambda loader, node: ("function", loader.construct_scalar(node)))
    fields: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader)
    return fields


# ---- lmms-eval ----


def test_lmms_eval_gets_a_task_a_split_and_a_group_where_there_are_several(
    two_sets: QuestionSets, tmp_path: Path
) -> None:
    exported = lmms_eval.write(two_sets, Images(), tmp_path)
    files = {path.stem: task_file(path) for path in tmp_path.glob("*.yaml")}
    assert files.keys() == {"rad_many", "rad_many_how_many", "rad_many_colors", "rad_originals"}
    assert files["rad_many"]["task"] == ["rad_many_how_many", "rad_many_colors"]
    assert files["rad_many"]["aggregate_metric_list"][0]["weight_by_size"] is True
    for name, splits in two_sets.sets.items():
        for split, table in splits.items():
            stem = task_name("rad", name, split)
            task = files[stem]
            assert task["task"] == stem
            (data,) = task["dataset_kwargs"]["data_files"][task["test_split"]]
            written = pl.read_parquet(tmp_path / data)
            assert written.select(table.columns).equals(table)
    utils = runpy.run_path(str(tmp_path / "utils.py"))
    hooks = {value[1] for value in files["rad_originals"].values() if isinstance(value, tuple)}
    assert hooks == {f"utils.{name}" for name in lmms_eval._HOOKS}
    assert all(callable(utils[name]) for name in lmms_eval._HOOKS)
    assert [line.partition("--tasks ")[2].split()[0] for line in exported.run.splitlines()] == [
        "rad_many",
        "rad_originals",
    ]
    assert exported.read_back == (
        "shortcut-miner rad score D --many dummy={out}-results/rad_many "
        "--originals dummy={out}-results/rad_originals"
    )


def test_one_split_alone_is_asked_for_by_its_own_name(two_sets: QuestionSets, tmp_path: Path) -> None:
    exported = lmms_eval.write(two_sets.only(("colors",)), Images(), tmp_path)
    assert "--tasks rad_many_colors " in exported.run
    assert exported.read_back == (
        "shortcut-miner rad score D --many dummy={out}-results --originals NAME=FILE"
    )
    assert [path.name for path in tmp_path.glob("*.yaml")] == ["rad_many_colors.yaml"]


def test_questions_become_prompts_images_and_targets(two_sets: QuestionSets, tmp_path: Path) -> None:
    folder, out = tmp_path / "images", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    Image.new("L", (5, 4)).save(folder / "image 0.png")
    found = find_images(str(folder), ["image 0", "image 1", "image 2"])
    assert found.missing == ("image 1", "image 2")
    exported = lmms_eval.write(two_sets.only(("originals",)), found.images, out)
    assert "opens images at their paths" in exported.notes[0]
    utils = runpy.run_path(str(out / "utils.py"))
    task = task_file(out / "rad_originals.yaml")
    docs = pl.read_parquet(out / "originals-*.parquet").to_dicts()
    (image,) = utils["doc_to_visual"](docs[0])
    assert (image.mode, image.size) == ("RGB", (5, 4))
    assert [utils["doc_to_visual"](doc) for doc in docs[1:]] == [[], []]
    around = task["lmms_eval_specific_kwargs"]["default"]
    assert utils["doc_to_text"](docs[0], around) == "What?" + POST_PROMPT
    assert [utils["doc_to_target"](doc) for doc in docs] == ["red", "two", "x"]
    assert utils["doc_to_target"]({"answer": None, "answers": ["a", "b"]}) == "a"
    told = [utils["process_results"](doc, [" 2 "]) for doc in docs]
    assert [one["accuracy"] for one in told] == [0.0, 100.0, 0.0]
    assert told[1]["submission"] == {"question_id": "1", "answer": "2"}


@pytest.mark.parametrize(
    ("images", "lmms", "inspect"),
    [
        (Images(), "put your model", "put your model"),  # export itself says that there are none
        (
            Images(kind="addresses", places={"image 0": "https://x/0.png"}),
            "no addresses",
            "hands the addresses",
        ),
        (Images(kind="files", places={"image 0": "/x/0.png"}), "this machine alone", "this machine alone"),
    ],
)
def test_notes_say_what_becomes_of_images(
    two_sets: QuestionSets, tmp_path: Path, images: Images, lmms: str, inspect: str
) -> None:
    for write, told in ((lmms_eval.write, lmms), (inspect_ai.write, inspect)):
        assert told in write(two_sets, images, tmp_path).notes[0]
    asked = pl.read_parquet(tmp_path / "originals-*.parquet")["image"].to_list()
    assert asked == (["/x/0.png", None, None] if images.kind == "files" else [None] * 3)
    lines = (tmp_path / "rad_originals.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])["input"][0]["content"][0]
    place = images.places.get("image 0")
    assert first == (
        {"type": "image", "image": place} if place else {"type": "text"} | {"text": first["text"]}
    )


# ---- inspect_ai ----


def test_inspect_ai_finds_a_task_a_set(two_sets: QuestionSets, tmp_path: Path) -> None:
    exported = inspect_ai.write(two_sets, Images(), tmp_path)
    tree = ast.parse((tmp_path / "task.py").read_text(encoding="utf-8"))
    tasks = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and "task" in [ast.unparse(one) for one in node.decorator_list]
    ]
    assert tasks == ["rad_many", "rad_originals"]
    assert not any(
        "shortcut_miner" in ast.unparse(node) for node in tree.body if isinstance(node, ast.ImportFrom)
    )
    assert exported.run.splitlines() == [
        f"inspect eval {{out}}/task.py@{task} --model mockllm/model --log-dir {{out}}-results/{task}"
        for task in tasks
    ]
    lines = (tmp_path / "rad_many.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["metadata"]["subset"] for line in lines] == ["how-many", "how-many", "colors"]


@given(rows=st.lists(answered, min_size=1, max_size=6))
def test_samples_hold_ids_texts_and_answers_as_they_are(
    rows: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("samples") / "samples.jsonl"
    table = table_of(rows).with_columns(subset=pl.lit("easy"))
    inspect_ai.write_samples(table, Images(), path)
    with path.open(encoding="utf-8") as file:  # as inspect_ai does: other line breaks than \n are no matter
        samples = [json.loads(line) for line in file]
    assert [sample["id"] for sample in samples] == table["question_id"].to_list()
    asked = [sample["input"][0]["content"][-1]["text"] for sample in samples]
    assert asked == [question + POST_PROMPT for question in table["question"]]
    assert [sample["target"] for sample in samples] == table["answer"].to_list()
    kept = pl.DataFrame(
        [sample["metadata"] for sample in samples], schema=table.drop("question", "split").schema
    )
    assert kept.equals(table.drop("question", "split"))


# ---- commands ----


def test_answers_go_to_the_places_of_their_sets(two_sets: QuestionSets) -> None:
    assert scored(two_sets, "m=F") == "shortcut-miner rad score D --many m=F --originals NAME=FILE"
    given_both = {"originals": "m=O", "many": "m=A"}
    assert scored(two_sets, given_both) == "shortcut-miner rad score D --many m=A --originals m=O"
