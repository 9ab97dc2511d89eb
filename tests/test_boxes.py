import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.boxes import area, intersection, iou, overlap

sides = st.integers(-5, 15)
boxes = st.tuples(sides, sides, sides, sides)


def cells(box: tuple[int, ...]) -> set[tuple[int, int]]:
    x1, y1, x2, y2 = box
    return {(x, y) for x in range(x1, x2) for y in range(y1, y2)}


@given(boxes, boxes)
def test_boxes_are_sets_of_cells(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    one, other = cells(first), cells(second)
    union = len(one | other)
    assert area(first) == len(one)
    assert intersection(first, second) == len(one & other)
    assert iou(first, second) == (len(one & other) / union if union else 0)
    assert overlap(first, by=second) == (len(one & other) / len(one) if one else 0)


@given(boxes, boxes)
def test_iou_is_symmetric_and_never_above_overlap(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    assert iou(first, second) == iou(second, first) <= min(overlap(first, second), overlap(second, first))


@given(boxes.filter(lambda box: box[2] > box[0] and box[3] > box[1]))
def test_a_box_covers_itself(box: tuple[int, ...]) -> None:
    assert iou(box, box) == overlap(box, by=box) == 1


def test_leading_axes_broadcast() -> None:
    many = np.array([[0, 0, 2, 2], [0, 0, 1, 1], [5, 5, 5, 9]])
    assert iou(many[:, None], many[None]).shape == (3, 3)
    assert iou(many[:, None], many[None]).tolist() == [[1, 0.25, 0], [0.25, 1, 0], [0, 0, 0]]
    assert area(many).dtype == np.float64


def test_fractions_of_pixels_count() -> None:
    assert intersection([0, 0, 0.5, 0.5], [0.25, 0, 1, 1]) == 0.125
    assert overlap([0, 0, 0.5, 0.5], [0.25, 0, 1, 1]) == 0.5
