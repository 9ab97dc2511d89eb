"""What ``score --baseline`` says of the size of its subsets, in one line."""

import polars as pl

from shortcut_miner.scoring.bootstrap import ALL
from shortcut_miner.scoring.power_config import PowerConfig

_ASKED = PowerConfig(method="connor")


def least_difference_note(scored: pl.DataFrame, baseline: str | None, what: str = "") -> tuple[str, ...]:
    """Return in a line which difference to the baseline each subset can show; nothing without a baseline.

    Parameters
    ----------
    scored : pl.DataFrame
        question_id, image_id, model and, in percent, accuracy; subset, where there are several. Every
        question of a subset once for every model.
    baseline : str or None
        One of the models.
    what : str, optional
        What the accuracies are of, where that needs to be said: "pair accuracy".
    """
    others = [model for model in scored["model"].unique(maintain_order=True) if model != baseline]
    if baseline is None or not others:
        return ()
    # Late: SciPy's statistics take a third of a second.
    from shortcut_miner.scoring.paired_power import paired_power

    rows = scored if "subset" in scored.columns else scored.with_columns(subset=pl.lit(ALL))
    table = paired_power(rows, [(model, baseline) for model in others], _ASKED)
    least = table.group_by("subset", maintain_order=True).agg(
        pl.col("minimal_detectable").max(), is_known=pl.col("minimal_detectable").is_not_null().all()
    )
    told = [
        f"{subset} {100 * points:.1f} points" if is_known else f"{subset} none"
        for subset, points, is_known in least.iter_rows()
    ]
    of = f" in {what}" if what else ""
    return (f"least difference{of} to {baseline!r} that is found with a chance of 80%: {', '.join(told)}",)
