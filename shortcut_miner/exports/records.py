"""Questions as JSON records, in ASCII: their readers open files in whatever encoding the system prefers."""

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

import polars as pl

from shortcut_miner.sources.images.image_files import Images

SOURCE_IMAGE = "source_image_id"
_ROWS_AT_ONCE = 100_000
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def record_texts(table: pl.DataFrame, encoded: Collection[str] = ()) -> pl.Series:
    r"""Return each row as a JSON object, without the fields that are null.

    Parameters
    ----------
    table : pl.DataFrame
        Columns of text, numbers, or lists of these; the names need no escapes.
    encoded : collection of str
        Columns that hold JSON text already.

    >>> record_texts(pl.DataFrame({"a": ["\t", None], "b": [[], ["x"]], "c": ["{}", None]}), ["c"]).to_list()
    ['{"a":"\\t","b":[],"c":{}}', '{"b":["x"]}']
    """
    fields = [
        pl.concat_str(pl.lit(f'"{name}":'), name) if name in encoded else _field(name)
        for name in table.columns
    ]
    joined = pl.concat_str(fields, separator=",", ignore_nulls=True)
    return table.select(pl.concat_str(pl.lit("{"), joined, pl.lit("}")).alias("record")).to_series()


def json_texts(column: pl.Expr) -> pl.Expr:
    """Return values of a column as JSON text; null stays null."""
    text = pl.struct(column.alias("_")).struct.json_encode()
    return pl.when(column.is_not_null()).then(text.str.strip_prefix('{"_":').str.strip_suffix("}"))


def write_records(records: pl.Series, path: Path, *, before: str = "", after: str = "") -> None:
    """Write JSON texts as a list, a record a line, between texts in ASCII."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.write(f"{before}[\n")
        for number, piece in enumerate(_pieces(records, ",\n")):
            file.write(f",\n{piece}" if number else piece)
        file.write(f"\n]{after}\n")


def write_lines(records: pl.Series, path: Path) -> None:
    """Write JSON texts as JSON lines."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{piece}\n" for piece in _pieces(records, "\n"))


def write_value(value: object, path: Path) -> None:
    """Write a value as JSON."""
    path.write_text(json.dumps(value) + "\n", encoding="ascii", newline="\n")


def image_stems(ids: pl.Series, images: Images) -> pl.Series:
    """Return the names of images' files without their endings; the id where no file is known.

    >>> images = Images(kind="addresses", places={"9": "http://x/COCO_val2014_000000000009.jpg?size=1"})
    >>> image_stems(pl.Series(["9", "10"]), images).to_list()
    ['COCO_val2014_000000000009', '10']
    """
    distinct = ids.unique()
    known = {one: _stem(place) for one in distinct if (place := images.places.get(one))}
    return ids.replace(known)


def source_image(named: pl.Series) -> dict[str, pl.Expr]:
    """Return the column for the ids of images where they are not what a record names its image by."""
    return {SOURCE_IMAGE: pl.when(pl.col("image_id") != named).then("image_id")}


def feature_notes(named: str, images: Images) -> tuple[str, ...]:
    """Return what to tell of names of features, such as "img_id: the image's id", where no file is known."""
    if images.kind != "none":
        return ()
    return (
        f"{named}. Features of COCO are stored by names such as COCO_val2014_000000000042: "
        "give --images a folder or pattern with such names",
    )


def by_frequency(answers: pl.Series) -> list[str]:
    """Return the distinct answers, the most frequent first.

    >>> by_frequency(pl.Series("answer", ["b", "c", "a", "c"]))
    ['c', 'a', 'b']
    """
    counted = answers.drop_nulls().value_counts(name="times")
    return counted.sort("times", answers.name, descending=[True, False])[answers.name].to_list()


def _stem(place: str) -> str:
    path = place.partition("?")[0] if "://" in place else place
    return PurePosixPath(path.replace("\\", "/")).stem


def _field(name: str) -> pl.Expr:
    text = pl.struct(name).struct.json_encode().str.strip_prefix("{").str.strip_suffix("}")
    return pl.when(pl.col(name).is_not_null()).then(text)


def _pieces(records: pl.Series, between: str) -> Iterator[str]:
    for start in range(0, len(records), _ROWS_AT_ONCE):
        yield _ascii(between.join(records.slice(start, _ROWS_AT_ONCE)))


def _ascii(text: str) -> str:
    """Return JSON text with escapes for what is not ASCII, which only strings hold."""
    return text if text.isascii() else _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
