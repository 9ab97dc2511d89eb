"""The search below a node whose rows are kept as bits: one instruction counts up to 64 of them.

A *word* is up to 64 rows of one class and one weight. It is kept twice: as *masks*, one for each row, with a
bit for each candidate that the row holds; and transposed, one number for each candidate, with a bit for each
row. So the rows with two candidates are the bits of ``left & right``, and the masks of the rows with one
candidate are the rows of the node below. Words of heavy classes come first, class by class; those of the
other rows follow and count in totals only. A row of weight 5 has a place in a word that counts 1, and one in
a word that counts 4.
"""

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import INLINED
from shortcut_miner.mining.kernels_numba.space import emit
from shortcut_miner.mining.kernels_numba.words import count_ones

# Beyond so many numbers for each row, most of them would be 0: rows are then searched item by item.
_NUMBERS_A_ROW = 32
# Of more candidates few pairs are found: they are searched one by one.
PAIR_LIMIT = 192


@njit(**INLINED)
def lay_rows(length, low, run_count, planes, kept, occurrences, rows, scratch, bits):
    """Make masks of X's rows, count candidate k in ``total[k + 1]``; return whether they fit."""
    for k in range(kept + 1):
        scratch.total[k] = 0
    stride = (kept + 63) // 64 * 64
    most, useful = bits.limit[0], _NUMBERS_A_ROW * (scratch.run_ends[run_count - 1] - low)
    most = (most if most < useful else useful) // stride
    zero = np.int64(0)  # of a literal's type, what is called here would be compiled twice
    top = fill = begin = zero
    # Heavy runs come first, each with all digits of its weights; then all others, digit by digit.
    for turn in range(2 * planes * run_count):
        heavy = turn < planes * run_count
        turn -= 0 if heavy else planes * run_count
        run, plane = (turn // planes, turn % planes) if heavy else (turn % run_count, turn // run_count)
        if (scratch.run_classes[run] >= 0) == heavy:
            start, stop = scratch.run_ends[run - 1] if run else low, scratch.run_ends[run]
            top, fill = _lay_run(
                start, stop, plane, top, fill, most, stride, occurrences, rows, scratch, bits
            )
            if top < 0:
                return False
        if fill and (heavy or run == run_count - 1):
            bits.rows[top] = fill
            top, fill = top + 1, zero
        if heavy and plane == planes - 1:
            begin = _end_run(begin, top, scratch.run_classes[run], bits)
    bits.low[length], bits.heavy[length], bits.stop[length] = 0, begin, top
    _end_run(begin, top, scratch.run_classes[0], bits)  # the class of these is not looked at
    return True


@njit(**INLINED)
def _lay_run(start, stop, plane, top, fill, most, stride, occurrences, rows, scratch, bits):
    """Add the rows whose weight has the binary digit `plane`; return (word at hand, or -1, its rows)."""
    items, ends, weights = rows.items, rows.ends, rows.weights
    occurrence_rows, after = occurrences.rows, occurrences.after
    new_name, total, masks = scratch.new_name, scratch.total, bits.masks
    for slot in range(start, stop):
        row = occurrence_rows[slot]
        if not weights[row] >> plane & 1:
            continue
        if fill == 64:
            bits.rows[top] = 64
            top, fill = top + 1, 0
        if top == most:
            return -1, 0
        bits.shift[top] = plane
        cell = top * stride + fill
        for block in range(cell, cell + stride, 64):
            masks[block] = 0
        count = 0
        for position in range(after[slot], ends[row]):
            name = new_name[items[position]]
            if name >= 0:
                masks[cell + (name & -64)] |= 1 << (name & 63)
                total[name + 1] += 1 << plane
                count += 1
        fill += count >= 2  # else no longer antecedent can come of it
    return top, fill


@njit(**INLINED)
def search_bits(length, limits, space):
    """Write the antecedents two items longer than X, or more; return whether they fit.

    Entry `length` of the stack has X's candidates, which are written, and ``bits`` has its rows.
    """
    min_count, max_antecedent, _ = limits
    stack, found, bits = space.stack, space.found, space.bits
    kept = stack.kept[length]
    stride = (kept + 63) // 64 * 64
    for k in range(kept):
        bits.candidates[length * stack.width + k] = k
    first = np.int64(0)  # of a literal's type, `_transpose` would be compiled twice
    _transpose(first, bits.stop[length], first, stride, bits)
    above = length
    while above >= length:
        k = stack.cursor[above]
        if k + 1 >= stack.kept[above]:
            above -= 1
            continue
        stack.cursor[above] = k + 1
        _gather_rows(above, bits.candidates[above * stack.width + k], stride, min_count, bits)
        left = _write_longer(above, k, length * stack.width, stride, min_count, stack, found, bits)
        size = above + 2
        if left < 0:
            return False
        if left < 2 or size == max_antecedent:
            continue
        if size + 1 == max_antecedent and left <= PAIR_LIMIT:
            if not _write_pairs(above + 1, length * stack.width, stride, min_count, stack, found, bits):
                return False
        else:
            above += 1
    return True


@njit(**INLINED)
def _write_longer(above, k, names, stride, min_count, stack, found, bits):
    """Write Y, which ends with candidate number k of entry `above`, with each candidate that stays.

    These are the next entry then. Returns how many they are, -1 if they do not fit.
    """
    length = above + 1
    low, heavy, stop = bits.low[length], bits.heavy[length], bits.stop[length]
    stack.base[length], stack.cursor[length] = found.size[length + 1], 0
    kept = 0
    for other in range(k + 1, stack.kept[above]):
        candidate = bits.candidates[above * stack.width + other]
        best, answer = _best_class(candidate, candidate, low, heavy, stride, bits)
        if best >= min_count:
            if found.size[0] == found.room:
                return -1
            total = _total(candidate, candidate, low, stop, stride, bits)
            emit(found, length + 1, stack.names[names + candidate], answer, total, best)
            bits.candidates[length * stack.width + kept] = candidate
            kept += 1
    stack.kept[length] = kept
    found.children[length * found.room + stack.base[above] + k] = kept
    return kept


@njit(**INLINED)
def _write_pairs(length, names, stride, min_count, stack, found, bits):
    """Write Y with each pair of its candidates, entry `length`; return whether they fit."""
    low, heavy, stop = bits.low[length], bits.heavy[length], bits.stop[length]
    for one in range(stack.kept[length]):
        left = bits.candidates[length * stack.width + one]
        begin = found.size[length + 2]
        for other in range(one + 1, stack.kept[length]):
            right = bits.candidates[length * stack.width + other]
            best, answer = _best_class(left, right, low, heavy, stride, bits)
            if best >= min_count:
                if found.size[0] == found.room:
                    return False
                total = _total(left, right, low, stop, stride, bits)
                emit(found, length + 2, stack.names[names + right], answer, total, best)
        found.children[(length + 1) * found.room + stack.base[length] + one] = found.size[length + 2] - begin
    return True


@njit(**INLINED)
def _gather_rows(above, candidate, stride, min_count, bits):
    """Make the words of the rows of entry `above` that hold a candidate, for the next entry."""
    words, shift, run_stop, source, rows = bits.words, bits.shift, bits.run_stop, bits.source, bits.rows
    low, heavy, stop = bits.low[above], bits.heavy[above], bits.stop[above]
    top, fill, begin = stop, 0, stop
    for turn in range(2):
        run = low
        while run < stop:
            end, count = run_stop[run], 0
            for k in range(run, end if run < heavy else run):
                count += count_ones(words[k * stride + candidate]) << shift[k]
            if (count >= min_count) != turn:
                for k in range(run, end):
                    left = words[k * stride + candidate]
                    while left:
                        if fill == 64 or (fill and shift[top] != shift[k]):
                            rows[top] = fill
                            top, fill = top + 1, 0
                        shift[top] = shift[k]
                        source[top * 64 + fill] = k * stride + count_ones((left & -left) - 1)
                        left &= left - 1
                        fill += 1
                if not turn:
                    rows[top] = fill
                    top, fill = top + 1, 0
                    begin = _end_run(begin, top, bits.classes[run], bits)
            run = end
        if not turn:
            bits.heavy[above + 1] = top
    if fill:
        rows[top] = fill
        top += 1
    _end_run(begin, top, bits.classes[low], bits)
    bits.low[above + 1], bits.stop[above + 1] = stop, top
    first = candidate & -64  # candidates before it are not looked at again
    for k in range(stop, top):
        for block in range(first, stride, 64):
            at = k * stride + block
            for row in range(rows[k]):
                bits.masks[at + row] = bits.masks[source[k * 64 + row] + block]
    _transpose(stop, top, first, stride, bits)


@njit(**INLINED)
def _end_run(begin, top, run_class, bits):
    """Let the words begin..top-1 be all of a class; return `top`."""
    if begin < top:
        bits.run_stop[begin] = top
    for k in range(begin, top):
        bits.classes[k] = run_class
        bits.same_run[k] = 0 if k == begin else -1
    return top


@njit(**INLINED)
def _transpose(low, stop, first, stride, bits):
    """Turn the masks of the words low..stop-1 into numbers for each candidate from `first` on.

    Each of six steps exchanges one binary digit of a row's number for one of a candidate's.
    """
    masks, words, turned = bits.masks, bits.words, bits.turned
    for k in range(low, stop):
        for at in range(k * stride + first, (k + 1) * stride, 64):
            rows = bits.rows[k]
            for row in range(64):
                turned[row] = masks[at + row] if row < rows else 0
            digit, half, here = 32, 0xFFFFFFFF, 0
            while digit:
                there = 64 - here
                for row in range(32):
                    upper, lower = turned[here + row], turned[here + row + 32]
                    swapped = ((upper >> digit) ^ lower) & half
                    turned[there + 2 * row] = upper ^ (swapped << digit)
                    turned[there + 2 * row + 1] = lower ^ swapped
                digit >>= 1
                half ^= half << digit
                here = there
            for candidate in range(64):
                words[at + candidate] = turned[candidate]


@njit(**INLINED)
def _best_class(left, right, low, heavy, stride, bits):
    """Return (largest count of a class in the rows that hold both candidates, first such class)."""
    words, shift, same_run = bits.words, bits.shift, bits.same_run
    best = count = at = 0
    for k in range(low, heavy):
        # A part of a class never counts more than all of it, so no end of a run is looked for.
        rows = words[k * stride + left] & words[k * stride + right]
        count = (count & same_run[k]) + (count_ones(rows) << shift[k])
        at = k if count > best else at
        best = count if count > best else best
    return best, bits.classes[at]


@njit(**INLINED)
def _total(left, right, low, stop, stride, bits):
    """Return the rows that hold both candidates."""
    words, shift = bits.words, bits.shift
    total = 0
    for k in range(low, stop):
        rows = words[k * stride + left] & words[k * stride + right]
        total += count_ones(rows) << shift[k]
    return total
