import dataclasses
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
import yaml
from exports.cases import hard_table, loaded, question_tables, sets_of, several
from hypothesis import given
from PIL import Image
from polars.testing import assert_frame_equal

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.errors import SourceError
from shortcut_miner.exports import huggingface
from shortcut_miner.exports.huggingface import write
from shortcut_miner.sources.images.image_files import Images


def header(folder: Path) -> dict[str, object]:
    text = (folder / "README.md").read_text(encoding="utf-8")
    _, told, _ = text.split("---\n", 2)
    found: dict[str, object] = yaml.safe_load(told)
    return found


@given(question_tables())
def test_files_hold_the_tables_in_plain_types(
    tmp_path_factory: pytest.TempPathFactory, table: pl.DataFrame
) -> None:
    folder = tmp_path_factory.mktemp("out")
    questions = sets_of(table)
    write(questions, Images(), folder)
    file = folder / "vqa-ce-easy-00000-of-00001.parquet"
    assert_frame_equal(pl.read_parquet(file), questions.sets["vqa-ce"]["easy"])
    assert {str(kind) for kind in pq.read_schema(file).types} == {
        "string", "list<element: string>", "list<element: uint8>",
    }  # fmt: skip


def test_load_dataset_opens_it_with_every_text_as_it_was(tmp_path: Path) -> None:
    hard = hard_table().with_columns(words=pl.lit(["a", "null"]), objects=pl.lit(None, pl.List(pl.String)))
    questions = several(
        {"vqa-ce": {"counterexamples": hard, "all": hard.head(3)}, "other": {"how-many": hard.tail(2)}}
    )
    out = tmp_path / "out"
    out.mkdir()
    exported = write(questions, Images(), out)
    assert exported.notes == (
        "splits named as the library allows: all is all_",
        "splits named as the library allows: how-many is how_many",
    )
    tables, _ = loaded(out, tmp_path, "(default)", "other")
    assert {name: len(table) for name, table in tables.items()} == {
        ("(default)", "counterexamples"): len(hard),
        ("(default)", "all_"): 3,
        ("other", "how_many"): 2,
    }
    assert_frame_equal(tables["(default)", "counterexamples"], hard)


def test_the_card_says_what_is_in_it(tmp_path: Path) -> None:
    write(sets_of(hard_table()), Images(), tmp_path)
    told = header(tmp_path)
    assert told["pretty_name"] == "VQA-CE subsets"
    assert "license" not in told  # not known: that of the questions
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"| vqa-ce | easy | {len(hard_table())} |" in text
    assert "Images are not included" in text


# ---- images ----


@pytest.fixture
def pictures(tmp_path: Path) -> Images:
    """Return images of the hard table's first three ids, each of another size."""
    places = {}
    for number, suffix in enumerate(("png", "jpg", "png")):
        path = tmp_path / f"COCO_val2014_{number:012d}.{suffix}"
        Image.new("RGB", (10 + number, 20), (number, 9, 9)).save(path)
        places[str(number)] = str(path)
    return Images(kind="files", places=places)


def test_images_are_in_it_and_can_be_seen(tmp_path: Path, pictures: Images) -> None:
    out = tmp_path / "out"
    out.mkdir()
    write(sets_of(hard_table().head(11)), pictures, out)
    tables, printed = loaded(out, tmp_path)
    sizes = [(10, 20)] * 3 + [(11, 20)] * 3 + [(12, 20)] * 3 + [None] * 2
    assert f"image|vqa-ce|easy|image|{sizes}" in printed
    image = tables["vqa-ce", "easy"]["image"]
    assert image[0] == {
        "bytes": Path(pictures.places["0"]).read_bytes(), "path": "COCO_val2014_000000000000.png",
    }  # fmt: skip


def test_addresses_are_named_and_not_fetched(tmp_path: Path, pictures: Images) -> None:
    """What is named by file:// stays where it is, and is seen."""
    places = {one: f"file://{place}" for one, place in pictures.places.items()}
    out = tmp_path / "out"
    out.mkdir()
    write(sets_of(hard_table().head(9)), Images(kind="addresses", places=places), out)
    tables, printed = loaded(out, tmp_path)
    assert "image|vqa-ce|easy|image|[(10, 20), " in printed
    assert tables["vqa-ce", "easy"]["image"][0] == {"bytes": None, "path": pictures.places["0"]}


def test_an_image_of_several_questions_is_stored_once_in_a_group(tmp_path: Path) -> None:
    noise = tmp_path / "1.png"
    Image.effect_noise((200, 200), 90).save(noise)
    size = noise.stat().st_size
    table = hard_table().with_columns(image_id=pl.lit("1"))
    out = tmp_path / "out"
    out.mkdir()
    write(sets_of(table), Images(kind="files", places={"1": str(noise)}), out)
    (file,) = out.glob("*.parquet")
    assert size < file.stat().st_size < 2 * size
    assert pl.read_parquet(file)["image"].struct.field("bytes").to_list() == [noise.read_bytes()] * len(table)


def test_large_splits_become_several_files(
    tmp_path: Path, pictures: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface, "_SHARD_BYTES", 1)
    monkeypatch.setattr(huggingface, "_ROWS_WITH_IMAGES", 10)
    table = hard_table()
    out = tmp_path / "out"
    out.mkdir()
    told: list[str] = []
    write(sets_of(table), dataclasses.replace(pictures, on_stage=told.append), out)
    assert told == [f"write vqa-ce-easy: {done} of 4 parts" for done in range(4)]
    names = [f"vqa-ce-easy-{number:05d}-of-00004.parquet" for number in range(4)]
    assert sorted(path.name for path in out.glob("*")) == ["README.md", *names]
    tables, _ = loaded(out, tmp_path)
    assert_frame_equal(tables["vqa-ce", "easy"].drop("image"), table)


def test_an_image_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    gone = Images(kind="files", places={"0": str(tmp_path / "gone.png")})
    with pytest.raises(SourceError, match=r"gone.png: got No such file or directory, expected an image that"):
        write(sets_of(hard_table()), gone, tmp_path)


# ---- what the library keeps ----


def answered(text: str) -> QuestionSets:
    return sets_of(hard_table().head(2).with_columns(answer=pl.lit(text)))


def test_a_folder_written_again_gives_its_new_rows_and_so_does_another_of_its_name(tmp_path: Path) -> None:
    for place, text in (("a", "first"), ("a", "other"), ("b", "third")):
        out = tmp_path / place / "same-name"
        out.mkdir(parents=True, exist_ok=True)
        write(answered(text), Images(), out)
        tables, _ = loaded(out, tmp_path)
        assert tables["vqa-ce", "easy"]["answer"].to_list() == [text, text]
