"""Arrays as pointers to their numbers, inside kernels.

numba passes an array on as seven values, and looks at every index, whether it counts from the end. A pointer
is one value, and an index is taken as it is. Steps that take the working memory of a search, some forty
arrays, are compiled in two thirds of the time so.
"""

from typing import Any

from numba import types
from numba.core import cgutils, errors
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def pointers(_: Any, arrays: Any) -> Any:
    """Return an array as a pointer to its first number, and a tuple of arrays as one of pointers.

    An array is contiguous in C's order; of more than one dimension it is read as if it had one. Truth values
    are numbers of type uint8. What is no array stays what it is. The arrays must outlive their pointers: they
    are arguments of the kernel.
    """

    def lowered(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _value(context, builder, arrays, values[0])

    return _type(arrays)(arrays), lowered


def _type(kind: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types(
            [_type(part) for part in kind], getattr(kind, "instance_class", None)
        )
    if not isinstance(kind, types.Array):
        return kind
    if kind.layout != "C":
        raise errors.TypingError(f"got {kind}, expected an array that is contiguous")
    return types.CPointer(types.uint8 if kind.dtype == types.boolean else kind.dtype)


def _value(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        parts = zip(kind, cgutils.unpack_tuple(builder, value), strict=True)
        return context.make_tuple(builder, _type(kind), [_value(context, builder, *part) for part in parts])
    if not isinstance(kind, types.Array):
        return value
    return context.make_array(kind)(context, builder, value).data
