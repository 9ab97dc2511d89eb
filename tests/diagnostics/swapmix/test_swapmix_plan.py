from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from diagnostics.swapmix.reference import Reference
from diagnostics.swapmix.worlds import Tiny, draw_plan, worlds
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig
from shortcut_miner.schemas import Swaps, validated

COLUMNS = (
    "question_id", "perturbation", "image_id", "object_id", "region_index", "kind", "swap_index",
    "from_class", "to_class", "from_attribute", "to_attribute", "is_padding", "donor_image_id",
    "donor_object_id", "donor_region_index",
)  # fmt: skip

configs = st.builds(
    SwapMixConfig,
    preset=st.sampled_from(["code", "paper"]),
    k=st.integers(1, 4),
    seed=st.integers(0, 3),
    padding=st.sampled_from(["random", "none"]),
    min_iou=st.sampled_from([0.0, 0.2]),
    min_cosine=st.sampled_from([0.5, 0.7]),
    own_image_donors=st.sampled_from([None, True, False]),
)


def swaps_of(world: Tiny, config: SwapMixConfig, **changed: Any) -> pl.DataFrame:
    return draw_plan(world.inputs(**changed), config)["swaps.parquet"]


def reference_of(world: Tiny, config: SwapMixConfig) -> Reference:
    objects = [dict(one) for one in world.objects]
    return Reference(objects, world.regions, world.neighbours(config), config)


def known(world: Tiny) -> list[dict[str, Any]]:
    images = {one["image_id"] for one in world.objects}
    return [question for question in world.questions if question["image_id"] in images]


@given(worlds(), configs)
def test_plan_equals_brute_force(world: Tiny, config: SwapMixConfig) -> None:
    plan = swaps_of(world, config)
    assert plan.columns == list(COLUMNS)
    expected = list(reference_of(world, config).plan(known(world)))
    swaps = plan.filter(pl.col("kind") != "original")
    assert swaps.to_dicts() == [{name: row[name] for name in COLUMNS} for row in expected]


@given(worlds(), configs)
def test_invariants(world: Tiny, config: SwapMixConfig) -> None:
    plan = swaps_of(world, config)
    objects = {one["object_id"]: one for one in world.objects}
    validated(plan, Swaps, "plan")
    assert plan.equals(plan.sort("question_id", "perturbation"))
    for (question_id,), rows in plan.group_by("question_id", maintain_order=True):
        assert rows["perturbation"].to_list() == list(range(len(rows))), question_id
        original = rows.row(0, named=True)
        assert original["kind"] == "original"
        assert not original["is_padding"]
        assert [name for name, value in original.items() if value is not None] == [
            "question_id", "perturbation", "image_id", "kind", "is_padding",
        ]  # fmt: skip
        assert "original" not in rows["kind"].to_list()[1:]
    for row in plan.filter(pl.col("kind") != "original").iter_rows(named=True):
        own, donor = objects[row["object_id"]], objects[row["donor_object_id"]]
        assert row["object_id"] != row["donor_object_id"]
        assert own["image_id"] == row["image_id"]
        assert donor["name"] == row["to_class"]
        assert config.own_image_donors or donor["image_id"] != row["image_id"]
        if row["kind"] == "class":
            assert row["to_class"] != row["from_class"] == own["name"]
            cosine = world.similar.get(own["name"], {}).get(row["to_class"], -1)
            assert row["is_padding"] or cosine >= config.min_cosine
        else:
            assert row["to_class"] == own["name"]
            assert set(own["attributes"]) != set(donor["attributes"])
    check_order(world, config, plan)


def check_order(world: Tiny, config: SwapMixConfig, plan: pl.DataFrame) -> None:
    """Classes and donors occur once per object; similar classes come first, by falling cosine."""
    keys = ["question_id", "object_id", "kind"]
    for (_, _, kind), rows in plan.drop_nulls("object_id").group_by(keys, maintain_order=True):
        assert rows["swap_index"].to_list() == list(range(1, len(rows) + 1))
        assert len(rows) <= config.k
        assert rows["is_padding"].to_list() == sorted(rows["is_padding"].to_list())
        distinct = rows["to_class"] if kind == "class" else rows["donor_object_id"]
        assert distinct.n_unique() == len(rows)
        if kind == "class":
            near = rows.filter(~pl.col("is_padding"))
            cosines = [
                world.similar[row["from_class"]][row["to_class"]] for row in near.iter_rows(named=True)
            ]
            assert cosines == sorted(cosines, reverse=True)


@given(worlds(), configs, st.integers(0, 3))
def test_training_equals_brute_force(world: Tiny, config: SwapMixConfig, epoch: int) -> None:
    config = replace(config, plan="training", epochs=epoch + 1, swap_probability=0.7)
    plan = draw_plan(world.inputs(), config)[f"training_epoch_{epoch:03d}.parquet"]
    columns = ["epoch" if name == "perturbation" else name for name in COLUMNS]
    assert plan.columns == columns
    expected = list(reference_of(world, config).epoch(known(world), epoch))
    assert plan.to_dicts() == [{name: row[name] for name in columns} for row in expected]


@given(worlds(), configs, st.randoms(use_true_random=False))
def test_row_order_and_shards_change_nothing(world: Tiny, config: SwapMixConfig, random: Any) -> None:
    config = replace(config, context_key="id")  # by name, the order in the scene graph decides
    plan = swaps_of(world, config)
    parts = [list(part) for part in world[:3]]
    for part in parts:
        random.shuffle(part)
    assert swaps_of(Tiny(*parts, world.similar), config).equals(plan)
    half = Tiny(world.objects, world.regions, world.questions[::2], world.similar)
    ids = [question["question_id"] for question in half.questions]
    assert swaps_of(half, config).equals(plan.filter(pl.col("question_id").is_in(ids)))


@given(worlds(), configs)
def test_fewer_swaps_are_the_first_ones(world: Tiny, config: SwapMixConfig) -> None:
    more = swaps_of(world, replace(config, k=config.k + 2))
    fewer = more.filter(pl.col("swap_index").fill_null(0) <= config.k).drop("perturbation")
    # With k = 5 a class that is random at k = 5 is random at k = 10 too, and the same one.
    assert swaps_of(world, config).drop("perturbation").equals(fewer)


@given(worlds(), configs)
def test_perfect_sight(world: Tiny, config: SwapMixConfig) -> None:
    config = replace(config, plan="perfect-sight", own_image_donors=False)
    inputs = world.inputs(embeddings=letters(), similar=None, regions=None, detected=None)
    tables = draw_plan(inputs, config)
    plan, near = tables["swaps.parquet"], tables["similar_attributes.parquet"]
    assert "region_index" not in plan.columns
    objects = {one["object_id"]: one for one in world.objects}
    similar = {(row["attribute"], row["neighbour"]): row["cosine"] for row in near.iter_rows(named=True)}
    for row in plan.drop_nulls("object_id").iter_rows(named=True):
        own = objects[row["object_id"]]
        if row["kind"] == "class":
            donor = objects[row["donor_object_id"]]
            assert donor["name"] == row["to_class"] != own["name"]
            assert row["to_attribute"] == ", ".join(sorted(set(donor["attributes"])))
        else:
            assert row["donor_object_id"] is None
            assert row["from_attribute"] in own["attributes"]
            assert row["to_attribute"] not in own["attributes"]
            assert row["is_padding"] != ((row["from_attribute"], row["to_attribute"]) in similar)
    groups = plan.filter(pl.col("kind") == "attribute").group_by("question_id", "object_id")
    for _, rows in groups:
        assert rows["from_attribute"].n_unique() == 1
        assert rows["to_attribute"].n_unique() == len(rows) <= config.k


def letters() -> Any:
    """Return vectors of the names and attributes; "red" and "big" are alike."""
    import numpy as np
    from diagnostics.swapmix.worlds import ATTRIBUTES, NAMES

    from shortcut_miner.sources.embeddings import GLOVE, Embeddings
    from shortcut_miner.sources.opening.files import FileFacts

    words = [*NAMES, *ATTRIBUTES]
    vectors = np.eye(len(words))
    vectors[words.index("big")] = vectors[words.index("red")] + 0.5 * vectors[0]
    facts = FileFacts(name="v", size=1, sha256="")
    return Embeddings(words=words, vectors=vectors, kind=GLOVE, file=facts)


def lone_world() -> Tiny:
    box = {"x1": 0, "y1": 0, "x2": 10, "y2": 10}
    objects = [
        {"image_id": image, "object_id": f"{image}{name}", "name": name, **box, "attributes": [image]}
        for image, names in (("a", ("cat", "dog", "sky")), ("b", ("cat",)), ("c", ("car", "tree")))
        for name in names
    ]
    regions = [{"image_id": image, "region_index": 0, "is_padding": False, **box} for image in ("a", "b")]
    questions = [
        {"question_id": "1", "image_id": "a", "question": "?", "answer": "yes", "relevant_objects": []},
        {"question_id": "2", "image_id": "c", "question": "?", "answer": "yes", "relevant_objects": ["ccar"]},
    ]
    return Tiny(objects, regions, questions, {"cat": {"dog": 0.9, "car": 0.8}})


def test_a_class_whose_only_donor_is_in_the_own_image_is_passed_over() -> None:
    plan = swaps_of(lone_world(), SwapMixConfig(padding="none"))
    cats = plan.filter((pl.col("object_id") == "acat") & (pl.col("kind") == "class"))
    assert cats.is_empty()  # dogs live in image a only, cars have no region
    with_own = swaps_of(lone_world(), SwapMixConfig(padding="none", own_image_donors=True))
    cats = with_own.filter((pl.col("object_id") == "acat") & (pl.col("kind") == "class"))
    assert cats["to_class"].to_list() == ["dog"]


def test_a_question_without_swaps_keeps_its_original() -> None:
    tables = draw_plan(lone_world().inputs(), SwapMixConfig())
    assert tables["swaps.parquet"].filter(pl.col("question_id") == "2")["kind"].to_list() == ["original"]
    assert dict(tables["questions.parquet"].select("question_id", "row_count").rows())["2"] == 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int) -> None:
    world = lone_world()
    assert draw_plan(world.inputs(), SwapMixConfig(), threads)["swaps.parquet"].equals(
        draw_plan(world.inputs(), SwapMixConfig(), 1)["swaps.parquet"]
    )


def test_donors_from_other_files() -> None:
    world = lone_world()
    others = pl.DataFrame(
        [dict(one, image_id="z", object_id=f"z{number}") for number, one in enumerate(world.objects)],
        schema_overrides={"x1": pl.Float64},
    )
    regions = pl.DataFrame(world.regions).with_columns(image_id=pl.lit("z")).head(1)
    inputs = world.inputs(donor_objects=others, donor_regions=regions)
    plan = draw_plan(inputs, SwapMixConfig())["swaps.parquet"]
    assert set(plan["donor_image_id"].drop_nulls()) == {"z"}


def test_an_annotation_may_name_several_objects() -> None:
    world = lone_world()
    world.questions[0]["relevant_objects"] = ["acat,asky"]
    plan = swaps_of(world, SwapMixConfig(shared_regions=True))
    assert set(plan.filter(pl.col("question_id") == "1")["object_id"].drop_nulls()) == {"adog"}
