import sys

import pytest

from shortcut_miner.cli.loading import left_out

NAME = "colorsys"  # of the standard library, and used by nothing here


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, NAME, raising=False)


def test_what_is_left_out_is_not_there_meanwhile() -> None:
    with left_out(NAME):
        with left_out(NAME), pytest.raises(ImportError):
            __import__(NAME)
        with pytest.raises(ImportError):
            __import__(NAME)
    assert NAME not in sys.modules
    __import__(NAME)


def test_what_is_loaded_already_stays() -> None:
    __import__(NAME)
    module = sys.modules[NAME]
    with left_out(NAME):
        assert __import__(NAME) is module
    assert sys.modules[NAME] is module


def test_an_error_lets_it_back_in() -> None:
    with pytest.raises(ValueError, match="of a library"), left_out(NAME):
        raise ValueError("of a library")
    __import__(NAME)
