"""Pictures as files: where things are in them, and that they are the same each time."""

import io

from PIL import Image

from shortcut_miner.drawing.marks import COLOURS, Mark
from shortcut_miner.drawing.sheets import Panel, Sheet, is_sheet, png_of

SPACE = 24  # around images


def sheet(*rows: tuple[Panel, ...], lines: tuple[str, ...] = ("answer: yes",)) -> Sheet:
    legend = (Mark(box=(0, 0, 0, 0), text="what is meant"),)
    return Sheet(heading="Is it a cat?", lines=lines, legend=legend, rows=rows)


def panel(size: tuple[int, int], *marks: Mark, title: str = "") -> Panel:
    return Panel(Image.new("RGB", size), marks, title)


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def test_an_image_is_at_the_lower_end_of_its_sheet() -> None:
    mark = Mark(box=(100, 100, 300, 200))
    image = opened(png_of(sheet((panel((800, 600), mark),))))
    assert image.width == 800 + 2 * SPACE
    top = image.height - SPACE - 600
    assert image.getpixel((SPACE + 101, top + 150)) == COLOURS["blue"]
    assert image.getpixel((SPACE + 200, top + 150)) == (0, 0, 0)
    assert image.getpixel((SPACE + 200, top - 1)) == (255, 255, 255)


def test_small_and_large_images_get_a_size_to_look_at_with_their_boxes() -> None:
    for size in ((64, 48), (6400, 4800)):
        width, height = (640, 480) if size[0] == 64 else (1600, 1200)
        mark = Mark(box=(size[0] / 4, size[1] / 4, size[0] / 2, size[1] / 2), colour="green")
        image = opened(png_of(sheet((panel(size, mark),))))
        assert image.width == width + 2 * SPACE
        left, top = SPACE + width // 4, image.height - SPACE - height + height // 4
        assert image.getpixel((left + 1, top + 50)) == COLOURS["green"]
        assert image.getpixel((left + 30, top + 50)) == (0, 0, 0)


def test_images_of_a_row_are_equally_high() -> None:
    image = opened(png_of(sheet((panel((800, 600), title="one"), panel((300, 600), title="two")))))
    assert image.width == 800 + 300 + 3 * SPACE  # at the height of the lower one
    for x in (SPACE + 5, image.width - SPACE - 5):
        column = [image.getpixel((x, y)) == (0, 0, 0) for y in range(image.height)]
        assert sum(column) == 600


def test_the_same_sheet_gives_the_same_bytes_and_says_what_wrote_it() -> None:
    one, other = (png_of(sheet((panel((90, 60), title="t"),))) for _ in range(2))
    assert one == other
    assert opened(one).info == {"Software": "shortcut_miner"}
    assert is_sheet(one[:256])


def test_other_pngs_are_not_ours() -> None:
    file = io.BytesIO()
    Image.new("RGB", (9, 9)).save(file, "PNG")
    assert not is_sheet(file.getvalue()[:256])
    assert not is_sheet(b"tEXtSoftware\0shortcut_miner")


def test_hostile_words_are_drawn_as_text() -> None:
    words = ("<script>alert(1)</script> [/] \x1b[31m \u202e" + "\u5b57" * 5000, "", "x" * 10_000)
    image = opened(png_of(sheet((panel((90, 60), title=words[0]),), lines=words)))
    assert image.width == 640 + 2 * SPACE
    assert image.height < 2000
