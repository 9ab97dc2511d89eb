"""Whether folders that other versions of libraries wrote hold the same: python .ci/compare_folders.py A B.

Says of each file whether its bytes are the same, or a table's rows, or these but for the last digits of
numbers that SciPy computes (p-values); exit code 1 if none of these. A report is full of other
libraries' program text: it is named where it differs, and that is no fault.
"""

import sys
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

DIGITS = 12
REPORT = "report.html"
RECORDS = {"run.json", "manifest.json", "README.md"}  # of times and digests; the last lists sizes


def compared(one: Path, other: Path) -> str:
    """Return in words how two files compare."""
    if not (one.is_file() and other.is_file()):
        return "not in both"
    if one.read_bytes() == other.read_bytes():
        return "same bytes"
    if one.name == REPORT:
        return "other text"
    return same_table(one, other) if one.suffix == ".parquet" else "differs"


def same_table(one: Path, other: Path) -> str:
    """Return in words how two tables compare."""
    here, there = pl.read_parquet(one), pl.read_parquet(other)
    if here.equals(there):
        return "same rows"
    try:
        assert_frame_equal(here, there, rel_tol=10**-DIGITS, abs_tol=0)
    except AssertionError:
        return "differs"
    return f"{DIGITS} digits"


def main(here: Path, there: Path) -> int:
    """Compare all files below two folders."""
    paths = [path.relative_to(one) for one in (here, there) for path in one.rglob("*") if path.is_file()]
    found = {
        path: compared(here / path, there / path) for path in sorted({*paths}) if path.name not in RECORDS
    }
    for path, text in found.items():
        print(f"{text:13} {path}")
    return int(not set(found.values()).isdisjoint({"differs", "not in both"}))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
