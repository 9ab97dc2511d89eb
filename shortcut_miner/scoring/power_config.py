"""What is asked of a paired comparison of two models; nothing heavy is loaded for it."""

import dataclasses
from typing import Literal

from shortcut_miner.options import check_between, check_counts, check_whole, fill_in

Method = Literal["exact", "connor", "bootstrap"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PowerConfig:
    """What is asked of a paired comparison.

    Attributes
    ----------
    alpha : float
        Level of the two-sided test.
    power : float
        The wanted chance that the test finds the effect.
    effect : float
        Difference of two accuracies that matters, as a share: 0.02 are two points.
    correct_at : float
        A row is right from this accuracy on, in percent.
    method : {"exact", "connor", "bootstrap"}
        Power of the exact test, by Connor's formula, or by resampling images with graded accuracies.
    image_count : int, optional
        Images that bootstrap draws; as many as the subset has by default.
    resamples : int
        Of the bootstrap.
    seed : int
        Of its draws.
    """

    alpha: float = 0.05
    power: float = 0.8
    effect: float = 0.02
    correct_at: float = 50.0
    method: Method = "exact"
    image_count: int | None = None
    resamples: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        fill_in(self)
        for name in ("alpha", "power"):
            check_between(self, name, 0, 1, above=True, below=True)
        check_between(self, "effect", 0, 1, above=True)
        check_between(self, "correct_at", 0, 100, above=True)
        check_counts(image_count=self.image_count)
        check_whole(self, "resamples", 1)
        check_whole(self, "seed", 0)
