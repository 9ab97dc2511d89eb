"""One file from one address: resumed, tried again, and complete before it gets its name.

Bytes go into a hidden ``.NAME.part`` beside the file to be; ``.NAME.part.json`` says which version of which
address they are of: a later try, or run, goes on where they end only if the server still has that version.
Needs the extra ``recipes`` (httpx2, tenacity).
"""

import contextlib
import dataclasses
import errno
import json
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import tenacity

from shortcut_miner.errors import OutputError, SourceError, reason_of
from shortcut_miner.journal import Digest, digest_of, sync
from shortcut_miner.recipes.answers import (
    RefusedError,
    TryAgainError,
    Version,
    check_answer,
    check_redirects,
    goes_on,
    is_all,
    version_of,
)
from shortcut_miner.recipes.lock import described
from shortcut_miner.recipes.patience import Patience

_FINAL = (httpx2.UnsupportedProtocol, httpx2.ProxyError)

OnBytes = Callable[[int], None]  # how many bytes of the file there are


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

    @property
    def begun(self) -> int:
        """How many bytes there are."""
        return self.part.stat().st_size if self.part.exists() else 0

    def forget(self) -> None:
        """Throw away what was begun."""
        self.part.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)


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
    SourceError
        Somebody else gave a file this name meanwhile.
    OutputError
        The folder can't be written, or the disk is full; what was downloaded stays.
    """
    with _writing(target.path):
        digest = _retry(client, url, target, patience, stop, on_bytes)
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
) -> Digest:
    """Try until the file is complete and as expected; tries in a row that gave no more are counted."""
    most, in_vain = target.begun, 0

    def give_up(state: tenacity.RetryCallState) -> bool:
        nonlocal most, in_vain
        in_vain = in_vain + 1 if target.begun <= most else 0
        most = max(most, target.begun)
        return in_vain >= patience.tries

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        after = error.after if isinstance(error, TryAgainError) else None
        grown = patience.first_wait * 2.0 ** min(in_vain, 20) * (0.5 + random.random())
        return min(max(grown, after or 0.0), patience.longest_wait)

    def sleep(seconds: float) -> None:
        if stop.wait(seconds):
            raise StoppedError

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_passing), stop=give_up, wait=wait, sleep=sleep, reraise=True
    )
    try:
        return retrying(_attempt, client, url, target, stop, on_bytes)
    except TryAgainError as error:
        raise RefusedError(f"{error}, {patience.tries} times in a row") from error
    except httpx2.TransportError as error:
        times = "" if isinstance(error, _FINAL) else f", {patience.tries} times in a row"
        what = "no answer in time" if isinstance(error, httpx2.TimeoutException) else reason_of(error)
        raise RefusedError(f"{what}{times}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise RefusedError(reason_of(error)) from error


def _is_passing(error: BaseException) -> bool:
    is_transport = isinstance(error, httpx2.TransportError) and not isinstance(error, _FINAL)
    return is_transport or isinstance(error, TryAgainError)


def _attempt(
    client: httpx2.Client, url: str, target: Target, stop: threading.Event, on_bytes: OnBytes
) -> Digest:
    """Ask once for what is missing; return the digest if that completes the file."""
    start, begun = _begun(url, target)
    if start and start == target.size:
        return _checked(target, was_resumed=True)
    headers = {"Accept-Encoding": "identity"}  # the file's own bytes are wanted
    if start:
        headers["Range"] = f"bytes={start}-"
        if begun.validator is not None:
            headers["If-Range"] = begun.validator
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416 and start:
            check_redirects(response)
            return _checked_end(response, start, target)
        check_answer(response)
        there = version_of(url, response)
        if response.status_code != 206:
            start = 0  # the server has another version, or doesn't give parts
        elif not goes_on(response, start, begun, there):
            target.forget()
            raise TryAgainError(f"a part that does not go on with byte {start:,}")
        _check_room(target, start, there)
        _write(response, start, there, target, stop, on_bytes)
    total = there.total or target.size
    if total is not None and target.begun < total:
        raise TryAgainError(f"{target.begun:,} of {total:,} bytes")
    return _checked(target, was_resumed=bool(start))


def _begun(url: str, target: Target) -> tuple[int, Version]:
    """Return how many bytes can be gone on with, and of what: only where the outcome can be checked."""
    try:
        version = Version(**json.loads(target.record.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return 0, Version(url)
    can_be_told = version.validator is not None or target.sha256 is not None
    return (target.begun, version) if version.url == url and can_be_told else (0, Version(url))


def _check_room(target: Target, start: int, there: Version) -> None:
    """Raise OSError if the disk has no room for what is to come, RefusedError for a file of another size."""
    if target.size is not None and there.total not in (None, target.size):
        raise RefusedError(f"a file of {there.total:,} bytes, expected {target.size:,}")
    total = there.total or target.size
    free = shutil.disk_usage(target.path.parent).free
    if total is not None and total - start > free:
        raise OSError(errno.ENOSPC, f"{free:,} bytes free for the {total - start:,} to come")


def _write(
    response: httpx2.Response,
    start: int,
    there: Version,
    target: Target,
    stop: threading.Event,
    on_bytes: OnBytes,
) -> None:
    if not start:
        target.part.unlink(missing_ok=True)  # before the record: it must not speak of the old bytes
    target.record.write_text(json.dumps(dataclasses.asdict(there)), encoding="utf-8")
    with target.part.open("ab", buffering=0) as file:  # what came is kept, however the process ends
        for block in response.iter_raw():  # as they come: blocks of a size would lose the last one at a cut
            if stop.is_set():
                raise StoppedError
            file.write(block)
            on_bytes(file.tell())


def _checked_end(response: httpx2.Response, start: int, target: Target) -> Digest:
    """Return the digest of a file of which the server has no further bytes; throw another one away."""
    if not is_all(response, start):
        target.forget()
        raise TryAgainError("a file shorter than what was downloaded of it")
    return _checked(target, was_resumed=True)


def _checked(target: Target, *, was_resumed: bool) -> Digest:
    """Return the digest of a complete file; throw it away if it is not as expected.

    Once more from the start if it was put together: its parts may not be of one version.
    """
    digest = digest_of(target.part)
    if digest is None or not digest.size:
        raise TryAgainError("an empty file")
    if target.size in (None, digest.size) and target.sha256 in (None, digest.sha256):
        return digest
    target.forget()
    wrong = f"{described(digest.size, digest.sha256)}, expected {described(target.size, target.sha256)}"
    raise TryAgainError(wrong) if was_resumed else RefusedError(wrong)


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
