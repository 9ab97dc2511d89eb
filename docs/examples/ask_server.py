"""Ask a server that speaks OpenAI's chat protocol (vLLM, SGLang, llama.cpp, ...) the questions of an export.

    vllm serve MODEL
    shortcut-miner export DIR --to huggingface --images IMAGES --out asked
    python ask_server.py asked --model MODEL --out answers

Writes a JSON Lines file for each set and split, which the score commands take as predictions. What is
answered already is not asked again: a run that ended early goes on where it stopped. Needs PyArrow alone.
"""

import argparse
import base64
import json
import os
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

SHORT = "Answer the question using a single word or phrase."


def read_rows(path: Path, done: set[str]) -> Iterator[list[dict[str, Any]]]:
    """Give the questions of a file that are not answered yet, with their images, a few at a time."""
    file = pq.ParquetFile(path)
    columns = [name for name in ("question_id", "question", "image") if name in file.schema_arrow.names]
    for batch in file.iter_batches(64, columns=columns):
        yield [row for row in batch.to_pylist() if row["question_id"] not in done]


def image_address(image: dict[str, Any]) -> str:
    """Return an image as a server takes it: its content, or the address that the export names."""
    if image["bytes"] is None:
        return str(image["path"])
    kind = "png" if image["bytes"].startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image['bytes']).decode()}"


def ask(row: dict[str, Any], options: argparse.Namespace) -> dict[str, str]:
    """Return the model's answer to a question."""
    content: list[dict[str, Any]] = [{"type": "text", "text": f"{row['question']}\n{options.prompt}"}]
    if row.get("image") is not None:
        content.insert(0, {"type": "image_url", "image_url": {"url": image_address(row["image"])}})
    asked = {
        "model": options.model,
        "messages": [{"role": "user", "content": content}],
        "max_tokens": options.max_tokens,
        "temperature": 0,
    }
    request = urllib.request.Request(
        f"{options.url}/chat/completions",
        data=json.dumps(asked).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
        },
    )
    with urllib.request.urlopen(request, timeout=600) as response:
        said = json.load(response)["choices"][0]["message"]["content"]
    return {"question_id": row["question_id"], "answer": said.strip()}


def main() -> None:
    """Ask all questions of an export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("export", type=Path, help="what `export --to huggingface` wrote")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, default=Path("answers"))
    parser.add_argument("--url", default="http://localhost:8000/v1")
    parser.add_argument("--threads", type=int, default=16, help="questions under way at a time")
    parser.add_argument("--prompt", default=SHORT, help="what follows each question")
    parser.add_argument("--max-tokens", type=int, default=16)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(options.export.glob("*.parquet")):
        out = options.out / f"{path.name.rpartition('-of-')[0].rpartition('-')[0]}.jsonl"
        written = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
        done = {json.loads(line)["question_id"] for line in written}
        with out.open("a", encoding="utf-8") as file, ThreadPoolExecutor(options.threads) as pool:
            for rows in read_rows(path, done):
                for answer in pool.map(lambda row: ask(row, options), rows):
                    file.write(json.dumps(answer) + "\n")
                file.flush()
        print(out)


if __name__ == "__main__":
    main()
