// Which rules fire on which rows: added up per rule and per row, or listed.
#include "threads.cuh"
#include "trie.cuh"

// Add up what fires; a thread at a time walks the trie below one item of one row.
//
// Rules go by their place: node v has those at rule_starts[v].. of `rules` (their numbers) and `rule_class`.
// The answers that count as right for row r are accepted[accepted_starts[r]].. (negative ones never do).
extern "C" __global__ void match_rows(
    Count rows, const Count *offsets, const Number *items, const Number *majority,
    const Count *accepted_starts, const Number *accepted, const Number *trie_items, const Number *child_starts,
    const Number *parents, const Number *rule_starts, const Count *rules, const Number *rule_class,
    Key *rule_fired, Key *rule_right, Key *rule_accepted, Key *row_fired, Key *row_right, Key *row_best,
    Key *row_best_right) {
    const Trie trie = {trie_items, child_starts, parents};
    const Count slots = offsets[rows] + rows, step = static_cast<Count>(gridDim.x) * blockDim.x;
    for (Count slot = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x; slot < slots; slot += step) {
        const Count row = row_of_slot(offsets, rows, slot);
        const Count first = accepted_starts[row], stop = accepted_starts[row + 1];
        const Number answer = majority[row];
        const Key none = ~0ULL;
        Key fired = 0, right = 0, best = none, best_right = none;
        Key sketch = 0;  // a bit for each accepted class: most rules are wrong, and need no search
        for (Count k = first; k < stop; k++)
            if (accepted[k] >= 0) sketch |= 1ULL << (accepted[k] & 63);
        visit_slot(trie, offsets, items, row, slot, [&](int node) {
            for (int place = rule_starts[node]; place < rule_starts[node + 1]; place++) {
                const Key rule = rules[place];
                const Number claimed = rule_class[place];
                fired++;
                best = rule < best ? rule : best;
                atomicAdd(rule_fired + place, Key(1));
                if (claimed < 0) continue;
                if (claimed == answer) atomicAdd(rule_right + place, Key(1));
                bool is_accepted = false;
                if (sketch >> (claimed & 63) & 1)
                    for (Count k = first; k < stop && !is_accepted; k++) is_accepted = accepted[k] == claimed;
                if (!is_accepted) continue;
                right++;
                best_right = rule < best_right ? rule : best_right;
                atomicAdd(rule_accepted + place, Key(1));
            }
        });
        if (fired) {
            atomicAdd(row_fired + row, fired);
            atomicMin(row_best + row, best);
        }
        if (right) {
            atomicAdd(row_right + row, right);
            atomicMin(row_best_right + row, best_right);
        }
    }
}

// Write row * rule_count + rule for every pair of a row and a rule that fires on it, in no order, from
// pairs[cursor[0]] on; rows are numbered from `first_row` on.
extern "C" __global__ void list_pairs(
    Count rows, const Count *offsets, const Number *items, Count first_row, const Number *trie_items,
    const Number *child_starts, const Number *parents, const Number *rule_starts, const Count *rules,
    Count rule_count, Key *cursor, Count *pairs) {
    const Trie trie = {trie_items, child_starts, parents};
    const Count slots = offsets[rows] + rows, step = static_cast<Count>(gridDim.x) * blockDim.x;
    for (Count slot = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x; slot < slots; slot += step) {
        const Count row = row_of_slot(offsets, rows, slot);
        visit_slot(trie, offsets, items, row, slot, [&](int node) {
            const int first = rule_starts[node], stop = rule_starts[node + 1];
            if (first == stop) return;
            Key top = atomicAdd(cursor, static_cast<Key>(stop - first));
            for (int place = first; place < stop; place++)
                pairs[top++] = (first_row + row) * rule_count + rules[place];
        });
    }
}
