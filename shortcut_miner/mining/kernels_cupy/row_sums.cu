// Sums over the rows where rules fire.
#include "threads.cuh"
#include "trie.cuh"

// Add weights[row] * table[line[place] * columns + column[row]] to the sum of every rule that fires on a row.
//
// Rules go by their place, as in match.cu. Sums wrap around as numbers of 64 bits do.
extern "C" __global__ void add_where_fired(
    Count rows, const Count *offsets, const Number *items, const Number *column, const Count *weights,
    const Number *trie_items, const Number *child_starts, const Number *parents, const Number *rule_starts,
    const Number *line, const Count *table, Count columns, Key *sums) {
    const Trie trie = {trie_items, child_starts, parents};
    const Count slots = offsets[rows] + rows, step = static_cast<Count>(gridDim.x) * blockDim.x;
    for (Count slot = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x; slot < slots; slot += step) {
        const Count row = row_of_slot(offsets, rows, slot);
        const Key weight = weights[row];
        const Count *cells = table + column[row];
        visit_slot(trie, offsets, items, row, slot, [&](int node) {
            for (int place = rule_starts[node]; place < rule_starts[node + 1]; place++)
                atomicAdd(sums + place, weight * static_cast<Key>(cells[line[place] * columns]));
        });
    }
}
