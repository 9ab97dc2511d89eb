// CUDA's threads on a CPU: the kernels' sources compile with this in place of threads.cuh, and give the same
// results, block by block. The threads of a block are contexts on stacks of their own that take turns: each
// runs until it waits for others (a barrier, a warp collective), ends, or comes to an atomic operation at
// which the launch wants it to stop, so that other threads come between its reads and its writes.
#ifndef SHORTCUT_MINER_THREADS
#define SHORTCUT_MINER_THREADS

#include <setjmp.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

typedef int Number;
typedef long long Count;
typedef unsigned long long Key;
typedef unsigned char Byte;

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static  // blocks run one after another

struct dim3 {
    unsigned x, y, z;
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

namespace cuda_host {

enum State { READY, AT_BARRIER, IN_COLLECTIVE, ENDED };
enum Kind { BALLOT, SHUFFLE, SYNC };

struct Thread {
    ucontext_t start;
    jmp_buf here;
    std::vector<char> stack;
    State state;
    bool has_started = false;
    // A warp collective: what this lane brings, and what all lanes brought when it was complete.
    unsigned mask;
    Kind kind;
    uint64_t brought;
    uint64_t gathered[32];
};

static std::vector<Thread *> threads;
static int thread_count, current;
static jmp_buf scheduler;
static ucontext_t scheduler_start;
static void (*kernel)(const uint64_t *);
static const uint64_t *kernel_arguments;
static const char *problem;
static uint64_t atomics, atomics_a_turn;

// Give the turn back; returns when the scheduler gives it again.
__attribute__((noinline)) static void wait_here() {
    int self = current;
    if (_setjmp(threads[self]->here) == 0) _longjmp(scheduler, 1);
    threadIdx.x = self;
}

static void run_kernels() {
    for (;;) {
        kernel(kernel_arguments);
        threads[current]->state = ENDED;
        wait_here();
    }
}

__attribute__((noinline)) static void resume(int number) {
    Thread *thread = threads[number];
    current = number;
    threadIdx.x = number;
    if (_setjmp(scheduler) != 0) return;
    if (thread->has_started) _longjmp(thread->here, 1);
    thread->has_started = true;
    getcontext(&thread->start);
    thread->stack.resize(1 << 16);
    thread->start.uc_stack.ss_sp = thread->stack.data();
    thread->start.uc_stack.ss_size = thread->stack.size();
    thread->start.uc_link = nullptr;
    makecontext(&thread->start, run_kernels, 0);
    swapcontext(&scheduler_start, &thread->start);
}

static bool release_barrier() {
    bool waits = false;
    for (int k = 0; k < thread_count; k++) {
        if (threads[k]->state == IN_COLLECTIVE) return false;
        waits |= threads[k]->state == AT_BARRIER;
    }
    for (int k = 0; k < thread_count; k++)
        if (threads[k]->state == AT_BARRIER) threads[k]->state = READY;
    return waits;
}

// Run one block to its end; `descending` lets the last threads go first.
static const char *run_block(bool descending) {
    for (int k = 0; k < thread_count; k++) threads[k]->state = READY;
    for (;;) {
        bool is_moving = false, is_done = true;
        for (int k = 0; k < thread_count; k++) {
            int number = descending ? thread_count - 1 - k : k;
            if (threads[number]->state == READY) {
                resume(number);
                if (problem) return problem;
                is_moving = true;
            }
            is_done &= threads[number]->state == ENDED;
        }
        if (is_done) return nullptr;
        if (!is_moving && !release_barrier()) return "threads of a block wait for each other for ever";
    }
}

static const uint64_t *exchange(unsigned mask, Kind kind, uint64_t value) {
    Thread *self = threads[current];
    int lane = current % 32, first = current - lane;
    if (!(mask >> lane & 1)) problem = "a lane calls a warp collective whose mask leaves it out";
    self->state = IN_COLLECTIVE;
    self->mask = mask;
    self->kind = kind;
    self->brought = value;
    bool is_complete = true;
    for (unsigned left = mask; left && is_complete; left &= left - 1) {
        int k = __builtin_ctz(left);
        if (first + k >= thread_count || threads[first + k]->state == ENDED) {
            problem = "the mask of a warp collective names a lane that does not exist or has ended";
            break;
        }
        Thread *other = threads[first + k];
        is_complete = other->state == IN_COLLECTIVE && other->mask == mask && other->kind == kind;
    }
    if (problem) wait_here();
    if (!is_complete) {
        wait_here();
        return self->gathered;
    }
    for (unsigned left = mask; left; left &= left - 1) {
        Thread *other = threads[first + __builtin_ctz(left)];
        memset(other->gathered, 0, sizeof(other->gathered));
        for (unsigned from = mask; from; from &= from - 1) {
            int lane_from = __builtin_ctz(from);
            other->gathered[lane_from] = threads[first + lane_from]->brought;
        }
        other->state = READY;
    }
    return self->gathered;
}

// A thread may lose its turn before any atomic operation.
static inline void before_atomic() {
    if (atomics_a_turn && ++atomics % atomics_a_turn == 0) wait_here();
}

template <typename T>
static uint64_t as_bits(T value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <typename T>
static T from_bits(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
}

template <typename T>
static T shuffle(unsigned mask, T value, int source, int width) {
    int lane = current % 32, base = lane - lane % width;
    const uint64_t *gathered = exchange(mask, SHUFFLE, as_bits(value));
    bool is_inside = source >= base && source < base + width;
    return is_inside ? from_bits<T>(gathered[source]) : value;
}

template <typename... Parameters, size_t... Places>
static void call(void (*function)(Parameters...), const uint64_t *arguments, std::index_sequence<Places...>) {
    function(from_bits<Parameters>(arguments[Places])...);
}

template <typename... Parameters>
static void call(void (*function)(Parameters...), const uint64_t *arguments) {
    call(function, arguments, std::index_sequence_for<Parameters...>());
}

// A block that does not end leaves threads behind in the middle of it.
static void forget_threads() {
    for (Thread *thread : threads) delete thread;
    threads.clear();
}

}  // namespace cuda_host

// ---- what kernels call ----

static inline void __syncthreads() {
    cuda_host::threads[cuda_host::current]->state = cuda_host::AT_BARRIER;
    cuda_host::wait_here();
}

static inline void __syncwarp(unsigned mask = 0xffffffffu) { cuda_host::exchange(mask, cuda_host::SYNC, 0); }

static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const uint64_t *gathered = cuda_host::exchange(mask, cuda_host::BALLOT, predicate != 0);
    unsigned lanes = 0;
    for (int k = 0; k < 32; k++) lanes |= static_cast<unsigned>(gathered[k]) << k;
    return lanes;
}

static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

template <typename T>
static T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    int lane = cuda_host::current % 32;
    return cuda_host::shuffle(mask, value, lane - lane % width + source % width, width);
}

template <typename T>
static T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return cuda_host::shuffle(mask, value, cuda_host::current % 32 - static_cast<int>(delta), width);
}

template <typename T>
static T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return cuda_host::shuffle(mask, value, cuda_host::current % 32 + static_cast<int>(delta), width);
}

template <typename T>
static T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
    return cuda_host::shuffle(mask, value, cuda_host::current % 32 ^ lanes, width);
}

static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
static inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
static inline int __ffs(int bits) { return __builtin_ffs(bits); }
static inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
static inline int __clz(int bits) { return bits ? __builtin_clz(bits) : 32; }
static inline int __clzll(long long bits) { return bits ? __builtin_clzll(bits) : 64; }

template <typename T>
static inline T __ldg(const T *place) {
    return *place;
}

template <typename T, typename U>
static inline T min(T left, U right) {
    return left < static_cast<T>(right) ? left : static_cast<T>(right);
}

template <typename T, typename U>
static inline T max(T left, U right) {
    return left > static_cast<T>(right) ? left : static_cast<T>(right);
}

// Only the types that CUDA's own functions take.
#define CUDA_HOST_ATOMIC(name, type, result)             \
    static inline type name(type *place, type value) {   \
        cuda_host::before_atomic();                      \
        type old = *place;                               \
        *place = static_cast<type>(result);              \
        return old;                                      \
    }
#define CUDA_HOST_ATOMICS(type)                                        \
    CUDA_HOST_ATOMIC(atomicAdd, type, old + value)                     \
    CUDA_HOST_ATOMIC(atomicExch, type, value)                          \
    CUDA_HOST_ATOMIC(atomicMin, type, old < value ? old : value)       \
    CUDA_HOST_ATOMIC(atomicMax, type, old > value ? old : value)       \
    CUDA_HOST_ATOMIC(atomicAnd, type, old & value)                     \
    CUDA_HOST_ATOMIC(atomicOr, type, old | value)                      \
    CUDA_HOST_ATOMIC(atomicXor, type, old ^ value)                     \
    static inline type atomicCAS(type *place, type expected, type value) { \
        cuda_host::before_atomic();                                    \
        type old = *place;                                             \
        if (old == expected) *place = value;                           \
        return old;                                                    \
    }
CUDA_HOST_ATOMICS(int)
CUDA_HOST_ATOMICS(unsigned)
CUDA_HOST_ATOMICS(unsigned long long)
CUDA_HOST_ATOMIC(atomicMin, long long, old < value ? old : value)
CUDA_HOST_ATOMIC(atomicMax, long long, old > value ? old : value)

// ---- what Python calls ----

// Run `function` on a grid; returns what went wrong, or null.
static const char *run_grid(void (*function)(const uint64_t *), const uint64_t *arguments, unsigned blocks,
                            unsigned block_size, int descending, uint64_t atomics_a_turn) {
    using namespace cuda_host;
    kernel = function;
    kernel_arguments = arguments;
    cuda_host::atomics_a_turn = atomics_a_turn;
    thread_count = static_cast<int>(block_size);
    problem = nullptr;
    atomics = 0;
    blockDim = {block_size, 1, 1};
    gridDim = {blocks, 1, 1};
    while (static_cast<int>(threads.size()) < thread_count) threads.push_back(new Thread());
    for (unsigned block = 0; block < blocks; block++) {
        blockIdx = {descending ? blocks - 1 - block : block, 0, 0};
        threadIdx = {0, 0, 0};
        const char *found = run_block(descending);
        if (found) {
            forget_threads();
            return found;
        }
    }
    return nullptr;
}

// Make a kernel callable from outside.
#define CUDA_HOST_EXPORT(name)                                                                              \
    extern "C" const char *run_##name(const uint64_t *arguments, unsigned blocks, unsigned block_size,     \
                                      int descending, uint64_t atomics_a_turn) {                           \
        return run_grid([](const uint64_t *given) { cuda_host::call(name, given); }, arguments, blocks,    \
                        block_size, descending, atomics_a_turn);                                           \
    }

#endif
