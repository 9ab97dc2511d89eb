import re

from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.cli.layout import Column, lay_out, one_line, stacked, text_width, wrapped

WORDS = st.lists(st.sampled_from(["a", "b", "自", "e\u0301"]), min_size=1, max_size=9).map("".join)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
WIDTHS = st.integers(5, 60)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Column], list[list[str]]]:
    count = draw(st.integers(1, 5))
    columns = [
        Column(draw(st.lists(WORDS, min_size=1, max_size=2).map(" ".join)), draw(st.booleans()))
        for _ in range(count)
    ]
    return columns, draw(st.lists(st.lists(TEXTS, min_size=count, max_size=count), max_size=4))


def words_of(texts: list[str]) -> list[str]:
    return sorted(word for text in texts for word in text.split() if not set(word) <= {"─"})


@given(TEXTS, WIDTHS)
def test_wrapping_keeps_every_word_in_order(text: str, width: int) -> None:
    lines = wrapped(text, width, 2)
    assert " ".join(lines).split() == text.split()
    assert all(text_width(line) <= width or len(line.split()) == 1 for line in lines)


def test_wrapping_keeps_indentation_and_intervals() -> None:
    assert wrapped("  - aa bb cc\nnext", 8) == ["  - aa", "    bb", "    cc", "next"]
    assert wrapped("58.66 [56.3, 61.1] of 20", 14, 0) == ["58.66", "[56.3, 61.1]", "of 20"]
    assert wrapped("[a [b c] d]", 4, 0) == ["[a", "[b c]", "d]"]


@given(tables(), WIDTHS)
def test_a_table_breaks_no_word_and_loses_none(
    table: tuple[list[Column], list[list[str]]], width: int
) -> None:
    columns, rows = table
    laid_out = lay_out(columns, rows, width)
    is_grid = any(line and set(line) <= {"─"} for line in laid_out.lines)
    headings = [column.heading for column in columns] * (1 if is_grid else len(rows))
    assert words_of(laid_out.lines) == words_of([*headings, *(cell for row in rows for cell in row)])
    if is_grid:
        assert all(text_width(line) <= width for line in laid_out.lines)
    else:
        too_wide = [line for line in laid_out.lines if text_width(line) > width]
        assert all(len(line.split()) == 1 or line in headings for line in too_wide)


@given(tables(), WIDTHS)
def test_spare_columns_go_in_their_order(table: tuple[list[Column], list[list[str]]], width: int) -> None:
    columns, rows = table
    columns = [Column(f"h{place}", column.is_number) for place, column in enumerate(columns)]
    spare = [column.heading for column in columns[1:]]
    laid_out = lay_out(columns, rows, width, spare=spare)
    assert laid_out.left_out == spare[: len(laid_out.left_out)]
    kept = [place for place, column in enumerate(columns) if column.heading not in laid_out.left_out]
    narrower = lay_out(
        [columns[place] for place in kept], [[row[place] for place in kept] for row in rows], width
    )
    if laid_out.left_out:
        assert laid_out.lines == narrower.lines


def test_a_wide_table_is_wrapped_then_loses_columns_then_becomes_blocks() -> None:
    columns = [
        Column("rule", True),
        Column("words"),
        Column("answers there", True),
        Column("max_q", True, True),
    ]
    rows = [["7", "what is the sport here", "12", "0.050"], ["1,234", "how", "5", "1.0e-40"]]
    assert lay_out(columns, rows, None).lines == [
        " rule   words                    answers there     max_q",
        "────────────────────────────────────────────────────────",
        "    7   what is the sport here              12     0.050",
        "1,234   how                                  5   1.0e-40",
    ]
    assert lay_out(columns, rows, 40).lines == [
        "                        answers",
        " rule  words              there    max_q",
        "────────────────────────────────────────",
        "    7  what is the           12    0.050",
        "       sport here",
        "1,234  how                    5  1.0e-40",
    ]
    fewer = lay_out(columns, rows, 30, spare=["max_q"])
    assert (fewer.left_out, fewer.lines[1]) == (["max_q"], " rule  words             there")
    assert lay_out(columns, rows[1:], 25).lines == [
        "rule           1,234",
        "words          how",
        "answers there  5",
        "max_q          1.0e-40",
    ]
    assert lay_out(columns, rows[1:], 15).lines == [
        "rule", "  1,234", "words", "  how", "answers there", "  5", "max_q", "  1.0e-40",
    ]  # fmt: skip


@given(st.lists(st.tuples(TEXTS, st.lists(st.tuples(WORDS, TEXTS), max_size=3)), max_size=3), WIDTHS)
def test_stacked_models_keep_every_word(groups: list[tuple[str, list[tuple[str, str]]]], width: int) -> None:
    lines = stacked(groups, width)
    given_texts = [
        text for heading, pairs in groups for text in (heading, *(one for pair in pairs for one in pair))
    ]
    assert words_of(lines) == words_of(given_texts)
    assert all(text_width(line) <= width or len(line.split()) == 1 for line in lines)


@given(st.text(max_size=30))
def test_one_line_holds_nothing_that_acts_on_a_terminal(text: str) -> None:
    shown = one_line(text)
    assert re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown) is None
    assert one_line(shown) == shown
    if text.isprintable():
        assert shown == " ".join(text.split())
