"""Images read: orientation, transparency, sizes, and files that are none."""

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from shortcut_miner.drawing.photos import FORMATS, read_photo, size_of
from shortcut_miner.errors import SourceError

RED, GREEN = (255, 0, 0), (0, 255, 0)


def two_colours() -> Image.Image:
    """Return 40 x 20 pixels, the left half red, the right one green."""
    image = Image.new("RGB", (40, 20), GREEN)
    image.paste(RED, (0, 0, 20, 20))
    return image


def turned(folder: Path) -> Path:
    """Write an image whose EXIF says that it is to be turned by 90 degrees clockwise."""
    image = two_colours()
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(folder / "turned.png", exif=exif)
    return folder / "turned.png"


def test_exif_turns_an_image(tmp_path: Path) -> None:
    photo = read_photo(turned(tmp_path))
    assert photo.image.size == (20, 40)
    assert [photo.image.getpixel((10, y)) for y in (5, 35)] == [RED, GREEN]
    assert photo.scales == (1, 1)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("orientation", [None, *range(1, 9)])
def test_the_size_is_known_before_an_image_is_decoded(
    tmp_path: Path, form: str, orientation: int | None
) -> None:
    path, image = tmp_path / "image", two_colours()
    exif = image.getexif()
    if orientation:
        exif[0x0112] = orientation
    image.save(path, form, exif=exif)
    assert size_of(path) == read_photo(path).image.size


def test_a_large_jpeg_may_come_smaller(tmp_path: Path) -> None:
    path = tmp_path / "large.jpg"
    two_colours().resize((800, 400)).save(path)
    sizes = {least: read_photo(path, least=least).image.size for least in (50, 100, 101, 250, 1000)}
    assert sizes == {50: (100, 50), 100: (200, 100), 101: (400, 200), 250: (800, 400), 1000: (800, 400)}
    assert size_of(path) == (800, 400)


def test_what_is_no_image_has_no_size(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(SourceError, match=r"a\.png: got .*, expected a whole image \(JPEG, PNG"):
        size_of(tmp_path / "a.png")


def test_an_image_stays_as_its_boxes_saw_it(tmp_path: Path) -> None:
    photo = read_photo(turned(tmp_path), size=(40, 20))
    assert photo.image.size == (40, 20)
    assert [photo.image.getpixel((x, 10)) for x in (5, 35)] == [RED, GREEN]
    assert read_photo(turned(tmp_path), size=(20, 40)).image.size == (20, 40)


def test_an_image_of_another_size_scales_its_boxes(tmp_path: Path) -> None:
    two_colours().save(tmp_path / "a.png")
    assert read_photo(tmp_path / "a.png", size=(80, 40)).scales == (0.5, 0.5)
    with pytest.raises(SourceError) as caught:
        read_photo(tmp_path / "a.png", size=(80, 80))
    assert str(caught.value) == (
        f"{tmp_path / 'a.png'}: got an image of 40 x 20 pixels, expected one of the shape that its boxes "
        "were made for (80 x 80). Is it another image of that name? Correct --images."
    )


@pytest.mark.parametrize(
    ("mode", "colour", "seen"),
    [
        ("RGBA", (255, 0, 0, 0), (255, 255, 255)),
        ("RGBA", (255, 0, 0, 255), RED),
        ("L", 128, (128, 128, 128)),
        ("1", 1, (255, 255, 255)),
        ("I;16", 128 * 256, (128, 128, 128)),
        ("LA", (128, 0), (255, 255, 255)),
    ],
)
def test_all_kinds_of_pixels(
    mode: str, colour: int | tuple[int, ...], seen: tuple[int, ...], tmp_path: Path
) -> None:
    Image.new(mode, (4, 4), colour).save(tmp_path / "a.png")
    image = read_photo(tmp_path / "a.png").image
    assert (image.mode, image.getpixel((1, 1))) == ("RGB", seen)


def bomb() -> bytes:
    """Return the start of a PNG that says that it has ten thousand million pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    checksum = struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + checksum + b"\0\0\0\0IDAT"


def large() -> bytes:
    """Return a whole PNG of 100 million pixels, in a few bytes."""
    file = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("content", [bomb(), large()], ids=["header", "whole"])
def test_too_many_pixels_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(SourceError, match=r"a\.png: got an image of more than 89,478,485 pixels, expected"):
        read_photo(tmp_path / "a.png")


def cut() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((60, 60), 90).save(file, "PNG")
    return file.getvalue()[:900]


@pytest.mark.parametrize(
    "content",
    [b"", b"not an image", b"\0" * 50, cut(), b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"],
    ids=["empty", "text", "zeros", "cut", "postscript"],
)
def test_what_is_no_image_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(SourceError, match=r"a\.png: got .+, expected a whole image \(JPEG, PNG"):
        read_photo(tmp_path / "a.png")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="got No such file or directory, expected a whole image"):
        read_photo(tmp_path / "none.png")
