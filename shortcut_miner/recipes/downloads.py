"""Several files at a time: from the first of each one's addresses that has it, into one folder."""

import dataclasses
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from shortcut_miner.errors import ConfigError, SourceError, missing_library, problem_list, reason_of
from shortcut_miner.journal import Digest
from shortcut_miner.recipes.lock import Pins, expected_digest
from shortcut_miner.recipes.patience import Patience
from shortcut_miner.recipes.recipe import Source
from shortcut_miner.timing import OnStage

if TYPE_CHECKING:
    import httpx2

    from shortcut_miner.recipes.transfer import Target

_AT_ONCE = 4
_WAIT_SECONDS = 0.5
_MB = 1e6


@dataclasses.dataclass(frozen=True, slots=True)
class Download:
    """A file that was downloaded: from where, and what it is."""

    url: str
    digest: Digest


def download_all(
    sources: Mapping[str, Source],
    folder: Path,
    pins: Pins,
    *,
    patience: Patience,
    on_stage: OnStage | None = None,
) -> dict[str, Download]:
    """Download files into a folder, under their names; return where each came from and its digest.

    Proxies are those of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY).

    Raises
    ------
    SourceError
        Files that can't be had, all of them; those that can are there then.
    OutputError
        The folder can't be written, or the disk is full.
    BackendError
        The extra ``recipes`` is not installed.
    """
    transfer = _load_transfer()
    targets = {name: _target(transfer, folder / name, source, pins) for name, source in sources.items()}
    folder.mkdir(parents=True, exist_ok=True)
    shown, stop = _Progress(on_stage, targets), threading.Event()
    with _client(patience) as client, ThreadPoolExecutor(_AT_ONCE) as pool:

        def work(name: str) -> Download:
            return _from_some_address(
                transfer,
                client,
                sources[name],
                targets[name],
                patience,
                stop,
                lambda size: shown.tell(name, size),
            )

        running = {name: pool.submit(work, name) for name in sources}
        try:
            _wait_for(running)
        except BaseException:
            stop.set()  # nobody waits any more: what there is of the others is kept
            raise
        finally:
            pool.shutdown(cancel_futures=stop.is_set())
    return _results(running, folder)


def _load_transfer() -> ModuleType:
    try:
        from shortcut_miner.recipes import transfer
    except ModuleNotFoundError as error:
        raise missing_library("downloads", error.name, "recipes") from error
    return transfer


def _target(transfer: ModuleType, path: Path, source: Source, pins: Pins) -> "Target":
    size, sha256 = expected_digest(path.name, source, pins)
    target: Target = transfer.Target(path=path, size=size, sha256=sha256)
    return target


def _client(patience: Patience) -> "httpx2.Client":
    import httpx2

    from shortcut_miner.version import __version__

    try:
        return httpx2.Client(
            follow_redirects=True,
            timeout=httpx2.Timeout(patience.answer),
            headers={"User-Agent": f"shortcut-miner/{__version__}"},
        )
    except (ValueError, ImportError, httpx2.InvalidURL) as error:
        raise ConfigError(
            f"proxies: got {reason_of(error)}, expected HTTP_PROXY, HTTPS_PROXY and ALL_PROXY as "
            "http://HOST:PORT. Correct these variables."
        ) from error


def _from_some_address(
    transfer: ModuleType,
    client: "httpx2.Client",
    source: Source,
    target: "Target",
    patience: Patience,
    stop: threading.Event,
    on_bytes: Callable[[int], None],
) -> Download:
    """Return what the first address gives that has the file; SourceError if none has it."""
    refused = []
    for url in source.urls:
        try:
            digest = transfer.fetch(client, url, target, patience=patience, stop=stop, on_bytes=on_bytes)
        except transfer.RefusedError as error:
            refused.append(f"{target.path.name}: got {error} from {url}")
        else:
            return Download(url, digest)
    raise SourceError("\n".join(refused))


def _wait_for(running: Mapping[str, "Future[Download]"]) -> None:
    """Wait for all files; raise at once what concerns all of them, such as a full disk."""
    waiting = set(running.values())
    while waiting:
        # In short waits: Polars' handler of signals lets a long one go on, and Ctrl-C would not be seen.
        done, waiting = wait(waiting, timeout=_WAIT_SECONDS, return_when=FIRST_EXCEPTION)
        for one in done:
            error = one.exception()
            if error is not None and type(error) is not SourceError:
                raise error


def _results(running: Mapping[str, "Future[Download]"], folder: Path) -> dict[str, Download]:
    failed = [str(error) for one in running.values() if (error := one.exception()) is not None]
    if failed:
        title = (
            f"{folder}: got no download of {len(failed)} of {len(running)} files, expected all. Run the "
            "command again, which goes on with what is there; or put the files into this folder yourself."
        )
        raise SourceError(problem_list(title, [line for text in failed for line in text.split("\n")]))
    return {name: one.result() for name, one in running.items()}


class _Progress:
    """How much there is of all files, told as a stage."""

    def __init__(self, on_stage: OnStage | None, targets: Mapping[str, "Target"]) -> None:
        self._on_stage = on_stage
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()
        known = [target.size for target in targets.values()]
        self._count, self._total = len(known), None if None in known else sum(filter(None, known))

    def tell(self, name: str, size: int) -> None:
        """Tell that there are so many bytes of a file."""
        with self._lock:
            self._sizes[name] = size
            if self._on_stage is not None:
                so_far = sum(self._sizes.values()) / _MB
                of_all = "" if self._total is None else f" of {self._total / _MB:,.1f}"
                files = "1 file" if self._count == 1 else f"{self._count} files"
                self._on_stage(f"download {files}: {so_far:,.1f}{of_all} MB")
