"""Rules as a trie over their items, ready to be matched.

The trie is numbered breadth first, with the children and the rules of a node as runs of flat arrays.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints, Numbers, Trie, read_only
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.threads import sorted_order
from shortcut_miner.transactions import RowBlocks


@dataclasses.dataclass(frozen=True, slots=True)
class RuleIndex:
    """Rules as a trie, ready to be matched against any rows of their vocabulary.

    Attributes
    ----------
    numbers : int32[vocabulary items + 1]
        Each item's number in the trie, -1 if no rule uses it.
    item_count : int
        Items used.
    trie : Trie
        See :class:`shortcut_miner.mining.arrays.Trie`.
    depth : int
        Items of the longest antecedent.
    """

    numbers: Numbers
    item_count: int
    trie: Trie
    depth: int

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.trie.rule_class)


def index_for(rules: RuleArrays | RuleIndex, rows: RowBlocks) -> RuleIndex:
    """Return the index of `rules` that suits these rows: their rare items first; an index as it is."""
    if isinstance(rules, RuleIndex):
        return rules
    return index_rules(rules, rows.item_frequency)


def index_rules(rules: RuleArrays, item_frequency: Ints) -> RuleIndex:
    """Return rules as a trie over the items they use, rare items first.

    Parameters
    ----------
    rules : RuleArrays
        In the numbers of a vocabulary.
    item_frequency : int64[items]
        How common each item of the vocabulary is. It decides the speed of matching, not its result.
    """
    # One more than the vocabulary: an item that no row can hold (see frames.rules.encode_rules).
    frequency = np.append(item_frequency, 0)
    is_used = np.zeros(len(frequency), np.bool_)
    is_used[rules.items[rules.items >= 0]] = True
    used = np.flatnonzero(is_used)
    used = used[np.argsort(frequency[used], kind="stable")]
    numbers = np.full(len(frequency) + 1, -1, np.int32)  # the last entry is for the padding, -1
    numbers[used] = np.arange(len(used), dtype=np.int32)
    paths = numbers[rules.items]
    paths[rules.items < 0] = len(used)
    paths.sort(axis=1)
    order = _path_order(paths, len(used))
    paths = paths.take(order, axis=0)
    trie = _trie(paths, order, len(used), rules.answers)
    return RuleIndex(numbers[:-1], len(used), trie, rules.items.shape[1])


def _trie(paths: Numbers, rules: Ints, padding: int, answers: Numbers) -> Trie:
    """Return the trie of ordered item paths (ascending, filled up with `padding`), breadth first.

    ``paths[k]`` belongs to ``rules[k]``. A search may find millions of rules, so there is no array here of
    eight bytes for each that could have fewer.
    """
    count, width = paths.shape
    same_upto = _same_upto(paths)
    node = np.zeros(count, np.int32)
    items, children = [np.array([-1], np.int32)], []
    first, total = 0, 1  # node numbers of a depth
    for depth in range(width):
        inside = paths[:, depth] != padding
        is_new = inside & (same_upto <= depth)
        is_new[:1] |= inside[:1]
        children.append(np.bincount(node[is_new] - first, minlength=total - first))
        items.append(paths[is_new, depth])
        below = np.cumsum(is_new, dtype=np.int32)
        below += total - 1
        np.copyto(node, below, where=inside)
        first, total = total, total + len(items[-1])
    children.append(np.zeros(total - first, np.int64))
    child_starts = np.concatenate(([1], *children))
    lengths = (paths != padding).sum(axis=1, dtype=np.int8)
    return Trie(
        items=np.concatenate(items),
        child_starts=np.cumsum(child_starts, out=child_starts),
        rule_starts=np.concatenate(([0], np.cumsum(np.bincount(node, minlength=total)))),
        # Nodes of a length ascend with their paths, and rules of one path are in order.
        rules=np.concatenate([rules[lengths == length] for length in range(width + 1)]),
        rule_class=read_only(answers),
    )


def _same_upto(paths: Numbers) -> npt.NDArray[np.int8]:
    """Return at which depth each path first differs from the one before it; from there on, nodes are new."""
    count, width = paths.shape
    same_upto = np.full(count, width, np.int8)
    same_upto[:1] = 0
    for depth in range(width - 1, -1, -1):
        same_upto[1:][paths[1:, depth] != paths[:-1, depth]] = depth
    return same_upto


def _path_order(paths: Numbers, padding: int) -> Ints:
    """Return the lexicographic order of paths, a shorter path before its extensions."""
    width = paths.shape[1]
    if (padding + 1) ** width < 1 << 63:
        key = np.zeros(len(paths), np.int64)
        for depth in range(width):
            key *= padding + 1
            key += _padding_first(paths[:, depth], padding)
        return sorted_order(key)
    return np.lexsort([_padding_first(paths[:, depth], padding) for depth in range(width - 1, -1, -1)])


def _padding_first(column: Numbers, padding: int) -> Numbers:
    return np.where(column == padding, np.int32(0), column + np.int32(1))
