from pathlib import Path

import pytest

from shortcut_miner.drafts import draft_of, drafted


def test_a_file_gets_its_name_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with drafted(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_was_there_stays_after_a_failure(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(error), drafted(path) as draft:
        draft.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_name_that_cannot_be_given_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(IsADirectoryError), drafted(tmp_path / "a.json") as draft:
        draft.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_nothing_written_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), drafted(tmp_path / "a.json"):
        pass


def test_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with drafted(path, ".one") as one, drafted(path, ".two") as two:
        one.write_text("1")
        two.write_text("2")
    assert path.read_text() == "1"
    assert len({draft_of(path), one, two}) == 3
    assert [*tmp_path.iterdir()] == [path]
