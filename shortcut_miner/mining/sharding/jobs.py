"""One shard's work, in whatever process: gather its rows, mine them, write what was found."""

import dataclasses
from pathlib import Path

import numpy as np

from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.executors import BYTES_A_PROCESS, parts_at_a_time
from shortcut_miner.mining.memory import left
from shortcut_miner.mining.sharding.found import find_heads, found_path, write_found
from shortcut_miner.mining.sharding.plans import Group, Plan, read_plan
from shortcut_miner.mining.sharding.suffixes import bytes_of_rows, kept_rows
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.transactions import RowBlocks

# Of the memory that is left, for rows; the rest is for what is found.
ROWS_SHARE = 0.5
# Bytes that rows may take in a process, whatever it held before: with less, every item would be a shard.
_LEAST_ROOM = 32_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardJob:
    """What a worker is told: small, and without names.

    Attributes
    ----------
    folder : Path
        The work folder, which holds the plan and gets what is found.
    rows : RowBlocks
        All rows.
    are_placed : bool
        Whether their items are places in the plan's order.
    group : (int, int)
        First items to search below, as places in the plan's order.
    singles_only : bool
        Whether antecedents of one item are enough: longer ones would lie beyond ``max_rules``.
    backend : str or Backend
        Who mines.
    threads : int, optional
        By default all processors of the worker's machine.
    memory : int, optional
        Bytes that the worker's process may hold; by default what is free there.
    """

    folder: Path
    rows: RowBlocks
    are_placed: bool = False
    group: Group = (0, 0)
    singles_only: bool = False
    backend: str | Backend = "auto"
    threads: int | None = None
    memory: int | None = None


def mine_shard(job: ShardJob) -> int:
    """Mine a shard and write what was found to the work folder, if it is not there yet.

    Returns about how many bytes the rows of a single first item take, if that is more than there is room for;
    else 0.

    A range of first items whose rows take too much memory is halved, again and again, down to one item; what
    is found of each part has a file of its own.
    """
    plan = read_plan(job.folder)
    heads = find_heads(job.folder, plan.key, job.group)
    max_rules = plan.config.resolved_max_rules()
    if not (heads and all(job.singles_only or head.is_enough(max_rules) for head in heads)):
        return _mine(job, plan, job.group)
    return 0


def _mine(job: ShardJob, plan: Plan, group: Group) -> int:
    first, stop = group
    is_one = stop - first == 1
    parts = parts_at_a_time()
    threads = job.threads or max(1, thread_count() // parts)
    order = np.arange(len(plan.order), dtype=np.int32) if job.are_placed else plan.order
    room = room_for_rows(job.memory, parts)
    rows = kept_rows(job.rows, order, first, stop, room=None if is_one else room, threads=threads)
    if rows is None:
        middle = (first + stop) // 2
        # What an earlier run found of the whole range for a lower cap would hide what is found of its halves.
        found_path(job.folder, group).unlink(missing_ok=True)
        return max(_mine(job, plan, (middle, stop)), _mine(job, plan, (first, middle)))
    needed = bytes_of_rows(rows, order[first:stop], threads) if is_one else 0
    config = dataclasses.replace(plan.config, max_antecedent=1) if job.singles_only else plan.config
    mine_first_items = resolve_backend(job.backend).mine_first_items
    found = mine_first_items(rows, order, first, stop, config, threads)
    max_rules = plan.config.resolved_max_rules()
    if job.singles_only:
        found, max_rules = dataclasses.replace(found, is_complete=plan.config.max_antecedent == 1), 0
    write_found(job.folder, plan.key, group, found, max_rules)
    return needed if needed > room else 0


def room_for_rows(memory: int | None, parts: int = 1) -> int:
    """Return the bytes that a shard's rows may take in this process, of so many that it may hold.

    So many parts are mined in it at a time.
    """
    return max(_LEAST_ROOM, int(left(memory) * ROWS_SHARE)) // parts


def excess_text(needed: int, workers: int = 1) -> str:
    """Return the warning that the rows of one item needed more memory than there was for a shard's rows."""
    memory = workers * (needed / ROWS_SHARE + BYTES_A_PROCESS)
    return (
        f"the rows of one item need about {needed / 1e9:,.1f} GB, more than there is for a shard's rows; "
        f"they were mined all the same. To hold them takes about --memory {memory / 1e9:,.1f}GB."
    )
