"""Words: 64 bits each, one for each row."""

from numba import types
from numba.extending import intrinsic


@intrinsic
def count_ones(_, word):
    """Return how many bits of an int64 are set."""
    return types.int64(word), lambda context, builder, signature, words: builder.ctpop(words[0])
