"""Downloads from a server that cuts, lies, stalls, refuses and changes its mind: whole files, or none."""

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from recipes.serving import Fault, Handler, Server, cut, redirect, serving, stall, status, with_length, wrong

from shortcut_miner.errors import BackendError, ConfigError, OutputError, SourceError
from shortcut_miner.journal import Digest
from shortcut_miner.recipes import downloads, transfer
from shortcut_miner.recipes.downloads import download_all
from shortcut_miner.recipes.lock import Pin
from shortcut_miner.recipes.patience import Patience
from shortcut_miner.recipes.recipe import Source

CONTENT = bytes(range(256)) * 400
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HASTY = Patience(tries=3, first_wait=0.001, longest_wait=0.01, answer=20)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as world:
        world.files["a.bin"] = CONTENT
        yield world


def source(server: Server, *names: str, size: int | None = None, sha256: str | None = None) -> Source:
    urls = tuple(server.url(name) for name in names or ("a.bin",))
    return Source(urls=urls, licence="any", size=size, sha256=sha256)


def get(one: Source, folder: Path, patience: Patience = HASTY) -> downloads.Download:
    return download_all({"a.bin": one}, folder, {}, patience=patience)["a.bin"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def check_whole(folder: Path) -> None:
    assert names(folder) == ["a.bin"]
    assert (folder / "a.bin").read_bytes() == CONTENT


def test_a_file_and_its_digest(server: Server, tmp_path: Path) -> None:
    got = get(source(server), tmp_path / "new")
    assert got == downloads.Download(server.url("a.bin"), Digest(len(CONTENT), SHA256))
    check_whole(tmp_path / "new")


def test_a_cut_connection_is_gone_on_with(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [cut(30_000), cut(20_000), cut(10), cut(10), cut(10)]
    get(source(server), tmp_path)
    check_whole(tmp_path)
    starts = [None, 30_000, 50_000, 50_010, 50_020, 50_030]  # more than three tries, as each gave something
    assert server.ranges("a.bin") == [start if start is None else f"bytes={start}-" for start in starts]
    assert all("if-range" in headers for _, headers in server.asked[1:])


def test_tries_in_vain_are_counted_from_the_last_that_gave_something(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [cut(0), cut(0), cut(9), cut(0), cut(0), cut(9), *[cut(0)] * 3]
    with pytest.raises(SourceError, match="3 times in a row"):
        get(source(server), tmp_path)
    assert len(server.asked) == 9


@pytest.mark.parametrize("sha256", [None, SHA256])
def test_without_ranges_a_file_is_begun_again(tmp_path: Path, sha256: str | None) -> None:
    with serving(has_ranges=False) as server:
        server.files["a.bin"] = CONTENT
        server.faults["a.bin"] = [cut(30_000)]
        get(source(server, sha256=sha256), tmp_path)
    check_whole(tmp_path)


@pytest.mark.parametrize("sha256", [None, SHA256])
def test_without_a_validator_only_what_a_digest_can_check_is_gone_on_with(
    tmp_path: Path, sha256: str | None
) -> None:
    with serving(has_etag=False) as server:
        server.files["a.bin"] = CONTENT
        server.faults["a.bin"] = [cut(30_000)]
        get(source(server, sha256=sha256), tmp_path)
        assert server.ranges("a.bin") == [None, None if sha256 is None else "bytes=30000-"]
    check_whole(tmp_path)


@pytest.mark.parametrize("heeds", [True, False])
@pytest.mark.parametrize("new_length", [len(CONTENT), 20_000, 200_000])
def test_a_file_that_changes_midway_is_the_new_one_as_a_whole(
    tmp_path: Path, heeds: bool, new_length: int
) -> None:
    new = hashlib.shake_256(b"new").digest(new_length)
    with serving(heeds_if_range=heeds) as server:

        def change(handler: Handler, content: bytes) -> None:
            handler.serve(content, cut=30_000)
            server.files["a.bin"] = new

        server.files["a.bin"] = CONTENT
        server.faults["a.bin"] = [change]
        get(source(server), tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == new
    assert names(tmp_path) == ["a.bin"]


def part(start: int, stop: int) -> Fault:
    """Answer with a part of the file, whatever was asked for."""

    def fault(handler: Handler, content: bytes) -> None:
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        told = f"bytes {start}-{stop - 1}/{len(content)}"
        handler.answer(206, content[start:stop], {"ETag": etag, "Content-Range": told})

    return fault


def test_a_server_that_gives_less_than_the_rest_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [cut(30_000), part(30_000, 40_000), part(40_000, 40_001)]
    get(source(server), tmp_path)
    check_whole(tmp_path)
    assert server.ranges("a.bin") == [None, "bytes=30000-", "bytes=40000-", "bytes=40001-"]


def test_a_server_that_gives_another_part_is_not_believed(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [cut(30_000), part(0, len(CONTENT)), part(10, 20)]
    get(source(server), tmp_path)
    check_whole(tmp_path)
    assert server.ranges("a.bin") == [None, "bytes=30000-", None, None]


def test_a_weak_etag_tells_nothing_of_bytes(server: Server, tmp_path: Path) -> None:
    def weak(handler: Handler, content: bytes) -> None:
        handler.answer(200, content, {"ETag": 'W/"1"'}, cut=30_000)

    server.faults["a.bin"] = [weak]
    get(source(server), tmp_path)
    check_whole(tmp_path)
    assert server.ranges("a.bin") == [None, None]


def test_parts_of_two_versions_never_pass_for_a_file(tmp_path: Path) -> None:
    """Without ETag and If-Range nobody but the digest can tell."""
    with serving(has_etag=False, heeds_if_range=False) as server:

        def change(handler: Handler, content: bytes) -> None:
            handler.serve(bytes(len(content)), cut=30_000)

        server.files["a.bin"] = CONTENT
        server.faults["a.bin"] = [change]
        get(source(server, sha256=SHA256), tmp_path)
        assert server.ranges("a.bin") == [None, "bytes=30000-", None]
    check_whole(tmp_path)


def test_a_server_that_promises_more_than_it_has(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [
        lambda handler, content: handler.answer(200, content, length=len(content) + 7) for _ in range(9)
    ]
    with pytest.raises(SourceError, match=r"a\.bin: got .*3 times in a row from http"):
        get(source(server), tmp_path)
    assert "a.bin" not in names(tmp_path)


@pytest.mark.parametrize("known", [{"size": len(CONTENT)}, {"sha256": SHA256}])
def test_a_server_that_promises_less_than_it_has(
    server: Server, tmp_path: Path, known: dict[str, int]
) -> None:
    server.faults["a.bin"] = [with_length(1000)]
    with pytest.raises(SourceError, match=r"got .*1,000 bytes.*, expected"):
        get(source(server, **known), tmp_path)  # type: ignore[arg-type]
    assert "a.bin" not in names(tmp_path)


def test_wrong_bytes_are_told_with_both_digests_and_kept_nowhere(server: Server, tmp_path: Path) -> None:
    other = bytes(len(CONTENT))
    server.faults["a.bin"] = [wrong(other)]
    with pytest.raises(SourceError) as caught:
        get(source(server, sha256=SHA256, size=len(CONTENT)), tmp_path)
    assert hashlib.sha256(other).hexdigest() in str(caught.value)
    assert SHA256 in str(caught.value)
    assert names(tmp_path) == []
    assert len(server.asked) == 1


def test_the_next_address_is_asked_when_one_fails(server: Server, tmp_path: Path) -> None:
    server.faults["old.bin"] = [wrong(b"<html>moved</html>")]
    got = get(source(server, "gone.bin", "old.bin", "a.bin", sha256=SHA256), tmp_path)
    assert got.url == server.url("a.bin")
    check_whole(tmp_path)


def test_an_empty_answer_is_no_file(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [wrong(b"")] * 9
    with pytest.raises(SourceError, match="got an empty file, 3 times in a row"):
        get(source(server), tmp_path)
    assert "a.bin" not in names(tmp_path)


def test_redirects_are_followed_and_loops_end(server: Server, tmp_path: Path) -> None:
    server.faults["moved.bin"] = [redirect("/a.bin")]
    get(source(server, "moved.bin"), tmp_path)
    check_whole(tmp_path)
    server.faults["loop.bin"] = [redirect("/loop.bin")] * 50
    with pytest.raises(SourceError, match="redirects"):
        get(source(server, "loop.bin"), tmp_path / "other")


def test_no_redirect_leads_from_https_to_http(tmp_path: Path) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme == "https":
            return httpx2.Response(302, headers={"Location": "http://b.example/a.bin"})
        return httpx2.Response(200, content=CONTENT)

    client = httpx2.Client(transport=httpx2.MockTransport(handle), follow_redirects=True)
    target = transfer.Target(path=tmp_path / "a.bin", size=None, sha256=None)
    with pytest.raises(transfer.RefusedError, match="from https to plain http"):
        transfer.fetch(
            client, "https://a.example/a.bin", target,
            patience=HASTY, stop=threading.Event(), on_bytes=lambda size: None,
        )  # fmt: skip
    assert names(tmp_path) == []


def test_a_stalled_server_is_left_and_asked_for_the_rest(server: Server, tmp_path: Path) -> None:
    until = threading.Event()
    server.faults["a.bin"] = [stall(30_000, until)]
    get(source(server), tmp_path, Patience(tries=3, first_wait=0.001, longest_wait=0.01, answer=0.5))
    until.set()
    check_whole(tmp_path)
    assert server.ranges("a.bin") == [None, "bytes=30000-"]


def test_a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not(
    server: Server, tmp_path: Path
) -> None:
    server.faults["a.bin"] = [status(503), status(429)]
    get(source(server), tmp_path)
    check_whole(tmp_path)
    assert len(server.asked) == 3
    with pytest.raises(SourceError, match=r"b.bin: got the answer 404 Not Found from http"):
        download_all({"b.bin": source(server, "b.bin")}, tmp_path, {}, patience=HASTY)
    assert len(server.asked) == 4
    server.faults["busy.bin"] = [status(503)] * 9
    with pytest.raises(SourceError, match="the answer 503 Service Unavailable, 3 times in a row"):
        download_all({"busy.bin": source(server, "busy.bin")}, tmp_path, {}, patience=HASTY)
    assert len(server.asked) == 7


class Waits(threading.Event):
    """What would have been waited, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0.0)
        return False


def waits_at(server: Server, folder: Path, patience: Patience) -> list[float]:
    target, stop = transfer.Target(path=folder / "a.bin", size=None, sha256=None), Waits()
    with httpx2.Client() as client:
        transfer.fetch(
            client, server.url("a.bin"), target, patience=patience, stop=stop, on_bytes=lambda size: None
        )
    return stop.seconds


def test_a_server_is_left_alone_for_as_long_as_it_asks(server: Server, tmp_path: Path) -> None:
    far = "Fri, 31 Dec 2999 23:59:59 GMT"
    server.faults["a.bin"] = [
        status(429, Retry_After="17"), status(503, Retry_After="100000"), status(503, Retry_After=far),
        status(503, Retry_After="soon"),
    ]  # fmt: skip
    patience = Patience(tries=9, first_wait=1, longest_wait=60)
    first, second, third, fourth = waits_at(server, tmp_path, patience)
    assert (first, second, third) == (17, 60, 60)
    assert (
        4 <= fourth <= 12
    )  # the fourth wait without being told: 8 seconds, and up to half of it more or less


def test_waits_double(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [status(500)] * 6
    waits = waits_at(server, tmp_path, Patience(tries=9, first_wait=1, longest_wait=10))
    assert all(0.5 * 2**at <= wait <= 1.5 * 2**at for at, wait in enumerate(waits[:3]))
    assert waits[5] == 10


def test_a_part_that_is_whole_already_gets_its_name(server: Server, tmp_path: Path) -> None:
    """As after a power cut between the last byte and the name: the server says 416."""
    server.faults["a.bin"] = [cut(len(CONTENT) - 1)]
    impatient = Patience(tries=1, first_wait=0, longest_wait=0, answer=20)
    server.faults["a.bin"] += [status(500)]
    with pytest.raises(SourceError):
        get(source(server), tmp_path, impatient)
    with (tmp_path / ".a.bin.part").open("ab") as part:
        part.write(CONTENT[-1:])
    get(source(server), tmp_path)
    assert server.ranges("a.bin")[-1] == f"bytes={len(CONTENT)}-"
    check_whole(tmp_path)


def test_a_part_longer_than_the_file_is_begun_again(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [cut(30_000), status(500)]
    with pytest.raises(SourceError):
        get(source(server), tmp_path, Patience(tries=1, first_wait=0, longest_wait=0, answer=20))
    with (tmp_path / ".a.bin.part").open("ab") as part:
        part.write(bytes(len(CONTENT)))
    get(source(server), tmp_path)
    check_whole(tmp_path)


def test_a_later_run_goes_on_with_the_same_version_of_the_same_address(
    server: Server, tmp_path: Path
) -> None:
    server.faults["a.bin"] = [cut(30_000), status(404)]
    with pytest.raises(SourceError):
        get(source(server), tmp_path)
    assert names(tmp_path) == [".a.bin.part", ".a.bin.part.json"]
    server.files["elsewhere.bin"] = CONTENT
    get(source(server, "elsewhere.bin"), tmp_path)  # nobody knows whether it is the same file
    assert server.ranges("elsewhere.bin") == [None]
    check_whole(tmp_path)


@pytest.mark.parametrize("record", [b"", b"[]", b"{}", b'{"url": 1}', b"\xff"])
def test_a_damaged_record_of_a_part_means_to_begin_again(
    server: Server, tmp_path: Path, record: bytes
) -> None:
    (tmp_path / ".a.bin.part").write_bytes(b"something")
    (tmp_path / ".a.bin.part.json").write_bytes(record)
    get(source(server), tmp_path)
    assert server.ranges("a.bin") == [None]
    check_whole(tmp_path)


def test_bytes_come_as_they_are_stored(server: Server, tmp_path: Path) -> None:
    server.faults["a.bin"] = [
        lambda handler, content: handler.answer(200, b"\x1f\x8b...", {"Content-Encoding": "gzip"})
    ]
    with pytest.raises(SourceError, match="bytes packed as gzip, which nobody asked for"):
        get(source(server), tmp_path)
    assert server.asked[0][1]["accept-encoding"] == "identity"


def test_no_room_is_told_before_the_disk_is_full(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(transfer.shutil, "disk_usage", lambda path: full)
    with pytest.raises(
        OutputError, match=r"a.bin: got 1,000 bytes free for the 102,400 to come while downloading"
    ):
        get(source(server), tmp_path)
    assert names(tmp_path) == []


def test_a_file_that_came_meanwhile_is_not_replaced(server: Server, tmp_path: Path) -> None:
    def meanwhile(handler: Handler, content: bytes) -> None:
        (tmp_path / "a.bin").write_bytes(b"mine")
        handler.serve(content)

    server.faults["a.bin"] = [meanwhile]
    with pytest.raises(SourceError, match=r"that came while it was downloaded, expected none\. Move it away"):
        get(source(server), tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == b"mine"


def test_a_file_system_without_links(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(transfer.os, "link", refuse)
    get(source(server), tmp_path)
    check_whole(tmp_path)


# ---- several files ----


def test_files_come_at_the_same_time(server: Server, tmp_path: Path) -> None:
    together = threading.Barrier(3)  # nobody is served before three are asking

    def meet(handler: Handler, content: bytes) -> None:
        together.wait(20)
        handler.serve(content)

    wanted = {f"{name}.bin": source(server, f"{name}.bin") for name in "bcd"}
    server.files |= dict.fromkeys(wanted, CONTENT)
    server.faults |= {name: [meet] for name in wanted}
    stages: list[str] = []
    got = download_all(wanted, tmp_path, {}, patience=HASTY, on_stage=stages.append)
    assert names(tmp_path) == sorted(wanted) == sorted(got)
    assert len(server.asked) == 3
    assert stages[-1] == "download 3 files: 0.3 MB"


def test_all_files_that_fail_are_told_and_the_others_are_there(server: Server, tmp_path: Path) -> None:
    wanted = {name: source(server, name) for name in ("gone.bin", "a.bin", "lost.bin")}
    with pytest.raises(SourceError) as caught:
        download_all(wanted, tmp_path, {}, patience=HASTY)
    first, *lines = str(caught.value).splitlines()
    assert first.startswith(f"{tmp_path}: got no download of 2 of 3 files, expected all.")
    assert [line.split()[1] for line in lines] == ["gone.bin:", "lost.bin:"]
    check_whole(tmp_path)


def test_what_the_lock_file_says_is_expected(server: Server, tmp_path: Path) -> None:
    pins = {server.url("a.bin"): Pin("a.bin", Digest(3, hashlib.sha256(b"old").hexdigest()))}
    with pytest.raises(SourceError, match=r"a file of 102,400 bytes, expected 3"):
        download_all({"a.bin": source(server)}, tmp_path, pins, patience=HASTY)


def test_a_full_disk_stops_the_other_downloads(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = threading.Event()
    server.files["b.bin"] = CONTENT
    server.faults["b.bin"] = [stall(10, until), *[status(503, Retry_After="1000")] * 99]
    patience = Patience(tries=99, first_wait=50, longest_wait=50, answer=0.5)
    real = transfer.fetch

    def full(client: httpx2.Client, url: str, *rest: object, **more: object) -> Digest:
        if url.endswith("a.bin"):
            raise OutputError("the disk is full")
        return real(client, url, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(transfer, "fetch", full)
    with pytest.raises(OutputError, match="the disk is full"):
        download_all(
            {"a.bin": source(server), "b.bin": source(server, "b.bin")}, tmp_path, {}, patience=patience
        )
    until.set()
    assert "b.bin" not in names(tmp_path)


# ---- proxies, libraries ----


def test_proxies_of_the_environment_are_used(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.base)
    one = Source(urls=("http://data.example/a.bin",), licence="any")
    get(one, tmp_path)
    check_whole(tmp_path)
    assert [headers["target"] for _, headers in server.asked] == ["http://data.example/a.bin"]


def test_hosts_without_a_proxy_are_asked_themselves(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody is there
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    get(source(server), tmp_path)
    assert [headers["target"] for _, headers in server.asked] == ["/a.bin"]


def test_a_proxy_that_is_no_address_is_told(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://proxy.example")
    with pytest.raises(ConfigError, match=r"proxies: got .*gopher.*Correct these variables"):
        get(source(server), tmp_path)


def test_without_the_extra_its_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tenacity", None)
    monkeypatch.delitem(__import__("sys").modules, "shortcut_miner.recipes.transfer")
    monkeypatch.delattr("shortcut_miner.recipes.transfer")
    one = Source(urls=("http://data.example/a.bin",), licence="any")
    with pytest.raises(BackendError, match=r"downloads: got no tenacity, .*'shortcut-miner\[recipes\]'"):
        get(one, tmp_path)
