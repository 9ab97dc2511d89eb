"""What a VQA-CE build counted: the manifest's counts, the article's figures, and both in words."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from shortcut_miner.datasets.folders import options_of
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.diagnostics.vqa_ce.outputs import COMMAND, DEFAULT_ANSWER
from shortcut_miner.diagnostics.vqa_ce.shortcuts import Shortcuts
from shortcut_miner.mining.rules import MULTIMODAL, modalities
from shortcut_miner.schemas import MODALITIES, VERDICTS
from shortcut_miner.storage import Provenance
from shortcut_miner.transactions import item_counts

_HISTOGRAM_BINS = 10


def describe(
    facts: InputFacts,
    questions: Mapping[str, int],
    found: Shortcuts,
    config: VqaCeConfig,
    limit: int | None,
    threads: int,
) -> tuple[Provenance, dict[str, Any]]:
    """Return the provenance of a build, and the article's descriptive figures.

    `questions` is what :func:`shortcut_miner.diagnostics.vqa_ce.inputs.count_questions` gives.
    """
    modality = modalities(found.rules, found.training.vocabulary)
    rows = found.training.transaction_count
    counts = {
        **questions,
        "train_rows": rows,
        "answers": found.training.vocabulary.class_count,
        "distinct_items": found.training.vocabulary.item_count,
        "frequent_items": _frequent_items(found),
        "min_count": found.min_count,
        "antecedents": found.antecedent_count,
        "rules_before_superset_filter": found.confident_count,
        "rules": len(found.rules),
        **{f"rules_{name}": int((modality == k).sum()) for name, k in _possible(found).items()},
        "classifier_rules": len(found.kept),
        **found.judged.subset_counts,
    }
    if found.evidence is not None:
        counts["searched_antecedents"] = found.evidence.family.antecedent_count
        counts["searched_answers"] = found.evidence.family.answer_count
    held_out = 0 if found.holdout is None else len(found.holdout)
    if held_out:
        counts["holdout_rows"] = held_out
    too_rare = f"training rows whose answer is not among the top {config.top_answers:,}"
    dropped = dict(facts.dropped) | {too_rare: questions["train_questions"] - held_out - rows}
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=facts.records,
        counts=counts,
        dropped={reason: count for reason, count in dropped.items() if count},
    )
    return provenance, _figures(found, modality, threads)


def _possible(found: Shortcuts) -> dict[str, int]:
    """Return the modalities that rules can have here, with their numbers."""
    kinds = found.training.vocabulary.names
    return {name: k for k, name in enumerate(MODALITIES) if name in kinds or k == MULTIMODAL}


def _frequent_items(found: Shortcuts) -> int:
    return int((item_counts(found.training) >= found.min_count).sum())


def _figures(found: Shortcuts, modality: np.ndarray[Any, np.dtype[np.int8]], threads: int) -> dict[str, Any]:
    """Return what the article's Figures 4 and 5 show, and the support both ways."""
    best, totals = found.judged.best, found.judged.totals
    with_rules = int(best.sum())
    best_modality = {name: int(best[modality == k].sum()) for name, k in _possible(found).items()}
    val_confidence = totals.right[totals.fired > 0] / totals.fired[totals.fired > 0]
    train_confidence = found.rules.rule_count / found.rules.antecedent_count
    rows = found.training.transaction_count
    verdicts = {} if found.evidence is None else found.evidence.verdict_counts(threads)
    family = None if found.evidence is None else found.evidence.family
    return {
        "verdicts": {name: verdicts[name] for name in VERDICTS if name in verdicts},
        "searched_family": None if family is None else dataclasses.asdict(family) | {"size": family.size},
        "min_count": found.min_count,
        "min_support": found.min_count / rows,
        "is_complete": found.is_complete,
        DEFAULT_ANSWER: found.training.vocabulary.answers[-1] if rows else None,
        "most_confident_rule_modality_share": {
            name: count / with_rules if with_rules else None for name, count in best_modality.items()
        },
        "confidence_histogram": {
            "edges": [edge / _HISTOGRAM_BINS for edge in range(_HISTOGRAM_BINS + 1)],
            "train": np.histogram(train_confidence, _HISTOGRAM_BINS, (0, 1))[0].tolist(),
            "val": np.histogram(val_confidence, _HISTOGRAM_BINS, (0, 1))[0].tolist(),
        },
    }


def in_words(provenance: Provenance) -> dict[str, str]:
    """Return what a build read and found, as the console prints it."""
    n = {name: f"{count:,}" for name, count in provenance.counts.items()}
    counted = [kind for kind in MODALITIES if f"rules_{kind}" in n]
    kinds = ", ".join(f"{n[f'rules_{kind}']} {kind}" for kind in counted)
    left_out = [f"{count:,} {reason}" for reason, count in provenance.dropped.items()]
    return {
        "training": _asked(n, "train"),
        "validation": _asked(n, "val"),
        "left out": "; ".join(left_out) if left_out else "nothing",
        "rules": f"{n['rules']} ({kinds}), each in {n['min_count']} or more training rows",
        "classifier": f"{n['classifier_rules']} of them",
        "split": f"{n['easy']} easy, {n['counterexamples']} counterexamples, {n['hard']} hard",
    }


def _asked(n: Mapping[str, str], split: str) -> str:
    """Return how many questions a split has, and about what."""
    images, groups = n.get(f"{split}_images"), n.get(f"{split}_groups")
    about = f" about {images} images" if images else ""
    return f"{n[f'{split}_questions']} questions{about}" + (f" in {groups} groups" if groups else "")
