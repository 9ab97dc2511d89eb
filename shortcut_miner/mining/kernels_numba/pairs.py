"""The last two levels of the search at once: all pairs of a node's candidates, counted in a matrix."""

from numba import njit

from shortcut_miner.kernel_options import STEP
from shortcut_miner.mining.kernels_numba.space import SWEEP_RATIO, emit

# Above this many candidates the pair matrix would leave the cache; the search then goes one level deeper.
PAIR_LIMIT = 192
# What a row of a typical node adds to the matrix.
_PAIRS_A_ROW = 8


@njit(**STEP)
def count_pairs(length, row_top, row_stop, min_count, space):
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
        if kept * kept <= SWEEP_RATIO * _PAIRS_A_ROW * (row - first):
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
                    emit(
                        found,
                        length + 2,
                        base + left,
                        names[right],
                        best_class[cell],
                        total[cell],
                        best[cell],
                    )
    for cell in range(kept * kept):
        best[cell] = 0
        total[cell] = 0
    return fits


@njit(**STEP)
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


@njit(**STEP)
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


@njit(**STEP)
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
