// Sums over the rows where rules fire.
#include "threads.cuh"
#include "trie.cuh"

// Adds weights[row] * table[line[place] * columns + column[row]] to the sum of every rule that fires on a row.
//
// Rules go by their place, as in match.cu. Sums wrap around as numbers of 64 bits do.
extern "C" __global__ void add_where_fired(
    long long rows, const long long *offsets, const int *items, const int *column, const long long *weights,
    const int *trie_items, const int *child_starts, const int *parents, const int *rule_starts,
    const int *line, const long long *table, long long columns, unsigned long long *sums)
{
    const Trie trie = {trie_items, child_starts, parents};
    const long long slots = offsets[rows] + rows, step = (long long)gridDim.x * blockDim.x;
    for (long long slot = (long long)blockIdx.x * blockDim.x + threadIdx.x; slot < slots; slot += step) {
        const long long row = row_of_slot(offsets, rows, slot);
        const unsigned long long weight = (unsigned long long)weights[row];
        const long long *cells = table + column[row];
        visit_slot(trie, offsets, items, row, slot, [&](int node) {
            for (int place = rule_starts[node]; place < rule_starts[node + 1]; ++place)
                atomicAdd(sums + place, weight * (unsigned long long)cells[line[place] * columns]);
        });
    }
}
