"""Whether folders that other versions of libraries wrote hold the same: python .ci/compare_folders.py A B.

Says of each file whether its bytes are the same, or a table's rows are; exit code 1 if neither.
"""

import sys
from pathlib import Path

import polars as pl

RECORDS = {"run.json", "manifest.json", "README.md"}  # of times and digests; the last lists sizes


def compared(one: Path, other: Path) -> str:
    """Return in words how two files compare."""
    if not (one.is_file() and other.is_file()):
        return "not in both"
    if one.read_bytes() == other.read_bytes():
        return "same bytes"
    is_same = one.suffix == ".parquet" and pl.read_parquet(one).equals(pl.read_parquet(other))
    return "same rows" if is_same else "differs"


def main(here: Path, there: Path) -> int:
    """Compare all files below two folders."""
    paths = [path.relative_to(one) for one in (here, there) for path in one.rglob("*") if path.is_file()]
    found = {
        path: compared(here / path, there / path) for path in sorted({*paths}) if path.name not in RECORDS
    }
    for path, text in found.items():
        print(f"{text:13} {path}")
    return int(not set(found.values()) <= {"same bytes", "same rows"})


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
