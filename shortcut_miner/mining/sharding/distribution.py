"""Where and in how many parts to search. What a search in parts needs is loaded when one is asked for."""

import dataclasses
from concurrent.futures import Executor
from pathlib import Path

from shortcut_miner.mining.memory import left
from shortcut_miner.options import check_counts

# What a row of a table takes at the peak of a build or a search in memory, measured on rows of 12 items.
_BYTES_A_ROW = 1_500


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Where and in how many parts to search; the result is the same for any.

    Attributes
    ----------
    executor : str, Executor or None
        See :func:`shortcut_miner.mining.executors.resolve_engine`. A script that asks for "local" or
        "local[N]" needs ``if __name__ == "__main__":``.
    shards : int, optional
        How many parts; default: as few as memory allows, and some for each worker.
    work : Path, optional
        Folder for what is in between, on a disk that all workers share; what a run that was cut off has found
        there is not searched again. One run at a time works in it. Default: a folder that is removed at
        the end.
    memory : int, optional
        Bytes that this process, with its workers on this machine, may hold; on other machines each worker.
    """

    executor: str | Executor | None = None
    shards: int | None = None
    work: Path | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        """Raise ConfigError for values without a meaning."""
        check_counts(shards=self.shards, memory=self.memory)

    @property
    def is_asked(self) -> bool:
        """Whether a search is to be cut into parts, whatever holds its rows."""
        return (self.executor, self.shards, self.work) != (None, None, None)

    @property
    def executor_name(self) -> str | None:
        """The engine's name, None for this process; raises as :func:`.executors.resolve_engine`."""
        if self.executor is None:
            return None
        from shortcut_miner.mining.executors import resolve_engine

        return resolve_engine(self.executor, self.memory).name

    @property
    def limits(self) -> dict[str, int]:
        """What a run record says of it under that name."""
        return {} if self.memory is None else {"memory": self.memory}

    def needs_files(self, rows: int) -> bool:
        """Whether so many rows of a table go to files: if that is asked for, or memory does not hold them."""
        return self.is_asked or self.memory is not None or rows * _BYTES_A_ROW > left()
