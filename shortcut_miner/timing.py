"""What the stages of a run cost: wall time, processor time and peak memory."""

import contextlib
import dataclasses
import resource
import sys
import time
from collections.abc import Callable, Iterator

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
def timed(
    costs: list[StageCost], stage: str, on_stage: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Append the cost of the ``with`` body to `costs`; tell `on_stage` the name before it starts."""
    if on_stage is not None:
        on_stage(stage)
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT
    costs.append(StageCost(stage, time.perf_counter() - wall, time.process_time() - cpu, peak))
