"""How long a stage still takes, by how long its parts took."""

import re
import time
from collections.abc import Callable

_PARTS = re.compile(r"(?P<stage>.*[:,]) (?P<done>[\d,.]+) of (?P<all>[\d,.]+) \w+")
_LEAST = 1.0  # seconds: after less there is nothing to judge by, and less left is not worth a word
_MINUTES, _HOURS = 100, 6000  # from so many seconds on


class TimeLeft:
    """Adds to texts such as ``download 2 files: 3.0 of 9.0 MB`` how long the rest takes at the pace so far.

    Parameters
    ----------
    clock : callable
        Gives the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stage = ""
        self._first = (0.0, 0.0)  # when, and how much was done

    def __call__(self, text: str) -> str:
        """Return the text of a stage, and what is left where it says how much of how much is done."""
        found = _PARTS.fullmatch(text)
        if found is None:
            return text
        done, whole = (float(found[name].replace(",", "")) for name in ("done", "all"))
        now = self._clock()
        if found["stage"] != self._stage:
            self._stage, self._first = found["stage"], (now, done)
        since, before = self._first
        if now - since < _LEAST or not before < done < whole:
            return text
        left = (now - since) / (done - before) * (whole - done)
        return f"{text}, about {_in_words(left)} left" if left >= _LEAST else text


def _in_words(seconds: float) -> str:
    """Return a time as people say it.

    >>> _in_words(99), _in_words(100), _in_words(7200)
    ('99 s', '2 min', '2.0 h')
    """
    if seconds < _MINUTES:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < _HOURS else f"{seconds / 3600:.1f} h"
