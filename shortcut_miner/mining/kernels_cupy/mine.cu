// Level-by-level search for class-association rules: the work on occurrences, from one length of antecedents
// to the next. What is not proportional to the occurrences is done with array functions (jobs_cupy/levels.py).
//
// A node is an antecedent X; an occurrence is a row that holds X, with the place after X's last item. The
// entries of an occurrence are the row's later items. All kernels take the arrays of rows and of occurrences
// first. Every occurrence has LANES threads, which share its entries; neither the order of the rows nor that of
// the occurrences matters, since all sums are of integers.
#include "threads.cuh"

#define LANES 8

// A hash table is a run of slots, two numbers each: the key plus one (0: empty), and the count.

static __device__ Count start_of(Key key, Count size) {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15ull;
    key ^= key >> 29;
    return static_cast<Count>(key & static_cast<Key>(size - 1));
}

// Returns the slot of `key`, which may be new; the table has room for it.
static __device__ Count slot_for(Key *table, Count size, Key key) {
    Count slot = start_of(key, size);
    for (;;) {
        Key found = table[2 * slot];  // an old 0 does no harm: what counts is what atomicCAS finds
        if (found == 0) found = atomicCAS(&table[2 * slot], 0ull, key);
        if (found == 0 || found == key) return slot;
        slot = (slot + 1) & (size - 1);
    }
}

// Returns the count of `key`, which must be there.
static __device__ Count count_of(const Key *table, Count size, Key key) {
    Count slot = start_of(key, size);
    while (table[2 * slot] != key) slot = (slot + 1) & (size - 1);
    return static_cast<Count>(table[2 * slot + 1]);
}

// Returns the place of `item` in the ascending items low..high-1, or -1.
static __device__ Count place_of(const Number *items, Count low, Count high, Number item) {
    Count end = high;
    while (low < high) {
        Count middle = low + (high - low) / 2;
        if (items[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && items[low] == item ? low : -1;
}

static __device__ Count first_thread() { return blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; }

static __device__ Count all_threads() { return gridDim.x * static_cast<Count>(blockDim.x); }

// Adds up the weight of each class in each node's occurrences.
extern "C" __global__ void weigh_classes(
    const Number *classes, const Count *weights,
    const Number *rows, const Number *, const Number *nodes, Count occurrence_count,
    Key *tables, const Count *table_starts) {
    for (Count place = first_thread(); place < occurrence_count; place += all_threads()) {
        Number row = rows[place];
        Count start = table_starts[nodes[place]];
        Count size = table_starts[nodes[place] + 1] - start;
        Key *table = tables + 2 * start;
        Count slot = slot_for(table, size, static_cast<Key>(classes[row]) + 1);
        atomicAdd(&table[2 * slot + 1], static_cast<Key>(weights[row]));
    }
}

// Counts the pairs of a candidate and a class in the entries of each node; lists the slots that reach
// `min_count`, each once. Only rows of classes that reach it in the node matter: no other pair can. Node n has
// the candidates candidate_starts[n]..candidate_stops[n]-1 in `candidates`, ascending.
extern "C" __global__ void count_entries(
    const Count *offsets, const Number *items, const Number *classes, const Count *weights,
    const Number *rows, const Number *after, const Number *nodes, Count occurrence_count,
    const Number *candidates, const Count *candidate_starts, const Count *candidate_stops,
    const Key *class_tables, const Count *class_starts, Key *tables, const Count *table_starts,
    Count class_count, Count min_count, Count *reaching, Key *reaching_count) {
    Count lane = threadIdx.x % LANES;
    for (Count place = first_thread() / LANES; place < occurrence_count; place += all_threads() / LANES) {
        Number row = rows[place], node = nodes[place], row_class = classes[row];
        Count class_start = class_starts[node];
        Count in_node = count_of(class_tables + 2 * class_start, class_starts[node + 1] - class_start,
                                 static_cast<Key>(row_class) + 1);
        if (in_node < min_count) continue;
        Count start = table_starts[node], size = table_starts[node + 1] - start;
        Count low = candidate_starts[node], high = candidate_stops[node];
        Key *table = tables + 2 * start;
        Key weight = static_cast<Key>(weights[row]), least = static_cast<Key>(min_count);
        for (Count entry = offsets[row] + after[place] + lane; entry < offsets[row + 1]; entry += LANES) {
            Number item = items[entry];
            if (place_of(candidates, low, high, item) < 0) continue;
            Count slot = slot_for(table, size, static_cast<Key>(item * class_count + row_class + 1));
            Key before = atomicAdd(&table[2 * slot + 1], weight);
            if (before < least && before + weight >= least) {
                reaching[atomicAdd(reaching_count, 1ull)] = start + slot;
            }
        }
    }
}

// Calls visit(child, entry, later) for every entry of an occurrence that is a child of its node, with the
// number of such entries after it. All lanes of an occurrence call this together.
template <typename Visit>
static __device__ void visit_children(
    Count begin, Count end, const Number *items, const Number *children, Count low, Count high, Visit visit) {
    int lane = threadIdx.x % LANES, first_lane = threadIdx.x % 32 - lane;
    unsigned lanes = ((1u << LANES) - 1) << first_lane;
    int after_step = 0;
    for (Count top = end; top > begin; top -= LANES) {
        Count entry = top - LANES + lane;
        Count child = entry < begin ? -1 : place_of(children, low, high, items[entry]);
        unsigned kept = (__ballot_sync(lanes, child >= 0) & lanes) >> first_lane;
        if (child >= 0) visit(child, entry, after_step + __popc(kept >> (lane + 1)));
        after_step += __popc(kept);
    }
}

// Adds up each child's total, and for its own list of occurrences: how many have further children after them,
// and how many of those these have together. Node n has the children child_starts[n]..child_starts[n + 1]-1.
extern "C" __global__ void add_totals(
    const Count *offsets, const Number *items, const Number *, const Count *weights,
    const Number *rows, const Number *after, const Number *nodes, Count occurrence_count,
    const Number *children, const Count *child_starts, Key *totals, Key *holders, Key *entries) {
    for (Count place = first_thread() / LANES; place < occurrence_count; place += all_threads() / LANES) {
        Number row = rows[place], node = nodes[place];
        Key weight = static_cast<Key>(weights[row]);
        visit_children(offsets[row] + after[place], offsets[row + 1], items, children, child_starts[node],
                       child_starts[node + 1], [&](Count child, Count, int later) {
                           atomicAdd(&totals[child], weight);
                           if (later == 0) return;
                           atomicAdd(&holders[child], 1ull);
                           atomicAdd(&entries[child], static_cast<Key>(later));
                       });
    }
}

// Writes the lists of the children first..stop-1, numbered from 0; `cursor` holds where each list starts, and
// then where it ends.
extern "C" __global__ void deliver(
    const Count *offsets, const Number *items, const Number *, const Count *,
    const Number *rows, const Number *after, const Number *nodes, Count occurrence_count,
    const Number *children, const Count *child_starts, Count first, Count stop, Key *cursor,
    Number *child_rows, Number *child_after, Number *child_nodes) {
    for (Count place = first_thread() / LANES; place < occurrence_count; place += all_threads() / LANES) {
        Number row = rows[place], node = nodes[place];
        visit_children(offsets[row] + after[place], offsets[row + 1], items, children, child_starts[node],
                       child_starts[node + 1], [&](Count child, Count entry, int later) {
                           if (later == 0 || child < first || child >= stop) return;
                           Key slot = atomicAdd(&cursor[child - first], 1ull);
                           child_rows[slot] = row;
                           child_after[slot] = static_cast<Number>(entry + 1 - offsets[row]);
                           child_nodes[slot] = static_cast<Number>(child - first);
                       });
    }
}
