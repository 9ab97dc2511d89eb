"""Boxes on images: pixels where they should be, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageChops

from shortcut_miner.drawing.letters import drawable, fitted, length, wrapped
from shortcut_miner.drawing.marks import COLOURS, Mark, clipped, draw_marks, letter_size, line_width

SIZE = (200, 120)
GROUND = (10, 20, 30)
WHITE = (255, 255, 255)


def page(size: tuple[int, int] = SIZE) -> Image.Image:
    return Image.new("RGB", size, GROUND)


def pixels(image: Image.Image, box: tuple[int, int, int, int]) -> set[object]:
    """Return the colours inside a box, its right and lower side left out."""
    part = image.crop(box)
    return {part.getpixel((x, y)) for x in range(part.width) for y in range(part.height)}


def test_a_box_is_a_line_with_light_around_it() -> None:
    drawn = draw_marks(page(), [Mark(box=(40, 30, 140, 90))])
    width, blue = line_width(letter_size(SIZE)), COLOURS["blue"]
    assert width == 2
    assert pixels(drawn, (40, 30, 140, 32)) == {blue}
    assert pixels(drawn, (40, 88, 140, 90)) == {blue}
    assert pixels(drawn, (40, 30, 42, 90)) == {blue}
    assert pixels(drawn, (138, 30, 140, 90)) == {blue}
    assert pixels(drawn, (39, 29, 141, 30)) == {WHITE}
    assert pixels(drawn, (42, 32, 43, 88)) == {WHITE}
    assert pixels(drawn, (43, 33, 137, 87)) == {GROUND}
    outside = ImageChops.difference(drawn, page())
    assert outside.getbbox() == (39, 29, 141, 91)


def test_a_dashed_box_has_gaps_and_the_same_corners() -> None:
    drawn = draw_marks(page(), [Mark(box=(40, 30, 140, 90), colour="vermilion", is_dashed=True)])
    assert pixels(drawn, (40, 30, 140, 31)) == {COLOURS["vermilion"], WHITE}
    assert drawn.getpixel((40, 30)) == COLOURS["vermilion"]
    assert ImageChops.difference(drawn, page()).getbbox() == (39, 29, 141, 91)


def test_the_image_given_is_not_changed() -> None:
    image = page()
    draw_marks(image, [Mark(box=(0, 0, 50, 50), text="cat")])
    assert ImageChops.difference(image, page()).getbbox() is None


def test_what_is_outside_is_cut_off_and_boxes_outside_are_left_out() -> None:
    drawn = draw_marks(page(), [Mark(box=(-50, -50, 60, 500))])
    assert pixels(drawn, (0, 0, 1, SIZE[1])) == {COLOURS["blue"]}
    assert pixels(drawn, (58, 2, 60, SIZE[1] - 2)) == {COLOURS["blue"]}
    for box in ((300, 10, 400, 50), (-9, -9, -1, -1), (50, 50, 50, 60), (60, 50, 50, 60)):
        nothing = draw_marks(page(), [Mark(box=box, text="cat")])
        assert ImageChops.difference(nothing, page()).getbbox() is None


@given(
    st.tuples(*[st.floats(-300, 300) for _ in range(4)]),
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
)
def test_any_box_is_inside_its_image(box: tuple[float, float, float, float], size: tuple[int, int]) -> None:
    found = clipped(box, size)
    if found is not None:
        left, top, right, bottom = found
        assert 0 <= left <= right < size[0]
        assert 0 <= top <= bottom < size[1]
    draw_marks(Image.new("RGB", size), [Mark(box=box, text="label", is_dashed=True)])


def test_a_label_stands_above_its_box_and_inside_where_there_is_no_room() -> None:
    drawn = draw_marks(page(), [Mark(box=(40, 60, 140, 110), text="cat")])
    height = letter_size(SIZE) + 2 * 3
    assert drawn.getpixel((40, 60 - height)) == COLOURS["blue"]
    assert drawn.getpixel((40, 60 - height - 1)) == GROUND
    assert any(one == WHITE for one in pixels(drawn, (43, 60 - height, 70, 58)))
    drawn = draw_marks(page(), [Mark(box=(40, 0, 140, 110), text="cat")])
    assert drawn.getpixel((41, height - 1)) == COLOURS["blue"]


def test_labels_stay_apart_and_those_of_later_boxes_choose_first() -> None:
    marks = [
        Mark(box=(20, 40, 180, 110), text="one", colour="vermilion"),
        Mark(box=(20, 40, 180, 110), text="two", colour="blue"),
    ]
    drawn = draw_marks(page(), marks)
    above = 40 - letter_size(SIZE) - 6
    assert drawn.getpixel((20, above)) == COLOURS["blue"]
    assert drawn.getpixel((179, above)) == COLOURS["vermilion"]


def test_letters_grow_with_the_image() -> None:
    small, large = (
        draw_marks(page(size), [Mark(box=(0, size[1] / 2, size[0], size[1]), text="cat")])
        for size in ((400, 300), (1600, 1200))
    )
    heights = [
        sum(image.getpixel((1, y)) == COLOURS["blue"] for y in range(image.height // 2))
        for image in (small, large)
    ]
    assert heights == [18, 63]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a b c"),
        ("\x1b[2J\u202eevil", "\\x1b[2J\\u202eevil"),
        ("\u72ac", "\\u72ac"),
        ("Zo\xeb", "Zo\\xeb"),  # the font has no more letters than English
        ("<script>", "<script>"),
        ("a" * 500, "a" * 200 + "..."),
    ],
)
def test_any_text_is_one_line_of_letters_that_the_font_has(text: str, shown: str) -> None:
    assert drawable(text) == shown


@given(st.text(max_size=80), st.integers(40, 300))
def test_lines_fit(text: str, width: int) -> None:
    one = drawable(text)
    assert length(fitted(one, 17, width), 17) <= width
    assert all(length(line, 17) <= width for line in wrapped(one, 17, width))


def test_a_long_label_is_cut_to_its_image() -> None:
    drawn = draw_marks(page(), [Mark(box=(90, 60, 190, 110), text="W" * 10_000)])
    label = [drawn.getpixel((x, 43)) == COLOURS["blue"] for x in range(SIZE[0])]
    assert label.index(True) < 40  # to the left of its box, for there is no room on the right
    assert 160 < sum(label) < SIZE[0]
