"""The demo world, served as its official counterparts are published."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from recipes.official_files import official_files
from recipes.serving import Server, serving

from shortcut_miner.demo import DemoWorld, write_demo_world
from shortcut_miner.recipes.recipe import find_recipe, read_recipe


@pytest.fixture(autouse=True)
def _without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="session")
def demo_world(tmp_path_factory: pytest.TempPathFactory) -> DemoWorld:
    return write_demo_world(tmp_path_factory.mktemp("recipe-world"))


class Publisher:
    """Makes each official file once, and puts those of a recipe on a server."""

    def __init__(self, world: DemoWorld, folder: Path) -> None:
        self._makers = official_files(world, folder)
        self._made: dict[str, bytes] = {}

    def content(self, name: str) -> bytes:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def publish(self, recipe: str, server: Server) -> None:
        for name in read_recipe(find_recipe(recipe)[1]).sources:
            server.files[name] = self.content(name)


@pytest.fixture(scope="session")
def publisher(demo_world: DemoWorld, tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    return Publisher(demo_world, tmp_path_factory.mktemp("official"))


@pytest.fixture
def web() -> Iterator[Server]:
    with serving() as server:
        yield server
