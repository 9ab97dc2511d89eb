from shortcut_miner.errors import (
    SourceError,
    check_no_problems,
    examples,
    near_names,
    problem_list,
    reason_of,
    shortened,
    visible,
)


def test_near_names_are_the_most_like_first_by_any_of_their_words() -> None:
    known = ["tennis racket", "tennis court", "tent", "Golf", "golf"]
    assert near_names("tenis", known) == " Did you mean 'tennis racket' or 'tennis court'?"
    assert near_names("gofl", known, limit=1) == " Did you mean 'Golf'?"
    assert near_names("GOLF", ["golf"]) == " Did you mean 'golf'?"
    assert near_names("zzz", known) == ""
    assert near_names("", known) == ""
    assert near_names("x", []) == ""


def test_near_ids_among_many() -> None:
    ids = [str(number) for number in range(100_000, 140_000)]
    assert near_names("0123456", ids, limit=1) == " Did you mean '123456'?"
    assert near_names("99", ids) == ""


def test_visible_escapes_what_acts_on_a_terminal_and_nothing_else() -> None:
    assert visible("a\x1b[2J\x00\x7f\x9b\u202e\u2028\ud800\r\t") == (
        r"a\x1b[2J\x00\x7f\x9b\u202e\u2028\ud800\r\t"
    )
    assert visible("naïve 自転車 🚲\n") == "naïve 自転車 🚲\n"


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert visible("a\x1b[2J\tb\x9b\u202e\u2028\ud800") == "a\\x1b[2J\\tb\\x9b\\u202e\\u2028\\ud800"
    assert visible("café 猫\n") == "café 猫\n"
    assert str(SourceError("x\x1b.json: got \x07")) == "x\\x1b.json: got \\x07"


def test_messages_are_short_whatever_they_name() -> None:
    assert str(SourceError("y" * 1900)) == "y" * 1900
    assert str(SourceError("y" * 5000)) == "y" * 1900 + "..."
    assert examples(["x" * 100]) == "'" + "x" * 59 + "..."
    assert examples(range(1000), limit=1000).endswith("and 764 more")
    assert shortened("abc", 3) == "abc"
    lines = problem_list("title", [f"{number}: {'z' * 290}" for number in range(30)]).splitlines()
    assert (len(lines), lines[-1]) == (8, "  ... and 24 more")
    lines = problem_list("title", [f"{number}" for number in range(30)]).splitlines()
    assert (len(lines), lines[-1]) == (22, "  ... and 10 more")


def test_all_problems_are_listed_where_there_is_room() -> None:
    assert problem_list("title", ["a", "b"]) == "title\n  - a\n  - b"
    check_no_problems([], "table", "none")


def test_a_library_s_first_line_is_its_reason() -> None:
    assert [reason_of(error) for error in (ValueError("a\nb"), ValueError(), KeyError("k"))] == [
        "a",
        "ValueError",
        "'k'",
    ]
