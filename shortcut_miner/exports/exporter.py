"""What an exporter is: its name, and how it writes questions for one consumer."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.sources.images.image_files import Images

_OF_SET = re.compile(r"\{predictions of ([^{}]+)\}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an exporter wrote.

    Attributes
    ----------
    run : str
        The exact command that runs the consumer on it, lines for a shell; {out} stands for the folder.
    read_back : str
        The exact command that scores what the consumer writes; {out} as above.
    notes : tuple of str
        What was decided or had to be changed.
    """

    run: str
    read_back: str
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Exporter:
    """A format of ``shortcut-miner export --to``.

    Attributes
    ----------
    name : str
        Such as "vqa-json".
    consumer : str
        Who reads it, for messages and help.
    write : callable
        Takes the questions, their images and an empty folder; writes files, no folders, into it, none of
        them manifest.json or run.json, and returns an Exported. Where the files are going to be is told by
        :func:`shortcut_miner.publishing.published_folder`.
    holds_images : bool
        Whether its files hold images themselves, so that they may come packed.
    """

    name: str
    consumer: str
    write: Callable[[QuestionSets, Images, Path], Exported]
    holds_images: bool = False


def scored(questions: QuestionSets, predictions: str | Mapping[str, str]) -> str:
    """Return the command that scores predictions.

    Parameters
    ----------
    questions : QuestionSets
        What they answer.
    predictions : str or mapping of str to str
        What goes to the command, such as "model={out}/answers.json": for the first set, or by set. Other sets
        that the command asks for are left to the user.
    """
    given = {next(iter(questions.sets)): predictions} if isinstance(predictions, str) else predictions
    command = questions.read_back.replace("{predictions}", next(iter(given.values())))
    return "shortcut-miner " + _OF_SET.sub(lambda place: given.get(place[1], "NAME=FILE"), command)
