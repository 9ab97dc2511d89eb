"""The whole VQA-CE job in plain Python around pyfim, as one would write it in an afternoon.

The opponent of ``bench_build.py``: reads the JSON files, tokenises, mines with ``fim.arules`` (C), keeps the
best answer of each antecedent, applies the immediate superset filter, matches the rules on the validation
questions, splits these and writes the three id lists. No checks, no tables, no provenance. Options are those
of ``shortcut-miner vqa-ce build``.
"""

import argparse
import gzip
import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import fim

SPACED = {"'": " '  ", '"': "", ".": " . ", "<br />": " ", ",": " , ", "(": " ( ", ")": " ) ", "!": " ! "}
SPACED |= {"?": " ? ", ";": " ", ":": " "}


def load(path: Path) -> Any:
    """Return what a JSON file holds, compressed or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return json.load(file)


def items_of(question: dict[str, Any], labels: dict[str, set[str]]) -> set[str]:
    """Return the words of a question and the labels of its image."""
    text = question["question"].lower()
    for mark, spaced in SPACED.items():
        text = text.replace(mark, spaced)
    return {*text.split(), *labels.get(str(question["image_id"]), ())}


def mine(rows: list[list[str]], counts: Counter[str]) -> dict[tuple[str, ...], tuple[float, int, str]]:
    """Return each confident antecedent's best answer, as (-confidence, answer's count, answer)."""
    heads = {f"answer: {answer}": "c" for answer in counts}
    mined = fim.arules(
        rows, supp=-8, conf=30, zmin=2, zmax=5, report="aC", mode="o", appear={None: "a", **heads}
    )
    best: dict[tuple[str, ...], tuple[float, int, str]] = {}
    for head, antecedent, _, confidence in mined:
        answer = head.removeprefix("answer: ")
        key, rule = tuple(sorted(antecedent)), (-confidence, counts[answer], answer)
        best[key] = min(best.get(key, rule), rule)
    return best


def main(options: argparse.Namespace) -> None:
    """Read, mine, match, split, write."""
    detections = load(options.detections)
    labels = {
        image: {f"object: {x}" for x, score in zip(d["classes"], d["scores"], strict=True) if score >= 0.5}
        for image, d in detections.items()
    }
    questions = load(options.train_questions)["questions"]
    annotations = load(options.train_annotations)["annotations"]
    answers = {record["question_id"]: record["multiple_choice_answer"] for record in annotations}
    counts = Counter(answers[question["question_id"]] for question in questions)
    top = {answer for answer, _ in counts.most_common(3_000)}
    rows = [
        [*items_of(question, labels), f"answer: {answers[question['question_id']]}"]
        for question in questions
        if answers[question["question_id"]] in top
    ]
    best = mine(rows, counts)
    rules = {
        antecedent: rule[2]
        for antecedent, rule in best.items()
        if not any(
            subset in best and best[subset][2] == rule[2] and best[subset][0] <= rule[0]
            for subset in combinations(antecedent, len(antecedent) - 1)
        )
    }
    used = {item for antecedent in rules for item in antecedent}
    annotations = load(options.val_annotations)["annotations"]
    accepted = {
        record["question_id"]: {answer["answer"] for answer in record["answers"]} for record in annotations
    }
    split: dict[str, list[int]] = {"easy": [], "counterexamples": [], "hard": []}
    for question in load(options.val_questions)["questions"]:
        items = sorted(items_of(question, labels) & used)
        subsets = (subset for size in range(1, 5) for subset in combinations(items, size))
        found = {rules[subset] for subset in subsets if subset in rules}
        is_easy = found & accepted[question["question_id"]]
        subset = "easy" if is_easy else "counterexamples" if found else "hard"
        split[subset].append(question["question_id"])
    for name, ids in split.items():
        (options.out / f"{name}.json").write_text(json.dumps(ids))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="VQA-CE in plain Python.")
    for role in ("train-questions", "train-annotations", "val-questions", "val-annotations", "detections"):
        parser.add_argument(f"--{role}", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    main(parser.parse_args())
