"""Which objects are asked about: the first ones of an image, and absent ones by three strategies.

Li et al., EMNLP 2023, section 4: absent objects are drawn at random, or are the most frequent ones, or those
that most often stand beside the object asked before. Frequencies are those of the chosen images alone.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.pope.config import Ties
from shortcut_miner.errors import ConfigError
from shortcut_miner.keyed_draws import draw_below, id_keys

Objects = Mapping[str, Sequence[str]]  # image_id -> its objects, each once, in the order of the file
Banned = Mapping[str, Collection[str]]  # image_id -> further objects that must not be asked as absent


@dataclass(frozen=True, slots=True)
class Chosen:
    """The images that are asked about, and how many left before.

    Attributes
    ----------
    objects : mapping
        The chosen images, in the order of the file.
    eligible : int
        Images that they were drawn from.
    few_objects, few_absent : int
        Images that left: with too few objects, or with too few names that they lack.
    """

    objects: Objects
    eligible: int
    few_objects: int
    few_absent: int


@dataclass(frozen=True, slots=True)
class Ranks:
    """Names by frequency, and by how often they stand beside a name: both downwards, with counts.

    Attributes
    ----------
    frequency : dict of str to int
        Name -> chosen images that have it.
    beside : dict of str to dict of str to int
        Name -> other name -> chosen images that have both.
    """

    frequency: dict[str, int]
    beside: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Slot:
    """A present object and the absent one beside it; a fallback is a draw where nothing co-occurs."""

    image_id: str
    present: str
    absent: str
    is_fallback: bool


def choose_images(
    objects: Objects,
    banned: Banned,
    count: int,
    size: int,
    seed: int,
    *,
    source: str = "objects",
    may_be_fewer: bool = False,
) -> Chosen:
    """Return `count` of the images that have `size` objects, and lack `size` names that others have.

    Parameters
    ----------
    objects, banned : mapping
        All images.
    count, size, seed : int
        Images to choose, objects to ask of each, and of the draw: an image's place in it depends on its id.
    source : str
        The file that they are from, for messages.
    may_be_fewer : bool
        Choose all, where there are some but fewer.

    Raises
    ------
    ConfigError
        There are fewer images.
    """
    rich = {image_id: names for image_id, names in objects.items() if len(names) >= size}
    vocabulary = {name for names in rich.values() for name in names}
    eligible = {
        image_id: names
        for image_id, names in rich.items()
        if len(vocabulary - {*names, *banned.get(image_id, ())}) >= size
    }
    if may_be_fewer and eligible:
        count = min(count, len(eligible))
    if len(eligible) < count:
        raise ConfigError(
            f"image_count: got {count:,}, expected at most {len(eligible):,}: so many of {len(objects):,} "
            f"images in {source} have {size} objects and lack as many names. Change --image-count or "
            "--objects-per-image."
        )
    ids = pl.Series([*eligible], dtype=pl.String)
    keys = id_keys(ids, seed, "pope images")
    drawn = {ids[int(at)] for at in np.lexsort((ids.to_numpy(), keys))[:count]}
    chosen = {image_id: names for image_id, names in eligible.items() if image_id in drawn}
    return Chosen(chosen, len(eligible), len(objects) - len(rich), len(rich) - len(eligible))


def rank_names(objects: Objects, ties: Ties) -> Ranks:
    """Return the names of the chosen images by frequency and by co-occurrence.

    Of equally frequent ones comes first which images in the order of the file have first ("first"; beside a
    name: which is met there first), or which is first by name.
    """
    frequency: Counter[str] = Counter()
    beside: dict[str, Counter[str]] = {}
    for names in objects.values():
        frequency.update(names)
        for name in names:
            beside.setdefault(name, Counter()).update(other for other in names if other != name)
    return Ranks(_ranked(frequency, ties), {name: _ranked(counts, ties) for name, counts in beside.items()})


def _ranked(counts: Counter[str], ties: Ties) -> dict[str, int]:
    """Return counts downwards; a Counter keeps the order in which its names were met."""
    names = [*counts] if ties == "first" else sorted(counts)
    return {name: counts[name] for name in sorted(names, key=lambda name: -counts[name])}


def poll(
    objects: Objects,
    banned: Banned,
    ranks: Ranks,
    strategy: str,
    size: int,
    seed: int,
    *,
    source: str = "objects",
) -> list[Slot]:
    """Return what is asked of each image by one strategy, image by image in the order given.

    Raises
    ------
    ConfigError
        An image lacks fewer names than are asked of it; it is named, and the file `source`.
    """
    vocabulary = sorted(ranks.frequency)
    ids = pl.Series([*objects], dtype=pl.String)
    keys = id_keys(ids, seed, f"pope {strategy}")
    slots = []
    for at, (image_id, names) in enumerate(objects.items()):
        taken = {*names, *banned.get(image_id, ())}
        allowed = [name for name in vocabulary if name not in taken]
        if len(allowed) < size:
            raise ConfigError(
                f"{source}, image {image_id!r}: got {len(allowed)} names that it lacks among those of the "
                f"{len(objects):,} chosen images, expected {size}. Choose more images "
                "with --image-count, or another --seed."
            )
        for place, present in enumerate(names[:size]):
            drawn = allowed[int(draw_below(keys[at : at + 1], place, len(allowed))[0])]
            absent, is_fallback = _absent(strategy, present, set(allowed), ranks, drawn)
            allowed.remove(absent)
            slots.append(Slot(image_id, present, absent, is_fallback))
    return slots


def _absent(strategy: str, present: str, allowed: set[str], ranks: Ranks, drawn: str) -> tuple[str, bool]:
    """Return the object to ask for as absent, and whether it is a draw for want of a better one."""
    if strategy == "random":
        return drawn, False
    if strategy == "popular":
        return next(name for name in ranks.frequency if name in allowed), False
    found = next((name for name in ranks.beside[present] if name in allowed), None)
    return (drawn, True) if found is None else (found, False)


def near_names(name: str, others: Collection[str]) -> list[str]:
    """Return the other names that share a word with a name, whatever its number: a doubt about "absent".

    >>> near_names("table", ["dining table", "cup"]), near_names("dogs", ["hot dog", "dog bed"])
    (['dining table'], ['dog bed', 'hot dog'])
    """
    words = _words(name)
    return sorted(other for other in others if words & _words(other))


def _words(name: str) -> set[str]:
    return {word.removesuffix("s") for word in name.lower().split()}
