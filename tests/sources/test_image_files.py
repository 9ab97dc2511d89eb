import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from shortcut_miner.errors import ConfigError
from shortcut_miner.sources.images.image_files import Images, find_images


def put(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode() + b"\0")
    return folder


def found(given: str, *ids: str) -> dict[str, str]:
    """Return the names of the files that were found, below the working directory, by id."""
    return {
        one: Path(place).relative_to(Path.cwd()).as_posix()
        for one, place in find_images(given, ids).images.places.items()
    }


def test_nothing_said_is_a_note_and_nothing_missing() -> None:
    nothing = find_images(None, ["1"])
    assert (nothing.images, nothing.missing) == (Images(), ())
    assert nothing.notes == ("no --images: questions are exported with the ids of their images alone",)


# ---- a folder ----


def test_files_match_by_what_their_names_are_as_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(put(
        tmp_path, "i/val/COCO_val2014_000000000042.jpg", "i/000000000043.PNG", "i/n44.jpeg", "i/notes.txt",
        "i/VG_100K/45.jpg", "i/0046.jpg", "i/47.txt",
    ))  # fmt: skip
    assert found("i", "42", "43", "n44", "VG_100K/45.jpg", "VG_100K/45", "0046", "46", "47", "notes") == {
        "42": "i/val/COCO_val2014_000000000042.jpg",
        "43": "i/000000000043.PNG",
        "n44": "i/n44.jpeg",
        "VG_100K/45.jpg": "i/VG_100K/45.jpg",
        "VG_100K/45": "i/VG_100K/45.jpg",
        "0046": "i/0046.jpg",
    }
    assert find_images("i", ["9", "42", "8"]).missing == ("9", "8")


def test_the_first_of_several_files_is_taken_and_told(tmp_path: Path) -> None:
    put(tmp_path, "b/1.jpg", "a/1.jpg", "a/1.png", "2.jpg", "c/2.jpg", "3.jpg")
    both = find_images(str(tmp_path), ["1", "2.jpg", "3"])
    assert both.images.places["1"] == str(tmp_path / "a" / "1.jpg")
    assert both.images.places["2.jpg"] == str(tmp_path / "2.jpg")  # its whole path is the id
    assert both.notes == ("images with several files, the first by name is taken: 1 (1: a/1.jpg)",)


def test_a_file_that_is_no_image_is_none(tmp_path: Path) -> None:
    put(tmp_path, "1.jpg")
    (tmp_path / "2.jpg").write_text("version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / "3.jpg").touch()
    (tmp_path / "4.jpg").symlink_to(tmp_path / "gone.jpg")
    ids = ["1", "2", "3", "4", "5"]
    in_folder = find_images(str(tmp_path), ids)
    assert in_folder.images.places == {"1": str(tmp_path / "1.jpg")}
    assert in_folder.missing == ("2", "3", "4", "5")
    assert in_folder.broken == {one: str(tmp_path / f"{one}.jpg") for one in ("2", "3", "4")}
    by_pattern = find_images(f"{tmp_path}/{{image_id}}.jpg", ids)
    assert (by_pattern.images, by_pattern.missing) == (in_folder.images, in_folder.missing)
    assert [*by_pattern.broken] == ["2", "3"]  # a link to nothing is no file


@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_images_of_all_formats_are_images(tmp_path: Path, name: str) -> None:
    Image.new("RGB", (640, 480), "white").save(tmp_path / "1.jpg", format=name)
    assert find_images(str(tmp_path), ["1"]).missing == ()


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    put(tmp_path, "in/1.jpg")
    (tmp_path / "in" / "again").symlink_to(tmp_path)
    assert find_images(str(tmp_path), ["1"]).notes == ()


def test_no_id_leads_out_of_a_folder(tmp_path: Path) -> None:
    put(tmp_path, "secret.jpg", "in/1.jpg")
    asked = ["../secret", "../secret.jpg", str(tmp_path / "secret"), str(tmp_path / "secret.jpg")]
    assert find_images(str(tmp_path / "in"), asked).missing == tuple(asked)


# ---- patterns ----


def test_patterns_of_paths_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(put(tmp_path, "i/COCO_val2014_000000000042.jpg", "i/7.png", "i/VG/8.png"))
    assert found("i/COCO_val2014_{image_id:012d}.jpg", "42", "7") == {"42": "i/COCO_val2014_000000000042.jpg"}
    assert found("i/{image_id}.png", "42", "7", "VG/8") == {"7": "i/7.png", "VG/8": "i/VG/8.png"}
    assert find_images("i/{image_id}.png", ["42", "7"]).missing == ("42",)


def test_no_id_leads_out_of_a_pattern(tmp_path: Path) -> None:
    put(tmp_path, "secret.png", "in/1.png", "in-1.png")
    asked = ["../secret", "x/../../secret", str(tmp_path / "secret"), "1", "a" * 5000, "zero\x00"]
    inside = find_images(f"{tmp_path}/in/{{image_id}}.png", asked)
    assert inside.images.places == {"1": str(tmp_path / "in" / "1.png")}
    beside = find_images(f"{tmp_path}/in-{{image_id}}.png", ["1"])
    assert beside.images.places == {"1": str(tmp_path / "in-1.png")}


def test_addresses_are_never_looked_up_and_ids_are_escaped() -> None:
    addresses = find_images("https://example.org/{image_id:06d}.jpg", ["42"]).images
    assert addresses == Images(kind="addresses", places={"42": "https://example.org/000042.jpg"})
    odd = find_images("https://example.org/{image_id}.jpg", ["a b/ü?"]).images.places
    assert odd == {"a b/ü?": "https://example.org/a%20b/%C3%BC%3F.jpg"}


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=8))
def test_no_id_ends_in_an_error(one: str) -> None:
    assert find_images("nowhere/{image_id}.jpg", [one]).missing == (one,)


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("nowhere", "got no such folder, expected one, or a pattern such as"),
        ("https://example.org/x.jpg", "got no such folder, expected one, or a pattern such as"),
        ("i/{id}.jpg", "got a pattern with other places than {image_id} or {image_id:012d}"),
        ("i/{image_id}{x}.jpg", "got a pattern with other places than"),
        ("i/{image_id:x}.jpg", "got a pattern with other places than"),
        ("i/{image_id:012d}.jpg", "got ids of images that are no numbers ('n1'), expected numbers"),
    ],
)  # fmt: skip
def test_what_is_no_folder_and_no_pattern_is_told(pattern: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"--images {pattern}: {told}")):
        find_images(pattern, ["n1"])
