// Which rules fire on which rows: added up per rule and per row, or listed.
#include "threads.cuh"
#include "trie.cuh"

// Adds what the rules that fire add up to; a thread at a time walks the trie below one item of one row.
//
// Rules go by their place: node v has those at rule_starts[v].. of `rules`, their numbers, and `rule_class`.
// The answers that count as right for row r are accepted[accepted_starts[r]].. (negative: none).
extern "C" __global__ void match_rows(
    long long rows, const long long *offsets, const int *items, const int *majority, const long long *weights,
    const long long *accepted_starts, const int *accepted,
    const int *trie_items, const int *child_starts, const int *parents,
    const int *rule_starts, const long long *rules, const int *rule_class,
    unsigned long long *rule_fired, unsigned long long *rule_right, unsigned long long *rule_accepted,
    unsigned long long *row_fired, unsigned long long *row_right,
    unsigned long long *row_best, unsigned long long *row_best_right)
{
    const Trie trie = {trie_items, child_starts, parents};
    const long long slots = offsets[rows] + rows, step = (long long)gridDim.x * blockDim.x;
    for (long long slot = (long long)blockIdx.x * blockDim.x + threadIdx.x; slot < slots; slot += step) {
        const long long row = row_of_slot(offsets, rows, slot);
        const unsigned long long none = ~0ULL, weight = (unsigned long long)weights[row];
        unsigned long long fired = 0, right = 0, best = none, best_right = none, sketch = 0;
        const int answer = majority[row];
        const long long first = accepted_starts[row], stop = accepted_starts[row + 1];
        for (long long k = first; k < stop; ++k)
            if (accepted[k] >= 0)
                sketch |= 1ULL << (accepted[k] & 63);
        visit_slot(trie, offsets, items, row, slot, [&](int node) {
            for (int place = rule_starts[node]; place < rule_starts[node + 1]; ++place) {
                const unsigned long long rule = (unsigned long long)rules[place];
                const int claimed = rule_class[place];
                ++fired;
                best = rule < best ? rule : best;
                atomicAdd(rule_fired + place, weight);
                if (claimed < 0)
                    continue;
                if (claimed == answer)
                    atomicAdd(rule_right + place, weight);
                bool is_accepted = false;
                if (sketch >> (claimed & 63) & 1)
                    for (long long k = first; k < stop && !is_accepted; ++k)
                        is_accepted = accepted[k] == claimed;
                if (is_accepted) {
                    ++right;
                    best_right = rule < best_right ? rule : best_right;
                    atomicAdd(rule_accepted + place, weight);
                }
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

// Writes row * rule_count + rule for every pair of a row and a rule that fires on it, in no order; cursor[0]
// counts them.
extern "C" __global__ void list_pairs(
    long long rows, const long long *offsets, const int *items,
    const int *trie_items, const int *child_starts, const int *parents,
    const int *rule_starts, const long long *rules, long long rule_count,
    unsigned long long *cursor, long long *pairs)
{
    const Trie trie = {trie_items, child_starts, parents};
    const long long slots = offsets[rows] + rows, step = (long long)gridDim.x * blockDim.x;
    for (long long slot = (long long)blockIdx.x * blockDim.x + threadIdx.x; slot < slots; slot += step) {
        const long long row = row_of_slot(offsets, rows, slot);
        visit_slot(trie, offsets, items, row, slot, [&](int node) {
            const int first = rule_starts[node], stop = rule_starts[node + 1];
            if (first == stop)
                return;
            unsigned long long top = atomicAdd(cursor, (unsigned long long)(stop - first));
            for (int place = first; place < stop; ++place)
                pairs[top++] = row * rule_count + rules[place];
        });
    }
}
