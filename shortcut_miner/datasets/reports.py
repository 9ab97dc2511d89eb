"""What a build or a score gives back: what it did, in numbers and words, and its tables as Polars frames."""

import dataclasses
import html
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from shortcut_miner.datasets.folders import BuiltFolder, Run
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.errors import ConfigError, examples
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.storage import Provenance
from shortcut_miner.timing import StageCost, cost_text

Table = Callable[[], pl.DataFrame]


class NoTableError(ConfigError, AttributeError):
    """A build did not make the table that was asked for; to ``hasattr``, an attribute that is not there."""


def shown_whole() -> pl.Config:
    """Return the context in which a small table shows all of its columns and rows."""
    return pl.Config(
        tbl_cols=-1,
        tbl_rows=-1,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_width_chars=200,
        float_precision=2,
    )


class Tables(Mapping[str, pl.DataFrame]):
    """Tables by name, each read or made when it is first asked for.

    >>> tables = Tables({"rules": lambda: pl.DataFrame({"rule_id": [0]})})
    >>> list(tables), tables["rules"] is tables["rules"]
    (['rules'], True)
    """

    def __init__(self, made: Mapping[str, Table]) -> None:
        self._made = dict(made)
        self._loaded: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Return a table; KeyError if there is none of this name."""
        if name not in self._loaded:
            self._loaded[name] = self._made[name]()
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        """Give the names."""
        return iter(self._made)

    def __len__(self) -> int:
        """Return how many tables there are."""
        return len(self._made)


def tables_of(out: Path | None, provenance: Provenance, made: Mapping[str, Table]) -> Tables:
    """Return the tables of a build: read from its folder, or made where nothing was written.

    A table is refused if another build has replaced it in the folder since.
    """
    if out is None:
        return Tables(made)
    manifest = json.loads(json.dumps(provenance.for_table()))  # as it reads when it comes from a file
    folder = BuiltFolder(out.resolve(), provenance.command, manifest)
    return Tables({name: partial(folder.table, name) for name in made})


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport:
    """What a build did, for the console and for programs.

    Attributes
    ----------
    command : str
        Such as "vqa-ce build".
    out : Path or None
        The folder written; None where nothing was.
    counts : dict of str to int
        As in the manifest.
    dropped : dict of str to int
        Rows left out, by reason.
    figures : dict
        Further numbers, as in the manifest.
    words : mapping of str to str
        What was read and found, a line a name: what the console prints.
    notes, warnings : tuple of str
        What was decided, and what may be wrong.
    costs : list of StageCost
        By stage.
    is_complete : bool
        False if a limit cut the work short or rows were skipped on request.
    tables : Tables
        What was written, by name without ``.parquet``; also when nothing was written.
    """

    command: str
    out: Path | None
    counts: dict[str, int]
    dropped: dict[str, int]
    figures: dict[str, Any]
    words: Mapping[str, str]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    costs: list[StageCost]
    is_complete: bool
    tables: Tables

    @classmethod
    def of(
        cls,
        run: Run,
        facts: InputFacts,
        provenance: Provenance,
        *,
        out: Path | None,
        figures: Mapping[str, Any],
        words: Mapping[str, str],
        tables: Mapping[str, Table],
        is_complete: bool = True,
        **more: Any,
    ) -> Self:
        """Return the report of a run that is done; `more` are the fields of a room's own report."""
        return cls(
            command=provenance.command,
            out=out,
            counts=dict(provenance.counts),
            dropped=dict(provenance.dropped),
            figures=dict(figures),
            words=words,
            notes=tuple(dict.fromkeys((*facts.notes, *run.notes))),
            warnings=tuple(dict.fromkeys(facts.warnings)),
            costs=run.costs,
            is_complete=is_complete and not facts.dropped,
            tables=tables_of(out, provenance, tables),
            **more,
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> pl.DataFrame:
            """Return a table whose name depends on the options, such as training_epoch_000."""
            tables = self.__dict__.get("tables", ())
            if name in tables:
                return tables[name]
            if isinstance(getattr(type(self), name, None), property):
                raise self._no_table(name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        """List the public attributes, and the tables that are there."""
        public = {name for name in super().__dir__() if not name.startswith("_")}
        asked_for = {name for name in public if isinstance(getattr(type(self), name, None), property)}
        return sorted(public - asked_for | {*self.tables})

    def in_words(self, wall_seconds: float | None = None) -> dict[str, str]:
        """Return what the console prints: `words`, where it lies, and how long it took."""
        return {
            **self.words,
            "written": "nothing (dry run)" if self.out is None else str(self.out),
            "took": cost_text(self.costs, wall_seconds),
        }

    def as_dict(self, wall_seconds: float | None = None) -> dict[str, Any]:
        """Return everything but words and tables, ready for JSON."""
        total = sum(cost.wall_seconds for cost in self.costs)
        return {
            "out": self.out,
            "counts": self.counts,
            "figures": self.figures,
            "dropped": self.dropped,
            "notes": self.notes,
            "warnings": self.warnings,
            "is_complete": self.is_complete,
            "wall_seconds": total if wall_seconds is None else wall_seconds,
            "stages": [dataclasses.asdict(cost) for cost in self.costs],
        }

    def _table(self, name: str) -> pl.DataFrame:
        if name not in self.tables:
            raise self._no_table(name)
        return self.tables[name]

    def _no_table(self, name: str) -> "NoTableError":
        return NoTableError(
            f"{name}: got no such table in this {self.command}, expected one of {examples(self.tables)}. "
            "Build with the option that asks for it."
        )

    def __repr__(self) -> str:
        """Return a line a name, notes and warnings first, as on the console."""
        width = max(map(len, self.in_words()))
        lines = [f"{name:<{width}}  {text}" for name, text in self.in_words().items()]
        return "\n".join([self.command, *self._remarks(), *lines])

    def _remarks(self) -> list[str]:
        return [f"note: {text}" for text in self.notes] + [f"warning: {text}" for text in self.warnings]

    def _repr_html_(self) -> str:
        remarks = "".join(f"<p>{html.escape(text)}</p>" for text in self._remarks())
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.in_words().items()
        )
        return f"<table><caption>{html.escape(self.command)}</caption>{rows}</table>{remarks}"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport:
    """Scores of models.

    Attributes
    ----------
    command : str
        Such as "vqa-ce score".
    scores : pl.DataFrame
        metric, group, subgroup, scorer, model, value, n, low, high; see
        :func:`shortcut_miner.scoring.intervals.summarise`.
    notes, warnings : tuple of str
        What was decided while reading, and what may be wrong.
    dropped : mapping of str to int
        Rows and questions left out on request, by file and reason, as in the manifest.
    extracted_answers : pl.DataFrame or None
        With the option extract: model, raw_answer (as given), answer (as scored), and whose answer it is.
    """

    command: str
    scores: pl.DataFrame
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int] = dataclasses.field(default_factory=dict)
    extracted_answers: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        """Say the same once."""
        object.__setattr__(self, "notes", tuple(dict.fromkeys(self.notes)))
        object.__setattr__(self, "warnings", tuple(dict.fromkeys(self.warnings)))

    @property
    def is_complete(self) -> bool:
        """False if something was left out on request."""
        return not self.dropped

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables that are written, by name without ``.parquet``."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in fields.items() if isinstance(value, pl.DataFrame)}

    def paper_table(self) -> pl.DataFrame:
        """Return the first group's numbers, overall as a rule: a row a model, a column a metric."""
        overall = self.scores.filter(pl.col("group") == pl.col("group").first())
        return overall.pivot("metric", index="model", values="value", maintain_order=True)

    def paper_columns(self) -> PaperColumns:
        """Return the columns of scores.tex: heading -> metric, group and subgroup."""
        first = self.scores.filter(pl.col("group") == pl.col("group").first())
        cells = first.select("metric", "group", "subgroup").unique(maintain_order=True)
        return {str(metric): (metric, group, subgroup) for metric, group, subgroup in cells.iter_rows()}

    def __repr__(self) -> str:
        """Return the command, warnings and the overall numbers."""
        with shown_whole():
            told = "".join(f"warning: {text}\n" for text in self.warnings)
            return f"{self.command}\n{told}{self.paper_table()}"

    def _repr_html_(self) -> str:
        with shown_whole():
            told = "".join(f"<p>warning: {html.escape(text)}</p>" for text in self.warnings)
            return f"<p>{html.escape(self.command)}</p>{told}{self.paper_table()._repr_html_()}"
