"""A small seeded world in the papers' real file formats, with shortcuts planted in it.

Images are drawn from scenes (:mod:`.scenes`), questions are answered from the images, and an imperfect
detector, ten annotators and two models look at them. In training, eleven planted shortcuts hold almost
always; validation holds planted exceptions to each. :mod:`.run` takes the world through every room.
"""

from shortcut_miner.demo.files import DemoWorld, PlantedShortcut, write_demo_world

__all__ = ["DemoWorld", "PlantedShortcut", "write_demo_world"]
