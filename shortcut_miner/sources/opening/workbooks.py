"""The first sheet of an .xlsx file as text. Needs the extra ``evaluators`` (fastexcel)."""

import io

import polars as pl

from shortcut_miner.errors import BackendError
from shortcut_miner.sources.opening.csv_text import TextTable
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.reading import RECORD, damaged


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
        raise BackendError(
            f"{source.path}: got an .xlsx file but no fastexcel, expected it to be installed. "
            "Run pip install 'shortcut-miner[evaluators]', or save the table as TSV."
        ) from error
    try:
        sheet = pl.read_excel(
            io.BytesIO(source.content),
            engine="calamine",
            read_options={"dtypes": "string"},
            drop_empty_rows=False,
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError) as error:
        raise damaged(source.path, ".xlsx", error) from error
    except IndexError as error:  # what Polars makes of a workbook without sheets
        raise damaged(source.path, ".xlsx", ValueError("no sheet")) from error
    is_filled = pl.Series(
        [any(cell is not None for cell in row) for row in sheet.iter_rows()], dtype=pl.Boolean
    )
    records = pl.Series(RECORD, range(len(sheet)), dtype=pl.UInt32).filter(is_filled)
    first = 2  # below the header, counted from 1
    frame = sheet.filter(is_filled).fill_null("")
    return TextTable(sheet.columns, frame, records, range(first, first + len(sheet)))
