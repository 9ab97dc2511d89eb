"""What the stages of a run cost: wall time, processor time and peak memory."""

import contextlib
import dataclasses
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence

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
    """

    stage: str
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int


@contextlib.contextmanager
def timed(costs: list[StageCost], stage: str, on_stage: OnStage | None = None) -> Iterator[None]:
    """Append the cost of the ``with`` body to `costs`; tell `on_stage` the name before it starts."""
    if on_stage is not None:
        on_stage(stage)
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    costs.append(StageCost(stage, time.perf_counter() - wall, time.process_time() - cpu, peak_memory()))


def peak_memory() -> int:
    """Return the most bytes of memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


def cost_text(costs: Sequence[StageCost], wall_seconds: float | None = None) -> str:
    """Return how long a run took (without a number: the sum of its stages), by stage, and its peak memory.

    What no stage accounts for, such as loading libraries, is "other".

    >>> cost_text([StageCost("read", 1.0, 1.2, 5_000_000), StageCost("write", 0.5, 0.5, 7_000_000)])
    '1.5 s (read 1.0, write 0.5), peak memory 7 MB'
    """
    total = sum(cost.wall_seconds for cost in costs) if wall_seconds is None else wall_seconds
    parts = [(cost.stage, cost.wall_seconds) for cost in costs]
    other = total - sum(seconds for _, seconds in parts)
    if other >= 0.05:
        parts.append(("other", other))
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in parts)
    peak = max((cost.peak_bytes for cost in costs), default=0)
    return f"{total:.1f} s ({stages}), peak memory {peak / 1e6:,.0f} MB"
