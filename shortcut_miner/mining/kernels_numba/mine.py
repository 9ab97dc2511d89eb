"""Depth-first search for class-association rules with occurrence delivery, on flat arrays.

A node is an antecedent X. It owns the rows that contain X, each cut to the *candidates*: the later
items j (in the miner's item order) for which X + {j} still has an answer in ``min_count`` rows. Rows
are ordered by class, so a class is a run of rows and counting a class needs no histogram. Three facts
keep a node small:

- only classes with ``min_count`` rows in the node (*heavy* runs) can make a rule there or below;
  the other rows count in totals only and carry class -1 from then on;
- candidates are renumbered 0..t-1 at every node, so counters stay dense and in cache;
- at the last but one level rows become bits, and the last two levels of the search follow from counting
  these (see ``bits.py``).

The idea of delivering occurrences is LCM's (Uno et al., 2004); the class runs are ours.
"""

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import INLINED, KERNEL
from shortcut_miner.kernel_pointers import pointers
from shortcut_miner.mining.kernels_numba.bits import lay_rows, search_bits
from shortcut_miner.mining.kernels_numba.space import SWEEP_RATIO, emit


@njit(**KERNEL)
def mine_first_items(first, stop, low_item, starts, rows, occurrences, limits, space):
    """Search below the one-item antecedents first..stop-1; return the first one that did not fit.

    `starts`, `rows` are what :func:`copy_suffixes` returned for the items from `low_item` on; `occurrences`
    lists these rows one by one. ``limits`` is (min_count, max_antecedent, item_count). Antecedents found go
    to ``space.found``; when it is full, the item being searched is rolled back and returned, so that the
    caller can go on with a new buffer. The search keeps its own stack: compiled recursion can't be cached
    on disk.
    """
    min_count, max_antecedent, item_count = limits
    starts, rows, occurrences, space = pointers((starts, rows, occurrences, space))
    stack, scratch, found = space.stack, space.scratch, space.found
    lengths = max_antecedent + 1
    for k in range(lengths):
        found.size[k] = 0
    stack.kept[0] = item_count  # entry 0: all items are candidates
    for item in range(first, stop):
        for k in range(lengths):
            stack.saved[k] = found.size[k]
        # X is number `node` of its length; its last item is candidate k of entry `above`.
        above = np.int64(0)  # of a literal's type, what is called here would be compiled twice
        k = node = item
        low, high = starts[item - low_item], starts[item - low_item + 1]
        x_rows, x_occurrences = rows, occurrences
        while True:
            length, kept_above = above + 1, stack.kept[above]
            run_count, planes = _split_runs(low, high, x_occurrences, x_rows, min_count, scratch)
            is_dense = kept_above - k - 1 <= SWEEP_RATIO * (high - low)
            touched_count = _count_heavy_runs(
                low, run_count, x_occurrences, x_rows, k + 1, kept_above, is_dense, scratch
            )
            kept = _keep_candidates(k + 1, kept_above, is_dense, touched_count, min_count, scratch)
            is_inner = length + 1 < max_antecedent and kept > 1
            in_bits = is_inner and lay_rows(
                length, low, run_count, planes, kept, x_occurrences, x_rows, scratch, space.bits
            )
            row_top = row_stop = stack.row_stop[above]
            if kept and not in_bits:
                top = stack.item_stop[above]
                row_stop = _filter_rows(
                    low,
                    run_count,
                    x_occurrences,
                    x_rows,
                    min_count,
                    space.rows,
                    top,
                    row_top,
                    is_inner,
                    kept,
                    scratch,
                )
            fits = _write_kept(above, node, kept, stack, scratch, found)
            if not fits or (in_bits and not search_bits(length, limits, space)):
                for size in range(lengths):
                    found.size[size] = stack.saved[size]
                return item
            if row_stop > row_top:
                stack.row_stop[length] = row_stop
                stack.item_stop[length] = space.rows.ends[row_stop - 1]
                _deliver_rows(length, row_top, row_stop, space)
                above = length
            # The last candidate has none after it.
            while above > 0 and stack.cursor[above] + 1 >= stack.kept[above]:
                above -= 1
            if above == 0:
                break
            k = stack.cursor[above]
            stack.cursor[above] = k + 1
            place = above * stack.width + k
            low, high = stack.starts[place], stack.starts[place + 1]
            node = stack.base[above] + k
            x_rows, x_occurrences = space.rows, space.occurrences
        found.first_children[item - first] = found.size[2] - stack.saved[2]
    return stop


@njit(**INLINED)
def _write_kept(above, node, kept, stack, scratch, found):
    """Write X with each of its candidates, which are entry ``above + 1`` then; return whether they fit."""
    length = above + 1
    fits = found.size[0] + kept <= found.room
    stack.base[length], stack.kept[length], stack.cursor[length] = found.size[length + 1], kept, 0
    for k in range(kept):
        candidate = scratch.touched[k]
        name = stack.names[above * stack.width + candidate] if above else candidate
        stack.names[length * stack.width + k] = name
        if fits:
            answer, right = scratch.best_class[candidate], scratch.best[candidate]
            emit(found, length + 1, name, answer, scratch.total[k + 1], right)
        scratch.best[candidate] = 0
        scratch.new_name[candidate] = -1
    if above:
        found.children[length * found.room + node] = kept
    return fits


@njit(**INLINED)
def _split_runs(low, high, occurrences, rows, min_count, scratch):
    """Write the class runs of an occurrence list, light ones with class -1.

    Returns (their number, binary digits of the largest weight).
    """
    classes = rows.classes
    weights = rows.weights
    occurrence_rows = occurrences.rows
    run_ends = scratch.run_ends
    run_classes = scratch.run_classes
    run_count = planes = all_weights = 0
    slot = low
    while slot < high:
        run_class = classes[occurrence_rows[slot]]
        weight = 0
        while slot < high and classes[occurrence_rows[slot]] == run_class:
            weight += weights[occurrence_rows[slot]]
            all_weights |= weights[occurrence_rows[slot]]
            slot += 1
        run_ends[run_count] = slot
        run_classes[run_count] = run_class if weight >= min_count else -1
        run_count += 1
    while all_weights >> planes:
        planes += 1
    return run_count, planes


@njit(**INLINED)
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
        elif is_dense and stop - first <= SWEEP_RATIO * (run_stop - slot):
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
                    met = items[position]
                    touched[size] = met  # to be overwritten if it is listed already
                    size += run[met] == 0
                    run[met] += weight
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


@njit(**INLINED)
def _keep_candidates(first, stop, is_dense, touched_count, min_count, scratch):
    """List the candidates that reach `min_count`, ascending, number them and forget the others."""
    touched, best, new_name = scratch.touched, scratch.best, scratch.new_name
    kept = np.int64(0)  # of a literal's type, `_sort` would be compiled twice
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
        _sort(touched, kept)
    for k in range(kept):
        new_name[touched[k]] = k
    return kept


@njit(**INLINED)
def _sort(values, size):
    """Sort the first `size` values (Shell's way: compiling the library's sort takes as long as a kernel)."""
    gap = 1
    while 3 * gap + 1 < size:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, size):
            value = values[k]
            place = k
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@njit(**INLINED)
def _filter_rows(
    low, run_count, occurrences, rows, min_count, arena, item_top, row_top, is_inner, kept, scratch
):
    """Total the kept candidates over all rows; for an inner node also write its rows to the arena.

    Candidate number k goes to ``total[k + 1]``.

    Rows with fewer than two kept candidates can't make a longer antecedent and are left out. Returns where
    those written end, `row_top` if no class has `min_count` of them.
    """
    for k in range(kept + 1):
        scratch.total[k] = 0
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
                for row in range(run_low, row_stop):
                    kept_classes[row] = -1
    return row_stop if heavy else row_top


@njit(**INLINED)
def _deliver_rows(length, row_top, row_stop, space):
    """Write the occurrences of every candidate in the rows row_top..row_stop, and their starts."""
    items, row_starts, row_ends = space.rows.items, space.rows.starts, space.rows.ends
    occurrence_rows, after, kept = space.occurrences.rows, space.occurrences.after, space.stack.kept[length]
    starts, base = space.stack.starts, length * space.stack.width
    for k in range(kept + 1):
        starts[base + k] = 0
    for row in range(row_top, row_stop):
        for position in range(row_starts[row], row_ends[row]):
            starts[base + items[position] + 1] += 1
    starts[base] = space.stack.occurrence_stop[length - 1]
    for k in range(base, base + kept):
        starts[k + 1] += starts[k]
    space.stack.occurrence_stop[length] = starts[base + kept]
    # Filling moves each start to its end; afterwards every start is the end of the one before.
    for row in range(row_top, row_stop):
        for position in range(row_starts[row], row_ends[row]):
            candidate = base + items[position]
            slot = starts[candidate]
            occurrence_rows[slot] = row
            after[slot] = position + 1
            starts[candidate] = slot + 1
    for k in range(base + kept, base, -1):
        starts[k] = starts[k - 1]
    starts[base] = space.stack.occurrence_stop[length - 1]
