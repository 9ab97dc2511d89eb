"""Work within a device's memory: planned for what is free, and for less where that runs out all the same."""

from collections.abc import Callable
from typing import TypeVar

from shortcut_miner.errors import BackendError
from shortcut_miner.mining.jobs_cupy.device import Device

# Below this many bytes nothing is to be won by smaller parts.
_LEAST = 1 << 20

_T = TypeVar("_T")


def within_room(device: Device, work: Callable[[int], _T], name: str) -> _T:
    """Return ``work(room)``, with all the room there is at first and half as much after each failure.

    Parameters
    ----------
    device : Device
        Where memory may run out.
    work : callable
        Plans for so many bytes; it starts anew each time.
    name : str
        What it does, for the message.

    Raises
    ------
    BackendError
        The memory runs out whatever the plan.
    """
    planned = room = device.room()
    while True:
        try:
            return work(room)
        except device.out_of_memory:
            room //= 2
        device.release()
        if room < _LEAST:
            raise BackendError(
                f"backend cupy: got {planned / 1e9:,.1f} GB of free memory on {device.name}, expected more: "
                f"{name} fails even in small parts. Free memory there, raise min_count, or choose numba."
            )
