"""Named tuples of flat arrays that kernels read and fill, passed from the jobs to compiled code.

Compiled code knows a field by its place: after a change here, as after one in a kernel, forget the compiled
kernels (the tests do it by themselves).
"""

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
_Scalar = TypeVar("_Scalar", bound=np.generic)


def read_only(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return a view that can't be written; kernels that get some arrays so are compiled for these alone.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


class Level(NamedTuple):
    """All antecedents of one length: last item, best answer and counts; ``starts`` of their children."""

    items: Numbers
    best_class: Numbers
    antecedent_count: Ints
    rule_count: Ints
    starts: Ints


class KeptRows(NamedTuple):
    """Rows as CSR with room for more; ``size`` is (rows, items, rows merged so far).

    Those merged so far are the first ones, all different. ``table`` finds them: it has a row's hash in its
    upper half and the row's number + 1 in its lower one, else 0.
    """

    offsets: Ints
    items: Numbers
    classes: Numbers
    weights: Ints
    table: Ints
    size: Ints


class Trie(NamedTuple):
    """Rules by antecedent: node v has children ``child_starts[v]..`` and rules ``rules[rule_starts[v]..]``.

    Node 0 is the empty antecedent. Items are numbers in the matcher's own order, ascending along a
    path and among siblings. ``rule_class`` is per rule.
    """

    items: Numbers
    child_starts: Ints
    rule_starts: Ints
    rules: Ints
    rule_class: Numbers


class Targets(NamedTuple):
    """The answers of rules, by place, and of rows: the majority's class, and what else is accepted.

    All accepted classes are CSR with a 64-bit sketch; without sketches a row accepts its majority's class.
    """

    answers: Numbers
    majority: Numbers
    accepted_starts: Ints
    accepted: Numbers
    sketch: npt.NDArray[np.uint64]


class Summands(NamedTuple):
    """What a rule adds for a row: ``weights[row] * table[line[rule], column[row]]``."""

    line: Numbers
    column: Numbers
    table: Ints
    weights: Ints


class Tallies(NamedTuple):
    """What a match adds up, rules by their place in ``Trie.rules``.

    ``by_rule`` has rows fired, row's class right, accepted, and the sum of the rule's summands; ``by_row``,
    if it has rows, the rules that fire, those that are accepted, and the first of both. With room in
    ``pairs``, each hit writes its rule at ``cursor[row]`` and moves the cursor on.
    """

    by_rule: Ints
    by_row: Ints
    cursor: Ints
    pairs: Ints


class Best(NamedTuple):
    """The most confident subset per pair, as counts; an antecedent_count of 0 means that there is none."""

    rule_count: Ints
    antecedent_count: Ints
