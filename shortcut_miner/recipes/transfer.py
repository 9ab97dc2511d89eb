"""One file from one address: resumed, tried again, and complete before it gets its name.

Bytes go into a hidden ``.NAME.part`` beside the file to be; ``.NAME.part.json`` says which version of which
address they are of: a later try, or run, goes on where they end only if the server still has that version.
Needs the extra ``recipes`` (httpx2, tenacity).
"""

import contextlib
import dataclasses
import email.utils
import errno
import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import tenacity

from shortcut_miner.errors import OutputError, SourceError, reason_of
from shortcut_miner.journal import Digest, digest_of, sync
from shortcut_miner.recipes.lock import described
from shortcut_miner.recipes.patience import Patience

_PASSING = (408, 425, 429, 500, 502, 503, 504)
_FINAL = (httpx2.UnsupportedProtocol, httpx2.ProxyError)

OnBytes = Callable[[int], None]  # how many bytes of the file there are


class TryAgainError(Exception):
    """What may be over soon; `after` is how many seconds the server wants to be left alone."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.after = after


class RefusedError(Exception):
    """What trying again at this address does not change."""


class StoppedError(Exception):
    """Another file can't be had, or the user wants to end: what there is of this one stays."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file to be.

    Attributes
    ----------
    path : Path
        Its name, which nothing has yet.
    size, sha256 : int, str or None
        What it must be, as far as that is known.
    """

    path: Path
    size: int | None
    sha256: str | None

    @property
    def part(self) -> Path:
        """Where its bytes go first."""
        return self.path.with_name(f".{self.path.name}.part")

    @property
    def record(self) -> Path:
        """What says of which version these are."""
        return self.path.with_name(f".{self.path.name}.part.json")


@dataclasses.dataclass(frozen=True, slots=True)
class _Version:
    """What a server has at an address: its validator for If-Range (strong ETag or date), and its length."""

    url: str
    validator: str | None
    total: int | None


def fetch(
    client: httpx2.Client,
    url: str,
    target: Target,
    *,
    patience: Patience,
    stop: threading.Event,
    on_bytes: OnBytes,
) -> Digest:
    """Download a file, give it its name, and return its digest.

    Raises
    ------
    RefusedError
        The address does not have it: after as many tries as patience has, or at once where trying is useless.
    StoppedError
        `stop` was set.
    OutputError
        The folder can't be written, or the disk is full; what was downloaded stays.
    """
    with _writing(target.path):
        _retry(client, url, target, patience, stop, on_bytes)
        digest = digest_of(target.part)
        if digest is None:
            raise RefusedError("an empty answer")
        sync(target.part)
        _give_name(target.part, target.path)
        target.record.unlink(missing_ok=True)
        sync(target.path.parent)
    return digest


def _retry(
    client: httpx2.Client,
    url: str,
    target: Target,
    patience: Patience,
    stop: threading.Event,
    on_bytes: OnBytes,
) -> None:
    """Try until the file is complete and as expected; tries in a row that gave no more are counted."""
    most, in_vain = _size(target.part), 0

    def give_up(state: tenacity.RetryCallState) -> bool:
        nonlocal most, in_vain
        now = _size(target.part)
        in_vain = in_vain + 1 if now <= most else 0
        most = max(most, now)
        return in_vain >= patience.tries

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        after = error.after if isinstance(error, TryAgainError) else None
        grown = patience.first_wait * 2.0 ** min(in_vain, 20) * (0.5 + random.random())
        return min(max(grown, after or 0.0), patience.longest_wait)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_passing),
        stop=give_up,
        wait=wait,
        sleep=lambda seconds: _sleep(stop, seconds),
        reraise=True,
    )
    try:
        retrying(_attempt, client, url, target, stop, on_bytes)
    except TryAgainError as error:
        raise RefusedError(f"{error}, {patience.tries} times in a row") from error
    except httpx2.TransportError as error:
        times = "" if isinstance(error, _FINAL) else f", {patience.tries} times in a row"
        raise RefusedError(f"{_transport_text(error)}{times}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise RefusedError(reason_of(error)) from error


def _is_passing(error: BaseException) -> bool:
    is_transport = isinstance(error, httpx2.TransportError) and not isinstance(error, _FINAL)
    return is_transport or isinstance(error, TryAgainError)


def _transport_text(error: httpx2.TransportError) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    return reason_of(error)


def _sleep(stop: threading.Event, seconds: float) -> None:
    if stop.wait(seconds):
        raise StoppedError


def _attempt(
    client: httpx2.Client, url: str, target: Target, stop: threading.Event, on_bytes: OnBytes
) -> None:
    """Ask once for what is missing, and check the file if that completes it."""
    start, version = _begun(url, target)
    if start and start == target.size:
        return _check(target, was_resumed=True)
    headers = {"Accept-Encoding": "identity"}  # the file's own bytes are wanted
    if start:
        headers["Range"] = f"bytes={start}-"
        if version.validator is not None:
            headers["If-Range"] = version.validator
    with client.stream("GET", url, headers=headers) as response:
        _check_redirects(response)
        if response.status_code == 416 and start:
            return _check_whole(response, start, target)
        _check_status(response)
        there = _Version(url, _validator(response), _total(response))
        if response.status_code == 206:
            _check_range(response, start, version, there, target)
        else:
            start = 0  # the server has another version, or doesn't give parts
        _check_room(target, start, there)
        _write(response, start, there, target, stop, on_bytes)
    size = _size(target.part)
    total = there.total or target.size
    if total is not None and size < total:
        raise TryAgainError(f"{size:,} of {total:,} bytes")
    return _check(target, was_resumed=bool(start))


def _write(
    response: httpx2.Response,
    start: int,
    there: _Version,
    target: Target,
    stop: threading.Event,
    on_bytes: OnBytes,
) -> None:
    if not start:
        target.part.unlink(missing_ok=True)  # its record must not be taken for that of the old bytes
    target.record.write_text(json.dumps(dataclasses.asdict(there)), encoding="utf-8")
    with target.part.open("ab") as file:
        for block in response.iter_raw():  # as they come: blocks of a size would lose the last one at a cut
            if stop.is_set():
                raise StoppedError
            file.write(block)
            on_bytes(file.tell())


def _begun(url: str, target: Target) -> tuple[int, _Version]:
    """Return how many bytes can be gone on with, and of what: only where the outcome can be checked."""
    nothing = 0, _Version(url, None, None)
    try:
        version = _Version(**json.loads(target.record.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return nothing
    can_be_told = version.validator is not None or target.sha256 is not None
    return (_size(target.part), version) if version.url == url and can_be_told else nothing


def _check_redirects(response: httpx2.Response) -> None:
    hops = [*response.history, response]
    if hops[0].url.scheme == "https" and any(hop.url.scheme != "https" for hop in hops):
        raise RefusedError("a redirect from https to plain http")


def _check_status(response: httpx2.Response) -> None:
    status = f"{response.status_code} {response.reason_phrase}".strip()
    if response.status_code in _PASSING:
        raise TryAgainError(f"the answer {status}", _seconds(response.headers.get("Retry-After")))
    if response.status_code not in (200, 206):
        raise RefusedError(f"the answer {status}")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise RefusedError(f"bytes packed as {response.headers['Content-Encoding']}, which nobody asked for")


def _seconds(retry_after: str | None) -> float | None:
    """Return what a Retry-After header asks for: seconds, or a date; None if it is neither.

    >>> _seconds("7"), _seconds("soon"), _seconds(None)
    (7.0, None, None)
    """
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        date = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())


def _validator(response: httpx2.Response) -> str | None:
    """Return what If-Range can hold: a strong ETag, else the date of the last change."""
    etag = response.headers.get("ETag")
    if etag is not None and not etag.startswith("W/"):
        return etag
    return response.headers.get("Last-Modified")


def _total(response: httpx2.Response) -> int | None:
    """Return the length of the whole file, as the server tells it."""
    if response.status_code == 206:
        total = response.headers.get("Content-Range", "").rpartition("/")[2]
    else:
        total = response.headers.get("Content-Length", "")
    return int(total) if total.isdecimal() else None


def _check_range(
    response: httpx2.Response, start: int, version: _Version, there: _Version, target: Target
) -> None:
    """Raise TryAgainError, after throwing away what was begun, unless the part is what goes on with it."""
    told = response.headers.get("Content-Range", "")
    goes_on = told.removeprefix("bytes ").partition("-")[0].strip() == str(start)
    is_same = there.validator == version.validator and there.total == version.total
    if not (start and goes_on and is_same):
        _forget(target)
        raise TryAgainError(f"a part ({told or 'no Content-Range'}) that does not go on with byte {start:,}")


def _check_whole(response: httpx2.Response, start: int, target: Target) -> None:
    """Check a file of which the server has no further bytes; throw it away if that is another one."""
    if response.headers.get("Content-Range", "").replace(" ", "") != f"bytes*/{start}":
        _forget(target)
        raise TryAgainError("a file shorter than what was downloaded of it")
    _check(target, was_resumed=True)


def _check_room(target: Target, start: int, there: _Version) -> None:
    total = there.total or target.size
    if target.size is not None and there.total not in (None, target.size):
        raise RefusedError(f"a file of {there.total:,} bytes, expected {target.size:,}")
    free = shutil.disk_usage(target.path.parent).free
    if total is not None and total - start > free:
        raise OSError(errno.ENOSPC, f"{free:,} bytes free for the {total - start:,} to come")


def _check(target: Target, *, was_resumed: bool) -> None:
    """Throw a complete file away that is not as expected: once more from its start if it was put together."""
    size = _size(target.part)
    if target.size in (None, size):
        if target.sha256 is None:
            return
        digest = digest_of(target.part)
        if digest is not None and digest.sha256 == target.sha256:
            return
        got = described(size, None if digest is None else digest.sha256)
    else:
        got = described(size, None)
    _forget(target)
    wrong = f"{got}, expected {described(target.size, target.sha256)}"
    if was_resumed:
        raise TryAgainError(wrong)
    raise RefusedError(wrong)


def _forget(target: Target) -> None:
    target.part.unlink(missing_ok=True)
    target.record.unlink(missing_ok=True)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _give_name(part: Path, path: Path) -> None:
    """Give a complete file its name, unless somebody else has taken it since."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise SourceError(
            f"{path}: got a file of this name that came while it was downloaded, expected none. Move it away."
        ) from None
    except OSError:  # a file system without links
        part.replace(path)
    else:
        part.unlink()


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path}: got {error.strerror or error} while downloading, expected room and permission to "
            "write. What was downloaded stays, and the next run goes on with it: free some space, or give "
            "another --data-dir."
        ) from error
