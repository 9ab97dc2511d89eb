"""A server on this machine that serves files as it should, or goes wrong as it is told to."""

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

Fault = Callable[["Handler", bytes], None]


@dataclass
class Server:
    """Files by path, what goes wrong at the next requests of each path, and what was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    has_ranges: bool = True
    has_etag: bool = True
    heeds_if_range: bool = True
    base: str = ""

    def url(self, name: str) -> str:
        return f"{self.base}/{name}"

    def ranges(self, name: str) -> list[str | None]:
        """Return the Range header of each request for a file."""
        return [headers.get("range") for path, headers in self.asked if path == f"/{name}"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    world: Server

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = urlsplit(self.path).path  # of a proxy it is asked by the whole address
        self.world.asked.append((path, headers | {"target": self.path}))
        content = self.world.files.get(path.removeprefix("/"))
        waiting = self.world.faults.get(path.removeprefix("/"), [])
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if waiting:
                waiting.pop(0)(self, content or b"")
            elif content is None:
                self.answer(404, b"nothing here")
            else:
                self.serve(content)

    def serve(self, content: bytes, *, cut: int | None = None) -> None:
        """Answer as a good server does; or close the connection after some bytes of what is to come."""
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        headers = {"ETag": etag} if self.world.has_etag else {}
        start = 0
        asked = self.headers.get("Range", "")
        same = not self.world.heeds_if_range or self.headers.get("If-Range") in (None, etag)
        if asked and self.world.has_ranges and same:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
                return
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.answer(206 if "Content-Range" in headers else 200, content[start:], headers, cut=cut)

    def answer(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        *,
        length: int | None = None,
        cut: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body[:cut])
        if cut is not None or length not in (None, len(body)):
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def cut(after: int) -> Fault:
    return lambda handler, content: handler.serve(content, cut=after)


def status(code: int, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, content: handler.answer(code, b"", named)


def wrong(body: bytes) -> Fault:
    return lambda handler, content: handler.answer(200, body)


def with_length(length: int) -> Fault:
    """Claim another length than what is sent."""
    return lambda handler, content: handler.answer(200, content[:length], length=length)


def redirect(to: str) -> Fault:
    return status(302, Location=to)


def stall(after: int, until: threading.Event) -> Fault:
    """Send some bytes, then nothing."""

    def fault(handler: Handler, content: bytes) -> None:
        handler.serve(content, cut=after)
        handler.wfile.flush()
        until.wait(30)

    return fault


@contextlib.contextmanager
def serving(**options: bool) -> Iterator[Server]:
    world = Server(**options)
    handler = type("Own", (Handler,), {"world": world})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    world.base = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield world
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
