"""One case of fuzzing: a damaged file, the reader or command that is given it, and how that ends."""

import contextlib
import io
import random
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fuzzing.mutants import mutant
from fuzzing.world import Command, commands, in_folder
from sources.corpus import CORPUS, OF_OTHERS, TABLES, readers, table_readers

from shortcut_miner.cli.inspect import find_out
from shortcut_miner.cli.run import run
from shortcut_miner.diagnostics.rad.pairs import read_pairs
from shortcut_miner.diagnostics.swapmix.neighbours import read_similar_classes
from shortcut_miner.errors import UNSEEN, ShortcutMinerError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.sources.questions.question_sets import read_question_set
from shortcut_miner.sources.questions.tables import read_question_table
from shortcut_miner.sources.questions.values import read_id_list
from shortcut_miner.sources.questions.vqa import read_vqa_annotations, read_vqa_questions

SECONDS = 60
FINE = ("read", "rows skipped", "refused")
Read = Callable[[Path], object]


@dataclass(frozen=True)
class Outcome:
    """How a case ended: one of FINE, or what should not happen; `told` is the message."""

    kind: str
    told: str = ""


@dataclass(frozen=True)
class Target:
    """What is given a damaged file, and a whole file to damage."""

    name: str
    whole: bytes
    reader: Read | None = None
    command: Command | None = None


class TooLongError(BaseException):
    """A case that did not end in time."""


def targets(world: Path) -> list[Target]:
    """Return every reader with every format that it takes, every command with every file that it reads."""
    folder = world / "second"
    folder.mkdir(exist_ok=True)
    by_family = readers(folder)
    found = [
        Target(f"{family}: {kind}", whole, by_family[family])
        for family, files in CORPUS.items()
        for kind, whole in files.items()
    ]
    skipping = _skipping()
    found += [
        Target(f"{family}, skipping: {kind}", whole, skipping[family])
        for family, files in CORPUS.items()
        if family in skipping
        for kind, whole in files.items()
    ]
    wholes = {kind: whole for files in CORPUS.values() for kind, whole in files.items()}
    wholes |= {kind: whole for kind, (whole, _) in TABLES.items()}
    wholes |= {kind: whole for kind, (whole, *_) in OF_OTHERS.items()}
    found += [Target(f"inspect: {kind}", whole, _inspected) for kind, whole in wholes.items()]
    found += [
        Target(f"table: {kind}", whole, table_readers()[goes_to])
        for kind, (whole, goes_to) in TABLES.items()
        if goes_to in table_readers()
    ]
    found += [
        Target("pairs", b"original_id,augmented_id\n1,2\n", read_pairs),
        Target("pairs", b'{"original_id": 1, "augmented_id": 2}\n' * 2, read_pairs),
        Target("similar classes", b'{"cat": {"dog": 0.9}}', read_similar_classes),
        Target("similar classes", wholes["a Parquet table with the columns 'class', 'neighbour', 'cosine'"],
               read_similar_classes),
        Target("ids", b'["1", "2"]', read_id_list),
        Target("ids", b"1\n2\n", read_id_list),
    ]  # fmt: skip
    found += [
        Target(f"{one.name}: {one.damaged}", (world / one.damaged).read_bytes(), command=one)
        for one in commands(world)
    ]
    return found


def _skipping() -> dict[str, Read]:
    return {
        "questions": lambda path: read_vqa_questions(path, on_bad_row="skip"),
        "sets": lambda path: read_question_set(path, on_bad_row="skip"),
        "annotations": lambda path: read_vqa_annotations(path, on_bad_row="skip"),
        "gqa": lambda path: read_gqa_questions(path, on_bad_row="skip"),
        "regions": lambda path: read_regions(path, on_bad_row="skip"),
        "labels": lambda path: read_labels(path, on_bad_row="skip"),
        "scene graphs": lambda path: read_scene_graphs(path, on_bad_row="skip"),
        "predictions": lambda path: read_predictions(path, on_bad_row="skip"),
        "soft labels": lambda path: read_soft_labels(path, on_bad_row="skip"),
        "tables": lambda path: read_question_table(path, on_bad_row="skip"),
    }


def _inspected(path: Path) -> object:
    found = find_out(path, 5)
    _check_message("\n".join(found.problems))
    return found


def drawn(seed: int, number: int, among: list[Target]) -> tuple[Target, str, bytes]:
    """Return the target of a case, how its file was damaged, and the file: the same for a seed and number."""
    draw = random.Random(f"{seed}/{number}")
    kinds = ([one for one in among if one.reader], [one for one in among if one.command])
    target = draw.choice(draw.choices(kinds, (5, 1))[0])
    whole = draw.choice(among).whole if draw.random() < 0.1 else target.whole
    how, damaged = mutant(whole, draw)
    return target, how, damaged


def outcome(target: Target, damaged: bytes, world: Path, scratch: Path) -> Outcome:
    """Give a damaged file to a reader or command, in a folder of its own that is emptied afterwards."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        with _in_time():
            if target.command is None:
                return _read(target, damaged, scratch)
            return _run(target.command, damaged, world, scratch)
    except TooLongError:
        return Outcome("too long")
    except (OSError, MemoryError) as error:
        return Outcome("bare system error", f"{type(error).__name__}: {error} @ {_place(error)}")
    except BaseException as error:
        return Outcome("traceback", f"{type(error).__name__}: {str(error)[:300]} @ {_place(error)}")


def _read(target: Target, damaged: bytes, scratch: Path) -> Outcome:
    path = scratch / "damaged"
    path.write_bytes(damaged)
    assert target.reader is not None
    try:
        found = target.reader(path)
    except ShortcutMinerError as error:
        told = str(error)
        _check_message(told)
        assert str(path) in told, f"names no file: {told}"
        assert " got " in told, f"says not what was got: {told}"
        return Outcome("refused", told)
    return Outcome("rows skipped" if getattr(found, "dropped", None) else "read")


def _run(command: Command, damaged: bytes, world: Path, scratch: Path) -> Outcome:
    """Run a command on a copy of the world in which a file is damaged."""
    for one in world.iterdir():
        if one.name in (command.folder, command.damaged.split("/")[0]) and one.is_dir():
            shutil.copytree(one, scratch / one.name)
        elif one.name != command.damaged:
            (scratch / one.name).symlink_to(one)
    path = scratch / command.damaged
    path.write_bytes(damaged)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(in_folder(command.words, scratch))
    told = out.getvalue() + err.getvalue()
    assert code in (0, 1, 2, 3), told[-2000:]
    shown = UNSEEN.search(told)
    assert shown is None, f"prints {shown and shown[0]!r}: {told[-2000:]}"
    if code == 2:
        error = err.getvalue()
        assert "the memory is full" not in error, error
        assert "Check the path, its permissions and the disk" not in error, error
        message = error.partition("error: ")[2]
        _check_message(message.rstrip("\n"))
        assert str(scratch) in message or path.name in message, f"names no file: {message}"
    return Outcome({2: "refused", 3: "rows skipped"}.get(code, "read"), told)


def _check_message(told: str) -> None:
    assert len(told) < 2000, f"{len(told)} characters: {told[:300]}"
    assert not UNSEEN.search(told), f"control characters: {told!r}"
    assert not re.search(r"Traceback|panicked|polars\.|msgspec|pyarrow\.", told), told


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _place(error: BaseException) -> str:
    """Return the last place in the package that an error came from."""
    place, at = "?", error.__traceback__
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if "shortcut_miner/" in name or "fuzzing/" in name:
            place = f"{Path(name).name}:{at.tb_frame.f_code.co_name}:{at.tb_lineno}"
        at = at.tb_next
    return place
