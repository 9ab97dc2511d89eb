"""Every hostile input of the sources' specification, through the real command."""

import gzip
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from cli.commands import Ran, RunCli, contents, options, tiny_world, write_world

from shortcut_miner.cli.run import run

World = dict[str, Any]
Files = dict[str, Path | None]
ROLES = ("train_questions", "train_annotations", "val_questions", "val_annotations", "detections")
SMALL = ("--min-count", 2, "--threads", 1)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a build that went well."""
    folder = tmp_path_factory.mktemp("earlier")
    files = write_world(tiny_world(), folder / "in")
    tokens = [*options(files), "--min-count", "2", "--out", str(folder / "out"), "--quiet"]
    assert run(["vqa-ce", "build", *tokens]) == 0
    return folder / "out"


def check_refused(ran: Ran, told: list[str], out: Path, before: dict[str, bytes]) -> None:
    """One clear message, nothing on stdout, and the folder exactly as it was."""
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("error: ") == 1
    assert all(part in ran.err for part in told), ran.err
    assert not any(word in ran.err for word in ("Traceback", "polars.", "msgspec", "Exception"))
    assert contents(out) == before
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def build(run_cli: RunCli, files: Files, out: Path, *tokens: object) -> Ran:
    return run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", out, "--force", *tokens)


# ---- files that can't be read at all ----

BYTES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "an empty file (0 bytes)"),
    "blank": (lambda _: b" \n ", "nothing but blanks"),
    "truncated": (lambda text: text[: len(text) // 2], "expected its end"),
    "truncated gzip": (lambda text: gzip.compress(text)[:-20], "a gzip file that ends too early"),
    "damaged gzip": (
        lambda text: gzip.compress(text)[:-8] + b"\0" * 8,
        "a damaged gzip file",
    ),
    "truncated zstd": (
        lambda text: zstandard.compress(text)[:-9],
        "a Zstandard file that ends too early",
    ),
    "truncated zip": (lambda text: zipped(a=text)[:-30], "a zip file that is damaged or ends too early"),
    "zip of two": (lambda text: zipped(a=text, b=text), "2 members ('a', 'b')"),
    "wrong top level": (lambda _: b"[1, 2]", "a JSON list that starts with 1"),
    "other object": (lambda _: b'{"info": {}}', "a JSON object with the keys 'info'"),
    "number": (lambda _: b"42", "42"),
    "pickle": (lambda _: b"\x80\x04}q\x00.", "a Python pickle"),
    "web page": (lambda _: b"<!DOCTYPE html><html></html>", "an HTML page"),
    "UTF-16": (lambda text: text.decode().encode("utf-16"), "UTF-16 text"),
    "two documents": (lambda text: text + text, "byte"),
}


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.mark.sample(12)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("how", BYTES)
def test_unreadable_files(how: str, role: str, run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    spoil, told = BYTES[how]
    world = tiny_world()
    world[role] = spoil(json.dumps(world[role]).encode())
    files = write_world(world, tmp_path / "in")
    out = shutil.copytree(earlier, tmp_path / "out")
    for bad_rows in ("error", "skip"):
        ran = build(run_cli, files, out, "--on-bad-row", bad_rows)
        check_refused(ran, [str(files[role]), told], out, contents(earlier))


@pytest.mark.parametrize("role", ROLES)
def test_a_missing_file_and_a_folder(role: str, run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    files = write_world(tiny_world(), tmp_path / "in")
    out = shutil.copytree(earlier, tmp_path / "out")
    for path, told in (
        (tmp_path / "in" / "gone.json", "no such file"),
        (tmp_path, f"a folder{' without object labels' if role == 'detections' else ', expected a file'}"),
    ):
        ran = build(run_cli, {**files, role: path}, out)
        check_refused(ran, [f"{path}: got {told}"], out, contents(earlier))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (FileNotFoundError(2, "No such file"), "got no such file"),
        (PermissionError(13, "Permission denied"), "got no permission to read it"),
        (OSError(5, "Input/output error"), "got Input/output error"),
    ],
    ids=["vanishes", "forbidden", "disk fails"],
)
def test_a_file_that_fails_while_it_is_read(
    error: OSError,
    told: str,
    role: str,
    run_cli: RunCli,
    earlier: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Root may read everything, so the refusal is made by hand.
    files = write_world(tiny_world(), tmp_path / "in")
    out = shutil.copytree(earlier, tmp_path / "out")
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path == files[role]:
            raise error
        return read(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refuse)
        ran = build(run_cli, files, out)
    check_refused(ran, [f"{files[role]}: {told}"], out, contents(earlier))


def test_files_in_each_others_place(run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    files = write_world(tiny_world(), tmp_path / "in")
    out = shutil.copytree(earlier, tmp_path / "out")
    kinds = {
        "train_questions": "VQA questions JSON (12 questions)",
        "train_annotations": "VQA annotations JSON (12 annotations)",
        "detections": "image-to-detection JSON (9 images)",
    }
    for role in kinds:
        for other, kind in kinds.items():
            if other != role:
                ran = build(run_cli, {**files, role: files[other]}, out)
                check_refused(ran, [str(files[other]), f"got {kind}, expected"], out, contents(earlier))


# ---- records that don't fit ----


def question(world: World, place: int) -> dict[str, Any]:
    return world["train_questions"]["questions"][place]  # type: ignore[no-any-return]


def annotation(world: World, place: int) -> dict[str, Any]:
    return world["val_annotations"]["annotations"][place]  # type: ignore[no-any-return]


def change(get: Callable[[World, int], dict[str, Any]], **fields: Any) -> Callable[[World], None]:
    return lambda world: get(world, 2).update(fields)


def drop(get: Callable[[World, int], dict[str, Any]], field: str) -> Callable[[World], None]:
    return lambda world: get(world, 2).pop(field)


def answer(**fields: Any) -> Callable[[World], None]:
    return lambda world: annotation(world, 2)["answers"][3].update(fields)


def image(**fields: Any) -> Callable[[World], None]:
    return lambda world: world["detections"].update({"501": {"classes": ["a"], "scores": [0.9], **fields}})


def replace_record(role: str, key: str, value: Any) -> Callable[[World], None]:
    return lambda world: world[role][key].__setitem__(2, value)


# What is done to the world: the file blamed, words of the message, and what skipping counts.
RECORDS: dict[str, tuple[Callable[[World], None], str, list[str], dict[str, int]]] = {
    "null question": (
        change(question, question=None),
        "train_questions",
        ["record 2", "got null", "expected text"],
        {"train_questions: question: expected text": 1},
    ),
    "empty question": (
        change(question, question=""),
        "train_questions",
        ["record 2, question: got ''", "text that is not blank"],
        {"train_questions: question: expected text that is not blank": 1},
    ),
    "blank question": (
        change(question, question=" \t"),
        "train_questions",
        ["record 2, question", "text that is not blank"],
        {"train_questions: question: expected text that is not blank": 1},
    ),
    "question is a number": (
        change(question, question=7),
        "train_questions",
        ["record 2, question: got 7, expected text"],
        {"train_questions: question: expected text": 1},
    ),
    "no question id": (
        drop(question, "question_id"),
        "train_questions",
        ["record 2", "question_id", "no such field"],
        {"train_questions: question_id: expected a whole number or text": 1},
    ),
    "fractional id": (
        change(question, question_id=1002.5),
        "train_questions",
        ["record 2, question_id: got 1002.5"],
        {"train_questions: question_id: expected a whole number or text": 1},
    ),
    "empty id": (
        change(question, question_id=""),
        "train_questions",
        ["record 2, question_id: got ''", "an id"],
        {"train_questions: question_id: expected an id": 1},
    ),
    "id twice": (
        change(question, question_id=1003),
        "train_questions",
        ["record 2 and record 3, question_id: got '1003' 2 times"],
        {"train_questions: question_id: expected an id that occurs once": 2},
    ),
    "id as number and text": (
        change(question, question_id="1003"),
        "train_questions",
        ["'1003' 2 times"],
        {"train_questions: question_id: expected an id that occurs once": 2},
    ),
    "record is a list": (
        replace_record("train_questions", "questions", [1]),
        "train_questions",
        ["record 2", "got [1]", "an object"],
        {"train_questions: record: expected an object": 1},
    ),
    "annotation id twice": (
        change(annotation, question_id=2003),
        "val_annotations",
        ["record 2 and record 3, question_id: got '2003' 2 times"],
        {"val_annotations: question_id: expected an id that occurs once": 2},
    ),
    "majority answer is a number": (
        change(annotation, multiple_choice_answer=2),
        "val_annotations",
        ["record 2, multiple_choice_answer: got 2, expected text"],
        {"val_annotations: multiple_choice_answer: expected text": 1},
    ),
    "no majority answer": (
        drop(annotation, "multiple_choice_answer"),
        "val_annotations",
        ["record 2", "multiple_choice_answer"],
        {"val_annotations: multiple_choice_answer: expected text": 1},
    ),
    "an answer is a number": (
        answer(answer=2),
        "val_annotations",
        ["record 2, answers[3].answer: got", "expected text"],
        {"val_annotations: answers[].answer: expected text": 1},
    ),
    "an answer is null": (
        answer(answer=None),
        "val_annotations",
        ["record 2, answers[3].answer: got", "expected text"],
        {"val_annotations: answers[].answer: expected text": 1},
    ),
    "answers are text": (
        change(annotation, answers="yes"),
        "val_annotations",
        ["record 2, answers", "a list"],
        {"val_annotations: answers: expected a list": 1},
    ),
    "annotation for another image": (
        change(annotation, image_id=9),
        "val_annotations",
        ["1 x annotation for another image than its question's: question_id '2002'"],
        {"val_questions: annotation for another image than its question's": 1},
    ),
    "question without annotation": (
        lambda world: world["val_annotations"]["annotations"].pop(2),
        "val_annotations",
        ["1 x question without annotation: question_id '2002'"],
        {"val_questions: question without annotation": 1},
    ),
    "annotation without question": (
        lambda world: world["val_questions"]["questions"].pop(2),
        "val_questions",
        ["1 x annotation without question: question_id '2002'"],
        {"val_annotations: annotation without question": 1},
    ),
    "score that is NaN": (
        image(scores=[float("nan")]),
        "detections",
        ["image '501'", "scores"],
        {"detections: scores[]: expected a number": 1},
    ),
    "score that is infinite": (
        image(scores=[float("inf")]),
        "detections",
        ["image '501'", "scores"],
        {"detections: scores[]: expected a number": 1},
    ),
    "score above 1": (
        image(scores=[1.5]),
        "detections",
        ["image '501', scores: got 1.5, expected numbers from 0 to 1"],
        {"detections: scores: expected numbers from 0 to 1": 1},
    ),
    "more labels than scores": (
        image(classes=["a", "b"]),
        "detections",
        ["image '501', classes and scores: got 2 classes and 1 scores"],
        {"detections: classes and scores: expected lists of the same length": 1},
    ),
    "label that is null": (
        image(classes=[None]),
        "detections",
        ["image '501'", "classes"],
        {"detections: classes[]: expected text": 1},
    ),
    "label that is blank": (
        image(classes=[" "]),
        "detections",
        ["image '501', classes", "labels that are not blank"],
        {"detections: classes: expected labels that are not blank": 1},
    ),
    "image without labels": (
        lambda world: world["detections"].update({"501": {"scores": []}}),
        "detections",
        ["image '501'", "classes", "no such field"],
        {"detections: classes: expected a list": 1},
    ),
    "image id in two spellings": (
        lambda world: world["detections"].update(
            {"COCO_val2014_000000000501.jpg": {"classes": [], "scores": []}}
        ),
        "detections",
        ["image '501'", "2 times"],
        {"detections: image id: expected an id that occurs once": 2},
    ),
}


@pytest.mark.sample(9)
@pytest.mark.parametrize("how", RECORDS)
def test_bad_records_are_an_error(how: str, run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    spoil, role, told, _ = RECORDS[how]
    world = tiny_world()
    spoil(world)
    files = write_world(world, tmp_path / "in")
    out = shutil.copytree(earlier, tmp_path / "out")
    ran = build(run_cli, files, out)
    check_refused(ran, [str(files[role]), "--on-bad-row skip", *told], out, contents(earlier))


@pytest.mark.sample(9)
@pytest.mark.parametrize("how", RECORDS)
def test_bad_records_are_counted_and_skipped_on_request(how: str, run_cli: RunCli, tmp_path: Path) -> None:
    spoil, _, _, dropped = RECORDS[how]
    world = tiny_world()
    spoil(world)
    files = write_world(world, tmp_path / "in")
    ran = build(run_cli, files, tmp_path / "out", "--on-bad-row", "skip", "--format", "json")
    assert ran.code == 3, ran.err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    skipped = {reason: count for reason, count in manifest["dropped"].items() if reason in dropped}
    assert skipped == dropped, manifest["dropped"]
    assert ran.json["dropped"] == manifest["dropped"]
    assert ran.json["is_complete"] is False


def test_all_problems_of_a_file_are_told_at_once(run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    world = tiny_world()
    question(world, 1)["question"] = None
    question(world, 4)["question"] = ""
    question(world, 6)["question_id"] = 1007
    files = write_world(world, tmp_path / "in")
    out = shutil.copytree(earlier, tmp_path / "out")
    told = ["got 4 bad of 12 questions", "record 1", "record 4", "record 6 and record 7"]
    check_refused(build(run_cli, files, out), told, out, contents(earlier))


def test_no_image_in_common_is_told_with_both_sides(run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    world = tiny_world()
    world["detections"] = {f"x{name}": found for name, found in world["detections"].items()}
    files = write_world(world, tmp_path / "in")
    out = shutil.copytree(earlier, tmp_path / "out")
    told = ["no image in common", "'500'", "'x500'"]
    check_refused(build(run_cli, files, out), told, out, contents(earlier))


@pytest.mark.parametrize("bad", ["bbox", "category", "image"])
def test_coco_instances(bad: str, run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    images = [{"id": number} for number in (*range(500, 506), *range(1000, 1003))]
    boxes = [{"image_id": one["id"], "category_id": 1, "bbox": [1.0, 2.0, 3.0, 4.0]} for one in images]
    world = tiny_world()
    world["detections"] = {"images": images, "categories": [{"id": 1, "name": "ball"}], "annotations": boxes}
    good = build(run_cli, write_world(world, tmp_path / "good"), tmp_path / "good-out")
    assert good.code == 0
    boxes[3] |= {
        "bbox": {"bbox": [1.0, float("nan"), float("inf"), 4.0]},
        "category": {"category_id": 9},
        "image": {"image_id": 77},
    }[bad]  # type: ignore[arg-type]
    files = write_world(world, tmp_path / "in")
    out = shutil.copytree(earlier, tmp_path / "out")
    told = {"bbox": "bbox", "category": "category_id: got '9'", "image": "image_id: got '77'"}[bad]
    check_refused(build(run_cli, files, out), ["annotations record 3", told], out, contents(earlier))
    assert build(run_cli, files, out, "--on-bad-row", "skip").code == 3


# ---- unusual, but right ----


def as_text_ids(world: World) -> World:
    for record in world["val_annotations"]["annotations"]:
        record |= {"question_id": str(record["question_id"]), "image_id": str(record["image_id"])}
    return world


RIGHT: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "CRLF": lambda text: json.dumps(json.loads(text), indent=1).replace("\n", "\r\n").encode(),
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "zip": lambda text: zipped(a=text),
    "ascii letters only": lambda text: json.dumps(json.loads(text), ensure_ascii=True).encode(),
}


@pytest.mark.parametrize("how", RIGHT)
def test_unusual_files_give_the_same_tables(how: str, run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    world = {role: RIGHT[how](json.dumps(value).encode()) for role, value in tiny_world().items()}
    out = tmp_path / "out"
    assert build(run_cli, write_world(world, tmp_path / "in"), out).code == 0
    names = ("manifest.json", "run.json")
    assert contents(out, without=names).keys() == contents(earlier, without=names).keys()
    for name in ("easy.json", "hard.json", "rules_predictions.json"):
        assert (out / name).read_bytes() == (earlier / name).read_bytes()


def test_ids_as_numbers_here_and_text_there_join(run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = write_world(as_text_ids(tiny_world()), tmp_path / "in")
    assert build(run_cli, files, out).code == 0
    assert (out / "rules.parquet").read_bytes() == (earlier / "rules.parquet").read_bytes()


# ---- predictions ----

PREDICTIONS: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], list[str]]] = {
    "truncated": (lambda rows: json.dumps(rows)[:-40].encode(), ["expected its end"]),
    "empty": (lambda _: b"", ["an empty file"]),
    "no answers": (lambda _: [], ["empty JSON list"]),
    "wrong top level": (lambda _: {"a": 1}, ["a JSON object with the keys 'a'"]),
    "questions": (lambda _: tiny_world()["val_questions"], ["VQA questions JSON"]),
    "pickle": (lambda _: b"\x80\x04]q\x00.", ["a Python pickle", "json.dump"]),
    "PyTorch pickle": (lambda _: zipped(**{"m/data.pkl": b"x"}), ["a PyTorch pickle"]),
    "answer is a number": (
        lambda rows: [*rows[1:], {**rows[0], "answer": 7}],
        ["record 5, answer: got 7, expected text"],
    ),
    "answer is null": (lambda rows: [*rows[1:], {**rows[0], "answer": None}], ["record 5, answer: got null"]),
    "no id": (lambda rows: [*rows[1:], {"answer": "x"}], ["record 5", "question_id"]),
    "id twice": (lambda rows: [*rows, rows[0]], ["record 0 and record 6, question_id: got '2000' 2 times"]),
    "one is missing": (lambda rows: rows[1:], ["predictions of m", "'2000'"]),
    "one is unknown": (
        lambda rows: [*rows, {"question_id": 7, "answer": "x"}],
        ["predictions of m", "'7'"],
    ),
    "uneven CSV": (
        lambda _: b"question_id,answer\n2000,a,b\n2001,a\n",
        ["line 2", "3 values"],
    ),
    "open quote": (lambda _: b'question_id,answer\n2000,"a\n', ["broken CSV at line 2"]),
    "no column": (lambda _: b"question,answer\n2000,a\n", ["columns 'question', 'answer'"]),
    "damaged Parquet": (lambda _: b"PAR1" + b"\0" * 50 + b"PAR1", ["a damaged Parquet file"]),
    "not UTF-8": (lambda _: b"question_id,answer\n1,\xff\n", ["no UTF-8"]),
}  # fmt: skip


@pytest.mark.sample(8)
@pytest.mark.parametrize("how", PREDICTIONS)
def test_bad_predictions(how: str, run_cli: RunCli, earlier: Path, tmp_path: Path) -> None:
    spoil, told = PREDICTIONS[how]
    rows = [{"question_id": number, "answer": "red"} for number in range(2000, 2006)]
    spoilt = spoil(rows)
    path = tmp_path / "predictions"
    path.write_bytes(spoilt if isinstance(spoilt, bytes) else json.dumps(spoilt).encode())
    good = tmp_path / "good.json"
    good.write_text(json.dumps(rows))
    out = tmp_path / "scores"
    assert run_cli("vqa-ce", "score", earlier, "--predictions", f"m={good}", "--out", out).code == 0
    before = contents(out)
    ran = run_cli("vqa-ce", "score", earlier, "--predictions", f"m={path}", "--out", out)
    check_refused(ran, told, out, before)
