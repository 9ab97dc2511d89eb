"""What stands for CuPy on the host is no more than CuPy; the device asks of CuPy what it can give."""

import inspect
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda_host import arrays

from shortcut_miner.mining.jobs_cupy import device as device_module
from shortcut_miner.mining.jobs_cupy.device import Device, cuda_device, kernel_source

NUMBERS = arrays.arange(6)


@pytest.mark.parametrize("name", arrays.FUNCTIONS)
def test_functions_are_cupy_s(name: str) -> None:
    cupy = pytest.importorskip("cupy")
    theirs = inspect.signature(getattr(cupy, name)).parameters
    for place, (parameter, ours) in enumerate(inspect.signature(arrays.FUNCTIONS[name]).parameters.items()):
        assert parameter in theirs
        if ours.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            assert list(theirs)[place] == parameter


@pytest.mark.parametrize("method", ["astype", "sort", "view", *(f"__{name}__" for name in ("mod", "iter"))])
def test_methods_are_cupy_s(method: str) -> None:
    assert hasattr(pytest.importorskip("cupy").ndarray, method)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(lambda: np.cumsum(NUMBERS), id="a function of NumPy"),
        pytest.param(lambda: np.add(NUMBERS, 1), id="an operator of NumPy"),
        pytest.param(lambda: np.asarray(NUMBERS), id="a silent copy to the host"),
        pytest.param(lambda: NUMBERS + np.arange(6), id="an array of the host"),
        pytest.param(lambda: np.arange(6) + NUMBERS, id="an array of the host first"),
        pytest.param(lambda: np.arange(9)[NUMBERS], id="an index of the host"),
        pytest.param(lambda: NUMBERS[np.arange(2)], id="an index by the host"),
        pytest.param(lambda: arrays.zeros(6, np.int64).__setitem__(slice(6), np.arange(6)), id="assigned"),
        pytest.param(lambda: bool(NUMBERS[1] > 0), id="a condition"),
        pytest.param(lambda: [*range(NUMBERS[1])], id="a silent number"),
        pytest.param(lambda: NUMBERS + 0.5, id="a float"),
        pytest.param(lambda: arrays.searchsorted(NUMBERS, 3), id="a number to search for"),  # type: ignore[arg-type]
        pytest.param(lambda: arrays.lexsort([NUMBERS, NUMBERS]), id="keys in a list"),  # type: ignore[arg-type]
        pytest.param(lambda: arrays.concatenate([NUMBERS, NUMBERS.astype(np.int32)]), id="mixed types"),
        pytest.param(lambda: NUMBERS[::2].sort(), id="sorting a view"),
        pytest.param(lambda: NUMBERS.sum(), id="a method that no job needs"),
    ],
)
def test_what_numpy_alone_would_do_is_an_error(step: Any) -> None:
    with pytest.raises((TypeError, AssertionError, AttributeError)):
        step()


def test_a_float_is_an_error_though_all_are_integers() -> None:
    with pytest.raises(AssertionError, match="float64 on the device"):
        NUMBERS + NUMBERS.astype(np.uint64)


def test_memory_that_was_not_written_to_holds_no_zeros() -> None:
    assert arrays.to_host(arrays.empty(9, np.int32)).all()


# ---- CuPy ----


class Cupy:
    """The part of CuPy that a device is made of, and what was asked of it."""

    limit = 0

    def __init__(self) -> None:
        self.compiled: list[tuple[str, tuple[str, ...]]] = []
        self.launched: list[tuple[Any, ...]] = []
        self.freed: list[str] = []
        self.asnumpy = np.asarray
        runtime = SimpleNamespace(
            memGetInfo=lambda: (1000, 2000), getDeviceProperties=lambda number: {"name": b"a card"}
        )
        self.cuda = SimpleNamespace(runtime=runtime, Device=lambda: SimpleNamespace(id=0))

    def get_default_memory_pool(self) -> SimpleNamespace:
        return SimpleNamespace(
            free_bytes=lambda: 300,
            used_bytes=lambda: 100,
            get_limit=lambda: self.limit,
            free_all_blocks=lambda: self.freed.append("device"),
        )

    def get_default_pinned_memory_pool(self) -> SimpleNamespace:
        return SimpleNamespace(free_all_blocks=lambda: self.freed.append("host"))

    def RawModule(self, *, code: str, options: tuple[str, ...]) -> SimpleNamespace:  # noqa: N802
        self.compiled.append((code, options))
        return SimpleNamespace(get_function=lambda name: lambda *given: self.launched.append((name, *given)))


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = Cupy()
    cached = (cuda_device, device_module._module, device_module._compiled)
    monkeypatch.setitem(sys.modules, "cupy", found)
    for function in cached:
        function.cache_clear()
    yield found
    for function in cached:
        function.cache_clear()


@pytest.mark.parametrize(("limit", "free"), [(0, 1300), (900, 800), (5000, 1300)])
def test_what_is_free_is_also_what_cupy_keeps_and_no_more_than_its_limit(
    cupy: Cupy, limit: int, free: int
) -> None:
    cupy.limit = limit
    assert cuda_device().free_bytes() == free


def test_numbers_travel_in_eight_bytes_and_sources_are_compiled_once(cupy: Cupy) -> None:
    device: Device = cuda_device()
    for threads in (0, 1000):
        device.run("match", "list_pairs", threads, 7, "array")
        device.run("match", "match_rows", threads, -1)
    assert device.name == "a card"
    assert cupy.compiled == [(kernel_source("match"), ("-std=c++17",))]
    assert cupy.launched == [
        ("list_pairs", (4,), (256,), (7, "array")),
        ("match_rows", (4,), (256,), (-1,)),
    ]
    assert [type(given[0]) for *_, given in cupy.launched] == [np.int64, np.int64]


def test_all_memory_that_is_kept_is_given_back(cupy: Cupy) -> None:
    cuda_device().release()
    assert cupy.freed == ["device", "host"]


def test_no_include_is_left_for_the_compiler_to_find() -> None:
    for source in Path(device_module.SOURCES).glob("*.cu"):
        assert "#include" not in kernel_source(source.stem)
