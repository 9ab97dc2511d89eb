"""Every small input that once failed, through the commands that read it: read right, or refused in words.

The inputs lie beside the real data; their README says what each once did, and what it should do.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import h5py
import numpy as np
import polars as pl
import pytest
from cli.commands import Ran, RunCli, spawn_cli

import shortcut_miner as sm
from shortcut_miner.cli.run import run
from shortcut_miner.errors import ConfigError, SchemaError

pytestmark = pytest.mark.real

MOST_CHARACTERS = 2_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(scope="module")
def failing(real_data: Path) -> Path:
    folder = real_data.parent / "failing"
    if not folder.is_dir():
        pytest.skip("no failing inputs beside the real data")
    return folder


@pytest.fixture(scope="module")
def built(failing: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("failing") / "built"
    assert run([*vqa_ce_build(failing, failing / "det.json"), "--out", str(out), "--quiet"]) == 0
    return out


def vqa_ce_build(failing: Path, detections: Path) -> list[str]:
    files = {
        "train-questions": "tq",
        "train-annotations": "ta",
        "val-questions": "vq",
        "val-annotations": "va",
    }
    named = [text for role, name in files.items() for text in (f"--{role}", str(failing / f"{name}.json"))]
    return ["vqa-ce", "build", *named, "--detections", str(detections), "--min-count", "2"]


def told(ran: Ran, file: Path) -> str:
    """Return the message of a refusal, which names the file, is short, and has no control characters."""
    text = ran.err + ran.out
    assert ran.code == 2, text
    assert file.name in ran.err, text
    assert len(ran.err) < MOST_CHARACTERS
    assert not _CONTROL.search(text)
    return ran.err


def rad_questions(
    run_cli: RunCli, out: Path, questions: Path, *more: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the questions and the augmentations of a RAD build."""
    ran = run_cli("rad", "build", "--questions", questions, *more, "--out", out)
    assert ran.code == 0, ran.err
    return pl.read_parquet(out / "questions.parquet"), pl.read_parquet(out / "augmentations.parquet")


def no_questions_that_ask_an_annotators_answer(questions: pl.DataFrame, augmented: pl.DataFrame) -> int:
    asked = augmented.filter(pl.col("answer") == "no").join(
        questions.select("question_id", "answers"),
        on="question_id", how="inner", validate="m:1",
    )  # fmt: skip
    assert len(asked)
    return asked.filter(pl.col("substituted_answer").is_in(pl.col("answers"))).height


# ---- questions ----


@pytest.mark.parametrize("name", ["hf_vqav2.parquet", "hf_seq.parquet"])
def test_answers_in_structs_are_unpacked(name: str, failing: Path, run_cli: RunCli, tmp_path: Path) -> None:
    file = failing / "questions" / name
    columns = ["--columns", "answer=multiple_choice_answer"] if name == "hf_vqav2.parquet" else []
    questions, augmented = rad_questions(run_cli, tmp_path / "out", file, *columns)
    majority = pl.read_parquet(file)["multiple_choice_answer" if columns else "answer"]
    assert questions.sort("question_id")["answers"].to_list() == [[answer] * 10 for answer in majority]
    assert no_questions_that_ask_an_annotators_answer(questions, augmented) == 0


def test_lists_written_by_pandas_are_ten_answers(failing: Path, run_cli: RunCli, tmp_path: Path) -> None:
    table = pl.read_parquet(failing / "questions" / "hf_seq.parquet").select(
        "question_id", "question", "answer"
    )
    lists = pl.Series("answers", [repr([answer] * 10) for answer in table["answer"]])
    table.with_columns(lists).write_csv(tmp_path / "pandas.csv")
    questions, augmented = rad_questions(run_cli, tmp_path / "out", tmp_path / "pandas.csv")
    assert questions.sort("question_id")["answers"].to_list() == [[one] * 10 for one in table["answer"]]
    assert no_questions_that_ask_an_annotators_answer(questions, augmented) == 0


def test_float_ids_are_their_integers(failing: Path, run_cli: RunCli, tmp_path: Path) -> None:
    questions, _ = rad_questions(run_cli, tmp_path / "out", failing / "questions" / "fl.parquet")
    assert sorted(questions["question_id"]) == [str(number) for number in range(1000, 1020)]
    assert "rad build --questions" in run_cli("inspect", failing / "questions" / "fl.parquet").out


# Validation questions of the base world as sets are released -> further options.
SETS: dict[str, tuple[str, ...]] = {
    "vqacp_v2_test_questions.json": ("--val-annotations", "vqacp_v2_test_annotations.json"),
    "vqaX_val.json": (),
    "minival.json": (),
    "aokvqa_v1p0_val.json": (),
    "vizwiz_val.json": ("--items", "words"),  # images without detections
    "TextVQA_0.5.1_val.json": ("--items", "words"),
    "coco_pope_random.json": ("--items", "words"),
}


@pytest.mark.parametrize("name", SETS)
def test_released_sets_are_built(
    name: str, failing: Path, built: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    folder = failing / "questions"
    more = [str(folder / one) if one.endswith(".json") else one for one in SETS[name]]
    train = ["--train-questions", failing / "tq.json", "--train-annotations", folder / "ok_ta.json"]
    ran = run_cli(
        "vqa-ce", "build", *train, "--val-questions", folder / name, *more,
        "--detections", failing / "det.json", "--min-count", 2, "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert run_cli("inspect", folder / name).code == 0
    split = pl.read_parquet(tmp_path / "out" / "split.parquet")
    if "words" not in more:
        wanted = pl.read_parquet(built / "split.parquet")
        kept = ["subset"] if "aokvqa" in name else wanted.columns  # whose ids are texts
        assert split.select(kept).sort(pl.all()).equals(wanted.select(kept).sort(pl.all()))
    else:
        assert len(split) == (20 if "pope" in name else 40)


# ---- mine ----


@pytest.mark.parametrize("name", ["repr.csv", "jsonlist.csv"])
def test_serialised_lists_are_items_or_refused(
    name: str, failing: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    file = failing / "mine" / name
    ran = run_cli("mine", file, "--objects", "items", "--min-count", "1", "--out", tmp_path / "out")
    if ran.code == 0:
        found = pl.read_parquet(tmp_path / "out" / "rules.parquet")["antecedent_objects"].explode().unique()
        assert {*found} <= {"milk", "bread", "eggs"}
    else:
        told(ran, file)
    clean = run_cli("mine", failing / "mine" / "jsonlist.csv", "--objects", "items", "--min-count", "1")
    assert clean.code == 0
    assert "[" not in clean.out


@pytest.mark.parametrize(
    ("name", "items"),
    [("one.jsonl", {"a"}), ("lst.json", {"a", "b"}), ("m.feather", None), ("cat.parquet", {"milk", "eggs"})],
)
def test_tables_that_mine_reads(
    name: str, items: set[str] | None, failing: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    file = failing / "mine" / name
    ran = run_cli("mine", file, "--objects", "items", "--min-count", "1", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    found = {*pl.read_parquet(tmp_path / "out" / "rules.parquet")["antecedent_objects"].explode()}
    assert found == items or (items is None and all(isinstance(one, str) for one in found))


# ---- predictions ----


def test_the_truth_beside_the_response_is_not_scored(failing: Path, built: Path, run_cli: RunCli) -> None:
    file = failing / "predictions" / "p20.jsonl.json"
    message = told(run_cli("vqa-ce", "score", built, "--predictions", f"m={file}"), file)
    assert "response" in message
    assert "--columns" in message
    chosen = run_cli(
        "vqa-ce",
        "score",
        built,
        "--predictions",
        f"m={file}",
        "--columns",
        "answer=response",
        "--format",
        "json",
    )
    assert chosen.code == 0, chosen.err
    assert chosen.json


PREDICTIONS = ("p6.jsonl", "p10.json", "p9.json", "p3.json", "x1.xlsx", "n5.feather")


@pytest.mark.parametrize("name", PREDICTIONS)
def test_answers_are_read_whatever_their_names(
    name: str, failing: Path, built: Path, run_cli: RunCli
) -> None:
    file = failing / "predictions" / name
    words = ("vqa-ce", "score", built, "--format", "json", "--predictions")
    ran = run_cli(*words, f"m={file}")
    assert ran.code == 0, ran.err
    same = run_cli(*words, f"m={failing / 'predictions' / 'p10.json'}")
    assert ran.json["scores"] == same.json["scores"]
    inspected = run_cli("inspect", file)
    assert inspected.code == 0
    assert "vqa-ce score --predictions" in inspected.out


def test_arrays_are_said_to_be_none_of_answers(failing: Path, built: Path, run_cli: RunCli) -> None:
    file = failing / "predictions" / "n2.npz"
    message = told(run_cli("vqa-ce", "score", built, "--predictions", f"m={file}"), file)
    assert "write other arrays as Parquet" in message


def test_two_ids_of_samples_ask(failing: Path, built: Path, run_cli: RunCli) -> None:
    file = failing / "predictions" / "s7.jsonl"
    message = told(run_cli("vqa-ce", "score", built, "--predictions", f"m={file}"), file)
    assert "got the doc.question_id '0' and the doc.id '2'" in message
    assert "--columns question_id=doc.id" in message


# ---- labels and regions ----


LABELS = {
    "pipe.jsonl": ["cat"],
    "vinvl_label.tsv": ["dog"],
    "oi.csv": ["/m/0bt9lr"],
    "lablist.parquet": ["cat", "dog"],
    "coco_results.json": ["skis"],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_read_out_of_boxes_and_lists(
    name: str, failing: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    file, out = failing / "labels" / name, tmp_path / "out"
    asked = vqa_ce_build(failing, file)
    if name == "coco_results.json":
        message = told(run_cli(*asked, "--out", out), file)
        assert "got COCO results JSON without category names" in message
        assert "with --detections-info." in message
        info = tmp_path / "categories.json"
        info.write_text('{"43": "skis"}')
        asked += ["--detections-info", str(info)]
    # Every image has the same labels, so rules of them are no better than words alone.
    ran = run_cli(*asked, "--superset-filter", "none", "--min-confidence", "0", "--out", out)
    assert ran.code == 0, ran.err
    objects = pl.read_parquet(out / "rules.parquet")["antecedent_objects"]
    assert objects.explode().drop_nulls().unique().sort().to_list() == LABELS[name]


def test_boxes_without_labels_are_said_to_be_such(failing: Path, run_cli: RunCli, tmp_path: Path) -> None:
    file = failing / "labels" / "bua.tsv"
    message = told(run_cli(*vqa_ce_build(failing, file), "--out", tmp_path / "out"), file)
    assert "got bottom-up-attention TSV (boxes without labels), expected object labels. Give" in message


def fpvg(failing: Path, detections: Path, *more: object) -> list[object]:
    folder = failing / "regions"
    files = [
        "--questions",
        folder / "fq.json",
        "--scene-graphs",
        folder / "fsg.json",
        "--detections",
        detections,
    ]
    return ["fpvg", "build", *files, *more]


def test_a_lost_line_end_is_told(failing: Path, run_cli: RunCli, tmp_path: Path) -> None:
    file = failing / "regions" / "joined.tsv"
    message = told(run_cli(*fpvg(failing, file), "--out", tmp_path / "out"), file)
    assert "line 2, line: got 11 columns, as if a line end was lost" in message
    assert run_cli("inspect", file).code == 1
    assert run_cli(*fpvg(failing, failing / "regions" / "unjoined.tsv"), "--out", tmp_path / "out").code == 0


def test_coco_results_with_segmentation_are_read(failing: Path, run_cli: RunCli, tmp_path: Path) -> None:
    file, info = failing / "regions" / "cr_seg.json", failing / "regions" / "cats.json"
    ran = run_cli(*fpvg(failing, file, "--detections-info", info), "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    inspected = run_cli("inspect", file)
    assert inspected.code == 0
    assert "COCO results" in inspected.out


def test_equal_copies_of_an_image_are_one(failing: Path) -> None:
    from shortcut_miner.sources.images.regions import read_regions

    read = read_regions(failing / "regions" / "b2.tsv", on_bad_row="skip")
    assert "300104" in read.images["image_id"].to_list()


def test_an_hdf5_whose_source_is_missing_is_refused(tmp_path: Path) -> None:
    from shortcut_miner.errors import SourceError
    from shortcut_miner.sources.images.regions import read_regions

    sources = {"bboxes": (3, 4, 4), "features": (3, 4, 8)}
    for name, shape in sources.items():
        with h5py.File(tmp_path / "source.h5", "a") as held:
            held[name] = np.ones(shape, dtype="float32")
    with h5py.File(tmp_path / "gqa_objects_0.h5", "w") as virtual:
        for name, shape in sources.items():
            layout = h5py.VirtualLayout(shape=shape, dtype="float32")
            layout[:] = h5py.VirtualSource("source.h5", name, shape=shape)
            virtual.create_virtual_dataset(name, layout)
    (tmp_path / "source.h5").unlink()
    info = {
        str(number): {"width": 100, "height": 100, "objectsNum": count, "idx": number, "file": 0}
        for number, count in enumerate((2, 1, 4))
    }
    import json

    (tmp_path / "gqa_objects_info.json").write_text(json.dumps(info))
    with pytest.raises(SourceError, match=r"source\.h5"):
        read_regions(tmp_path)


def test_features_alone_are_no_table_for_mine(failing: Path, run_cli: RunCli) -> None:
    ran = run_cli("inspect", failing / "regions" / "vinvl_feature3.tsv")
    assert "can read it" not in ran.out


def test_polls_are_no_predictions(failing: Path, run_cli: RunCli) -> None:
    told = run_cli("inspect", failing / "questions" / "coco_pope_random.json").out
    assert "predictions" not in told
    assert "POPE questions JSONL" in told


# ---- Python ----


def test_strings_of_mlxtend_are_refused_or_whole() -> None:
    pd = pytest.importorskip("pandas")
    rules = pd.DataFrame(
        {
            "antecedents": ["dog", "cat dog"],
            "consequents": ["y", "n"],
            "antecedent support": [0.5, 0.5],
            "consequent support": [0.5, 0.5],
            "support": [0.5, 0.25],
        }
    )
    with pytest.raises(SchemaError, match="antecedents: 2 of 2 are texts"):
        sm.from_mlxtend(rules, 4)


def test_a_word_that_looks_like_an_object_stays_a_word() -> None:
    rules = sm.mine_rules([["object: dog", "x"], ["x"]], ["a", "b"], min_count=1)
    with pytest.raises(ConfigError, match="object_prefix: got 'object: '"):
        sm.to_mlxtend(rules)
    there = sm.to_mlxtend(rules, object_prefix="thing: ")
    assert sm.from_mlxtend(there, 2, object_prefix="thing: ").equals(rules)


@pytest.mark.parametrize("fill", [1.0, True, np.nan])
def test_sparse_frames_of_any_fill(fill: object) -> None:
    pd = pytest.importorskip("pandas")
    values = [True, False] if fill is True else [1.0, 0.0 if fill == 1.0 else np.nan]
    frame = pd.DataFrame({"a": values, "b": [values[0], values[0]]})
    sparse = frame.astype(pd.SparseDtype(frame["a"].dtype, fill))
    found = sm.mine_rules(sparse, ["x", "y"], min_count=1)
    expected = sm.mine_rules([["a", "b"], ["b"]], ["x", "y"], min_count=1)
    assert found.equals(expected)


# ---- damaged ----


def damaged_commands(failing: Path, built: Path, file: Path, out: Path) -> Iterator[Sequence[object]]:
    """Give the commands that could be handed a damaged file, whatever it once was."""
    g = failing / "regions"
    yield ("inspect", file)
    yield ("vqa-ce", "score", built, "--predictions", f"m={file}")
    yield (*vqa_ce_build(failing, file), "--out", out)
    yield (*fpvg(failing, file), "--out", out)
    yield (
        "fpvg",
        "build",
        "--questions",
        file,
        "--scene-graphs",
        file,
        "--detections",
        g / "unjoined.tsv",
        "--out",
        out,
    )
    yield ("rad", "build", "--questions", file, "--out", out)
    yield ("mine", file, "--objects", "items", "--out", out)
    yield ("rules", file)
    yield (
        "swapmix", "build", "--questions", g / "fq.json", "--scene-graphs", g / "fsg.json",
        "--detections", g / "unjoined.tsv", "--embeddings", file, "--out", out,
    )  # fmt: skip
    yield (
        "swapmix", "build", "--questions", g / "fq.json", "--scene-graphs", g / "fsg.json",
        "--detections", g / "unjoined.tsv", "--similar-classes", file, "--out", out,
    )  # fmt: skip
    yield ("swapmix", "score", "--class-results", file, "--attribute-results", file)
    yield (
        "rad", "score", "--pairs", file, "--questions", file, "--augmented-questions", file,
        "--original", f"m={file}", "--augmented", f"m={file}",
    )  # fmt: skip


def damaged_files() -> list[str]:
    folder = Path(__file__).resolve().parents[3] / "shared" / "failing" / "damaged"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", damaged_files())
def test_damaged_files_end_in_words(
    name: str, failing: Path, built: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    file = failing / "damaged" / name
    for command in damaged_commands(failing, built, file, tmp_path / "out"):
        # An abort would take the tests with it.
        ran = spawn_cli(*command) if name == "xlsx_abort.xlsx" else run_cli(*command)
        text = ran.out + ran.err
        assert ran.code in (0, 1, 2), (command, text)
        assert "bug in" not in text
        assert not _CONTROL.search(text), (command, text)
        assert len(ran.err) < MOST_CHARACTERS, (command, len(ran.err))
        if ran.code == 2:
            assert name in ran.err or str(built) in ran.err, (command, ran.err)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("09-fold_vqace_manifest.json-manifest.json", "manifest.json"),
        ("12-fold_vqace_split.parquet-split.parquet", "split.parquet"),
        ("13-fold_inspect_manifest.json-manifest.json", "manifest.json"),
    ],
)
def test_damaged_folders_end_in_words(
    name: str, place: str, failing: Path, built: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    folder = tmp_path / "built"
    folder.mkdir()
    for path in built.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / place).write_bytes((failing / "damaged" / name).read_bytes())
    good = tmp_path / "good.json"
    good.write_text("[]")
    for command in (
        ("vqa-ce", "score", folder, "--predictions", f"m={failing / 'predictions' / 'p20.jsonl.json'}"),
        ("explain", folder, "500000"),
        ("rules", folder),
        ("inspect", folder),
    ):
        ran = run_cli(*command)
        assert ran.code in (0, 1, 2), (command, ran.err + ran.out)
        assert "bug in" not in ran.out + ran.err
        if ran.code == 2:
            assert place in ran.err or "p20" in ran.err
