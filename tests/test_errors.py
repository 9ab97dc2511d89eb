from shortcut_miner.errors import near_names, visible


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
