"""What is there already: found by content where that is known, else by name; never replaced."""

import gzip
import hashlib
import json
import os
import zipfile
from pathlib import Path

import pytest

from shortcut_miner.errors import ConfigError, OutputError, SourceError
from shortcut_miner.journal import Digest
from shortcut_miner.recipes import lock as lock_module
from shortcut_miner.recipes.finding import Found, find_source, shelf_of
from shortcut_miner.recipes.lock import Pin, Pins, add_to_lock, expected_digest, read_lock
from shortcut_miner.recipes.recipe import Recipe, Source
from shortcut_miner.recipes.unpacking import unpack_members

CONTENT = b"content of the file"
DIGEST = Digest(len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
URL = "https://a.example/a.zip"


def recipe(*inputs: str, unpack: tuple[str, ...] = (), **known: object) -> Recipe:
    one = Source(urls=(URL,), licence="any", unpack=unpack, **known)  # type: ignore[arg-type]
    return Recipe(
        title="T", citation="C", command="vqa-ce build", inputs={"detections": inputs or ("a.zip",)},
        sources={"a.zip": one},
    )  # fmt: skip


def find(told: Recipe, folder: Path, pins: Pins | None = None) -> Found | None:
    return find_source(told, "a.zip", shelf_of(folder), pins or {})


def put(path: Path, content: bytes = CONTENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


KNOWN = recipe(sha256=DIGEST.sha256, size=DIGEST.size)
ODD_NAME = {"name": "../a", "size": 1, "sha256": "0" * 64}
PINNED = {URL: Pin("a.zip", DIGEST)}


@pytest.mark.parametrize(
    ("told", "pins"), [(KNOWN, {}), (recipe(sha256=DIGEST.sha256), {}), (recipe(), PINNED)]
)
def test_a_known_file_is_found_by_its_content(told: Recipe, pins: Pins, tmp_path: Path) -> None:
    put(tmp_path / "other.zip", bytes(len(CONTENT)))
    path = put(tmp_path / "deep" / "under" / "strange name.zip")
    found = find(told, tmp_path, pins)
    assert found is not None
    assert (found.paths, found.file) == ({"a.zip": path}, path)


def test_links_are_followed(tmp_path: Path) -> None:
    path = put(tmp_path / "elsewhere" / "x.bin")
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.zip").symlink_to(path)
    found = find(KNOWN, data)
    assert found is not None
    assert found.pins == {URL: Pin("a.zip", DIGEST)}


def test_what_is_not_there_is_to_be_downloaded(tmp_path: Path) -> None:
    assert find(KNOWN, tmp_path / "not yet") is None
    put(tmp_path / "b.zip")
    assert find(recipe(), tmp_path) is None


def test_hidden_files_are_no_data(tmp_path: Path) -> None:
    put(tmp_path / ".a.zip.part")
    put(tmp_path / ".cache" / "a.zip")
    assert find(KNOWN, tmp_path) is None


@pytest.mark.parametrize(
    ("told", "pins", "expected"),
    [
        (KNOWN, {}, f"expected {DIGEST.size} bytes, SHA-256 {DIGEST.sha256} (which nobody checked yet)"),
        (recipe(sha256=DIGEST.sha256, checked=True), {}, f"expected SHA-256 {DIGEST.sha256}. Move it away"),
        (recipe(), PINNED, f"expected {DIGEST.size} bytes, SHA-256 {DIGEST.sha256}"),
        (recipe(size=7), {}, "got 3 bytes, expected 7 (which nobody checked yet)"),
    ],
)
def test_another_file_of_the_name_is_refused_and_stays(
    told: Recipe, pins: Pins, expected: str, tmp_path: Path
) -> None:
    path = put(tmp_path / "a.zip", b"own")
    with pytest.raises(SourceError) as caught:
        find(told, tmp_path, pins)
    assert str(caught.value).startswith(f"{path}: got 3 bytes")
    assert expected in str(caught.value)
    assert path.read_bytes() == b"own"


def test_another_file_of_the_name_is_no_matter_where_the_right_one_is_too(tmp_path: Path) -> None:
    put(tmp_path / "a.zip", b"own")
    path = put(tmp_path / "right.zip")
    found = find(KNOWN, tmp_path)
    assert found is not None
    assert found.file == path


def test_files_of_one_name_are_taken_if_they_are_equal(tmp_path: Path) -> None:
    put(tmp_path / "b" / "a.zip")
    path = put(tmp_path / "a.zip")
    found = find(recipe(), tmp_path)
    assert found is not None
    assert found.file == path
    put(tmp_path / "c" / "a.zip", b"else")
    with pytest.raises(SourceError, match=r"got files of the name a\.zip that differ"):
        find(recipe(), tmp_path)


def test_what_another_address_gave_is_not_taken_for_this_one(tmp_path: Path) -> None:
    put(tmp_path / "a.zip")
    pins = {"https://b.example/a.zip": Pin("a.zip", DIGEST)}
    with pytest.raises(
        SourceError, match=r"got what https://b\.example/a\.zip gave, expected what https://a\."
    ):
        find(recipe(), tmp_path, pins)


# ---- unpacked archives ----


@pytest.mark.parametrize("name", ["one.json", "one.json.gz"])
def test_members_lie_by_themselves(name: str, tmp_path: Path) -> None:
    told = recipe("a.zip/in/one.json", "a.zip/two.json")
    one = put(tmp_path / "x" / name, gzip.compress(CONTENT) if name.endswith("gz") else CONTENT)
    assert find(told, tmp_path) is None  # the other one is missing
    two = put(tmp_path / "two.json", b"{}")
    found = find(told, tmp_path)
    assert found is not None
    assert found.paths == {"a.zip/in/one.json": one, "a.zip/two.json": two}
    assert sorted(found.pins) == [f"{URL}#in/one.json", f"{URL}#two.json"]


def test_pinned_members_are_found_by_content_and_no_others(tmp_path: Path) -> None:
    told = recipe("a.zip/one.json")
    pins = {f"{URL}#one.json": Pin("one.json", DIGEST)}
    put(tmp_path / "one.json", b"changed")
    assert find(told, tmp_path, pins) is None
    path = put(tmp_path / "renamed.json")
    found = find(told, tmp_path, pins)
    assert found is not None
    assert found.paths == {"a.zip/one.json": path}


def test_a_folder_of_unpacked_members_is_found(tmp_path: Path) -> None:
    told = recipe(unpack=("*part_*.h5", "*info.json"))
    put(tmp_path / "gqa" / "part_0.h5")
    assert find(told, tmp_path) is None
    put(tmp_path / "gqa" / "info.json")
    found = find(told, tmp_path)
    assert found is not None
    assert (found.paths, found.file) == ({"a.zip": tmp_path / "gqa"}, None)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("objects/part_0.h5", CONTENT)
        file.writestr("objects/part_1.h5", b"1")
        file.writestr("readme.txt", b"not wanted")
    return path


def test_members_are_unpacked_into_a_folder_that_appears_as_a_whole(archive: Path, tmp_path: Path) -> None:
    folder = unpack_members(archive, ("*part_*.h5",), tmp_path / "a")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "part_0.h5": CONTENT,
        "part_1.h5": b"1",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.zip"]
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert unpack_members(archive, ("*part_*.h5",), folder) == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    (folder / "part_1.h5").unlink()
    with pytest.raises(SourceError, match=r"got a folder without 'part_1\.h5', expected all of a\.zip"):
        unpack_members(archive, ("*part_*.h5",), folder)


def test_a_damaged_member_leaves_no_folder(archive: Path, tmp_path: Path) -> None:
    content = bytearray(archive.read_bytes())
    content[content.index(CONTENT)] ^= 1
    archive.write_bytes(content)
    with pytest.raises(SourceError, match=r"a\.zip/objects/part_0\.h5: got a zip file that is damaged"):
        unpack_members(archive, ("*part_*.h5",), tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_pattern_that_no_member_fits_is_told(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"got no member like '\*\.npz', expected some; it has 'objects/part_0"
    ):
        unpack_members(archive, ("*part_*.h5", "*.npz"), tmp_path / "a")


@pytest.mark.parametrize(
    "names", [["../../evil.h5"], ["{own}/evil.h5"], ["a/same.h5", "b/same.h5"], ["a\\\\b.h5"]]
)
def test_members_never_choose_what_is_read_or_where_it_is_written(names: list[str], tmp_path: Path) -> None:
    """A path that is absolute would be read from this machine."""
    put(tmp_path / "evil.h5", b"somebody's own file")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        for name in names:
            file.writestr(name.format(own=tmp_path), CONTENT)
    (tmp_path / "data").mkdir()
    with pytest.raises(SourceError, match="expected plain names that differ, inside the archive"):
        unpack_members(tmp_path / "a.zip", ("*.h5",), tmp_path / "data" / "a")
    assert [*(tmp_path / "data").iterdir()] == []


# ---- the folder and the lock file ----


def test_a_data_dir_that_is_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--data-dir .*: got a file, expected a folder"):
        shelf_of(put(tmp_path / "x"))


def test_pins_stay(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock.json"
    assert read_lock(path) == {}
    add_to_lock(path, PINNED)
    other = {"https://b.example/b": Pin("b", Digest(1, "0" * 64))}
    add_to_lock(path, {**other, URL: Pin("a.zip", Digest(1, "1" * 64))})
    assert read_lock(path) == {**PINNED, **other}
    assert [one.name for one in path.parent.iterdir()] == ["lock.json"]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"format": "other", "files": {}}',
     json.dumps({"format": lock_module._FORMAT, "files": {URL: ODD_NAME}}).encode(),
     json.dumps({"format": lock_module._FORMAT, "files": {URL: {"name": "a"}}}).encode()],
)  # fmt: skip
def test_what_is_no_lock_file_is_told_and_stays(content: bytes, tmp_path: Path) -> None:
    path = put(tmp_path / "lock.json", content)
    with pytest.raises(SourceError, match=r"lock\.json: got"):
        add_to_lock(path, PINNED)
    assert path.read_bytes() == content


def test_a_lock_file_that_can_t_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(lock_module, "write_json", refuse)
    with pytest.raises(OutputError, match=r"lock\.json: got No space left on device while writing"):
        add_to_lock(tmp_path / "lock.json", PINNED)
    assert [*tmp_path.iterdir()] == []


def test_recipe_and_lock_file_must_not_contradict_each_other() -> None:
    one = recipe(sha256="1" * 64).sources["a.zip"]
    with pytest.raises(SourceError, match=r"a\.zip: got SHA-256 1+ in the recipe and .* in the lock file"):
        expected_digest("a.zip", one, PINNED)
