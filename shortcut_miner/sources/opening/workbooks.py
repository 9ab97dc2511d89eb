"""The first sheet of an .xlsx file as text. Needs the extra ``evaluators`` (fastexcel)."""

import io
import logging
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO

import polars as pl

from shortcut_miner.errors import SourceError, missing_library, shortened
from shortcut_miner.sources.opening.containers import zip_errors
from shortcut_miner.sources.opening.csv_text import TextTable
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.limits import allowance
from shortcut_miner.sources.opening.reading import RECORD, damaged

# Of a damaged sheet the library logs what its error says too; without a handler that goes to stderr.
logging.getLogger("calamine").addHandler(logging.NullHandler())
_SHEET, _LAST_ROW, _LAST_COLUMN = "xl/worksheets/", 1 << 20, 1 << 14  # what the format allows
_MAX_CELLS = 100_000_000  # of the rectangle around all cells, which is read as a whole
_CELL = re.compile(rb"""<(?:\w+:)?c\s[^>]{0,200}?\br\s*=\s*["']([A-Za-z]+)(\d+)["']""")
_PIECE, _TAG = 1 << 20, 1 << 10  # bytes read at a time; no tag of a cell is longer


def read_sheet(source: Source) -> TextTable:
    """Return the first sheet of an .xlsx file, its lines being the sheet's rows.

    Numbers are written without a needless ``.0``, empty cells are empty texts, and texts such as "n/a" or
    "null" stay what they are. Rows without any value are left out.

    Raises
    ------
    BackendError
        fastexcel is not installed.
    SourceError
        The file is damaged.
    """
    try:
        import fastexcel
    except ImportError as error:
        raise missing_library(
            source.path, "fastexcel (for .xlsx)", "evaluators", "save the table as TSV"
        ) from error
    _check_cells(source)
    try:
        sheet = pl.read_excel(
            io.BytesIO(source.content),
            engine="calamine",
            has_header=False,  # else a name that occurs twice would get a number
            read_options={"dtypes": "string", "skip_rows": 0},
            drop_empty_rows=False,
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damaged(source.path, ".xlsx", error) from error
    except IndexError as error:  # what Polars makes of a workbook without sheets
        raise damaged(source.path, ".xlsx", ValueError("no sheet")) from error
    filled = [at for at, row in enumerate(sheet.iter_rows()) if any(cell is not None for cell in row)]
    top, *rows = filled or (0,)
    header = [name or f"__UNNAMED__{at}" for at, name in enumerate(sheet.row(top) if filled else ())]
    chosen = [pl.col(sheet.columns[header.index(name)]).alias(name) for name in dict.fromkeys(header)]
    frame = sheet[pl.Series(rows, dtype=pl.UInt32)].select(chosen).fill_null("")
    records = pl.Series(RECORD, [row - top - 1 for row in rows], dtype=pl.UInt32)
    return TextTable(header, frame, records, range(top + 2, len(sheet) + 1))  # rows are counted from 1


def _check_cells(source: Source) -> None:
    """Raise SourceError for what would make the library ask for memory until the process ends.

    That is cells far out, and parts that are larger than allowed; damaged ones are told too.
    """
    with zip_errors(source.path), zipfile.ZipFile(io.BytesIO(source.content)) as archive:
        allowance(source.path, len(source.content), is_held=True).check(
            sum(info.file_size for info in archive.infolist())
        )
        for name in archive.namelist():
            with archive.open(name) as part:
                pieces = _pieces(part)
                if name.startswith(_SHEET) and name.endswith(".xml"):
                    _check_sheet(source.path, name, pieces)
                else:
                    for _ in pieces:  # to its end, where the checksum says whether it is as long as it claims
                        pass


def _pieces(part: IO[bytes]) -> Iterator[bytes]:
    while piece := part.read(_PIECE):
        yield piece


def _check_sheet(shown: str, name: str, pieces: Iterable[bytes]) -> None:
    last_row = last_column = 0
    before = b""
    for piece in pieces:
        for letters, digits in _CELL.findall(before + piece):
            row = int(digits) if len(digits) < 8 else _LAST_ROW + 1
            column = _column(letters) if len(letters) < 4 else _LAST_COLUMN + 1
            if row > _LAST_ROW or column > _LAST_COLUMN:
                cell = shortened((letters + digits).decode())
                raise SourceError(
                    f"{shown}, {name}: got a cell {cell!r}, expected none beyond 'XFD1048576'. "
                    "Save the file again, or save the table as TSV."
                )
            last_row, last_column = max(last_row, row), max(last_column, column)
        before = piece[-_TAG:]
    if last_row * last_column > _MAX_CELLS:
        raise SourceError(
            f"{shown}, {name}: got cells as far as row {last_row:,} and column {last_column:,}, expected at "
            f"most {_MAX_CELLS:,} cells. Delete the far ones, or save the table as TSV."
        )


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number
