// What every kernel's source starts with. Where there is no GPU another header with the same names takes its
// place (see tests/mining/cuda_host).
#ifndef SHORTCUT_MINER_THREADS
#define SHORTCUT_MINER_THREADS

typedef int Number;              // NumPy's int32: items, classes, rows
typedef long long Count;         // int64: counts, weights, positions
typedef unsigned long long Key;  // uint64: the only 64-bit integer that all atomics take
typedef unsigned char Byte;      // uint8 and bool

// The block's shared memory, as many bytes as the launch gives.
#define SHARED_ARRAY(type, name)                                    \
    extern __shared__ __align__(16) unsigned char shared_memory[];  \
    type *name = reinterpret_cast<type *>(shared_memory)

#endif
