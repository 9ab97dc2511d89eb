"""What a server answers: whether it is the file, a part that fits, something to wait for, or a refusal."""

import dataclasses
import email.utils
import time

import httpx2

_PASSING = (408, 425, 429, 500, 502, 503, 504)


class TryAgainError(Exception):
    """What may be over soon; `after` is how many seconds the server wants to be left alone."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.after = after


class RefusedError(Exception):
    """What trying again at this address does not change."""


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """What a server has at an address: its validator for If-Range (strong ETag or date), and its length."""

    url: str
    validator: str | None = None
    total: int | None = None


def version_of(url: str, response: httpx2.Response) -> Version:
    """Return which version of a file an answer is of."""
    etag = response.headers.get("ETag")
    is_strong = etag is not None and not etag.startswith("W/")
    return Version(url, etag if is_strong else response.headers.get("Last-Modified"), _total(response))


def _total(response: httpx2.Response) -> int | None:
    """Return the length of the whole file, as the server tells it."""
    if response.status_code == 206:
        total = response.headers.get("Content-Range", "").rpartition("/")[2]
    else:
        total = response.headers.get("Content-Length", "")
    return int(total) if total.isdecimal() else None


def check_answer(response: httpx2.Response) -> None:
    """Raise TryAgainError or RefusedError unless an answer holds bytes of the file, as they are stored."""
    check_redirects(response)
    status = f"{response.status_code} {response.reason_phrase}".strip()
    if response.status_code in _PASSING:
        raise TryAgainError(f"the answer {status}", _seconds(response.headers.get("Retry-After")))
    if response.status_code not in (200, 206):
        raise RefusedError(f"the answer {status}")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise RefusedError(f"bytes packed as {response.headers['Content-Encoding']}, which nobody asked for")


def check_redirects(response: httpx2.Response) -> None:
    """Raise RefusedError where a way that began with https went on without."""
    hops = [*response.history, response]
    if hops[0].url.scheme == "https" and any(hop.url.scheme != "https" for hop in hops):
        raise RefusedError("a redirect from https to plain http")


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


def goes_on(response: httpx2.Response, start: int, begun: Version, there: Version) -> bool:
    """Return whether a part of a file goes on with what there is of it: at its end, of the same version."""
    told = response.headers.get("Content-Range", "")
    is_next = told.removeprefix("bytes ").partition("-")[0].strip() == str(start)
    return start > 0 and is_next and there.validator == begun.validator and there.total == begun.total


def is_all(response: httpx2.Response, size: int) -> bool:
    """Return whether a server that has no further bytes (416) has a file of this size."""
    return response.headers.get("Content-Range", "").replace(" ", "") == f"bytes*/{size}"
