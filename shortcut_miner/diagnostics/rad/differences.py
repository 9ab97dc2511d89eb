"""Differences between models' RAD scores and accuracies, on the same resamples of images."""

import polars as pl

from shortcut_miner.scoring.ratio_differences import ratio_differences

# Metric -> what of which pairs it is the share of, and, for accuracies, what counts once.
_SHARES: dict[str, tuple[str, str | None, str | None]] = {
    "rad": ("augmented_right", "original_right", None),
    "rad_backward": ("original_right", "augmented_right", None),
    "accuracy_original": ("original_right", None, "original_id"),
    "accuracy_augmented": ("augmented_right", None, "augmented_id"),
}


def differences_from(
    judged: pl.DataFrame,
    baseline: str,
    groups: tuple[str, ...],
    *,
    official: tuple[str, ...] = (),
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """Return each model's score minus the baseline's, with paired bootstrap intervals.

    Parameters
    ----------
    judged : pl.DataFrame
        The same pairs of every model: model, original_id, augmented_id, image_id, original_right,
        augmented_right, and the columns of `groups`.
    baseline : str
        One of the models.
    groups : tuple of str
        Columns to group by, each on its own; beside all pairs.
    official : tuple of str
        Sides ("original", "augmented") whose official accuracy is compared too; in percent in the column
        original_accuracy or augmented_accuracy.
    resamples, seed : int
        Of the bootstrap over images; all models share the draws.

    Returns
    -------
    pl.DataFrame
        metric (such as rad_difference), group, subgroup, model, baseline String; value Float64 in points,
        null where one of both is a share of nothing; n UInt32: pairs, or questions; low, high Float64.
    """
    found = []
    shares = _SHARES | {f"vqa_accuracy_{side}": (f"{side}_accuracy", None, f"{side}_id") for side in official}
    for metric, (part, whole, once) in shares.items():
        for by in ((), *((name,) for name in groups)):
            rows = (
                judged
                if once is None
                else judged.unique(["model", once, *by], keep="first", maintain_order=True)
            )
            found.append(
                ratio_differences(
                    rows, metric=metric, part=part, whole=whole, by=by, baseline=baseline,
                    resamples=resamples, seed=seed,
                )
            )  # fmt: skip
    return pl.concat(found)
