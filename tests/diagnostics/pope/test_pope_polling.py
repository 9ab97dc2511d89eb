"""Which images and objects are asked about, against plain Python, and what must hold whatever they are."""

import random
from itertools import pairwise
from typing import Any

import pytest
from diagnostics.pope.worlds import World, adversarial, frequency, popular, together
from hypothesis import assume, given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.pope.config import STRATEGIES
from shortcut_miner.diagnostics.pope.polling import Slot, choose_images, near_names, poll, rank_names
from shortcut_miner.diagnostics.pope.wording import object_of, question_about
from shortcut_miner.errors import ConfigError

NAMES = [*"abcdefghij"]
TIES = ("first", "lexicographic")


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Return images that each have some names, in an order of their own, and lack some."""
    lists = st.lists(st.sampled_from(NAMES), min_size=0, max_size=7, unique=True)
    return {f"i{at}": names for at, names in enumerate(draw(st.lists(lists, min_size=1, max_size=9)))}


def asked(world: World, size: int, ties: Any = "lexicographic", **more: Any) -> dict[str, list[Slot]]:
    ranks = rank_names(world, ties)
    banned = more.get("banned", {})
    return {one: poll(world, banned, ranks, one, size, more.get("seed", 0)) for one in STRATEGIES}


def full(world: World, size: int, banned: Any = None) -> World:
    """Return the images of which enough can be asked, or give the example up."""
    try:
        found = choose_images(world, banned or {}, 1, size, 0)
        chosen = choose_images(world, banned or {}, found.eligible, size, 0).objects
        asked({**chosen}, size, banned=banned or {})
    except ConfigError:
        assume(False)
    return {image: [*names] for image, names in chosen.items()}


@given(worlds(), st.integers(1, 3), st.integers(0, 3))
def test_which_images_are_eligible(world: World, size: int, seed: int) -> None:
    rich = {image: names for image, names in world.items() if len(names) >= size}
    known = {name for names in rich.values() for name in names}
    fitting = [image for image, names in rich.items() if len(known - set(names)) >= size]
    if not fitting:
        with pytest.raises(ConfigError, match=r"image_count: got 1, expected at most 0: so many of "):
            choose_images(world, {}, 1, size, seed)
        return
    chosen = choose_images(world, {}, len(fitting), size, seed)
    assert [*chosen.objects] == fitting
    assert (chosen.eligible, chosen.few_objects) == (len(fitting), len(world) - len(rich))
    assert chosen.few_absent == len(rich) - len(fitting)
    few = [{*choose_images(world, {}, count, size, seed).objects} for count in range(1, len(fitting) + 1)]
    assert [len(one) for one in few] == [*range(1, len(fitting) + 1)]
    assert all(one < other for one, other in pairwise(few)), "a larger sample has the smaller one"


@given(worlds(), st.sampled_from(TIES))
def test_counts_and_ranks(world: World, ties: Any) -> None:
    ranks = rank_names(world, ties)
    names = {name for one in world.values() for name in one}
    assert ranks.frequency == {name: frequency(world, name) for name in names}
    left = sorted(names)
    for name in ranks.frequency:
        assert name == popular(world, left, ties)
        left.remove(name)
    for name in names:
        assert ranks.beside[name] == {
            other: count for other in names if other != name and (count := together(world, name, other))
        }
        left = sorted(ranks.beside[name])
        for other in ranks.beside[name]:
            assert other == adversarial(world, name, left, ties)
            left.remove(other)


@given(worlds(), st.integers(1, 3), st.sampled_from(TIES))
def test_absent_objects(world: World, size: int, ties: Any) -> None:
    chosen = full(world, size)
    for strategy, slots in asked(chosen, size, ties).items():
        images = [slots[at : at + size] for at in range(0, len(slots), size)]
        assert [one[0].image_id for one in images] == [*chosen]
        for of_image in images:
            names = chosen[of_image[0].image_id]
            allowed = sorted({name for one in chosen.values() for name in one} - {*names})
            assert [slot.present for slot in of_image] == names[:size]
            for slot in of_image:
                best = adversarial(chosen, slot.present, allowed, ties)
                assert slot.absent in allowed
                assert slot.is_fallback == (strategy == "adversarial" and best is None)
                if strategy == "popular":
                    assert slot.absent == popular(chosen, allowed, ties)
                elif strategy == "adversarial" and best is not None:
                    assert slot.absent == best
                allowed.remove(slot.absent)


@given(worlds(), st.integers(1, 2), st.data())
def test_what_is_there_by_another_source_is_never_asked_as_absent(
    world: World, size: int, data: st.DataObject
) -> None:
    banned = {image: data.draw(st.sets(st.sampled_from(NAMES), max_size=3)) for image in world}
    chosen = full(world, size, banned)
    for slots in asked(chosen, size, banned=banned).values():
        assert not [slot for slot in slots if slot.absent in banned[slot.image_id]]


@given(worlds(), st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_images_changes_nothing_without_ties_by_order(
    world: World, seed: int, rng: random.Random
) -> None:
    chosen = full(world, 1)
    shuffled = dict(rng.sample([*chosen.items()], len(chosen)))
    for strategy, slots in asked(chosen, 1, seed=seed).items():
        others = asked(shuffled, 1, seed=seed)[strategy]
        assert {slot.image_id: slot for slot in others} == {slot.image_id: slot for slot in slots}
    first, second = (choose_images(one, {}, 1, 1, seed).objects for one in (chosen, shuffled))
    assert first == second


def test_random_objects_are_spread_evenly() -> None:
    world = {f"i{at}": ["a", "b"] for at in range(2000)} | {f"o{at}": [name] for at, name in enumerate(NAMES)}
    slots = poll(dict(list(world.items())[:2000]), {}, rank_names(world, "first"), "random", 1, 0)
    counts = {name: sum(slot.absent == name for slot in slots) for name in NAMES[2:]}
    assert sum(counts.values()) == 2000
    assert all(200 < count < 300 for count in counts.values())  # 250 expected, five standard deviations away


def test_an_image_that_lacks_too_few_of_the_chosen_names() -> None:
    world = {"1": ["a", "b"], "2": ["b", "a"]}
    with pytest.raises(ConfigError) as told:
        poll(world, {}, rank_names(world, "first"), "random", 1, 0)
    assert str(told.value) == (
        "objects, image '1': got 0 names that it lacks among those of the 2 chosen images, expected 1. "
        "Choose more images with --image-count, or another --seed."
    )


@pytest.mark.parametrize(
    ("name", "article", "text"),
    [
        ("dog", "letter", "Is there a dog in the image?"),
        ("orange", "letter", "Is there an orange in the image?"),
        ("Umbrella", "letter", "Is there an Umbrella in the image?"),
        ("hour glass", "letter", "Is there a hour glass in the image?"),
        ("dog", "reference", "Is there a dog in the image?"),
        ("oven", "reference", "Is there an oven in the imange?"),
    ],
)
def test_wording(name: str, article: Any, text: str) -> None:
    assert question_about(name, "Is there a {} in the image?", article) == text
    assert object_of(text) == name


def test_other_templates() -> None:
    assert question_about("apple", "Can you see a {}?", "letter") == "Can you see an apple?"
    assert question_about("apple", "Is an {} there?", "letter") == "Is an apple there?"
    assert question_about("apple", "Panda {}?", "letter") == "Panda apple?"
    assert object_of("Can you see an apple?") is None


def test_near_names() -> None:
    assert near_names("dining table", ["tables", "chair"]) == ["tables"]
    assert near_names("cat", ["cattle", "caterpillar"]) == []
