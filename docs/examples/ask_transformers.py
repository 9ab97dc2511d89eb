"""Ask an image-text-to-text model of Hugging Face's transformers the questions of an export.

    pip install "transformers[torch]" accelerate pillow
    shortcut-miner export DIR --to huggingface --images IMAGES --out asked
    python ask_transformers.py asked --model MODEL --out answers

Writes a JSON Lines file for each set and split, which the score commands take as predictions. What is
answered already is not asked again: a run that ended early goes on where it stopped.
"""

import argparse
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

SHORT = "Answer the question using a single word or phrase."


def read_rows(path: Path, done: set[str], size: int) -> Iterator[list[dict[str, Any]]]:
    """Give the questions of a file that are not answered yet, with their images, a few at a time."""
    file = pq.ParquetFile(path)
    columns = [name for name in ("question_id", "question", "image") if name in file.schema_arrow.names]
    for batch in file.iter_batches(size, columns=columns):
        rows = [row for row in batch.to_pylist() if row["question_id"] not in done]
        if rows:
            yield rows


def chat(row: dict[str, Any], prompt: str) -> list[dict[str, Any]]:
    """Return a question as the conversation that it opens."""
    content: list[dict[str, Any]] = [{"type": "text", "text": f"{row['question']}\n{prompt}"}]
    if row.get("image") is not None:
        image = row["image"]
        file = image["path"] if image["bytes"] is None else io.BytesIO(image["bytes"])
        content.insert(0, {"type": "image", "image": Image.open(file).convert("RGB")})
    return [{"role": "user", "content": content}]


def main() -> None:
    """Ask all questions of an export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("export", type=Path, help="what `export --to huggingface` wrote")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, default=Path("answers"))
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--prompt", default=SHORT, help="what follows each question")
    parser.add_argument("--max-tokens", type=int, default=16)
    options = parser.parse_args()
    processor = AutoProcessor.from_pretrained(options.model)
    processor.tokenizer.padding_side = "left"  # answers follow the questions of a batch at one place
    model = AutoModelForImageTextToText.from_pretrained(options.model, dtype="auto", device_map="auto")
    options.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(options.export.glob("*.parquet")):
        out = options.out / f"{path.name.rpartition('-of-')[0].rpartition('-')[0]}.jsonl"
        written = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
        done = {json.loads(line)["question_id"] for line in written}
        with out.open("a", encoding="utf-8") as file:
            for rows in read_rows(path, done, options.batch):
                inputs = processor.apply_chat_template(
                    [chat(row, options.prompt) for row in rows],
                    add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
                    padding=True,
                ).to(model.device)  # fmt: skip
                generated = model.generate(**inputs, max_new_tokens=options.max_tokens, do_sample=False)
                answers = generated[:, inputs["input_ids"].shape[1] :]
                for row, said in zip(
                    rows, processor.batch_decode(answers, skip_special_tokens=True), strict=True
                ):
                    answer = {"question_id": row["question_id"], "answer": said.strip()}
                    file.write(json.dumps(answer) + "\n")
                file.flush()
        print(out)


if __name__ == "__main__":
    main()
