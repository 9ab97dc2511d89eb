"""How much memory this process may still take, and so how many antecedents a search may keep."""

from shortcut_miner.errors import ConfigError
from shortcut_miner.free_memory import free_memory, held_by
from shortcut_miner.timing import peak_memory

# Measured, and rounded up; tests/mining/test_memory.py measures them again. What an antecedent costs at the
# peak of a search and of ordering and writing its rules, if all are rules; and what a rule costs more in a
# table as a whole, and with all measures.
BYTES_AN_ANTECEDENT = 112
BYTES_A_TABLED_RULE = 320
BYTES_A_MEASURED_RULE = 250
_SHARE = 0.8  # of the free memory: the rest is for what does not grow with the rules
_LEAST = 10_000  # antecedents, and rules: as many take little beside the program itself


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
    return fitting if budget is None else min(fitting, spare(budget))


def spare(budget: int) -> int:
    """Return what this process may still take of a budget in bytes."""
    return max(0, budget - held())


def held() -> int:
    """Return the bytes of memory that this process holds now."""
    return held_by() or peak_memory()  # elsewhere only the most that it ever held is known


def which_fit() -> str:
    """Return the words that say why a derived cap is what it is."""
    return f"which fit in the free memory at about {BYTES_AN_ANTECEDENT} bytes each"


def check_fits(rules: int, bytes_a_rule: int, budget: int | None = None) -> None:
    """Raise ConfigError unless what is about to be made of so many rules fits in memory.

    It has to fit in the free memory and in what this process holds less than `budget`, if there is one; a few
    do in any budget, also where the process held more before.
    """
    size, free = rules * bytes_a_rule, free_memory()
    within = free if budget is None else spare(budget)
    if rules > _LEAST and within < min(size, free):
        raise ConfigError(
            f"rules: got {rules:,}, for which about {size / 1e9:.1f} GB are needed, expected at most the "
            f"{within / 1e9:.1f} GB that --memory leaves. Raise --memory, min_count or min_confidence, or "
            "choose a superset_filter."
        )
    if size > free:
        raise ConfigError(
            f"rules: got {rules:,}, for which about {size / 1e9:.1f} GB are needed, expected at most the "
            f"{free / 1e9:.1f} GB of free memory. Raise min_count or min_confidence, or choose a "
            "superset_filter."
        )
