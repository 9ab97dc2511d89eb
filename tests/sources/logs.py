"""Logs as inspect_ai writes them: an archive of samples packed with Zstandard, or one JSON document."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import zstandard

STORED, DEFLATED, ZSTANDARD = 0, 8, 93  # methods of zip members
_LOCAL, _CENTRAL = "<4s5H3L2H", "<4s6H3L5H2L"


def sample(number: int | str, said: Any = "yes", *, epoch: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a sample; `said` None is one that failed."""
    message = {"role": "assistant", "content": said, "source": "generate"}
    choices = [] if said is None else [{"message": message, "stop_reason": "stop"}]
    completion = said if isinstance(said, str) else ""
    failed = {"error": {"message": "ValueError('no')", "traceback": "..."}} if said is None else {}
    return {
        "id": number,
        "epoch": epoch,
        "input": "What?",
        "target": "yes",
        "messages": [],
        "output": {"model": "m", "choices": choices, "completion": completion},
        "metadata": {},
        "events": [{"event": "sample_init"}],
    } | failed | fields  # fmt: skip


def header(status: str = "success") -> dict[str, Any]:
    return {"version": 2, "status": status, "eval": {"task": "vqa", "model": "own/m"}, "plan": {}}


def json_log(samples: Sequence[Any], status: str = "success") -> bytes:
    return json.dumps(header(status) | {"samples": samples}, indent=2).encode()


def eval_log(samples: Sequence[Any], status: str | None = "success", method: int = ZSTANDARD) -> bytes:
    """Return an archive of samples; without a status it is of a run that goes on."""
    members = {"_journal/start.json": {"version": 2, "eval": {"task": "vqa"}}}
    members |= {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}
    members |= {"_journal/summaries/1.json": []} | ({"header.json": header(status)} if status else {})
    return archive({name: json.dumps(one).encode() for name, one in members.items()}, method)


def archive(members: Mapping[str, bytes], method: int = ZSTANDARD) -> bytes:
    """Return a zip archive; Python's own writes no Zstandard before 3.14."""
    if method != ZSTANDARD:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", compression=method) as opened:
            for name, content in members.items():
                opened.writestr(name, content)
        return packed.getvalue()
    body, directory = b"", b""
    for name, content in members.items():
        # Two frames, as large samples have.
        half = len(content) // 2
        packed_content = b"".join(map(zstandard.compress, (content[:half], content[half:])))
        about = (method, 0, 0, zlib.crc32(content), len(packed_content), len(content), len(name.encode()))
        directory += struct.pack(_CENTRAL, b"PK\1\2", 63, 63, 0, *about, 0, 0, 0, 0, 0, len(body))
        directory += name.encode()
        body += struct.pack(_LOCAL, b"PK\3\4", 63, 0, *about, 0) + name.encode() + packed_content
    count = len(members)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + end
