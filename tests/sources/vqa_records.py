"""Records of VQA's questions and annotations and of images' labels, as files may have them."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from shortcut_miner.sources.images import image_labels
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.questions import vqa_annotations, vqa_questions
from shortcut_miner.sources.questions.vqa import read_vqa_annotations, read_vqa_questions

READERS = {
    "questions": (vqa_questions, read_vqa_questions),
    "annotations": (vqa_annotations, read_vqa_annotations),
    "labels": (image_labels, read_labels),
}
ANSWERS = [{"answer": f"{k}", "answer_confidence": "yes", "answer_id": k} for k in range(1, 4)]
PLAIN: dict[str, dict[str, Any]] = {
    "questions": {"image_id": 9, "question": "What is it?", "question_id": 90},
    "annotations": {
        "question_id": 90, "image_id": 9, "question_type": "what", "answer_type": "other",
        "multiple_choice_answer": "1", "answers": ANSWERS,
    },
    "labels": {"classes": ["dog", "cat"], "scores": [0.75, 1]},
}  # fmt: skip


def written(kind: str, records: Sequence[str]) -> str:
    """Return a file of these records, each a text of JSON."""
    if kind == "labels":
        return "{" + ",".join(f'"{at}":{record}' for at, record in enumerate(records)) + "}"
    return f'{{"info": {{}}, "{kind}": [{", ".join(records)}]}}'


texts = st.text() | st.sampled_from(
    ["", " ", "é", "\x00", "\\", '"', "\n", "😀", "\u2028", "question_id", '"image_id":']
)
ids = st.integers(-5, 30) | st.sampled_from(
    [
        2**53,
        2**63 - 1,
        2**63,
        -(2**63),
        1.0,
        1.5,
        1e22,
        "7",
        "007",
        "",
        " ",
        None,
        True,
        "COCO_val2014_000000000042.jpg",
    ]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(texts, scalars, max_size=2)
answer_records = st.fixed_dictionaries(
    {"answer": texts | values},
    optional={"answer_id": st.integers(0, 3) | ids, "answer_confidence": texts | st.none()},
)
FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "questions": {"question_id": ids, "image_id": ids, "question": texts, "split": texts | st.none()},
    "annotations": {
        "question_id": ids, "image_id": ids, "question_type": texts | st.none(),
        "answer_type": texts | st.none(), "multiple_choice_answer": texts,
        "answers": st.lists(answer_records, max_size=3) | st.none(),
    },
    "labels": {
        "classes": st.lists(texts, max_size=3),
        "scores": st.lists(st.floats(0, 1) | st.integers(0, 1) | st.floats(), max_size=3),
    },
}  # fmt: skip


@st.composite
def records(draw: st.DrawFn, kind: str) -> list[str]:
    """Draw texts of records: plain ones, some of them with other values or fields, or a field twice."""
    listed = []
    for at in range(draw(st.integers(1, 4))):
        record: dict[str, Any] = PLAIN[kind] | ({} if kind == "labels" else {"question_id": 90 + at})
        for name in draw(st.sets(st.sampled_from(sorted(FIELDS[kind])), max_size=3)):
            record[name] = draw(FIELDS[kind][name])
        for name in draw(st.sets(st.sampled_from([*record, "coco_split", "extra"]), max_size=1)):
            if draw(st.booleans()):
                record[name] = draw(values)
            else:
                record.pop(name, None)
        pairs = [
            f"{json.dumps(name)}{draw(st.sampled_from([':', ': ', ' : ']))}"
            f"{json.dumps(value, ensure_ascii=draw(st.booleans()))}"
            for name, value in record.items()
        ]
        if pairs and draw(st.integers(0, 5)) == 0:
            pairs.append(draw(st.sampled_from(pairs)))
        between = draw(st.sampled_from([",", ", ", ",\n ", ",\r"]))
        listed.append("{" + between.join(pairs) + "}")
    return listed
