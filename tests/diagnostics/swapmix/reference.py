"""The plan by brute force: plain Python over lists and dictionaries, one object at a time."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig

MASK = (1 << 64) - 1
Row = dict[str, Any]


def key_of(one: str, seed: int, kind: str) -> int:
    text = f"{seed}/{len(kind)}/{kind}/{one}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def word(key: int, draw: int) -> int:
    z = (key + 0x9E3779B97F4A7C15 * (draw + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(key: int, draw: int) -> float:
    return (word(key, draw) >> 11) * 2.0**-53


def below(key: int, draw: int, bound: int) -> int:
    return min(math.floor(uniform(key, draw) * bound), bound - 1)


def shuffled(key: int, items: list[Any]) -> Iterator[Any]:
    """Give the items in random order: Fisher and Yates' shuffle from the front."""
    left = list(items)
    for draw in range(len(left)):
        at = draw + below(key, draw, len(left) - draw)
        left[draw], left[at] = left[at], left[draw]
        yield left[draw]


def iou(one: Row, other: Row) -> float:
    width = min(one["x2"], other["x2"]) - max(one["x1"], other["x1"])
    height = min(one["y2"], other["y2"]) - max(one["y1"], other["y1"])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box["x2"] - box["x1"]) * (box["y2"] - box["y1"]) for box in (one, other)]
    return width * height / (sum(areas) - width * height)


def region_of(one: Row, regions: list[Row], config: SwapMixConfig) -> int | None:
    best, found = config.min_iou, None
    for region in sorted(regions, key=lambda region: region["region_index"]):
        if region["image_id"] != one["image_id"] or (region["is_padding"] and not config.padded_regions):
            continue
        if iou(one, region) > best:
            best, found = iou(one, region), region["region_index"]
    return found


def context_of(question: Row, objects: list[Row], config: SwapMixConfig) -> list[Row]:
    own = [one for one in objects if one["image_id"] == question["image_id"]]
    relevant = [one for one in own if one["object_id"] in question["relevant_objects"]]
    context = [one for one in own if one not in relevant]
    if config.context_key == "name":
        context = list({one["name"]: one for one in context}.values())
    if config.plan != "perfect-sight":
        context = [one for one in context if one["region"] is not None]
        taken = {one["region"] for one in relevant}
        if not config.shared_regions:
            context = [one for one in context if one["region"] not in taken]
    return sorted(context, key=lambda one: one["object_id"])


class Reference:
    """A world, and the swaps of one object of one question."""

    def __init__(
        self,
        objects: list[Row],
        regions: list[Row],
        similar: dict[str, list[str]],
        config: SwapMixConfig,
        donors: list[Row] | None = None,
    ) -> None:
        self.config, self.similar = config, similar
        for one in [*objects, *(donors or [])]:
            one["region"] = region_of(one, regions, config)
            one["set"] = ", ".join(sorted(set(one["attributes"])))
        self.objects = objects
        usable = [
            one for one in donors or objects if one["region"] is not None or config.plan == "perfect-sight"
        ]
        self.donors: defaultdict[str, list[Row]] = defaultdict(list)
        for one in sorted(usable, key=lambda one: (one["set"], one["image_id"], one["object_id"])):
            self.donors[one["name"]].append(one)

    def allowed(self, one: Row, name: str) -> list[Row]:
        if self.config.own_image_donors:
            same = (one["image_id"], one["object_id"])
            return [donor for donor in self.donors[name] if (donor["image_id"], donor["object_id"]) != same]
        return [donor for donor in self.donors[name] if donor["image_id"] != one["image_id"]]

    def pair_key(self, question: Row, one: Row) -> int:
        seed = self.config.seed
        left = key_of(question["question_id"], seed, "swapmix question")
        return word(left ^ key_of(one["object_id"], seed, "swapmix object"), 0)

    def classes(self, one: Row, padding_key: int) -> list[tuple[str, bool]]:
        k, own = self.config.k, one["name"]
        near = [name for name in self.similar.get(own, []) if self.allowed(one, name)][:k]
        chosen = [(name, False) for name in near]
        if self.config.padding == "random":
            for name in shuffled(padding_key, sorted(name for name in self.donors if self.donors[name])):
                if len(chosen) == k:
                    break
                if name != own and name not in near and self.allowed(one, name):
                    chosen.append((name, True))
        return chosen

    def attribute_donors(self, one: Row) -> list[Row]:
        return [donor for donor in self.allowed(one, one["name"]) if donor["set"] != one["set"]]

    def swaps(self, question: Row, one: Row) -> Iterator[Row]:
        key = self.pair_key(question, one)
        for slot, (name, is_padding) in enumerate(self.classes(one, word(key, 2))):
            donors = self.allowed(one, name)
            yield self.row(
                question,
                one,
                "class",
                slot + 1,
                name,
                donors[below(word(key, 1), slot, len(donors))],
                is_padding,
            )
        for slot, donor in enumerate(shuffled(word(key, 3), self.attribute_donors(one))):
            if slot == self.config.k:
                break
            yield self.row(question, one, "attribute", slot + 1, one["name"], donor, False)

    def training_swap(self, question: Row, one: Row, epoch: int) -> Row | None:
        key = word(word(self.pair_key(question, one), 4), epoch)
        if not uniform(key, 0) < self.config.swap_probability:
            return None
        if uniform(key, 1) < self.config.class_probability:
            chosen = self.classes(one, word(key, 4))
            if not chosen:
                return None
            slot = below(key, 2, len(chosen))
            donors = self.allowed(one, chosen[slot][0])
            donor = donors[below(key, 3, len(donors))]
            return self.row(question, one, "class", slot + 1, chosen[slot][0], donor, chosen[slot][1])
        donor = next(shuffled(word(key, 5), self.attribute_donors(one)), None)
        return donor and self.row(question, one, "attribute", 1, one["name"], donor, False)

    def row(
        self, question: Row, one: Row, kind: str, slot: int, to_class: str, donor: Row, is_padding: bool
    ) -> Row:
        is_attribute = kind == "attribute"
        return {
            "question_id": question["question_id"],
            "image_id": question["image_id"],
            "object_id": one["object_id"],
            "region_index": one["region"],
            "kind": kind,
            "swap_index": slot,
            "from_class": one["name"],
            "to_class": to_class,
            "from_attribute": one["set"] if is_attribute else None,
            "to_attribute": donor["set"] if is_attribute else None,
            "is_padding": is_padding,
            "donor_image_id": donor["image_id"],
            "donor_object_id": donor["object_id"],
            "donor_region_index": donor["region"],
        }

    def plan(self, questions: list[Row]) -> Iterator[Row]:
        for question in sorted(questions, key=lambda question: question["question_id"]):
            number = 0
            for one in context_of(question, self.objects, self.config):
                for row in self.swaps(question, one):
                    number += 1
                    yield {**row, "perturbation": number}

    def epoch(self, questions: list[Row], epoch: int) -> Iterator[Row]:
        for question in sorted(questions, key=lambda question: question["question_id"]):
            taken: set[int] = set()
            for one in context_of(question, self.objects, self.config):
                row = self.training_swap(question, one, epoch)
                if row and row["region_index"] not in taken:
                    taken.add(row["region_index"])
                    yield {**row, "epoch": epoch}
