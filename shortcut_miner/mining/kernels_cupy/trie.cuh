// A trie on the device, and the walk over the nodes whose items a row holds.
//
// Nodes are numbered breadth first: node v has the children child_starts[v]..child_starts[v + 1] - 1, whose
// items ascend, and the parent parents[v]; node 0 is empty. So a walk needs no stack: where a node's item is
// in the row is found again on the way up.
#ifndef SHORTCUT_MINER_TRIE
#define SHORTCUT_MINER_TRIE

struct Trie {
    const Number *items;
    const Number *child_starts;
    const Number *parents;
};

// Where `item` is in the ascending run items[low]..items[high - 1], or would be.
__device__ inline int place_of(const Number *items, int low, int high, int item) {
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (items[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The child of `node` with this item, or -1.
__device__ inline int child_of(const Trie &trie, int node, int item) {
    int stop = trie.child_starts[node + 1];
    int child = place_of(trie.items, trie.child_starts[node], stop, item);
    return child < stop && trie.items[child] == item ? child : -1;
}

// Call visit(node) for the first node of row_items[first], and for every node below it that the rest of the
// row, up to row_items[stop - 1], reaches.
template <typename Visit>
__device__ void walk(const Trie &trie, const Number *row_items, int first, int stop, Visit visit) {
    int top = child_of(trie, 0, row_items[first]);
    if (top < 0) return;
    int node = top, next = first + 1;
    int low = trie.child_starts[node], high = trie.child_starts[node + 1];
    visit(node);
    for (;;) {
        bool is_found = false;
        while (next < stop && low < high && !is_found) {
            int item = row_items[next++];
            low = place_of(trie.items, low, high, item);
            is_found = low < high && trie.items[low] == item;
        }
        if (is_found) {
            node = low;
            visit(node);
            low = trie.child_starts[node];
            high = trie.child_starts[node + 1];
            continue;
        }
        if (node == top) return;
        while (row_items[next - 1] != trie.items[node]) next--;
        low = node + 1;
        node = trie.parents[node];
        high = trie.child_starts[node + 1];
    }
}

// The row of a slot: every row has one slot for the rules without items, and then one for each of its items.
__device__ inline Count row_of_slot(const Count *offsets, Count rows, Count slot) {
    Count low = 0, high = rows - 1;
    while (low < high) {
        Count middle = (low + high + 1) / 2;
        if (offsets[middle] + middle <= slot)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

// Call visit(node) for what a slot of a row reaches: the empty node, or what is below one of its items.
template <typename Visit>
__device__ void visit_slot(const Trie &trie, const Count *offsets, const Number *items, Count row, Count slot,
                           Visit visit) {
    Count begin = offsets[row];
    int position = static_cast<int>(slot - begin - row) - 1;
    if (position < 0)
        visit(0);
    else
        walk(trie, items + begin, position, static_cast<int>(offsets[row + 1] - begin), visit);
}

#endif
