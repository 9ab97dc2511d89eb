"""Depth-first search for class-association rules with occurrence delivery, on flat arrays.

A node is an antecedent X. It owns the rows that contain X, each cut to the *candidates*: the later
items j (in the miner's item order) for which X + {j} still has an answer in ``min_count`` rows. Rows
are ordered by class, so a class is a run of rows and counting a class needs no histogram. Three facts
keep a node small:

- only classes with ``min_count`` rows in the node (*heavy* runs) can make a rule there or below;
  the other rows count in totals only and carry class -1 from then on;
- candidates are renumbered 0..t-1 at every node, so counters stay dense and in cache;
- at the last but one level the pairs of candidates are counted in a t x t matrix, which gives the
  last two levels of the search from one pass over the rows.

The idea of delivering occurrences is LCM's (Uno et al., 2004); the class runs are ours.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

# Above this many candidates the pair matrix would leave the cache; the search then goes one level deeper.
PAIR_LIMIT = 192


class Rows(NamedTuple):
    """Rows of a node or of the whole job: ``items[starts[r]:ends[r]]`` ascending, one class, one weight."""

    items: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    classes: np.ndarray
    weights: np.ndarray


class Occurrences(NamedTuple):
    """Where items occur: the row, and the position just after the item in ``Rows.items``."""

    rows: np.ndarray
    after: np.ndarray


class Scratch(NamedTuple):
    """Counters that are all zero between uses, and lists that have no meaning between uses."""

    run: np.ndarray
    best: np.ndarray
    best_class: np.ndarray
    total: np.ndarray
    touched: np.ndarray
    new_name: np.ndarray
    run_ends: np.ndarray
    run_classes: np.ndarray
    pair_run: np.ndarray
    pair_best: np.ndarray
    pair_class: np.ndarray
    pair_total: np.ndarray
    pair_touched: np.ndarray


class Stack(NamedTuple):
    """One entry per length of the antecedent under search: its candidates, and where its rows end."""

    cursor: np.ndarray
    kept: np.ndarray
    base: np.ndarray
    row_stop: np.ndarray
    item_stop: np.ndarray
    occurrence_stop: np.ndarray
    names: np.ndarray
    starts: np.ndarray


class Found(NamedTuple):
    """Antecedents in the order of the search; ``size[0]`` of them, ``size[k]`` with k items."""

    length: np.ndarray
    parent: np.ndarray
    item: np.ndarray
    best_class: np.ndarray
    antecedent_count: np.ndarray
    rule_count: np.ndarray
    size: np.ndarray


class Space(NamedTuple):
    """One thread's working memory: the nodes' rows and occurrences, counters, stack and output."""

    rows: Rows
    occurrences: Occurrences
    scratch: Scratch
    stack: Stack
    found: Found


@njit(nogil=True, cache=True)
def count_items(offsets, items, classes, weights, item_count):
    """Return, per item: rows that hold it, its largest class count, and that class (first on ties).

    Rows must be ordered by class.
    """
    total = np.zeros(item_count, np.int64)
    best = np.zeros(item_count, np.int64)
    best_class = np.full(item_count, -1, np.int32)
    run = np.zeros(item_count, np.int64)
    run_class = np.full(item_count, -1, np.int32)
    for row in range(len(classes)):
        weight = weights[row]
        row_class = classes[row]
        for position in range(offsets[row], offsets[row + 1]):
            item = items[position]
            total[item] += weight
            if run_class[item] != row_class:
                run_class[item] = row_class
                run[item] = 0
            run[item] += weight
            if run[item] > best[item]:
                best[item] = run[item]
                best_class[item] = row_class
    return total, best, best_class


@njit(nogil=True, cache=True)
def project_rows(offsets, items, row_order, new_name):
    """Return (offsets, items) of the rows in `row_order`, items renamed, sorted, and -1 names left out."""
    out_offsets = np.zeros(len(row_order) + 1, np.int64)
    for k in range(len(row_order)):
        row = row_order[k]
        size = 0
        for position in range(offsets[row], offsets[row + 1]):
            size += new_name[items[position]] >= 0
        out_offsets[k + 1] = out_offsets[k] + size
    out_items = np.empty(out_offsets[-1], np.int32)
    for k in range(len(row_order)):
        row = row_order[k]
        top = out_offsets[k]
        for position in range(offsets[row], offsets[row + 1]):
            name = new_name[items[position]]
            if name >= 0:
                out_items[top] = name
                top += 1
        out_items[out_offsets[k] : top].sort()
    return out_offsets, out_items


@njit(nogil=True, cache=True)
def deliver(offsets, items, item_count):
    """Return (starts, rows, after): for each item the rows that hold it and the position after it."""
    starts = np.zeros(item_count + 1, np.int64)
    for position in range(len(items)):
        starts[items[position] + 1] += 1
    for item in range(item_count):
        starts[item + 1] += starts[item]
    top = starts[:-1].copy()
    rows = np.empty(len(items), np.int32)
    after = np.empty(len(items), np.int64)
    for row in range(len(offsets) - 1):
        for position in range(offsets[row], offsets[row + 1]):
            slot = top[items[position]]
            rows[slot] = row
            after[slot] = position + 1
            top[items[position]] = slot + 1
    return starts, rows, after


@njit(nogil=True, cache=True)
def suffix_work(starts, rows, after, offsets):
    """Return, per item, the number of items that follow it over all its rows (an estimate of work)."""
    work = np.zeros(len(starts) - 1, np.int64)
    for item in range(len(starts) - 1):
        for slot in range(starts[item], starts[item + 1]):
            work[item] += offsets[rows[slot] + 1] - after[slot]
    return work


@njit(nogil=True, cache=True)
def mine_first_items(first, stop, starts, occurrences, rows, limits, space):
    """Search below the one-item antecedents first..stop-1; return the first one that did not fit.

    ``limits`` is (min_count, max_antecedent). Antecedents found go to ``space.found``; when it is full,
    the item being searched is rolled back and returned, so that the caller can go on with a new buffer.
    The search keeps its own stack: compiled recursion can't be cached on disk.
    """
    stack, found = space.stack, space.found
    for item in range(first, stop):
        saved = found.size.copy()
        status = _expand(0, item, starts[item], starts[item + 1], occurrences, rows, limits, space)
        depth = status
        while status >= 0 and depth > 0:
            k = stack.cursor[depth]
            if k + 1 >= stack.kept[depth]:
                depth -= 1
                continue
            stack.cursor[depth] = k + 1
            low, high = stack.starts[depth, k], stack.starts[depth, k + 1]
            status = _expand(
                depth, stack.base[depth] + k, low, high, space.occurrences, space.rows, limits, space
            )
            if status > 0:
                depth += 1
        if status < 0:
            found.size[:] = saved
            return item
    return stop


@njit(nogil=True, cache=True)
def _expand(above, node, low, high, occurrences, rows, limits, space):
    """Find the antecedents one item longer than X, or two where pairs are counted at once.

    X is number `node` among the antecedents of its length, ``above + 1``, and occurs at low..high; its
    items beyond the first `above` come from the candidates of stack entry `above`. Returns 1 if the
    search must go on below X (entry ``above + 1`` is then filled), 0 if not, -1 if ``found`` is full.
    """
    min_count, max_antecedent = limits
    stack, scratch, found = space.stack, space.scratch, space.found
    length = above + 1
    run_count = _split_runs(low, high, occurrences, rows, min_count, scratch)
    touched_count = _count_heavy_runs(low, run_count, occurrences, rows, scratch)
    kept = _keep_candidates(touched_count, min_count, scratch)
    if kept == 0:
        return 0
    stack.base[length] = found.size[length + 1]
    stack.kept[length] = kept
    stack.cursor[length] = 0
    fits = found.size[0] + kept <= len(found.item)
    is_inner = length + 1 < max_antecedent and kept > 1
    row_top = stack.row_stop[above]
    row_stop, heavy = _filter_rows(
        low,
        run_count,
        occurrences,
        rows,
        min_count,
        space.rows,
        stack.item_stop[above],
        row_top,
        is_inner,
        scratch,
    )
    for k in range(kept):
        candidate = scratch.touched[k]
        name = stack.names[above, candidate] if above else candidate
        stack.names[length, k] = name
        if fits:
            _emit(
                found, length + 1, node, name, scratch.best_class[candidate],
                scratch.total[candidate], scratch.best[candidate],
            )  # fmt: skip
        scratch.best[candidate] = 0
        scratch.total[candidate] = 0
        scratch.new_name[candidate] = -1
    if not fits:
        return -1
    if not is_inner or not heavy:
        return 0
    if length + 2 == max_antecedent and kept <= PAIR_LIMIT:
        fits = _count_pairs(length, row_top, row_stop, min_count, space)
        return 0 if fits else -1
    stack.row_stop[length] = row_stop
    stack.item_stop[length] = space.rows.ends[row_stop - 1]
    _deliver_rows(length, row_top, row_stop, space)
    return 1


@njit(nogil=True, cache=True)
def _emit(found, length, parent, item, best_class, antecedent_count, rule_count):
    slot = found.size[0]
    found.length[slot] = length
    found.parent[slot] = parent
    found.item[slot] = item
    found.best_class[slot] = best_class
    found.antecedent_count[slot] = antecedent_count
    found.rule_count[slot] = rule_count
    found.size[0] = slot + 1
    found.size[length] += 1


@njit(nogil=True, cache=True)
def _split_runs(low, high, occurrences, rows, min_count, scratch):
    """Write the class runs of an occurrence list, light ones with class -1; return their number."""
    classes = rows.classes
    weights = rows.weights
    occurrence_rows = occurrences.rows
    run_ends = scratch.run_ends
    run_classes = scratch.run_classes
    run_count = 0
    slot = low
    while slot < high:
        run_class = classes[occurrence_rows[slot]]
        weight = 0
        while slot < high and classes[occurrence_rows[slot]] == run_class:
            weight += weights[occurrence_rows[slot]]
            slot += 1
        run_ends[run_count] = slot
        run_classes[run_count] = run_class if weight >= min_count else -1
        run_count += 1
    return run_count


@njit(nogil=True, cache=True)
def _count_heavy_runs(low, run_count, occurrences, rows, scratch):
    """Count candidates class by class in the heavy runs; return how many candidates were touched."""
    items = rows.items
    ends = rows.ends
    weights = rows.weights
    occurrence_rows = occurrences.rows
    after = occurrences.after
    run_ends = scratch.run_ends
    run_classes = scratch.run_classes
    run = scratch.run
    best_class = scratch.best_class
    best = scratch.best
    touched = scratch.touched
    touched_count = 0
    slot = low
    for k in range(run_count):
        stop = run_ends[k]
        run_class = run_classes[k]
        if run_class < 0:
            slot = stop
            continue
        first_touched = touched_count
        while slot < stop:
            row = occurrence_rows[slot]
            weight = weights[row]
            for position in range(after[slot], ends[row]):
                candidate = items[position]
                if run[candidate] == 0:
                    touched[touched_count] = candidate
                    touched_count += 1
                run[candidate] += weight
            slot += 1
        # Fold the run; candidates seen in an earlier run leave the list, so that it stays a set.
        write = first_touched
        for t in range(first_touched, touched_count):
            candidate = touched[t]
            count = run[candidate]
            run[candidate] = 0
            if best[candidate] == 0:
                touched[write] = candidate
                write += 1
            if count > best[candidate]:
                best[candidate] = count
                best_class[candidate] = run_class
        touched_count = write
    return touched_count


@njit(nogil=True, cache=True)
def _keep_candidates(touched_count, min_count, scratch):
    """Keep the touched candidates that reach `min_count`, ascending, and number them; return how many."""
    touched = scratch.touched
    best = scratch.best
    new_name = scratch.new_name
    kept = 0
    for t in range(touched_count):
        candidate = touched[t]
        if best[candidate] >= min_count:
            touched[kept] = candidate
            kept += 1
        else:
            best[candidate] = 0
    if kept > 1:
        touched[:kept].sort()
    for k in range(kept):
        new_name[touched[k]] = k
    return kept


@njit(nogil=True, cache=True)
def _filter_rows(low, run_count, occurrences, rows, min_count, arena, item_top, row_top, is_inner, scratch):
    """Total the kept candidates over all rows; for an inner node also write its rows to the arena.

    Rows with fewer than two kept candidates can't make a longer antecedent and are left out. Returns
    (row_stop, whether some class still has `min_count` rows).
    """
    items = rows.items
    ends = rows.ends
    weights = rows.weights
    occurrence_rows = occurrences.rows
    after = occurrences.after
    run_ends = scratch.run_ends
    run_classes = scratch.run_classes
    new_name = scratch.new_name
    total = scratch.total
    kept_items = arena.items
    kept_starts = arena.starts
    kept_ends = arena.ends
    kept_classes = arena.classes
    kept_weights = arena.weights
    heavy = False
    slot = low
    row_stop = row_top
    for k in range(run_count):
        run_class = run_classes[k]
        run_low = row_stop
        run_weight = 0
        while slot < run_ends[k]:
            row = occurrence_rows[slot]
            weight = weights[row]
            begin = item_top
            for position in range(after[slot], ends[row]):
                candidate = items[position]
                name = new_name[candidate]
                if name >= 0:
                    total[candidate] += weight
                    if is_inner:
                        kept_items[item_top] = name
                        item_top += 1
            if item_top - begin >= 2:
                kept_starts[row_stop] = begin
                kept_ends[row_stop] = item_top
                kept_classes[row_stop] = run_class
                kept_weights[row_stop] = weight
                row_stop += 1
                run_weight += weight
            else:
                item_top = begin
            slot += 1
        if run_class >= 0:
            if run_weight >= min_count:
                heavy = True
            else:
                kept_classes[run_low:row_stop] = -1
    return row_stop, heavy


@njit(nogil=True, cache=True)
def _deliver_rows(length, row_top, row_stop, space):
    """Write the occurrences of every candidate in the rows row_top..row_stop, and their starts."""
    items, row_starts, row_ends = space.rows.items, space.rows.starts, space.rows.ends
    occurrence_rows, after, kept = space.occurrences.rows, space.occurrences.after, space.stack.kept[length]
    starts = space.stack.starts[length]
    starts[: kept + 1] = 0
    for row in range(row_top, row_stop):
        for position in range(row_starts[row], row_ends[row]):
            starts[items[position] + 1] += 1
    starts[0] = space.stack.occurrence_stop[length - 1]
    for k in range(kept):
        starts[k + 1] += starts[k]
    space.stack.occurrence_stop[length] = starts[kept]
    # Filling moves each start to its end; afterwards every start is the end of the one before.
    for row in range(row_top, row_stop):
        for position in range(row_starts[row], row_ends[row]):
            candidate = items[position]
            slot = starts[candidate]
            occurrence_rows[slot] = row
            after[slot] = position + 1
            starts[candidate] = slot + 1
    for k in range(kept, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = space.stack.occurrence_stop[length - 1]


@njit(nogil=True, cache=True)
def _count_pairs(length, row_top, row_stop, min_count, space):
    """Count all pairs of X's candidates at once; write the antecedents two items longer than X."""
    arena, scratch, found = space.rows, space.scratch, space.found
    kept, base, names = space.stack.kept[length], space.stack.base[length], space.stack.names[length]
    size = kept * kept
    pair_run = scratch.pair_run[:size]
    pair_best = scratch.pair_best[:size]
    pair_class = scratch.pair_class[:size]
    pair_total = scratch.pair_total[:size]
    row = row_top
    while row < row_stop:
        run_class = arena.classes[row]
        stop = row
        items = 0
        while stop < row_stop and arena.classes[stop] == run_class:
            items += arena.ends[stop] - arena.starts[stop]
            stop += 1
        if run_class < 0:
            row = stop
            continue
        # Expected increments decide between listing the touched cells and sweeping the matrix.
        mean = items // (stop - row)
        if (stop - row) * mean * mean * 4 > size:
            _add_pairs(row, stop, kept, arena, pair_run)
            for cell in range(size):
                count = pair_run[cell]
                pair_run[cell] = 0
                pair_total[cell] += count
                if count > pair_best[cell]:
                    pair_best[cell] = count
                    pair_class[cell] = run_class
        else:
            touched = _add_pairs_listed(row, stop, kept, arena, pair_run, scratch.pair_touched)
            for t in range(touched):
                cell = scratch.pair_touched[t]
                count = pair_run[cell]
                pair_run[cell] = 0
                pair_total[cell] += count
                if count > pair_best[cell]:
                    pair_best[cell] = count
                    pair_class[cell] = run_class
        row = stop
    alive = 0
    for cell in range(size):
        alive += pair_best[cell] >= min_count
    fits = found.size[0] + alive <= len(found.item)
    if alive and fits:
        row = row_top
        while row < row_stop:
            if arena.classes[row] < 0:
                _add_pairs(row, row + 1, kept, arena, pair_total)
            row += 1
        for left in range(kept - 1):
            for right in range(left + 1, kept):
                cell = left * kept + right
                if pair_best[cell] >= min_count:
                    _emit(
                        found,
                        length + 2,
                        base + left,
                        names[right],
                        pair_class[cell],
                        pair_total[cell],
                        pair_best[cell],
                    )
    pair_best[:] = 0
    pair_total[:] = 0
    return fits


@njit(nogil=True, cache=True)
def _add_pairs(row, stop, kept, arena, counters):
    items = arena.items
    starts = arena.starts
    ends = arena.ends
    weights = arena.weights
    while row < stop:
        weight = weights[row]
        end = ends[row]
        for left in range(starts[row], end - 1):
            line = items[left] * kept
            for right in range(left + 1, end):
                counters[line + items[right]] += weight
        row += 1


@njit(nogil=True, cache=True)
def _add_pairs_listed(row, stop, kept, arena, counters, touched):
    items = arena.items
    starts = arena.starts
    ends = arena.ends
    weights = arena.weights
    size = 0
    while row < stop:
        weight = weights[row]
        end = ends[row]
        for left in range(starts[row], end - 1):
            line = items[left] * kept
            for right in range(left + 1, end):
                cell = line + items[right]
                if counters[cell] == 0:
                    touched[size] = cell
                    size += 1
                counters[cell] += weight
        row += 1
    return size
