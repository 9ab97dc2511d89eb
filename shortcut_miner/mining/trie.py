"""Rules as a trie over their items, ready to be matched.

The trie is numbered breadth first, with the children and the rules of a node as runs of flat arrays.
"""

import dataclasses

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers, Trie
from shortcut_miner.mining.rules import RuleArrays
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
    return RuleIndex(numbers[:-1], len(used), _trie(paths, len(used), rules.answers), rules.items.shape[1])


def _trie(paths: Numbers, padding: int, answers: Numbers) -> Trie:
    """Return the trie of item paths (ascending, filled up with `padding`), breadth first."""
    count, width = paths.shape
    order = _path_order(paths, padding)
    ordered = paths[order]
    # Where a path first differs from the one before it, a new node begins; below that, all are new.
    same_upto = np.zeros(count, np.int64)
    if count and width:
        differs = ordered[1:] != ordered[:-1]
        same_upto[1:] = np.where(differs.any(axis=1), differs.argmax(axis=1), width)
    node = np.zeros(count, np.int64)
    parents, items, total = [np.array([0], np.int64)], [np.array([-1], np.int32)], 1
    for depth in range(width):
        inside = ordered[:, depth] != padding
        is_new = inside & (same_upto <= depth)
        is_new[:1] |= inside[:1]
        parents.append(node[is_new])
        items.append(ordered[is_new, depth])
        node = np.where(inside, total - 1 + np.cumsum(is_new), node)
        total += int(is_new.sum())
    child_starts = 1 + np.cumsum(np.bincount(np.concatenate(parents)[1:], minlength=total))
    node_of_rule = np.empty(count, np.int64)
    node_of_rule[order] = node
    return Trie(
        items=np.concatenate(items),
        child_starts=np.concatenate(([1], child_starts)),
        rule_starts=np.concatenate(([0], np.cumsum(np.bincount(node_of_rule, minlength=total)))),
        rules=np.argsort(node_of_rule, kind="stable"),
        rule_class=answers,
    )


def _path_order(paths: Numbers, padding: int) -> Ints:
    """Return the lexicographic order of paths, a shorter path before its extensions."""
    width = paths.shape[1]
    keys = np.where(paths == padding, 0, paths + 1)
    if (padding + 1) ** width < 1 << 63:
        key = np.zeros(len(paths), np.int64)
        for depth in range(width):
            key = key * (padding + 1) + keys[:, depth]
        return np.argsort(key, kind="stable")
    return np.lexsort([keys[:, depth] for depth in range(width - 1, -1, -1)])
