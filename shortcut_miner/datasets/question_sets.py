"""What a built folder offers to evaluators: questions with their answers, by set and by split."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.errors import ConfigError, examples


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
    read_back : str
        The command that scores answers to these questions, with {predictions} where the files of answers go,
        such as "vqa-ce score FOLDER --predictions {predictions}".
    """

    path: Path
    command: str
    title: str
    sets: Mapping[str, Mapping[str, pl.DataFrame]]
    read_back: str
    license: str = ""
    citation: str = ""

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
