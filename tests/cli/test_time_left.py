"""How long a stage still takes: nothing where it can't be known, else the pace so far."""

from shortcut_miner.cli.time_left import TimeLeft
from shortcut_miner.timing import in_parts


def told(*steps: tuple[float, str]) -> list[str]:
    """Return what is said at some times."""
    now = iter([seconds for seconds, text in steps if " of " in text])
    say = TimeLeft(lambda: next(now))
    return [say(text) for _, text in steps]


def test_the_rest_takes_as_long_as_the_parts_before_it() -> None:
    assert told(
        (0, "draw: 0 of 300 pictures"), (2, "draw: 100 of 300 pictures"), (3, "draw: 200 of 300 pictures")
    ) == [
        "draw: 0 of 300 pictures",
        "draw: 100 of 300 pictures, about 4 s left",
        "draw: 200 of 300 pictures, about 2 s left",
    ]


def test_what_was_there_before_is_no_pace() -> None:
    """A download that goes on has most of its bytes at once."""
    assert told((0, "download 1 file: 900.0 of 1,000.0 MB"), (10, "download 1 file: 910.0 of 1,000.0 MB"))[
        1
    ] == ("download 1 file: 910.0 of 1,000.0 MB, about 90 s left")


def test_each_stage_has_its_own_pace() -> None:
    said = told(
        (0, "files: 0 of 4 MB"),
        (60, "files: 2 of 4 MB"),
        (60, "inputs: 1 of 4 MB"),
        (62, "inputs: 2 of 4 MB"),
    )
    assert said[1:] == [
        "files: 2 of 4 MB, about 60 s left",
        "inputs: 1 of 4 MB",
        "inputs: 2 of 4 MB, about 4 s left",
    ]


def test_shards_and_minutes() -> None:
    assert told((0, "mine, 0 of 12 shards"), (300, "mine, 1 of 12 shards"))[1] == (
        "mine, 1 of 12 shards, about 55 min left"
    )


def test_other_texts_stay() -> None:
    for text in (
        "read",
        "mine: compiling kernel 3 of 12, about 9 s left",
        "download 2 files: 3.0 MB",
        "done: 1 of",
    ):
        assert told((0, text)) == [text]


def test_parts_say_how_many_are_done_before_each() -> None:
    said: list[str] = []
    assert [*in_parts("ab", "draw", said.append, "pictures")] == ["a", "b"]
    assert said == ["draw: 0 of 2 pictures", "draw: 1 of 2 pictures"]
    said.clear()
    assert [*in_parts(["a", "b"], "files", said.append, "MB", sizes=[1_500_000, 500_000])] == ["a", "b"]
    assert said == ["files: 0.0 of 2.0 MB", "files: 1.5 of 2.0 MB"]
    assert [*in_parts("ab", "draw", None, "pictures")] == ["a", "b"]
