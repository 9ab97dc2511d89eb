// What every kernel's source starts with. Where there is no GPU another header with the same names takes its
// place (see tests/mining/cuda_host).
#ifndef SHORTCUT_MINER_THREADS
#define SHORTCUT_MINER_THREADS

typedef int Number;              // NumPy's int32: items, classes, rows
typedef long long Count;         // int64: counts, weights, positions
typedef unsigned long long Key;  // uint64: the only 64-bit integer that all atomics take
typedef unsigned char Byte;      // uint8 and bool

#endif
