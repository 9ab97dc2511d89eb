"""Arrays that take what NumPy's and CuPy's both take, and nothing else: the host's stand-in for CuPy.

What NumPy alone would do fails here on every machine: functions of NumPy on arrays of the device, arrays
of the host among them, floats, what CuPy lacks (see CuPy's "Differences between CuPy and NumPy"). Where CuPy
would wait for the device without a word, as in a condition, this is an error too. Memory that is not written
to holds no zeros.
"""

import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_UNWRITTEN = 0xA5  # each byte of what `empty` returns


class DeviceArray:
    """An array of the device; its memory is NumPy's."""

    __slots__ = ("_memory",)
    __array_ufunc__ = None  # NumPy's own operators leave it to these, and its functions refuse
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, memory: np.ndarray) -> None:
        assert memory.dtype.kind in "biu", f"{memory.dtype} on the device: kernels take integers"
        self._memory = memory

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("an array of the device where one of the host is expected")

    def __array_function__(self, function: Callable[..., Any], *_: Any) -> Any:
        raise TypeError(f"numpy.{function.__name__} is given an array of the device")

    # ---- what is known of it on the host ----

    dtype = property(lambda self: self._memory.dtype)
    shape = property(lambda self: self._memory.shape)
    nbytes = property(lambda self: self._memory.nbytes)

    def __len__(self) -> int:
        return len(self._memory)

    def __iter__(self) -> Iterator["DeviceArray"]:
        return (self[place] for place in range(len(self)))

    def __bool__(self) -> bool:
        raise TypeError("a condition waits for the device; write int(...) where that is meant")

    __index__ = __bool__

    def __int__(self) -> int:
        assert self.shape == (), f"int() of an array of shape {self.shape}"
        return int(self._memory)

    # ---- parts ----

    def __getitem__(self, where: Any) -> "DeviceArray":
        return DeviceArray(np.asarray(self._memory[_index(where)]))

    def __setitem__(self, where: Any, value: Any) -> None:
        self._memory[_index(where)] = _operand(value)

    # ---- other arrays from it ----

    def astype(self, dtype: Any) -> "DeviceArray":
        return DeviceArray(self._memory.astype(dtype))

    def view(self, dtype: Any) -> "DeviceArray":
        return DeviceArray(self._memory.view(dtype))

    def sort(self) -> None:
        assert self._memory.flags.c_contiguous, "CuPy sorts contiguous arrays only"
        self._memory.sort(kind="stable")

    def __neg__(self) -> "DeviceArray":
        assert self.dtype.kind == "i", f"minus {self.dtype}"
        return DeviceArray(-self._memory)


def _operand(value: Any) -> Any:
    if isinstance(value, DeviceArray):
        return value._memory
    if isinstance(value, int):
        return value
    raise TypeError(f"{type(value).__name__} with an array of the device: only such arrays and int are")


def _index(where: Any) -> Any:
    if isinstance(where, slice | DeviceArray):
        return where._memory if isinstance(where, DeviceArray) else where
    return operator.index(where)


def _of_two(name: str) -> Callable[[DeviceArray, Any], DeviceArray]:
    function = getattr(operator, name)

    def apply(left: DeviceArray, right: Any) -> DeviceArray:
        return DeviceArray(np.asarray(function(left._memory, _operand(right))))

    return apply


def _of_two_reflected(name: str) -> Callable[[DeviceArray, Any], DeviceArray]:
    function = getattr(operator, name)
    return lambda left, right: DeviceArray(np.asarray(function(_operand(right), left._memory)))


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "eq", "ne", "lt", "le", "gt", "ge"):
    _function = {"and": "and_", "or": "or_"}.get(_name, _name)
    setattr(DeviceArray, f"__{_name}__", _of_two(_function))
    if _name in ("add", "sub", "mul"):
        setattr(DeviceArray, f"__r{_name}__", _of_two_reflected(_function))


# ---- the functions of the module; parameters as in CuPy, without those that no job may need ----


def _given(array: Any) -> np.ndarray:
    assert isinstance(array, DeviceArray), f"{type(array).__name__} where CuPy takes an array of the device"
    return array._memory


def asarray(a: np.ndarray) -> DeviceArray:
    """Return a copy on the device, in the order that the array has."""
    assert isinstance(a, np.ndarray)
    return DeviceArray(a.copy(order="K"))


def empty(shape: int, dtype: Any) -> DeviceArray:
    """Return memory that was not written to."""
    memory = np.empty(shape, dtype)
    memory.view(np.uint8)[:] = _UNWRITTEN
    return DeviceArray(memory)


def zeros(shape: Any, dtype: Any) -> DeviceArray:
    """See NumPy's."""
    return DeviceArray(np.zeros(shape, dtype))


def ones(shape: Any, dtype: Any) -> DeviceArray:
    """See NumPy's."""
    return DeviceArray(np.ones(shape, dtype))


def full(shape: Any, fill_value: int, dtype: Any) -> DeviceArray:
    """See NumPy's."""
    return DeviceArray(np.full(shape, fill_value, dtype))


def arange(start: int, stop: int | None = None, *, dtype: Any = np.int64) -> DeviceArray:
    """See NumPy's."""
    return DeviceArray(np.arange(start, dtype=dtype) if stop is None else np.arange(start, stop, dtype=dtype))


def concatenate(tup: Any) -> DeviceArray:
    """See NumPy's; all of one type."""
    arrays = [_given(array) for array in tup]
    assert len({array.dtype for array in arrays}) == 1, "arrays of different types"
    return DeviceArray(np.concatenate(arrays))


def stack(tup: Any) -> DeviceArray:
    """See NumPy's; all of one type."""
    arrays = [_given(array) for array in tup]
    assert len({array.dtype for array in arrays}) == 1, "arrays of different types"
    return DeviceArray(np.stack(arrays))


def searchsorted(a: DeviceArray, v: DeviceArray, side: str = "left") -> DeviceArray:
    """See NumPy's; an unsorted array, for which neither says what it does, is an error."""
    array = _given(a)
    assert array.ndim == 1
    assert (array[1:] >= array[:-1]).all(), "searchsorted in an array that is not sorted"
    return DeviceArray(np.searchsorted(array, _given(v), side).astype(np.int64))  # type: ignore[call-overload]


def sort(a: DeviceArray) -> DeviceArray:
    """See NumPy's."""
    return DeviceArray(np.sort(_given(a), kind="stable"))


def lexsort(keys: DeviceArray) -> DeviceArray:
    """Return what sorts the columns by the last row, then by the one before it: CuPy takes one array only."""
    assert _given(keys).ndim == 2
    return DeviceArray(np.lexsort(_given(keys)))


def cumsum(a: DeviceArray) -> DeviceArray:
    """See NumPy's."""
    return DeviceArray(np.cumsum(_given(a)))


def flatnonzero(a: DeviceArray) -> DeviceArray:
    """See NumPy's."""
    return DeviceArray(np.flatnonzero(_given(a)))


def to_host(array: DeviceArray) -> np.ndarray:
    """Return a copy on the host, contiguous."""
    return _given(array).copy(order="C")


FUNCTIONS = {
    name: function
    for name, function in list(globals().items())
    if inspect.isfunction(function) and not name.startswith("_") and name != "to_host"
}
