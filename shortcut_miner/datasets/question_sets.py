"""What a built folder offers to evaluators: questions with their answers, by set and by split."""

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.sources.images.image_files import Images


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSets:
    """The questions of a built folder as evaluators take them.

    Attributes
    ----------
    path : Path
        The folder.
    command : str
        What built it, such as "vqa-ce build".
    title : str
        What the sets are, in a few words, such as "VQA-CE subsets".
    license, citation : str
        Of the method's article and the questions; "" where nothing is known.
    sets : mapping of str to mapping of str to pl.DataFrame
        Set -> split -> questions, none of them empty. The first set is the default one. A table has the
        columns of schemas.Questions, further ones of the room, and each question_id once, sorted by it.
        Its `answers` are never null where `answer` isn't: without a list they are the answer alone.
    read_back : str
        The command that scores answers to these questions, with {predictions} where NAME=FILE goes, such as
        "vqa-ce score FOLDER --predictions {predictions}"; {predictions of SET} where a set has its own place.
        Braces may be in the folder's name too: replace.
    images : Images or None
        The images of these questions, where the folder holds them itself; questions then stand in the order
        in which these lie.
    """

    path: Path
    command: str
    title: str
    sets: Mapping[str, Mapping[str, pl.DataFrame]]
    read_back: str
    license: str = ""
    citation: str = ""
    images: Images | None = None

    def only(self, subsets: tuple[str, ...]) -> "QuestionSets":
        """Return the sets with some of their splits alone.

        Raises
        ------
        ConfigError
            A name that no set has as a split.
        """
        if not subsets:
            return self
        known = list(dict.fromkeys(name for splits in self.sets.values() for name in splits))
        if unknown := [name for name in subsets if name not in known]:
            raise ConfigError(
                f"subset: got {examples(unknown)}, expected some of {', '.join(known)}. Change --subset."
            )
        chosen = {
            name: {split: table for split, table in splits.items() if split in subsets}
            for name, splits in self.sets.items()
        }
        return dataclasses.replace(self, sets={name: splits for name, splits in chosen.items() if splits})

    def first(self, limit: int | None) -> "QuestionSets":
        """Return the sets with the first questions of each split alone; all of them for None."""
        return self if limit is None else self.changed(lambda table: table.head(limit))

    def splits(self) -> list[tuple[str, str, pl.DataFrame]]:
        """Return set, split and questions, a row a split."""
        return [(name, split, table) for name, splits in self.sets.items() for split, table in splits.items()]

    def by_stem(self) -> dict[str, pl.DataFrame]:
        """Return the questions of each split by SET_SPLIT, which files about it are called."""
        return {f"{name}_{split}": table for name, split, table in self.splits()}

    def counts(self) -> list[tuple[str, str, int]]:
        """Return set, split and number of questions, a row a split."""
        return [(name, split, len(table)) for name, split, table in self.splits()]

    def values(self, column: str) -> pl.Series:
        """Return what a column of Questions holds in all splits together, in order."""
        return pl.concat([table[column] for _, _, table in self.splits()])

    def image_ids(self) -> pl.Series:
        """Return the images of all questions, each once, sorted."""
        return self.values("image_id").unique().sort()

    def changed(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> "QuestionSets":
        """Return the sets with each split's table as a function gives it."""
        sets = {
            name: {split: change(table) for split, table in splits.items()}
            for name, splits in self.sets.items()
        }
        return dataclasses.replace(self, sets=sets)


def question_sets_of(
    path: Path,
    *,
    command: str,
    title: str,
    sets: Mapping[str, Mapping[str, pl.DataFrame]],
    read_back: str,
    license: str = "",  # the field's name
    citation: str = "",
    images: Images | None = None,
) -> QuestionSets:
    """Return the sets of a folder as they are promised: sorted, with lists of answers, and none empty.

    Raises
    ------
    SourceError
        No split has a question.
    """
    filled = {
        name: {
            split: _with_lists(table) if images is not None else _with_lists(table).sort("question_id")
            for split, table in splits.items()
            if len(table)
        }
        for name, splits in sets.items()
    }
    filled = {name: splits for name, splits in filled.items() if splits}
    if not filled:
        raise SourceError(
            f"{path}: got no question in any set, expected a {command} with questions to ask. "
            "Build it from more questions."
        )
    return QuestionSets(
        path=path,
        command=command,
        title=title,
        sets=filled,
        read_back=read_back,
        license=license,
        citation=citation,
        images=images,
    )


def _with_lists(table: pl.DataFrame) -> pl.DataFrame:
    alone = pl.when(pl.col("answer").is_not_null()).then(pl.concat_list("answer"))
    given = pl.when(pl.col("answers").list.len() > 0).then("answers")
    return table.with_columns(answers=pl.coalesce(given, alone))


def quoted(path: Path) -> str:
    """Return a path as a shell takes it.

    >>> quoted(Path("my data"))
    "'my data'"
    """
    return shlex.quote(str(path))
