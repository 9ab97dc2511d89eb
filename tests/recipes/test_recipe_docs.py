"""The page about recipes is true: its recipes are those that there are, and its example is one."""

import re
from pathlib import Path

from shortcut_miner.recipes.recipe import read_recipe, recipe_names

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")


def test_the_page_names_every_recipe() -> None:
    table = PAGE[PAGE.index("| recipe |") : PAGE.index("**Nobody")]
    assert sorted(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", table)) == recipe_names()


def test_the_example_is_a_recipe(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "example.toml"
    path.write_text(example.replace('"..."', f'"{"0" * 64}"'), encoding="utf-8")
    recipe = read_recipe(path)
    assert [*recipe.sources] == ["questions.zip", "boxes_train.json", "boxes_val.json"]
    assert recipe.sources["questions.zip"].checked
