// The superset filters: which antecedents a subset blocks.
#include "threads.cuh"
#include "trie.cuh"

// Mark the nodes 1..nodes - 1 of a trie of antecedents that a subset found in another trie blocks.
//
// A subset blocks with the same best class and at least the same confidence, compared as fractions. Subsets
// are those with all items but one, and if is_any all proper ones; the empty one may be among them. An
// antecedent has 8 items at most.
extern "C" __global__ void drop_by_subset(
    Count nodes, Count is_any, const Number *items, const Number *parents, const Number *best_class,
    const Count *antecedent_count, const Count *rule_count, const Number *other_items,
    const Number *other_child_starts, const Number *other_class, const Count *other_antecedent_count,
    const Count *other_rule_count, Byte *dropped) {
    const Trie others = {other_items, other_child_starts, nullptr};
    const Count step = static_cast<Count>(gridDim.x) * blockDim.x;
    for (Count node = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x + 1; node < nodes; node += step) {
        Number path[8];
        int size = 0;
        for (Count above = node; above; above = parents[above]) path[size++] = items[above];  // the last one first
        const Number answer = best_class[node];
        const Count right = rule_count[node], rows = antecedent_count[node];
        const int everything = (1 << size) - 1;
        bool is_dropped = dropped[node];
        for (int mask = everything - 1; mask >= 0 && !is_dropped; mask--) {
            const int left_out = everything & ~mask;
            if (!is_any && (left_out & (left_out - 1))) continue;
            int subset = 0;
            for (int bit = size - 1; bit >= 0 && subset >= 0; bit--)
                if (mask >> bit & 1) subset = child_of(others, subset, path[bit]);
            if (subset >= 0 && other_class[subset] == answer)
                is_dropped = other_rule_count[subset] * rows >= right * other_antecedent_count[subset];
        }
        dropped[node] = is_dropped;
    }
}
