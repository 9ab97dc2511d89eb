// The superset filters: which antecedents a subset blocks.
#include "threads.cuh"
#include "trie.cuh"

// Marks the nodes 1..nodes - 1 of a trie of antecedents that a subset found in `others` blocks.
//
// Blocked is what has a subset with the same best class and at least the same confidence, compared as
// fractions. Subsets are those with all items but one, or with is_any all proper ones; the empty one counts as
// well. An antecedent has 8 items at most. A number of items is that of bits in a mask over them.
extern "C" __global__ void drop_by_subset(
    int nodes, int is_any, const int *items, const int *parents, const int *best_class,
    const long long *antecedent_count, const long long *rule_count,
    const int *other_items, const int *other_child_starts, const int *other_class,
    const long long *other_antecedent_count, const long long *other_rule_count, unsigned char *dropped)
{
    const Trie others = {other_items, other_child_starts, nullptr};
    const int step = gridDim.x * blockDim.x;
    for (int node = blockIdx.x * blockDim.x + threadIdx.x + 1; node < nodes; node += step) {
        int path[8], size = 0;
        for (int above = node; above; above = parents[above])
            path[size++] = items[above];  // the last item first
        const int answer = best_class[node], all = (1 << size) - 1;
        const long long right = rule_count[node], rows = antecedent_count[node];
        bool is_dropped = dropped[node];
        // From all items but one down to none: large subsets block most often.
        for (int mask = all - 1; mask >= 0 && !is_dropped; --mask) {
            const int left_out = all & ~mask;
            if (!is_any && (left_out & (left_out - 1)))
                continue;
            int subset = 0;
            for (int bit = size - 1; bit >= 0 && subset >= 0; --bit)
                if (mask >> bit & 1)
                    subset = child_of(others, subset, path[bit]);
            if (subset >= 0 && other_class[subset] == answer)
                is_dropped = other_rule_count[subset] * rows >= right * other_antecedent_count[subset];
        }
        dropped[node] = is_dropped;
    }
}
