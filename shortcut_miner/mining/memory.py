"""How much memory this process may still take, and so how many antecedents a search may keep."""

import os
import sys
from pathlib import Path

from shortcut_miner.errors import ConfigError
from shortcut_miner.timing import peak_memory

# Measured, and rounded up; tests/mining/test_memory.py measures them again. What an antecedent costs at the
# peak of a search and of ordering and writing its rules, if all are rules; and what a rule costs more in a
# table as a whole, and with all measures.
BYTES_AN_ANTECEDENT = 160
BYTES_A_TABLED_RULE = 320
BYTES_A_MEASURED_RULE = 250
_SHARE = 0.8  # of the free memory: the rest is for what does not grow with the rules
_LEAST = 10_000
_CGROUPS = Path("/sys/fs/cgroup")
# Where the two versions of control groups keep what is allowed, and what is used.
_LIMIT_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))


def fitting_rules(budget: int | None = None) -> int:
    """Return how many antecedents a search may keep so that it fits in memory, to the last written rule."""
    return max(_LEAST, left(budget) // BYTES_AN_ANTECEDENT)


def left(budget: int | None = None) -> int:
    """Return how many bytes may still be taken for what grows with the data.

    Parameters
    ----------
    budget : int, optional
        Bytes that this process may hold in all; without one, a share of the free memory may be taken.
    """
    fitting = int(free_memory() * _SHARE)
    return fitting if budget is None else max(0, min(fitting, budget - held()))


def held() -> int:
    """Return the bytes of memory that this process holds now."""
    pages = _text(Path("/proc/self/statm")).split()
    if len(pages) > 1:
        return int(pages[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak_memory()  # elsewhere only the most that it ever held is known


def which_fit() -> str:
    """Return the words that say why a derived cap is what it is."""
    return f"which fit in the free memory at about {BYTES_AN_ANTECEDENT} bytes each"


def check_fits(rules: int, bytes_a_rule: int, budget: int | None = None) -> None:
    """Raise ConfigError unless what is about to be made of so many rules fits in memory.

    It has to fit in the free memory and in what this process holds less than `budget`, if there is one.
    """
    size, free = rules * bytes_a_rule, free_memory()
    if budget is not None and size > (spare := max(0, budget - held())) and spare < free:
        raise ConfigError(
            f"rules: got {rules:,}, for which about {size / 1e9:.1f} GB are needed, expected at most the "
            f"{spare / 1e9:.1f} GB that --memory leaves. Raise --memory, min_count or min_confidence, or "
            "choose a superset_filter."
        )
    if size > free:
        raise ConfigError(
            f"rules: got {rules:,}, for which about {size / 1e9:.1f} GB are needed, expected at most the "
            f"{free / 1e9:.1f} GB of free memory. Raise min_count or min_confidence, or choose a "
            "superset_filter."
        )


def free_memory() -> int:
    """Return how many bytes this process may still take, by the machine, control groups and its limits."""
    return max(0, min(_machine_free(), _address_space_left(), *_control_groups_left()))


def _machine_free() -> int:
    available = _field(Path("/proc/meminfo"), "MemAvailable")
    if available is not None:
        return available * 1024
    # Elsewhere what is free can't be told without another library: half of all.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _address_space_left() -> int:
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    taken = _field(Path("/proc/self/status"), "VmSize")
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit - (taken or 0) * 1024


def _control_groups_left() -> list[int]:
    """Return what is left of each limit on this process's control groups and those above them."""
    left = []
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, controllers, place = line.split(":", 2)
        root = _CGROUPS / "memory" if "memory" in controllers.split(",") else _CGROUPS
        if controllers and root == _CGROUPS:
            continue
        group = root / place.lstrip("/")
        # In a container the files of its own group lie at the root.
        for folder in {root, group, *(above for above in group.parents if root in above.parents)}:
            left += [_left(folder / limit, folder / used, folder) for limit, used in _LIMIT_FILES]
    return left


def _left(limit: Path, used: Path, folder: Path) -> int:
    allowed, taken = _text(limit).strip(), _text(used).strip()
    if not (allowed.isdigit() and taken.isdigit()):  # no such file, or "max"
        return sys.maxsize
    cached = _field(folder / "memory.stat", "inactive_file") or 0  # files that the system drops when asked
    return int(allowed) - int(taken) + cached


def _field(path: Path, name: str) -> int | None:
    """Return the number after a name in a file of names and numbers."""
    for line in _text(path).splitlines():
        words = line.replace(":", " ").split()
        if words[:1] == [name]:
            return int(words[1])
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
