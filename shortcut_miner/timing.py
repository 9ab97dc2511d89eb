"""What the stages of a run cost: wall time, processor time and peak memory."""

import contextlib
import dataclasses
import itertools
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
OnStage = Callable[[str], None]

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclasses.dataclass(frozen=True, slots=True)
class StageCost:
    """Cost of one stage.

    Attributes
    ----------
    stage : str
        Its name.
    wall_seconds, cpu_seconds : float
        Elapsed, and processor time of all threads.
    peak_bytes : int
        Largest resident memory of the process up to the stage's end.
    child_peak_bytes : int
        Largest resident memory of any one process that it had started and that ended in the stage; 0 if none
        was larger than those before.
    """

    stage: str
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    child_peak_bytes: int = 0


@contextlib.contextmanager
def timed(costs: list[StageCost], stage: str, on_stage: OnStage | None = None) -> Iterator[None]:
    """Append the cost of the ``with`` body to `costs`; tell `on_stage` the name before it starts."""
    if on_stage is not None:
        on_stage(stage)
    before = _children_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after = _children_peak()
    costs.append(StageCost(stage, wall, cpu, peak_memory(), after if after > before else 0))


def in_parts(
    items: Sequence[Item],
    stage: str,
    on_stage: OnStage | None,
    unit: str,
    *,
    sizes: Sequence[int] | None = None,
) -> Iterator[Item]:
    """Give items one by one; tell `on_stage` before each how much is done.

    Parameters
    ----------
    items : sequence
        What a stage works on.
    stage : str
        Its name.
    on_stage : callable or None
        Told such as "draw: 12 of 300 pictures".
    unit : str
        What is counted; with sizes "MB".
    sizes : sequence of int, optional
        Bytes of each item, where these say more than their number.
    """
    ends = [0, *itertools.accumulate([1] * len(items) if sizes is None else sizes)]
    said = [f"{end:,}" if sizes is None else f"{end / 1e6:,.1f}" for end in ends]
    for item, done in zip(items, said, strict=False):
        if on_stage is not None:
            on_stage(f"{stage}: {done} of {said[-1]} {unit}")
        yield item


def peak_memory() -> int:
    """Return the most bytes of memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


def _children_peak() -> int:
    """Return the most bytes that any one of the processes held that this one started, and that have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _MAXRSS_UNIT


def cost_text(costs: Sequence[StageCost], wall_seconds: float | None = None) -> str:
    """Return how long a run took (without a number: the sum of its stages), by stage, and its peak memory.

    What no stage accounts for, such as loading libraries, is "other". Of the processes that it started the
    largest is named: how much they held together, the system does not tell.

    >>> cost_text([StageCost("read", 1.0, 1.2, 5_000_000), StageCost("write", 0.5, 0.5, 7_000_000)])
    '1.5 s (read 1.0, write 0.5), peak memory 7 MB'
    >>> cost_text([StageCost("mine", 1.0, 0.1, 5_000_000, 9_000_000)])
    '1.0 s (mine 1.0), peak memory 5 MB, and 9 MB of the largest process that it started'
    """
    total = sum(cost.wall_seconds for cost in costs) if wall_seconds is None else wall_seconds
    parts = [(cost.stage, cost.wall_seconds) for cost in costs]
    other = total - sum(seconds for _, seconds in parts)
    if other >= 0.05:
        parts.append(("other", other))
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in parts)
    peak = max((cost.peak_bytes for cost in costs), default=0)
    child = max((cost.child_peak_bytes for cost in costs), default=0)
    of_child = f", and {child / 1e6:,.0f} MB of the largest process that it started" if child else ""
    return f"{total:.1f} s ({stages}), peak memory {peak / 1e6:,.0f} MB{of_child}"
