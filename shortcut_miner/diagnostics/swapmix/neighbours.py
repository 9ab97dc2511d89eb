"""Similar names: nearest neighbours by the cosine of their embeddings, or as given in a file."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.columnar import columnar_form
from shortcut_miner.diagnostics.swapmix.kernels_numba.draws import Similar
from shortcut_miner.diagnostics.swapmix.world import positions
from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.embeddings import Embeddings, name_vectors
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.flat_tables import open_table
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, first_bytes, parse_json
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import Reading, find_problems, settle
from shortcut_miner.sources.opening.repeated_fields import check_keys_once
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_columns

SIMILAR_PARQUET, OBJ_MATCHING = "similar classes Parquet", "obj_matching JSON"
DECIMALS = 6  # of a cosine: coarser than what linear algebra libraries differ by
_BLOCK = 1024
_NEEDS = {"class": Column("text"), "neighbour": Column("text"), "cosine": Column("number")}
_EXPECTED = "a Parquet table with class, neighbour, cosine, or {class: {neighbour: cosine}}"


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbours:
    """Similar names of each name of a vocabulary.

    Attributes
    ----------
    table : pl.DataFrame
        class, neighbour, cosine; by class, then falling cosine, then neighbour.
    without_vector : tuple of str
        Names of the vocabulary about which nothing is known.
    """

    table: pl.DataFrame
    without_vector: tuple[str, ...]


def nearest_neighbours(names: pl.Series, embeddings: Embeddings, min_cosine: float) -> Neighbours:
    """Return, for each name, all others whose embedding has a cosine of at least `min_cosine` with its own.

    Cosines are computed in float64 and rounded to six decimals; equal ones go by name.

    Parameters
    ----------
    names : pl.Series
        Distinct, sorted.
    """
    vectors, _ = name_vectors(embeddings, names.to_list())
    norms = np.linalg.norm(vectors, axis=1)
    is_known = np.isfinite(norms) & (norms > 0)
    known = np.flatnonzero(is_known)
    unit = vectors[known] / norms[known, None]
    parts = [pl.DataFrame(schema={"left": pl.Int64, "right": pl.Int64, "cosine": pl.Float64})]
    for first in range(0, len(known), _BLOCK):
        cosines = np.round(unit[first : first + _BLOCK] @ unit.T, DECIMALS)
        row, column = np.nonzero(cosines >= min_cosine)
        found = {"left": known[row + first], "right": known[column], "cosine": cosines[row, column]}
        parts.append(pl.DataFrame(found).filter(pl.col("left") != pl.col("right")))
    pairs = pl.concat(parts)
    table = pl.DataFrame(
        {
            "class": names.gather(pairs["left"]),
            "neighbour": names.gather(pairs["right"]),
            "cosine": pairs["cosine"],
        }
    )
    return Neighbours(_in_order(table), tuple(names.filter(pl.Series(~is_known)).to_list()))


def given_neighbours(names: pl.Series, table: pl.DataFrame, min_cosine: float) -> Neighbours:
    """Return given neighbours of the names of a vocabulary, those of at least `min_cosine`.

    Parameters
    ----------
    table : pl.DataFrame
        class, neighbour, cosine, from :func:`read_similar_classes`. Names outside `names` are left out.
    """
    known = table["class"].unique()
    kept = table.filter(
        pl.col("class").is_in(names.implode())
        & pl.col("neighbour").is_in(names.implode())
        & (pl.col("class") != pl.col("neighbour"))
        & (pl.col("cosine").round(DECIMALS) >= min_cosine)
    ).with_columns(pl.col("cosine").round(DECIMALS))
    return Neighbours(_in_order(kept), tuple(names.filter(~names.is_in(known.implode())).to_list()))


def _in_order(table: pl.DataFrame) -> pl.DataFrame:
    return table.sort("class", "cosine", "neighbour", descending=[False, True, False])


def encode_similar(names: pl.Series, neighbours: Neighbours) -> Similar:
    """Return the neighbours as positions in `names`."""
    left = positions(neighbours.table["class"], names).to_numpy()
    right = positions(neighbours.table["neighbour"], names).to_numpy().astype(np.int64)
    return Similar(np.searchsorted(left, np.arange(len(names) + 1)).astype(np.int64), right)


def read_similar_classes(path: Path) -> Reading:
    """Return given neighbours: class, neighbour (String), cosine (Float64).

    Parameters
    ----------
    path : Path
        Parquet with these columns, or the released ``obj_matching.json``: {class: {neighbour: cosine}}.

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has a cosine outside [-1, 1] or a pair twice.
    """
    source = open_source(path, keep_workbooks=True)
    if columnar_form(source.content) == "Parquet":
        kind, table = SIMILAR_PARQUET, _similar_parquet(source)
    else:
        kind, table = OBJ_MATCHING, _obj_matching(source)
    repeated = table.filter(pl.struct("class", "neighbour").is_duplicated())
    if len(repeated):
        raise SourceError(
            f"{path}: got neighbours of {examples(repeated['class'].unique().sort())} twice, expected "
            "each once. "
            "Remove the repeated ones."
        )
    return Reading(table=table, kind=kind, file=source.facts())


def _similar_parquet(source: Source) -> pl.DataFrame:
    flat = open_table(source)
    if flat.missing(_NEEDS):
        check_no_other_kind(source, _NEEDS, _EXPECTED)
    table, _ = read_columns(flat, _NEEDS)
    check_has_rows(flat, "neighbours")
    problems = [
        problem
        for name, expected in (("class", "a name"), ("neighbour", "a name"))
        for problem in find_problems(table, pl.col(name).is_null(), name, expected)
    ]
    in_range = pl.col("cosine").is_between(-1, 1) & pl.col("cosine").is_finite()
    problems += find_problems(
        table, ~in_range | pl.col("cosine").is_null(), "cosine", "a number from -1 to 1"
    )
    settle(source, "neighbours", problems, len(table), None, flat.label)
    return table.select("class", "neighbour", "cosine")


def _obj_matching(source: Source) -> pl.DataFrame:
    if first_bytes(source.content) != b"{" or Content(source).is_lines:
        check_no_other_kind(source, _NEEDS, _EXPECTED)
    top = parse_json(source).top
    check_keys_once(source.path, source.content, 2)
    records: Sequence[tuple[str, msgspec.Raw]] = list(top.items()) if isinstance(top, dict) else []
    rows: list[tuple[str, str, float]] = []
    for name, raw in records:
        try:
            given = msgspec.json.decode(raw, type=dict[str, float])
        except DECODE_ERRORS:
            given = {"": np.inf}
        rows += [(name, neighbour, cosine) for neighbour, cosine in given.items()]
    bad = [name for name, neighbour, cosine in rows if not -1 <= cosine <= 1]
    if not records or bad:
        got = f"{examples(bad)} with other values" if bad else "no JSON object of classes"
        raise SourceError(
            f"{source.path}: got {got}, expected "
            "{class: {neighbour: cosine}} with cosines from -1 to 1. Check that this is the right file."
        )
    schema = {"class": pl.String, "neighbour": pl.String, "cosine": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
