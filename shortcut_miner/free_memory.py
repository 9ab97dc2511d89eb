"""How much memory this process may still take: by the machine, its control groups, its address space."""

import os
import sys
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
# Where the two versions of control groups keep what is allowed, and what is used.
_LIMIT_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))


def free_memory() -> int:
    """Return how many bytes this process may still take, by the machine, control groups and its limits."""
    return max(0, min(_machine_free(), _address_space_left(), *_control_groups_left()))


def held_by(process: int | None = None) -> int:
    """Return the bytes of memory that a process holds now, by default this one; 0 where nothing tells."""
    pages = text_of(Path(f"/proc/{process or 'self'}/statm")).split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else 0


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
    for line in text_of(Path("/proc/self/cgroup")).splitlines():
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
    allowed, taken = text_of(limit).strip(), text_of(used).strip()
    if not (allowed.isdigit() and taken.isdigit()):  # no such file, or "max"
        return sys.maxsize
    cached = _field(folder / "memory.stat", "inactive_file") or 0  # files that the system drops when asked
    return int(allowed) - int(taken) + cached


def _field(path: Path, name: str) -> int | None:
    """Return the number after a name in a file of names and numbers."""
    for line in text_of(path).splitlines():
        words = line.replace(":", " ").split()
        if words[:1] == [name]:
            return int(words[1])
    return None


def text_of(path: Path) -> str:
    """Return what the system says in one of its files; "" where there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""
