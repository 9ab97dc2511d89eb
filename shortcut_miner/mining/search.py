"""The chain from transactions to rules: mine, filter, select, order."""

import dataclasses
from collections.abc import Callable

from shortcut_miner.errors import ConfigError
from shortcut_miner.mining.antecedents import Antecedents, SearchConfig
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.filters import dropped_by_subset, select_rules
from shortcut_miner.mining.memory import which_fit
from shortcut_miner.mining.miner import mine_antecedents
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.timing import StageCost, timed
from shortcut_miner.transactions import RowBlocks, Transactions, Vocabulary


@dataclasses.dataclass(frozen=True, slots=True)
class FoundRules:
    """What a search found.

    Attributes
    ----------
    antecedents : Antecedents
        Everything mined.
    rules : RuleArrays
        The confident rules that the superset filter leaves, in rule order.
    dropped_rules : RuleArrays
        Those that it drops, in rule order; empty if they are not wanted.
    confident_count : int
        Number of both.
    max_rules : int
        The cap on antecedents that held: the config's, or what fitted in memory.
    backend : str
        Name of the backend that did the work.
    """

    antecedents: Antecedents
    rules: RuleArrays
    dropped_rules: RuleArrays
    confident_count: int
    max_rules: int
    backend: str

    @property
    def is_complete(self) -> bool:
        """Whether the search ended by itself, not at ``max_rules``."""
        return self.antecedents.is_complete


def search_rules(
    rows: RowBlocks,
    config: SearchConfig,
    *,
    keep_dropped: bool = False,
    allow_incomplete: bool = False,
    distribution: Distribution | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
    costs: list[StageCost] | None = None,
    on_stage: Callable[[str], None] | None = None,
    counts: dict[str, int] | None = None,
    warnings: list[str] | None = None,
) -> FoundRules:
    """Return the rules of rows, in rule order.

    Parameters
    ----------
    rows : RowBlocks
        Rows to mine. Those in files are mined in shards.
    config : SearchConfig
        What to mine, and which rules to keep.
    keep_dropped : bool
        Whether the rules that the superset filter drops are wanted too.
    allow_incomplete : bool
        Whether a search that ``config.max_rules`` cut short is a result.
    distribution : Distribution, optional
        Where and in how many shards to mine, and in how much memory.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    costs : list of StageCost, optional
        Filled with the costs of the stages "mine" and "filter".
    on_stage : callable, optional
        Told each stage's name before it starts.
    counts, warnings
        See :func:`shortcut_miner.mining.sharding.run.mine_in_shards`.

    Raises
    ------
    ConfigError
        The search was cut short, and that is not allowed; no such backend.
    BackendError
        The backend is not available.
    """
    costs = [] if costs is None else costs
    chosen = resolve_backend(backend)
    where = distribution or Distribution()
    max_rules = config.resolved_max_rules(where.memory)
    limits = dataclasses.replace(config, max_rules=max_rules)
    with timed(costs, "mine", on_stage):
        if isinstance(rows, Transactions) and not where.is_asked:
            antecedents = mine_antecedents(rows, limits, threads, chosen)
        else:
            from shortcut_miner.mining.sharding.run import mine_in_shards

            antecedents = mine_in_shards(
                rows, limits, where,
                backend=chosen, threads=threads, on_stage=on_stage, counts=counts, warnings=warnings,
            )  # fmt: skip
    if not (antecedents.is_complete or allow_incomplete):
        raise ConfigError(
            f"max_rules: got more than {max_rules:,} antecedents, expected at most that many"
            f"{'' if config.max_rules is not None else f', {which_fit()}'}. Raise min_count (now "
            f"{config.min_count:,}) or max_rules, or lower max_antecedent (now {config.max_antecedent})."
        )
    return rules_of(
        antecedents, rows.vocabulary, limits,
        keep_dropped=keep_dropped, threads=threads, backend=chosen, costs=costs, on_stage=on_stage,
    )  # fmt: skip


def rules_of(
    antecedents: Antecedents,
    vocabulary: Vocabulary,
    config: SearchConfig,
    *,
    keep_dropped: bool = False,
    threads: int | None = None,
    backend: str | Backend = "auto",
    costs: list[StageCost] | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> FoundRules:
    """Return the rules of what was mined, in rule order: those that are confident and pass the filter.

    Parameters
    ----------
    antecedents : Antecedents
        All that were found.
    vocabulary : Vocabulary
        Of the rows they were found in.
    config : SearchConfig
        Which rules to keep; its ``max_rules`` is the cap that held.
    keep_dropped, threads, backend, costs, on_stage
        As for :func:`search_rules`.
    """
    costs, chosen = [] if costs is None else costs, resolve_backend(backend)
    with timed(costs, "filter", on_stage):
        dropped = dropped_by_subset(antecedents, config.superset_filter, config.empty_rule, threads, chosen)
        rules, is_dropped = select_rules(
            antecedents, dropped, config.min_confidence, config.empty_rule, threads
        )
        confident_count = len(rules)
        dropped_rules = rules.take(is_dropped & keep_dropped)
        if is_dropped.any():
            rules = rules.take(~is_dropped)
        for found in (rules, dropped_rules):
            found.sort(vocabulary, threads)
    max_rules = config.resolved_max_rules()
    return FoundRules(antecedents, rules, dropped_rules, confident_count, max_rules, chosen.name)


def cut_text(max_rules: int, *, derived: bool) -> str:
    """Return the warning that a search was cut, and what to do."""
    of_memory = f", {which_fit()}" if derived else ""
    return (
        f"mining stopped after max_rules = {max_rules:,} antecedents{of_memory}; what it found is exact, but "
        "longer rules of rarer items are missing. Raise min_count or max_rules."
    )
