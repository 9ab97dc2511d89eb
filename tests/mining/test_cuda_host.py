"""The host's stand-in for a device: barriers, warp collectives, atomics and grids do what CUDA's do."""

from typing import Any

import numpy as np
import pytest
from cuda_host import arrays
from cuda_host.host import HEADER, as_bits, compiled_text, host_device, run_grid

from shortcut_miner.mining.jobs_cupy import plans

SOURCE = """
// Each block turns its part of the numbers round, through shared memory.
extern "C" __global__ void reverse(const Count *given, Count *turned) {
    __shared__ Count part[96];
    Count first = blockIdx.x * blockDim.x;
    part[threadIdx.x] = given[first + threadIdx.x];
    __syncthreads();
    turned[first + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}
// Sums over each warp by shuffles, in every lane; then over all warps by atomics.
extern "C" __global__ void sums(const Count *given, Count count, Count *of_warp, Key *of_all) {
    Count place = blockIdx.x * blockDim.x + threadIdx.x;
    Count value = place < count ? given[place] : 0;
    for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
    of_warp[place] = value;
    if (threadIdx.x % 32 == 0) atomicAdd(of_all, static_cast<Key>(value));
}
// Quarters of a warp that leave a loop one after another vote by themselves.
extern "C" __global__ void votes(Count *of_step) {
    int quarter = static_cast<int>(threadIdx.x) / 8;
    for (int step = 0; step <= quarter; step++) {
        bool is_for = static_cast<int>(threadIdx.x % 2) == step % 2;
        unsigned voters = __ballot_sync(0xFFu << (8 * quarter), is_for);
        if (threadIdx.x % 8 == 0) of_step[4 * quarter + step] = voters;
    }
}
// Only the first CAS of each slot wins, whoever comes between the look and the CAS.
extern "C" __global__ void claims(Key *slots, Count slot_count, Key *won) {
    Count place = blockIdx.x * blockDim.x + threadIdx.x;
    Key *slot = &slots[place % slot_count];
    if (*slot == 0 && atomicCAS(slot, 0ull, static_cast<Key>(place + 1)) == 0) atomicAdd(won, 1ull);
}
extern "C" __global__ void waits_alone(Count lanes) {
    if (threadIdx.x < lanes) __syncwarp(0xF);
    __syncthreads();
}
"""


@pytest.fixture(scope="module")
def run() -> Any:
    host_device()  # skips where there is no compiler
    library, parameters = compiled_text("threads", HEADER.read_text(encoding="utf-8") + SOURCE)

    def run(kernel: str, blocks: int, size: int, *arguments: Any, **how: Any) -> None:
        bits = as_bits(kernel, parameters[kernel], arguments)
        run_grid(library, kernel, blocks, size, bits, **how)

    return run


@pytest.mark.parametrize("descending", [False, True])
def test_a_barrier_comes_before_what_others_wrote_is_read(run: Any, descending: bool) -> None:
    given, turned = np.arange(5 * 96), arrays.zeros(5 * 96, np.int64)
    run("reverse", 5, 96, arrays.asarray(given), turned, descending=descending)
    np.testing.assert_array_equal(arrays.to_host(turned), given.reshape(5, 96)[:, ::-1].ravel())


def test_shuffles_and_atomics(run: Any) -> None:
    given = np.random.default_rng(0).integers(-(1 << 40), 1 << 40, 1000)
    of_warp, of_all = arrays.zeros(1024, np.int64), arrays.zeros(1, np.uint64)
    run("sums", 8, 128, arrays.asarray(given), 1000, of_warp, of_all)
    expected = np.append(given, np.zeros(24, np.int64)).reshape(-1, 32).sum(axis=1)
    np.testing.assert_array_equal(arrays.to_host(of_warp), np.repeat(expected, 32))
    assert arrays.to_host(of_all).astype(np.int64)[0] == given.sum()


def test_parts_of_a_warp_vote_by_themselves(run: Any) -> None:
    of_step = arrays.zeros(16, np.int64)
    run("votes", 1, 32, of_step)
    expected = [
        (0x55 << (8 * quarter) if step % 2 == 0 else 0xAA << (8 * quarter)) if step <= quarter else 0
        for quarter in range(4)
        for step in range(4)
    ]
    assert arrays.to_host(of_step).tolist() == expected


@pytest.mark.parametrize("turn", [0, 1, 3, 100])
def test_threads_come_between_a_look_and_an_atomic(run: Any, turn: int) -> None:
    slots, won = arrays.zeros(7, np.uint64), arrays.zeros(1, np.uint64)
    run("claims", 4, 64, slots, 7, won, atomics_a_turn=turn)
    assert int(won[0]) == 7
    # The first thread of each slot has it, unless another came between: here that is so with 3.
    assert (arrays.to_host(slots).tolist() == [*range(1, 8)]) == (turn != 3)


@pytest.mark.parametrize("lanes", [2, 8])
def test_what_a_device_does_not_define_is_an_error(run: Any, lanes: int) -> None:
    with pytest.raises(RuntimeError, match=r"wait for each other for ever|leaves it out"):
        run("waits_alone", 1, 32, lanes)
    run("waits_alone", 1, 32, 4)


def test_wrong_arguments_are_errors(run: Any) -> None:
    numbers = arrays.arange(64)
    with pytest.raises(TypeError, match="int32"):
        run("reverse", 1, 32, numbers.astype(np.int32), numbers)
    with pytest.raises(TypeError, match="strides"):
        run("reverse", 1, 32, numbers[::2], numbers)
    with pytest.raises(TypeError, match="takes 2 arguments, not 1"):
        run("reverse", 1, 32, numbers)
    with pytest.raises(TypeError, match="not an array of the device"):
        run("reverse", 1, 32, np.arange(64), numbers)
    # A kernel reads eight bytes, whatever a number of NumPy's has.
    with pytest.raises(TypeError, match="whole numbers are of type Count"):
        run("waits_alone", 1, 32, np.int32(4))


def test_grids_are_no_larger_than_a_launch_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plans.grid_size(1) == 1
    assert plans.grid_size(256 * 65_535 + 1) == plans.grid_size(1 << 50) == 65_536
    monkeypatch.setattr(plans, "MOST_BLOCKS", 3)
    assert [plans.grid_size(threads, 32) for threads in (0, 32, 33, 96, 97)] == [1, 1, 2, 3, 3]
