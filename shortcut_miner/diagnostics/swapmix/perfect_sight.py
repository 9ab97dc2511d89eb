"""Perfect-sight plans: swaps of names and attributes in the scene graph, without a detector (section 3.3)."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.swapmix.context import Asked, Pairs, context_blocks
from shortcut_miner.diagnostics.swapmix.kernels_numba import draws
from shortcut_miner.diagnostics.swapmix.kernels_numba.names import draw_attributes
from shortcut_miner.diagnostics.swapmix.plan import (
    KINDS,
    Drawing,
    PlanRows,
    empty_swaps,
    in_order,
    layout,
    numbered,
    rows_of,
)
from shortcut_miner.diagnostics.swapmix.world import Ints, World, positions


@dataclasses.dataclass(frozen=True, slots=True)
class AttributeNames:
    """The distinct attributes, and those of each object.

    Attributes
    ----------
    names : pl.Series
        Sorted.
    start, own : ndarray of int64
        Where each object's attributes start, and the attributes as positions in `names`, ascending.
    similar : draws.Similar
        Similar attributes of each.
    """

    names: pl.Series
    start: Ints
    own: Ints
    similar: draws.Similar


def attribute_names(world: World) -> pl.Series:
    """Return the distinct attributes of objects and donors, sorted."""
    lists = pl.concat([world.objects["attributes"], world.donors["attributes"]])
    return lists.explode().drop_nulls().unique().sort()


def encode_attributes(world: World, names: pl.Series, similar: draws.Similar) -> AttributeNames:
    """Return the attributes of each object as positions in `names`."""
    flat = (
        world.objects.select("attributes")
        .with_row_index("object")
        .filter(pl.col("attributes").list.len() > 0)
        .explode("attributes")
        .unique()
    )
    placed = flat.with_columns(place=positions(flat["attributes"], names)).sort("object", "place")
    start = np.searchsorted(placed["object"].to_numpy(), np.arange(len(world.objects) + 1)).astype(np.int64)
    return AttributeNames(names, start, placed["place"].to_numpy().astype(np.int64), similar)


def perfect_sight_rows(
    asked: Asked, drawing: Drawing, attributes: AttributeNames, threads: int = 1
) -> Iterator[PlanRows]:
    """Give the plan, question by question: the original, then every object's swaps.

    A class swap names a donor, whose attributes come along. An attribute swap replaces one attribute, drawn
    from the object's, by one of its most similar attributes that the object lacks.
    """

    def draw(pairs: Pairs) -> PlanRows:
        return _block(pairs, drawing, attributes)

    return in_order(draw, context_blocks(asked, drawing.world, drawing.config), threads)


def _block(pairs: Pairs, drawing: Drawing, attributes: AttributeNames) -> PlanRows:
    k, pads = drawing.limits.k, drawing.limits.pads
    counts = drawing.swap_counts[pairs.objects]
    by_name = empty_swaps(len(pairs.objects) * k)
    filled = draw_attributes(
        pairs.objects, pairs.keys, np.arange(len(pairs.objects)) * k, attributes.start, attributes.own,
        attributes.similar, k, pads, len(attributes.names), by_name,
    )  # fmt: skip
    sizes, first_rows = layout(pairs, counts[:, 0] + filled)
    swaps = empty_swaps(int(sizes.sum()))
    # With no donor of other attributes: class swaps only.
    by_class = drawing.choices._replace(others=np.zeros_like(drawing.choices.others))
    draws.draw_swaps(
        pairs.objects, pairs.keys, first_rows, drawing.objects, drawing.donors, by_class, drawing.limits,
        draws.lists_for(drawing.donors, drawing.limits), swaps,
    )  # fmt: skip
    rows = rows_of(pairs, drawing, *numbered(pairs, sizes), swaps, with_sets_of=draws.BY_CLASS)
    _insert(rows, by_name, first_rows + counts[:, 0], pairs, drawing)
    by_kind = np.bincount(rows.kind, minlength=len(KINDS))
    rows.counts.update(
        {
            "context_objects": len(pairs.objects),
            "rows": len(rows),
            "class_swaps": int(by_kind[draws.BY_CLASS]),
            "class_swaps_to_random_classes": int(rows.is_padding[rows.kind == draws.BY_CLASS].sum()),
            "attribute_swaps": int(by_kind[draws.BY_ATTRIBUTE]),
            "attribute_swaps_to_random_attributes": int(
                rows.is_padding[rows.kind == draws.BY_ATTRIBUTE].sum()
            ),
            "context_objects_without_similar_class": int((counts[:, 1] == 0).sum()),
            "context_objects_with_fewer_class_swaps": int((counts[:, 0] < k).sum()),
            "context_objects_without_attribute_swaps": int((filled == 0).sum()),
            "questions_without_swaps": int((sizes == 1).sum()),  # the original is there
        }
    )
    return rows


def _insert(rows: PlanRows, by_name: draws.Swaps, starts: Ints, pairs: Pairs, drawing: Drawing) -> None:
    """Put the attribute swaps into the rows left for them, after each object's class swaps."""
    filled = np.flatnonzero(by_name.kind)
    pair = by_name.pair[filled]
    at = starts[pair] + by_name.number[filled] - 1
    # Single attributes come after the sets of attributes: see `outputs`.
    offset = len(drawing.world.attribute_sets)
    rows.object[at] = pairs.objects[pair]
    rows.kind[at] = draws.BY_ATTRIBUTE
    rows.index[at] = by_name.number[filled]
    rows.to_class[at] = drawing.objects.classes[pairs.objects[pair]]
    rows.from_attribute[at] = by_name.donor[filled] + offset
    rows.to_attribute[at] = by_name.to_class[filled] + offset
    rows.is_padding[at] = by_name.is_padding[filled]
