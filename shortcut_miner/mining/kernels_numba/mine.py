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
# Sweeping all counters after a class run beats listing those touched, up to this many counters a row.
_SWEEP_RATIO = 8
_PAIRS_A_ROW = 8
# Longer rows are sorted by the library, shorter ones while they are written.
_INSERTION_LIMIT = 64


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
def count_items(offsets, items, row_order, classes, weights, item_count):
    """Return, per item: rows that hold it, its largest class count, and that class (first on ties).

    `row_order` lists the rows by ascending class.
    """
    total = np.zeros(item_count, np.int64)
    best = np.zeros(item_count, np.int64)
    best_class = np.full(item_count, -1, np.int32)
    run = np.zeros(item_count, np.int64)
    run_class = np.full(item_count, -1, np.int32)
    for row in row_order:
        weight = weights[row]
        row_class = classes[row]
        for position in range(offsets[row], offsets[row + 1]):
            item = items[position]
            total[item] += weight
            run[item] = run[item] + weight if run_class[item] == row_class else weight
            run_class[item] = row_class
            if run[item] > best[item]:
                best[item] = run[item]
                best_class[item] = row_class
    return total, best, best_class


@njit(nogil=True, cache=True)
def project_rows(offsets, items, row_order, new_name):
    """Return (offsets, items) of the rows in `row_order`, items renamed, sorted, and -1 names left out."""
    out_offsets = np.zeros(len(row_order) + 1, np.int64)
    most = 0
    for row in row_order:
        most += offsets[row + 1] - offsets[row]
    out_items = np.empty(most, np.int32)
    top = 0
    for k in range(len(row_order)):
        row = row_order[k]
        begin = top
        for position in range(offsets[row], offsets[row + 1]):
            name = new_name[items[position]]
            if name >= 0:
                if top - begin < _INSERTION_LIMIT:
                    place = top
                    while place > begin and out_items[place - 1] > name:
                        out_items[place] = out_items[place - 1]
                        place -= 1
                    out_items[place] = name
                else:
                    out_items[top] = name
                top += 1
        if top - begin > _INSERTION_LIMIT:
            out_items[begin:top].sort()
        out_offsets[k + 1] = top
    return out_offsets, out_items[:top].copy()


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
def item_work(offsets, items, item_count):
    """Return, per item: rows that hold it, and items that follow it over all its rows (its work)."""
    holders = np.zeros(item_count, np.int64)
    work = np.zeros(item_count, np.int64)
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        for position in range(offsets[row], end):
            holders[items[position]] += 1
            work[items[position]] += end - position - 1
    return holders, work


@njit(nogil=True, cache=True)
def copy_suffixes(first, stop, holders, work, offsets, items, classes, weights):
    """Return (starts, Rows): for each item first..stop-1 the rows that hold it, cut to what follows it.

    Row ``starts[item - first]..`` of the copy belongs to `item`. One pass over all rows replaces random
    access to them, item by item; ``rows.classes`` ascends within an item as it does in `classes`.
    """
    count = stop - first
    starts = np.zeros(count + 1, np.int64)
    item_top = np.zeros(count + 1, np.int64)
    for k in range(count):
        starts[k + 1] = starts[k] + holders[first + k]
        item_top[k + 1] = item_top[k] + work[first + k]
    out_items = np.empty(item_top[count], np.int32)
    out_starts = np.empty(starts[count], np.int64)
    out_ends = np.empty(starts[count], np.int64)
    out_classes = np.empty(starts[count], np.int32)
    out_weights = np.empty(starts[count], np.int64)
    top = starts[:-1].copy()
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        for position in range(offsets[row], end):
            item = items[position]
            if item >= stop:
                break
            if item < first:
                continue
            slot, begin = top[item - first], item_top[item - first]
            for k in range(end - position - 1):
                out_items[begin + k] = items[position + 1 + k]
            out_starts[slot] = begin
            out_ends[slot] = begin + end - position - 1
            out_classes[slot] = classes[row]
            out_weights[slot] = weights[row]
            top[item - first] = slot + 1
            item_top[item - first] = begin + end - position - 1
    return starts, Rows(out_items, out_starts, out_ends, out_classes, out_weights)


@njit(nogil=True, cache=True)
def mine_first_items(first, stop, low_item, starts, rows, occurrences, limits, space):
    """Search below the one-item antecedents first..stop-1; return the first one that did not fit.

    `starts`, `rows` are what :func:`copy_suffixes` returned for the items from `low_item` on; `occurrences`
    lists these rows one by one. ``limits`` is (min_count, max_antecedent, item_count). Antecedents found go
    to ``space.found``; when it is full, the item being searched is rolled back and returned, so that the
    caller can go on with a new buffer. The search keeps its own stack: compiled recursion can't be cached
    on disk.
    """
    stack, found = space.stack, space.found
    stack.kept[0] = limits[2]  # entry 0: all items are candidates
    for item in range(first, stop):
        saved = found.size.copy()
        low, high = starts[item - low_item], starts[item - low_item + 1]
        status = _expand(0, item, low, high, item + 1, occurrences, rows, limits, space)
        depth = status
        while status >= 0 and depth > 0:
            k = stack.cursor[depth]
            if k + 1 >= stack.kept[depth]:
                depth -= 1
                continue
            stack.cursor[depth] = k + 1
            low, high = stack.starts[depth, k], stack.starts[depth, k + 1]
            node = stack.base[depth] + k
            status = _expand(depth, node, low, high, k + 1, space.occurrences, space.rows, limits, space)
            if status > 0:
                depth += 1
        if status < 0:
            found.size[:] = saved
            return item
    return stop


@njit(nogil=True, cache=True)
def _expand(above, node, low, high, first, occurrences, rows, limits, space):
    """Find the antecedents one item longer than X, or two where pairs are counted at once.

    X is number `node` among the antecedents of its length, ``above + 1``, and occurs at low..high; its
    last item is candidate ``first - 1`` of stack entry `above`, so the candidates from `first` on can
    extend it. Returns 1 if the search must go on below X (entry ``above + 1`` is then filled), 0 if not,
    -1 if ``found`` is full.
    """
    min_count, max_antecedent, _ = limits
    stack, scratch, found = space.stack, space.scratch, space.found
    length = above + 1
    stop = stack.kept[above]
    is_dense = stop - first <= _SWEEP_RATIO * (high - low)
    run_count = _split_runs(low, high, occurrences, rows, min_count, scratch)
    touched_count = _count_heavy_runs(low, run_count, occurrences, rows, first, stop, is_dense, scratch)
    kept = _keep_candidates(first, stop, is_dense, touched_count, min_count, scratch)
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
            answer, right = scratch.best_class[candidate], scratch.best[candidate]
            _emit(found, length + 1, node, name, answer, scratch.total[k + 1], right)
        scratch.best[candidate] = 0
        scratch.new_name[candidate] = -1
    scratch.total[: kept + 1] = 0
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
def _count_heavy_runs(low, run_count, occurrences, rows, first, stop, is_dense, scratch):
    """Count the candidates first..stop-1 class by class in the heavy runs: best count and its class.

    A dense node sweeps all its candidates after a long run. Otherwise the candidates met are listed in
    ``touched``, each once; returns how many these are (0 for a dense node).
    """
    items, ends, weights = rows.items, rows.ends, rows.weights
    occurrence_rows, after = occurrences.rows, occurrences.after
    run_ends, run_classes = scratch.run_ends, scratch.run_classes
    run, best, best_class, touched = scratch.run, scratch.best, scratch.best_class, scratch.touched
    touched_count = 0
    slot = low
    for k in range(run_count):
        run_stop = run_ends[k]
        run_class = run_classes[k]
        if run_class < 0:
            slot = run_stop
        elif is_dense and stop - first <= _SWEEP_RATIO * (run_stop - slot):
            while slot < run_stop:
                row = occurrence_rows[slot]
                weight = weights[row]
                for position in range(after[slot], ends[row]):
                    run[items[position]] += weight
                slot += 1
            for candidate in range(first, stop):
                is_better = run[candidate] > best[candidate]
                best[candidate] = run[candidate] if is_better else best[candidate]
                best_class[candidate] = run_class if is_better else best_class[candidate]
                run[candidate] = 0
        else:
            size = touched_count
            while slot < run_stop:
                row = occurrence_rows[slot]
                weight = weights[row]
                for position in range(after[slot], ends[row]):
                    candidate = items[position]
                    if run[candidate] == 0:
                        touched[size] = candidate
                        size += 1
                    run[candidate] += weight
                slot += 1
            write = touched_count
            for t in range(touched_count, size):
                candidate = touched[t]
                if best[candidate] == 0:  # else an earlier run has listed it
                    touched[write] = candidate
                    write += 1
                if run[candidate] > best[candidate]:
                    best[candidate] = run[candidate]
                    best_class[candidate] = run_class
                run[candidate] = 0
            touched_count = 0 if is_dense else write
    return touched_count


@njit(nogil=True, cache=True)
def _keep_candidates(first, stop, is_dense, touched_count, min_count, scratch):
    """List the candidates that reach `min_count`, ascending, number them and forget the others."""
    touched, best, new_name = scratch.touched, scratch.best, scratch.new_name
    kept = 0
    if is_dense:
        for candidate in range(first, stop):
            if best[candidate] >= min_count:
                touched[kept] = candidate
                kept += 1
            else:
                best[candidate] = 0
    else:
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

    Candidate number k goes to ``total[k + 1]``.

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
            # No branch on kept or not: what is not kept counts in total[0] and is overwritten.
            for position in range(after[slot], ends[row]):
                name = new_name[items[position]]
                total[name + 1] += weight
                if is_inner:
                    kept_items[item_top] = name
                    item_top += name >= 0
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
    """Count all pairs of X's candidates at once; write the antecedents two items longer than X.

    The pair left < right is cell ``left * kept + right`` of a matrix; the rest of the matrix is not used.
    """
    scratch, found, classes = space.scratch, space.found, space.rows.classes
    kept, base, names = space.stack.kept[length], space.stack.base[length], space.stack.names[length]
    run, best, best_class, total = scratch.pair_run, scratch.pair_best, scratch.pair_class, scratch.pair_total
    row = row_top
    while row < row_stop:
        run_class = classes[row]
        first = row
        while row < row_stop and classes[row] == run_class:
            row += 1
        if run_class < 0:
            continue
        # Many rows fill much of the matrix, which is then swept; a few touch cells worth listing.
        if kept * kept <= _SWEEP_RATIO * _PAIRS_A_ROW * (row - first):
            _add_pairs(first, row, kept, space.rows, run)
            for left in range(kept - 1):
                for cell in range(left * kept + left + 1, (left + 1) * kept):
                    is_better = run[cell] > best[cell]
                    total[cell] += run[cell]
                    best[cell] = run[cell] if is_better else best[cell]
                    best_class[cell] = run_class if is_better else best_class[cell]
                    run[cell] = 0
        else:
            touched = scratch.pair_touched
            for t in range(_list_pairs(first, row, kept, space.rows, run, touched)):
                cell = touched[t]
                total[cell] += run[cell]
                if run[cell] > best[cell]:
                    best[cell] = run[cell]
                    best_class[cell] = run_class
                run[cell] = 0
    alive = 0
    for left in range(kept - 1):
        for cell in range(left * kept + left + 1, (left + 1) * kept):
            alive += best[cell] >= min_count
    fits = found.size[0] + alive <= len(found.item)
    if alive and fits:
        _add_light_pairs(row_top, row_stop, kept, space.rows, total)
        for left in range(kept - 1):
            for right in range(left + 1, kept):
                cell = left * kept + right
                if best[cell] >= min_count:
                    _emit(
                        found,
                        length + 2,
                        base + left,
                        names[right],
                        best_class[cell],
                        total[cell],
                        best[cell],
                    )
    best[: kept * kept] = 0
    total[: kept * kept] = 0
    return fits


@njit(nogil=True, cache=True)
def _add_light_pairs(row, row_stop, kept, rows, counters):
    """Add the pairs of all rows without a class, run by run."""
    classes = rows.classes
    while row < row_stop:
        first = row
        while row < row_stop and classes[row] < 0:
            row += 1
        if row > first:
            _add_pairs(first, row, kept, rows, counters)
        row += 1


@njit(nogil=True, cache=True)
def _add_pairs(row, stop, kept, rows, counters):
    """Add each row's weight to the cells of all its pairs."""
    items = rows.items
    starts = rows.starts
    ends = rows.ends
    weights = rows.weights
    while row < stop:
        weight = weights[row]
        end = ends[row]
        for left in range(starts[row], end - 1):
            line = items[left] * kept
            for right in range(left + 1, end):
                counters[line + items[right]] += weight
        row += 1


@njit(nogil=True, cache=True)
def _list_pairs(row, stop, kept, rows, counters, touched):
    """Do the same, and list the cells that were zero; return their number."""
    items = rows.items
    starts = rows.starts
    ends = rows.ends
    weights = rows.weights
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
