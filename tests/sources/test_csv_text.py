"""Delimited text: what is read at once equals what is read row by row."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shortcut_miner.sources.opening import csv_text
from shortcut_miner.sources.opening.csv_text import TextTable, read_csv
from shortcut_miner.sources.opening.files import open_source


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv") / "table.csv"


def contents(table: TextTable) -> tuple[object, ...]:
    frame = table.frame
    return table.header, frame.to_dict(as_series=False), list(table.records), list(table.lines), table.uneven


@given(text=st.text(alphabet='ab ,;\t\n\r"\x00é#', max_size=40).map(lambda more: f"x,y\n{more}"))
@example("x,y\n1,2")
@example("x,y\n")
@example("x,y")
@example("x\n1\n2\n")
@example("x,x\n1,2\n")
@example("x,y\n1,2\n\n3,4\n")
@example("x,y\n1,2,3\n4\n")
@example("x,y\n ,NA\n007,null\n")
@example("x,y\n#1,2\n")
@example("x,y\r\n1,2\r\n")
def test_text_read_at_once_is_as_read_row_by_row(path: Path, text: str) -> None:
    path.write_bytes(text.encode())
    source = open_source(path)
    plain = csv_text._read_plain(source.content, csv_text._delimiter(text))
    if plain is not None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(csv_text, "_read_plain", lambda *_: None)
            assert contents(plain) == contents(read_csv(source))


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("x,y\n1,2\n3,é", True),
        ("x\ty\n1\t\n", True),
        ('x,y\n"1",2\n', False),
        ("x,y\r\n1,2\r\n", True),
        ("x,y\r1,2\r", False),
        ("x,y\n1,2,3\n", False),
        ("x,y\n\n1,2\n", False),
        ("x,x\n1,2\n", False),
    ],
)
def test_quotes_blank_lines_and_uneven_rows_are_read_row_by_row(text: str, is_plain: bool) -> None:
    assert (csv_text._read_plain(text.encode(), csv_text._delimiter(text)) is not None) == is_plain
