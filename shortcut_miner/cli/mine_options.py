"""What ``mine`` and ``shard`` are told of a table and of the search; nothing heavy is loaded for it."""

import dataclasses
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from shortcut_miner.cli.options import INPUTS, METHOD
from shortcut_miner.options import OnBadRow, SupersetFilter


@Parameter(name="*", group=INPUTS)
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """What of a table is read.

    Attributes
    ----------
    words : str, optional
        Column of words: lists of text, or text that is split as VQA-CE splits questions.
    objects : str, optional
        Column of labels: lists of text, nested or written as text (JSON, Python), or labels with --separator
        between them.
    item_columns : str, optional
        Further columns, with commas between, whose values are items too, such as genre,source.
    answer : str
        Column of answers (classes): text or whole numbers.
    separator : str
        Between labels in a text.
    on_bad_row : {"error", "skip"}
        Stop at rows without an answer, or count and skip them (exit code 3).
    limit : int, optional
        Use the first rows only, to try things out.
    """

    words: str | None = None
    objects: str | None = None
    item_columns: str | None = None
    answer: str = "answer"
    separator: str = ","
    on_bad_row: OnBadRow = "error"
    limit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None


@Parameter(name="*", group=METHOD)
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What is mined, and which rules are kept: the fields of a SearchConfig, which checks them.

    Attributes
    ----------
    min_count : int
        Least rows with antecedent and answer together.
    max_antecedent : int
        Most items of an antecedent, 1 to 8.
    min_confidence : float
        Least confidence of a rule, 0 to 1.
    superset_filter : {"immediate", "all", "none"}
        Drop a rule when a subset of its antecedent (one item smaller, any) is as confident.
    empty_rule : bool
        Count "nothing -> the most common answer" as a rule.
    max_rules : int, optional
        Stop mining at this many antecedents, those of the most frequent items first, with exit code 3;
        default: as many as fit in memory.
    """

    min_count: int = 8
    max_antecedent: int = 4
    min_confidence: float = 0.3
    superset_filter: SupersetFilter = "none"
    empty_rule: Annotated[bool, Parameter(negative=(), show_default=False)] = False
    max_rules: int | None = None


DEFAULT_TABLE, DEFAULT_SEARCH = TableOptions(), SearchOptions()
