"""Images that a room drew, as evaluators take them: packed with their questions, and answers back."""

import base64
import io
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from diagnostics.fpvg.worlds import graph, question, write_world
from PIL import Image

import shortcut_miner as sm
from shortcut_miner.diagnostics.fpvg.build import build as build_folder
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.exports.questions import read_question_sets
from shortcut_miner.sources.images.packed_images import packed_images

WIDTH, HEIGHT = 40, 30


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Build ten questions about three images, each about an object that others are about too."""
    objects = {f"o{number}": (4 * number, 4, 4 * number + 12, 20) for number in range(4)}
    graphs = {image: graph(objects, (WIDTH, HEIGHT)) for image in ("a", "b", "0c")}
    questions = {
        f"{number:02d}": question(
            ["a", "b", "0c"][number % 3], {"1": f"o{number % 4}"}, answer=f"red {number}"
        )
        for number in range(10)
    }
    boxes = [*objects.values(), (0, 22, 12, 30), (30, 22, 40, 30)]
    files = write_world(tmp_path, questions, graphs, dict.fromkeys(graphs, boxes))
    size = {"width": WIDTH, "height": HEIGHT}
    lines = [json.loads(line) | size for line in files.detections[0].read_text().splitlines()]
    files.detections[0].write_text("\n".join(map(json.dumps, lines)))
    build_folder(files, FpvgConfig(), tmp_path / "built")
    return tmp_path / "built"


@pytest.fixture
def drawn(build: Path, tmp_path: Path) -> Path:
    """Return the images of these questions, of noise, so that no two are equal."""
    photos = tmp_path / "photos"
    photos.mkdir()
    for image in ("a", "b", "0c"):
        Image.effect_noise((WIDTH, HEIGHT), 80).convert("RGB").save(photos / f"{image}.png")
    sm.fpvg.images(build, images=photos, out=tmp_path / "drawn", control=True)
    return tmp_path / "drawn"


def pixels_of(folder: Path) -> dict[str, bytes]:
    table = pl.concat([pl.read_parquet(one) for one in sorted(folder.glob("pixels_*.parquet"))])
    return {one["id"]: one["image"]["bytes"] for one in table.iter_rows(named=True)}


def from_huggingface(out: Path) -> dict[str, bytes]:
    tables = [pl.read_parquet(one) for one in sorted(out.glob("*.parquet"))]
    return {row["question_id"]: row["image"]["bytes"] for one in tables for row in one.iter_rows(named=True)}


def from_vlmevalkit(out: Path) -> dict[str, bytes]:
    found = {}
    for path in out.glob("*_openended.tsv"):
        for row in pl.read_csv(path, separator="\t", infer_schema=False).iter_rows(named=True):
            found[row["question_id"].removeprefix("q")] = base64.b64decode(row["image"])
    return found


def from_lmms_eval(out: Path) -> dict[str, bytes]:
    look = runpy.run_path(str(out / "utils.py"))["doc_to_visual"]
    found = {}
    for path in out.glob("*.parquet"):
        for doc in pl.read_parquet(path).iter_rows(named=True):
            (image,) = look(doc)
            content = io.BytesIO()
            image.save(content, "PNG")
            found[doc["question_id"]] = content.getvalue()
    return found


def decoded(content: bytes) -> tuple[tuple[int, int], bytes]:
    with Image.open(io.BytesIO(content)) as image:
        return image.size, image.convert("RGB").tobytes()


@pytest.mark.parametrize(
    ("to", "read"),
    [
        ("huggingface", from_huggingface),
        ("lmms-eval", from_lmms_eval),
        ("vlmevalkit", from_vlmevalkit),
    ],
)
def test_each_question_has_the_image_that_was_drawn_for_it(
    drawn: Path, tmp_path: Path, to: str, read: Callable[[Path], dict[str, bytes]]
) -> None:
    report = sm.export(drawn, to, out=tmp_path / "out")
    assert report.questions == [(one, one, 10) for one in ("relevant", "irrelevant", "control")]
    assert (report.images_asked, report.images_found) == (30, 30)
    ours, theirs = pixels_of(drawn), read(tmp_path / "out")
    assert ours.keys() == theirs.keys()
    assert len(ours) == 30
    assert {one: decoded(content) for one, content in ours.items()} == {
        one: decoded(content) for one, content in theirs.items()
    }


def test_only_the_images_of_chosen_questions_are_read(drawn: Path, tmp_path: Path) -> None:
    report = sm.export(drawn, "huggingface", out=tmp_path / "out", subsets=("relevant",), limit=3)
    assert (report.images_asked, report.images_found) == (3, 3)
    assert all(one.endswith("#relevant") for one in from_huggingface(tmp_path / "out"))


def test_answers_come_back_by_the_ids_of_images(drawn: Path, tmp_path: Path, build: Path) -> None:
    report = sm.export(drawn, "vlmevalkit", out=tmp_path / "out")
    assert f"fpvg score {build} --all NAME=FILE --relevant MODEL=" in report.read_back
    assert "MODEL_irrelevant_openended.xlsx" in report.read_back
    asked = [*json.loads((drawn / "predictions_all.json").read_text())]
    answers: dict[str, Any] = {}
    for condition in ("relevant", "irrelevant"):
        table = pl.read_csv(
            tmp_path / "out" / f"{condition}_openended.tsv", separator="\t", infer_schema=False
        )
        answers[condition] = tmp_path / f"{condition}.xlsx"
        said = pl.col("answer") if condition == "relevant" else pl.lit("nothing")
        table.select("index", "question_id", "question", "answer", prediction=said).write_excel(
            answers[condition]
        )
    truth = dict(pl.read_parquet(drawn / "images.parquet").select("question_id", "answer").iter_rows())
    whole = [{**one, "answer": truth[one["question_id"].partition("#")[0]]} for one in asked]
    (tmp_path / "all.json").write_text(json.dumps(whole))
    scores = sm.fpvg.score(
        build, all={"m": tmp_path / "all.json"}, relevant={"m": answers["relevant"]},
        irrelevant={"m": answers["irrelevant"]}, ids={"drawn": drawn / "ids.json"},
    )  # fmt: skip
    drawn_alone = scores.scores.filter(metric="fpvg_plus", group="drawn")
    assert drawn_alone.select("n", "value").rows() == [(10, 100.0)]


def test_formats_that_name_files_are_refused(drawn: Path) -> None:
    with pytest.raises(ConfigError, match=r"^to: got vqa-json.*huggingface, lmms-eval, vlmevalkit\. Change"):
        sm.export(drawn, "vqa-json")
    with pytest.raises(ConfigError, match=r"^images: got photos for a folder that holds its images"):
        sm.export(drawn, "huggingface", images="photos")


def test_a_build_that_nobody_remembers_has_a_place_in_the_command(drawn: Path) -> None:
    (drawn / "run.json").unlink()
    assert "fpvg score BUILD --all" in sm.export(drawn, "huggingface").read_back


def test_lost_and_damaged_files_are_told(drawn: Path) -> None:
    (shard,) = drawn.glob("pixels_*.parquet")
    content = shard.read_bytes()
    shard.write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"pixels_00000\.parquet: got .*Draw the images again\."):
        sm.export(drawn, "huggingface")
    shard.unlink()
    with pytest.raises(SourceError, match=r"got 0 images in pixels_\*\.parquet and 30 in images\.parquet"):
        sm.export(drawn, "huggingface")


def flipped(content: bytes) -> bytes:
    return content[:200] + bytes([content[200] ^ 1]) + content[201:]


@pytest.mark.parametrize("to", ["huggingface", "lmms-eval", "vlmevalkit"])
@pytest.mark.parametrize(
    "damaged", [lambda _: None, lambda _: b"", lambda _: b"<html>", flipped, lambda one: one[:-12]]
)
def test_what_is_no_image_is_never_exported(
    drawn: Path, tmp_path: Path, to: str, damaged: Callable[[bytes], bytes | None]
) -> None:
    (shard,) = drawn.glob("pixels_*.parquet")
    table = pq.read_table(shard)
    images = table["image"].to_pylist()
    images[3]["bytes"] = damaged(images[3]["bytes"])
    at, field = table.column_names.index("image"), table.schema.field("image")
    pq.write_table(table.set_column(at, field, pa.array(images, field.type)), shard)
    name = table["id"][3].as_py()
    with pytest.raises(SourceError, match=f"pixels_00000.*damaged one of '{name}'.*Draw the images again"):
        sm.export(drawn, to, out=tmp_path / "exported")
    assert not [*(tmp_path / "exported").iterdir()]


def test_only_commands_that_there_are_are_advised(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="fpvg images or swapmix images wrote") as told:
        sm.export(tmp_path, "huggingface")
    assert "rad images" not in str(told.value)


def test_an_id_twice_is_no_image(drawn: Path) -> None:
    (shard,) = drawn.glob("pixels_*.parquet")
    with pytest.raises(SourceError, match="twice, expected each once"):
        packed_images([shard, shard])


def test_questions_stand_as_their_images_lie(drawn: Path) -> None:
    sets = read_question_sets(drawn).sets
    ids = pl.read_parquet(drawn / "images.parquet")
    for name, splits in sets.items():
        assert splits[name]["question_id"].to_list() == ids.filter(condition=name)["id"].to_list()
