"""Drawing swaps: which classes and donors take each object's place.

Every draw is a function of (pair key, stream, number of the draw), so neither row order nor the cut into
calls changes it.

Donors are numbered in the order (class, attribute set, image, object). The donors that an object must not
take because of where they are (its own image, or itself) are a short ascending list of such numbers.
"""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.diagnostics.swapmix.kernels_numba.numbers import below, distinct, uniform, word
from shortcut_miner.kernel_options import INLINED, KERNEL, STEP
from shortcut_miner.kernel_pointers import pointers

# Numbers of random words, as int64: what takes a literal would be compiled for each of them.
CLASS_DONOR, PADDING_CLASS, ATTRIBUTE_DONOR, TRAINING, ATTRIBUTE = np.arange(1, 6)
_IS_SWAPPED, _IS_BY_CLASS, _SLOT, _DONOR, _PADDING, _ATTRIBUTES = np.arange(6)  # of a training pair
_ONE: Any = np.int64(1)
BY_CLASS, BY_ATTRIBUTE = 1, 2


class Donors(NamedTuple):
    """Donors by number; ``start`` is per class and has the end, ``classes`` are those with donors.

    ``features`` are unit vectors per donor (float32, no rows if not used) of ``width`` numbers; there are
    ``class_count`` classes.
    """

    start: np.ndarray
    attributes: np.ndarray
    classes: np.ndarray
    excluded_start: np.ndarray
    excluded: np.ndarray
    features: np.ndarray
    class_count: int
    width: int


class Similar(NamedTuple):
    """Similar classes of each class, the most similar first."""

    start: np.ndarray
    ids: np.ndarray


class Choices(NamedTuple):
    """What can take the place of each object, whichever question it is in.

    ``classes`` (objects x k) are the most similar ones that have donors, ``found`` says how many there are.
    Of the donors of its own class those from ``same_first`` to ``same_stop`` have its attributes; ``others``
    counts those that it may take.
    """

    classes: np.ndarray
    found: np.ndarray
    same_first: np.ndarray
    same_stop: np.ndarray
    others: np.ndarray


class Objects(NamedTuple):
    """Objects to swap: class, attribute set, which list of excluded donors, unit features (or no rows)."""

    classes: np.ndarray
    attributes: np.ndarray
    excluded: np.ndarray
    features: np.ndarray


class Limits(NamedTuple):
    """Most swaps of a kind, whether random classes fill up, and the most similar features of a donor."""

    k: int
    pads: bool
    max_cosine: float


class Swaps(NamedTuple):
    """Rows to fill: pair, kind, number within its kind, class, donor, whether the class is random."""

    pair: np.ndarray
    kind: np.ndarray
    number: np.ndarray
    to_class: np.ndarray
    donor: np.ndarray
    is_padding: np.ndarray


@njit(**INLINED)
def _excluded_of_class(donors, place, of_class):
    """Return the part of an excluded list that is of one class, as low and high."""
    low, high = donors.excluded_start[place], donors.excluded_start[place + 1]
    first, stop = donors.start[of_class], donors.start[of_class + 1]
    while low < high and donors.excluded[low] < first:
        low += 1
    end = low
    while end < high and donors.excluded[end] < stop:
        end += 1
    return low, end


@njit(**STEP)
def _class_donor_count(donors, place, of_class):
    """Return how many donors of a class an object may take."""
    low, high = _excluded_of_class(donors, place, of_class)
    return donors.start[of_class + 1] - donors.start[of_class] - (high - low)


@njit(**INLINED)
def _class_donor(key, slot, donors, place, of_class):
    """Return a random donor of a class, uniform over those that the object may take."""
    low, high = _excluded_of_class(donors, place, of_class)
    first = donors.start[of_class]
    drawn = first + below(key, slot, donors.start[of_class + 1] - first - (high - low))
    for at in range(low, high):
        if drawn < donors.excluded[at]:
            break
        drawn += 1
    return drawn


@njit(**STEP)
def _same_attributes(donors, of_class, attributes):
    """Return where the donors of a class with one attribute set are, as first and stop."""
    first, stop = donors.start[of_class], donors.start[of_class + 1]
    low, high = first, stop
    while low < high:
        middle = (low + high) // 2
        if donors.attributes[middle] < attributes:
            low = middle + 1
        else:
            high = middle
    begin, high = low, stop
    while low < high:
        middle = (low + high) // 2
        if donors.attributes[middle] <= attributes:
            low = middle + 1
        else:
            high = middle
    return begin, low


@njit(**STEP)
def _attribute_donor_count(donors, place, of_class, same_first, same_stop):
    """Return how many donors of the object's class have another attribute set and may be taken."""
    low, high = _excluded_of_class(donors, place, of_class)
    count = donors.start[of_class + 1] - donors.start[of_class] - (same_stop - same_first)
    for at in range(low, high):
        count -= not same_first <= donors.excluded[at] < same_stop
    return count


@njit(**INLINED)
def _skip_to_donor(drawn, donors, low, high, of_class, same_first, same_stop):
    """Return the donor number `drawn`, counted over those that have other attributes and may be taken.

    low, high: :func:`_excluded_of_class`.
    """
    found = donors.start[of_class] + drawn
    is_past = same_first == same_stop
    for at in range(low, high):
        one = donors.excluded[at]
        if same_first <= one < same_stop:
            continue
        if not is_past and one >= same_stop:
            is_past = True
            if found >= same_first:
                found += same_stop - same_first
        if found < one:
            break
        found += 1
    if not is_past and found >= same_first:
        found += same_stop - same_first
    return found


@njit(**STEP)
def _similar_classes(one, objects, donors, similar, k, choices):
    """Fill the k most similar classes that have donors for the object; return how many."""
    own, place = objects.classes[one], objects.excluded[one]
    found = 0
    for at in range(similar.start[own], similar.start[own + 1]):
        if found == k:
            break
        if _class_donor_count(donors, place, similar.ids[at]) > 0:
            choices.classes[one * k + found] = similar.ids[at]
            found += 1
    return found


@njit(**INLINED)
def _copy_classes(one, k, choices, chosen):
    """Fill `chosen` with the similar classes of an object; return how many."""
    for n in range(choices.found[one]):
        chosen[n] = choices.classes[one * k + n]
    return choices.found[one]


@njit(**STEP)
def _pad_classes(key, one, found, objects, donors, k, chosen, moved, values):
    """Extend the `found` chosen classes with random other ones that have donors, to k; return how many."""
    own, place = objects.classes[one], objects.excluded[one]
    similar = found
    count = donors.class_count
    for draw in range(count):
        if found == k:
            break
        drawn = donors.classes[distinct(key, draw, count, moved, values)]
        is_new = drawn != own
        for n in range(similar):
            is_new &= drawn != chosen[n]
        if is_new and _class_donor_count(donors, place, drawn) > 0:
            chosen[found] = drawn
            found += 1
    return found


@njit(**STEP)
def _class_count(one, found, objects, donors, limits):
    """Return how many class swaps an object gets that has so many similar classes."""
    if found == limits.k or not limits.pads:
        return found
    own, place = objects.classes[one], objects.excluded[one]
    possible = donors.class_count - (donors.start[own + 1] > donors.start[own])
    at, high = donors.excluded_start[place], donors.excluded_start[place + 1]
    of_class = 0
    while at < high:
        while donors.start[of_class + 1] <= donors.excluded[at]:
            of_class += 1
        low, end = _excluded_of_class(donors, place, of_class)
        possible -= of_class != own and end - low == donors.start[of_class + 1] - donors.start[of_class]
        at = end
    return limits.k if limits.k < possible else possible


class Lists(NamedTuple):
    """One call's working memory: chosen classes, and the places that a shuffle has changed."""

    chosen: np.ndarray
    moved: np.ndarray
    values: np.ndarray


def lists_for(donors: Donors, limits: Limits) -> Lists:
    """Return working memory for drawing among donors."""
    most = np.diff(donors.start).max(initial=0) if len(donors.features) else 0
    return Lists(*np.empty((3, max(limits.k, len(donors.classes), int(most)) + 1), np.int64))


def count_swaps(
    objects: Objects, donors: Donors, similar: Similar, limits: Limits
) -> tuple[np.ndarray, Choices]:
    """Return, per object, its class swaps, those to similar classes, and its attribute swaps (at most).

    Beside it what they can be.
    """
    total = len(objects.classes)
    counts = np.zeros((total, 3), np.int64)
    found, first, stop, others = np.zeros((4, total), np.int64)
    choices = Choices(np.zeros((total, limits.k), np.int32), found, first, stop, others)
    fill_counts(objects, donors, similar, limits, choices, counts)
    return counts, choices


@njit(**KERNEL)
def fill_counts(objects, donors, similar, limits, choices, counts):
    """Fill the choices and counts of each object."""
    count = len(objects.classes)
    objects, donors, similar, choices = pointers((objects, donors, similar, choices))
    for one in range(count):
        found = _similar_classes(one, objects, donors, similar, limits.k, choices)
        counts[one, 0], counts[one, 1] = _class_count(one, found, objects, donors, limits), found
        own, place = objects.classes[one], objects.excluded[one]
        first, stop = _same_attributes(donors, own, objects.attributes[one])
        others = _attribute_donor_count(donors, place, own, first, stop)
        choices.found[one], choices.others[one] = found, others
        choices.same_first[one], choices.same_stop[one] = first, stop
        counts[one, 2] = limits.k if limits.k < others else others


@njit(**KERNEL)
def draw_swaps(pairs, keys, first_rows, objects, donors, choices, limits, lists, rows):
    """Fill `rows` from ``first_rows[pair]`` on with the swaps of each pair (an object in a question).

    `pairs` are positions in `objects`. Rows that stay without a donor, because features are too similar,
    keep kind 0.
    """
    objects, donors, choices, lists, rows = pointers((objects, donors, choices, lists, rows))
    chosen, moved, values = lists
    for pair in range(len(pairs)):
        one = pairs[pair]
        at = first_rows[pair]
        found = _copy_classes(one, limits.k, choices, chosen)
        total = found
        if limits.pads and found < limits.k:
            padding_key = word(keys[pair], PADDING_CLASS)
            total = _pad_classes(padding_key, one, found, objects, donors, limits.k, chosen, moved, values)
        key = word(keys[pair], CLASS_DONOR)
        for slot in range(total):
            rows.pair[at] = pair
            rows.kind[at] = BY_CLASS
            rows.number[at] = slot + 1
            rows.to_class[at] = chosen[slot]
            rows.donor[at] = _class_donor(key, slot, donors, objects.excluded[one], chosen[slot])
            rows.is_padding[at] = slot >= found
            at += 1
        _draw_attribute_donors(
            pair, one, word(keys[pair], ATTRIBUTE_DONOR), at, objects, donors, choices, limits,
            moved, values, rows,
        )  # fmt: skip


@njit(**KERNEL)
def fill_objects(objects_of_pairs, sets, sets_of_donors, with_sets_of, swaps, objects, own, others):
    """Fill each swap's object, and the attribute sets of it and of its donor for swaps of one kind.

    Rows without a swap stay as they are.
    """
    for row in range(len(swaps.pair)):
        if swaps.pair[row] >= 0:
            objects[row] = objects_of_pairs[swaps.pair[row]]
            if swaps.kind[row] == with_sets_of:
                own[row] = sets[objects[row]]
                others[row] = sets_of_donors[swaps.donor[row]]


@njit(**INLINED)
def _draw_attribute_donors(pair, one, key, at, objects, donors, choices, limits, moved, values, rows):
    own, count = objects.classes[one], choices.others[one]
    low, high = _excluded_of_class(donors, objects.excluded[one], own)
    first, stop = choices.same_first[one], choices.same_stop[one]
    found = 0
    draw = np.int64(0)  # of a literal's type, `distinct` would be compiled twice
    while draw < count and found < limits.k:
        drawn = distinct(key, draw, count, moved, values)
        donor = _skip_to_donor(drawn, donors, low, high, own, first, stop)
        draw += 1
        if donors.width and _cosine(one, donor, objects, donors) > limits.max_cosine:
            continue
        found += 1
        rows.pair[at] = pair
        rows.kind[at] = BY_ATTRIBUTE
        rows.number[at] = found
        rows.to_class[at] = own
        rows.donor[at] = donor
        rows.is_padding[at] = False
        at += 1


@njit(**STEP)
def _cosine(one, donor, objects, donors):
    total, left, right = 0.0, one * donors.width, donor * donors.width
    for n in range(donors.width):
        total += np.float64(objects.features[left + n]) * np.float64(donors.features[right + n])
    return total


@njit(**KERNEL)
def draw_training(
    pairs, keys, epoch, swap_probability, class_probability, objects, donors, choices, limits, lists, rows
):
    """Fill row `pair` of each pair that an epoch swaps; the others keep kind 0.

    Returns how many pairs were to be swapped but have no donor of the kind drawn.
    """
    objects, donors, choices, lists, rows = pointers((objects, donors, choices, lists, rows))
    chosen, moved, values = lists
    missing = 0
    for pair in range(len(pairs)):
        key = word(word(keys[pair], TRAINING), epoch)
        if not uniform(key, _IS_SWAPPED) < swap_probability:
            continue
        one = pairs[pair]
        if uniform(key, _IS_BY_CLASS) < class_probability:
            is_found = _train_by_class(
                pair, one, key, objects, donors, choices, limits, chosen, moved, values, rows
            )
        else:
            is_found = _train_by_attribute(
                pair, one, key, objects, donors, choices, limits, moved, values, rows
            )
        missing += not is_found
    return missing


@njit(**STEP)
def _train_by_class(pair, one, key, objects, donors, choices, limits, chosen, moved, values, rows):
    """Take one of the k classes that an evaluation of the object would take, all alike."""
    found = _copy_classes(one, limits.k, choices, chosen)
    total = found
    if limits.pads and found < limits.k:
        total = _pad_classes(
            word(key, _PADDING), one, found, objects, donors, limits.k, chosen, moved, values
        )
    if total == 0:
        return False
    slot = below(key, _SLOT, total)
    rows.pair[pair] = pair
    rows.kind[pair] = BY_CLASS
    rows.number[pair] = slot + 1
    rows.to_class[pair] = chosen[slot]
    rows.donor[pair] = _class_donor(key, _DONOR, donors, objects.excluded[one], chosen[slot])
    rows.is_padding[pair] = slot >= found
    return True


@njit(**STEP)
def _train_by_attribute(pair, one, key, objects, donors, choices, limits, moved, values, rows):
    _draw_attribute_donors(
        pair,
        one,
        word(key, _ATTRIBUTES),
        pair,
        objects,
        donors,
        choices,
        Limits(_ONE, limits.pads, limits.max_cosine),
        moved,
        values,
        rows,
    )
    return rows.kind[pair] == BY_ATTRIBUTE
