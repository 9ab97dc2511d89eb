"""What is wrong with the records of a file, added up while it is read a part at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from shortcut_miner.errors import MAX_PROBLEMS_SHOWN
from shortcut_miner.sources.opening.reading import Problem, repeated_id

_REPEATED = repeated_id("", [0], 1, "question_id").reason


@dataclass(slots=True)
class ProblemTally:
    """The problems so far: at the end what :func:`.reading.settle` makes of those of the whole file.

    Attributes
    ----------
    dropped : dict of str to int
        Reason -> records of which it is the first one.
    shown : list of Problem
        The first.
    count, bad : int
        How many problems, and how many records that have some.
    """

    dropped: dict[str, int] = field(default_factory=dict)
    shown: list[Problem] = field(default_factory=list)
    count: int = 0
    bad: int = 0

    def add(self, problems: Sequence[Problem], later: Sequence[int]) -> list[int]:
        """Count the problems of a part of the records, and return its bad records.

        Parameters
        ----------
        problems : sequence of Problem
            In the order in which they are looked for; of ids that repeat at the first of their records.
        later : sequence of int
            The part's other records with such ids: they are counted as that, whatever else is wrong.
        """
        seen = {*later}
        ordered = sorted(problems, key=lambda problem: problem.records[0])
        for problem in ordered:
            record, reason = problem.records[0], problem.reason
            if record not in seen or reason == _REPEATED:
                self._count(reason, int(record not in seen))
            seen.add(record)
        if later:
            self._count(_REPEATED, len(later))
        self.shown += ordered[: MAX_PROBLEMS_SHOWN - len(self.shown)]
        self.count += len(ordered)
        self.bad += len(seen)
        return sorted(seen)

    def _count(self, reason: str, records: int) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + records
