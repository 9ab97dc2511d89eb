"""Damaged and hostile files, drawn from whole ones: bytes, text, JSON, containers, tables, their insides."""

import gzip
import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import zstandard

Draw = random.Random
Mutate = Callable[[bytes, Draw], bytes]
MOST_BYTES = 4_000_000

# ---- bytes ----


def _flip(content: bytes, draw: Draw) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, draw: Draw) -> bytes:
    at, length = draw.randrange(len(content)), draw.choice((1, 2, 4, 8, 8, 64))
    fill = draw.choice((b"\0" * length, b"\xff" * length, draw.randbytes(length)))
    return content[:at] + fill + content[at + length :]


def _cut(content: bytes, draw: Draw) -> bytes:
    return content[: draw.randrange(len(content))]


def _drop(content: bytes, draw: Draw) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + content[at + draw.choice((1, 2, 8, 64)) :]


def _double(content: bytes, draw: Draw) -> bytes:
    at = draw.randrange(len(content))
    end = at + draw.choice((1, 8, 64, len(content)))
    return content[:end] + content[at:]


def _insert(content: bytes, draw: Draw) -> bytes:
    token = draw.choice(
        (b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04", b"PAR1", b"\r", b'"')
    )
    at = draw.choice((0, len(content), draw.randrange(len(content))))
    return content[:at] + token + content[at:]


BYTES: tuple[Mutate, ...] = (_flip, _flip, _overwrite, _cut, _drop, _double, _insert)

# ---- text ----

NUMBERS = (
    "NaN", "-Infinity", "1e400", "-1e400", "-0.0", "1e-400", "9" * 30, "9" * 400, "-1", "0.5", "1_0", "0x10",
    "18446744073709551616", "9223372036854775808", "01", "1e5", "true", "null", '""',
)  # fmt: skip
STRINGS = (
    "", " ", "\u202edog", "a\x1b[2J", "\x00", "x" * 100_000, "dog" * 30, "é" * 70, "😀", "../../x", "/etc/x",
    "nan", "None", "[1, 2]", "['a', 'b'", '{"a": 1}', "=1+1", "a\nb", "a\tb", '"', "'", ",", "\ufeff", "007",
)  # fmt: skip
RAW_STRINGS = (r'"\ud800"', r'"a\udc00b"', r'"\u0000"', '"\x01"', r'"\x"', '"', r'"\ud83d\ude00"')
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "cp037")


def _encode(content: bytes, draw: Draw) -> bytes:
    return content.decode("utf-8", "replace").encode(draw.choice(_ENCODINGS), "replace")


def _lines(content: bytes, draw: Draw) -> bytes:
    lines = content.split(b"\n")
    at = draw.randrange(len(lines))
    line = lines[at]
    made = draw.choice((
        [], [line, line], [line[: draw.randrange(len(line) + 1)]], [b""], [line + b"\t\t,"], [b'"' + line],
        [line.replace(b"\t", b" ")], [line.replace(b",", b";")], [line + b"\r"], [line, *lines[:3]],
    ))  # fmt: skip
    return b"\n".join([*lines[:at], *made, *lines[at + 1 :]])


def _cells(content: bytes, draw: Draw) -> bytes:
    mark = draw.choice((b"\t", b",", b" ", b":", b'"'))
    cells = content.split(mark)
    cells[draw.randrange(len(cells))] = draw.choice((*NUMBERS, *STRINGS)).encode()
    return mark.join(cells)


def _ends(content: bytes, draw: Draw) -> bytes:
    return content.replace(b"\n", draw.choice((b"\r\n", b"\r", b"\n\n", b"", b"\x0b")))


TEXT: tuple[Mutate, ...] = (_encode, _lines, _lines, _cells, _cells, _ends)

# ---- JSON ----


class Pairs(list[tuple[str, Any]]):
    """An object, which may have a key twice."""


class Token(str):
    """Text that stands in JSON as it is."""


def _dumped(value: Any) -> str:
    if isinstance(value, Token):
        return value
    if isinstance(value, Pairs):
        return "{" + ", ".join(f"{_dumped(key)}: {_dumped(one)}" for key, one in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dumped, value)) + "]"
    return json.dumps(value)


def _hostile(draw: Draw, old: Any) -> Any:
    depth = draw.choice((2, 50, 2000, 100_000))
    return draw.choice((
        None, True, [], Pairs(), {}, 0, -1, 1.5, [old], [old, old], Pairs([("a", old)]), str(old), [None],
        Token("[" * depth + "]" * depth), Token('{"a":' * depth + "1" + "}" * depth),
        *map(Token, (*draw.sample(NUMBERS, 4), *draw.sample(RAW_STRINGS, 2))), *draw.sample(STRINGS, 4),
    ))  # fmt: skip


def _places(value: Any) -> list[tuple[Any, int]]:
    """Return every place of a value: the list that holds it, and where."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            found += [(one, at) for at in range(len(one))]
            waiting += [inner[1] if isinstance(one, Pairs) else inner for inner in one]
    return found


def _change(value: Any, draw: Draw) -> Any:
    places = _places(value)
    if not places:
        return _hostile(draw, value)
    holder, at = draw.choice(places)
    if isinstance(holder, Pairs):
        key, old = holder[at]
        holder[at : at + 1] = draw.choice((
            [(key, _hostile(draw, old))], [(key, _hostile(draw, old))], [], [(key, old), (key, old)],
            [(key, old), (key, _hostile(draw, old))], [(key, _hostile(draw, old)), (key, old)],
            [(draw.choice((*STRINGS, key.upper(), key + " ", Token(draw.choice(RAW_STRINGS)))), old)],
            [("extra", 1), (key, old)],
        ))  # fmt: skip
    else:
        old = holder[at]
        holder[at : at + 1] = draw.choice((
            [_hostile(draw, old)], [_hostile(draw, old)], [], [old, old], [old, _hostile(draw, old)]
        ))  # fmt: skip
    return value


def _json(content: bytes, draw: Draw) -> bytes:
    def changed(text: str) -> str:
        value = json.loads(text, object_pairs_hook=Pairs)
        for _ in range(draw.choice((1, 1, 1, 2, 5))):
            value = _change(value, draw)
        return _dumped(value)

    text = content.decode()
    try:
        return changed(text).encode("utf-8", "surrogatepass")
    except json.JSONDecodeError:
        lines = text.split("\n")
        at = draw.randrange(len(lines))
        lines[at] = changed(lines[at])
        return "\n".join(lines).encode("utf-8", "surrogatepass")


JSON: tuple[Mutate, ...] = (_json,)

# ---- containers ----


def zipped(content: bytes, draw: Draw, name: str = "file") -> bytes:
    packed = io.BytesIO()
    how = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", how) as archive:
        warnings.simplefilter("ignore")  # of a name that occurs twice
        # A ZipInfo has a date of its own: of a name alone the member is of now.
        archive.writestr(zipfile.ZipInfo(name), content, how)
        if draw.random() < 0.2:
            other = zipfile.ZipInfo(draw.choice((name, "b", "d/", "__MACOSX/x")))
            archive.writestr(other, content, how)
    return packed.getvalue()


_NAMES = ("file", "../../x", "/etc/x", "a\x1b[2J", "é", "C:\\x", "data.pkl", "a.npy", "[Content_Types].xml")


def _packed(content: bytes, draw: Draw) -> bytes:
    for _ in range(draw.choice((1, 1, 2, 6))):
        how = draw.randrange(3)
        if how == 0:
            content = gzip.compress(content, mtime=0)
        else:
            content = zstandard.compress(content) if how == 1 else zipped(content, draw, draw.choice(_NAMES))
    return draw.choice((lambda one, _: one, *BYTES))(content, draw)


def _encrypted(content: bytes, draw: Draw) -> bytes:
    packed = bytearray(zipped(content, draw))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(signature) + offset] |= draw.choice((1, 0x20, 0x40))
    return bytes(packed)


CONTAINERS: tuple[Mutate, ...] = (_packed, _packed, _encrypted)

_DEFLATED = zipfile.ZIP_DEFLATED
# ---- insides of what is binary ----


def _zip_inside(content: bytes, draw: Draw) -> bytes:
    """Change one member of an .xlsx, .npz or .eval file, and pack it again."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as whole,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as changed,
    ):
        chosen = draw.choice(whole.namelist())
        for name in whole.namelist():
            inner = whole.read(name)
            if name == chosen and inner:
                how = (*BYTES, *((_far_cell, _cells) if name.endswith(".xml") else (_npy, _npy)))
                inner = draw.choice(how)(inner, draw)
            if name != chosen or draw.random() < 0.95:
                changed.writestr(zipfile.ZipInfo(name), inner, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _far_cell(content: bytes, draw: Draw) -> bytes:
    cell = draw.choice(
        (b"A99999999999", b"XFE1", b"XFD1048576", b"A0", b"1", b"A-1", b"ZZZZZZZZ9", b"A1048577")
    )
    name = draw.choice((b'r="', b'ref="', b's="', b'count="', b't="'))
    before, found, after = content.partition(name)
    return before + found + cell + after[after.find(b'"') :] if found else content


def _npy(content: bytes, draw: Draw) -> bytes:
    shape = draw.choice(
        ("(99999999999999, 99)", "(-1,)", "(1, 2", "'x'", "(1,) * 9", "()", "(0,)", "(2**62,)")
    )
    kind = draw.choice(("<f8", "|O", "<U4000000000", "<c16", "|V8", "[('a', '<i4')]", ">f2", "|b1"))
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content[128:]


_MADE: tuple[tuple[list[object], pl.DataType | None], ...] = (
    ([None], None), ([None], pl.Int8()), ([float("nan")], None), ([1e308], None), ([b"\xff"], None),
    ([[]], pl.List(pl.String)), ([{"a": 1}], None), ([True], None), (["x\x1b[2J" * 9], None),
    ([2**63 - 1], None),
    ([-1], None), ([["a", None]], None), ([0], pl.Date()), ([0], pl.Duration()), ([1], pl.Decimal(20, 2)),
    ([[[1.5]]], None),
)  # fmt: skip


def _table(content: bytes, draw: Draw) -> bytes:
    """Write a Parquet or Arrow table again with one column changed, away, renamed or with other metadata."""
    is_parquet = content.startswith(b"PAR1")
    frame = pl.read_parquet(io.BytesIO(content)) if is_parquet else pl.read_ipc(io.BytesIO(content))
    name = draw.choice(frame.columns)
    how = draw.randrange(6)
    if how == 0:
        frame = frame.drop(name)
    elif how == 1:
        frame = frame.rename({name: draw.choice(STRINGS)})
    elif how == 2:
        frame = pl.concat([frame, frame]) if draw.random() < 0.7 else frame.clear()
    else:
        values, dtype = draw.choice(_MADE)
        frame = frame.with_columns(pl.Series(name, values * len(frame), dtype=dtype))
    packed = io.BytesIO()
    if is_parquet:
        about = draw.choice(
            (None, {"shortcut_miner": draw.choice(("{", "[]", '{"a": 1}', "NaN", "\x1b[2J"))})
        )
        frame.write_parquet(
            packed, compression=draw.choice(("zstd", "snappy", "gzip", "uncompressed")), metadata=about
        )
    else:
        frame.write_ipc(packed, compression=draw.choice(("zstd", "lz4", "uncompressed")))
    return packed.getvalue()


def _footer(content: bytes, draw: Draw) -> bytes:
    """Damage what a Parquet or Arrow file says of itself, at its end."""
    size = min(len(content), 8 + int.from_bytes(content[-8:-4], "little") % (1 << 16))
    return content[:-size] + draw.choice(BYTES)(content[-size:], draw)


def _hdf5(content: bytes, draw: Draw) -> bytes:
    import h5py

    packed = io.BytesIO()
    with h5py.File(packed, "w") as made:
        how = draw.randrange(9)
        name = draw.choice(("bboxes", "boxes"))
        if how == 0:
            made.create_dataset(name, shape=(1 << 40, 36, 4), dtype="<f4", chunks=(1, 36, 4))
        elif how == 1:
            made.create_dataset(name, shape=(1, 1 << 33, 4), dtype="<f4", chunks=(1, 1, 4))
        elif how == 2:
            made[name] = h5py.ExternalLink(draw.choice(("/dev/zero", "none.h5", "../x.h5")), name)
        elif how == 3:
            made[name] = h5py.SoftLink(f"/{name}")
        elif how == 4:
            made[name] = np.zeros((1, 1, 4), dtype=[("a", "<f4"), ("b", "<i4")])
        elif how == 5:
            made[name] = np.array([[["a", "b", "c", "d"]]], dtype="S9")
        elif how == 6:
            made[name] = np.full((1, 1, 4), draw.choice((np.nan, np.inf, -1e308, 1e308)))
        elif how == 7:
            made.create_group(name)
        else:
            made[name] = np.ones(draw.choice(((1, 4), (4,), (1, 1, 5), (0, 0, 4), (1, 0, 4))), "<f4")
    return packed.getvalue()


# ---- all together ----


def mutant(content: bytes, draw: Draw) -> tuple[str, bytes]:
    """Return how a file was changed, and its new content."""
    kinds: list[tuple[str, tuple[Mutate, ...]]] = [("bytes", BYTES), ("container", CONTAINERS)]
    if content.startswith(b"PK"):
        kinds += [("members", (_zip_inside,))] * 4
    elif content.startswith((b"PAR1", b"ARROW1")):
        kinds += [("columns", (_table,))] * 3 + [("footer", (_footer,))] * 2
    elif content.startswith(b"\x89HDF"):
        kinds += [("data sets", (_hdf5,))] * 2
    else:
        kinds += [("text", TEXT)] * 2
        if content.lstrip()[:1] in (b"{", b"["):
            kinds += [("JSON", JSON)] * 5
    name, hows = draw.choice(kinds)
    for _ in range(draw.choice((1, 1, 1, 2))):
        try:
            content = draw.choice(hows)(content, draw) or content
        except (Exception, pl.exceptions.PanicException):  # what is damaged already has no insides to change
            content = _flip(content, draw)
    return name, content[:MOST_BYTES]
