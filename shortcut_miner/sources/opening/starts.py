"""The start of a text as a text of its own: what is cut is left out, what is open is closed."""

import re

_TOKENS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},]', re.DOTALL)
_ENDS = {b"{": b"}", b"[": b"]"}
_DEEPEST = 2  # where lists of records and objects of them have their commas


def whole_start(start: bytes) -> bytes:
    r"""Return the first bytes of a JSON text as far as they are whole, closed; of other text its whole lines.

    >>> whole_start(b'{"annotations": [{"a": 1}, {"a": 2}, {"a'), whole_start(b"a,b\n1,2\n3")
    (b'{"annotations": [{"a": 1}, {"a": 2}]}', b'a,b\n1,2\n')
    """
    lines = start[: start.rfind(b"\n") + 1] or start
    first = start.lstrip()[:1]
    is_lines = first == b"{" and re.search(rb"\}\s*\n\s*\{", start[: len(lines)]) is not None
    if first not in _ENDS or is_lines:
        return lines
    open_ones: list[bytes] = []
    at, needed = 0, b""
    for found in _TOKENS.finditer(start):
        token = found[0]
        if token in _ENDS:
            open_ones.append(_ENDS[token])
        elif token in (b"]", b"}"):
            if open_ones:
                open_ones.pop()
        elif token == b"," and len(open_ones) <= _DEEPEST:
            at, needed = found.start(), b"".join(reversed(open_ones))
    return start[:at] + needed if at else lines
