"""The rooms' functions that build a folder, by the command that does the same."""

from collections.abc import Callable

from shortcut_miner import rooms
from shortcut_miner.datasets.reports import BuildReport

Builder = Callable[..., BuildReport]


def builders() -> dict[str, Builder]:
    """Return what builds each kind of folder, by command, such as "rad build"."""
    found: dict[str, Builder] = {}
    for name in rooms.NAMES:
        front = getattr(rooms, name)
        for verb in ("build", "sweep"):
            if verb in front.__all__:
                found[f"{name.replace('_', '-')} {verb}"] = getattr(front, verb)
    return found
