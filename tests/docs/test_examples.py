"""The scripts that ask a model: a server that knows each image, and a stand-in for transformers."""

import base64
import hashlib
import io
import json
import runpy
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

import shortcut_miner as sm

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
QUESTIONS = 150  # more than the scripts read at once


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Export questions of RAD's kind of table: an image in three is lacking."""
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(QUESTIONS):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(photos / f"{1000 + number}.png")
    table = pl.DataFrame(
        {
            "question_id": [str(number) for number in range(QUESTIONS)],
            "image_id": [str(1000 + number) for number in range(QUESTIONS)],
            "question": [f"What is number {number}?" for number in range(QUESTIONS)],
            "labels": [["cat" if number % 2 else "dog"] for number in range(QUESTIONS)],
            "answer": ["yes" if number % 2 else "no" for number in range(QUESTIONS)],
        }
    )
    table.write_parquet(tmp_path / "table.parquet")
    sm.vqa_ce.build(table=tmp_path / "table.parquet", val_share=0.5, out=tmp_path / "built", min_count=2)
    sm.export(tmp_path / "built", "huggingface", images=photos, out=tmp_path / "asked")
    return tmp_path / "asked"


def expected(asked: Path) -> dict[str, str]:
    rows = pl.concat([pl.read_parquet(path) for path in asked.glob("*.parquet")]).iter_rows(named=True)
    return {row["question_id"]: answer_to(row["question"], row["image"]["bytes"]) for row in rows}


def answer_to(question: str, image: bytes) -> str:
    with Image.open(io.BytesIO(image)) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    return hashlib.sha256(question.encode() + pixels.tobytes()).hexdigest()


def answers(folder: Path) -> list[tuple[str, str]]:
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    return sorted((one["question_id"], one["answer"]) for one in map(json.loads, lines))


class Server(ThreadingHTTPServer):
    """What it was asked, and after how many questions it breaks."""

    asked = 0
    breaks_at: int | None = None


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked += 1
        if self.path != "/v1/chat/completions" or self.server.asked == self.server.breaks_at:
            self.send_error(500)
            return
        assert (body["model"], body["temperature"]) == ("some/model", 0)
        ((image, text),) = [one["content"] for one in body["messages"]]
        question, _, prompt = text["text"].partition("\n")
        assert prompt == "Answer the question using a single word or phrase."
        kind, _, content = image["image_url"]["url"].partition(",")
        assert kind == "data:image/png;base64"
        said = f" {answer_to(question, base64.b64decode(content))}\n"
        reply = json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask_server(asked: Path, server: Server, out: Path) -> subprocess.CompletedProcess[str]:
    words = [EXAMPLES / "ask_server.py", asked, "--model", "some/model", "--out", out]
    where = ["--url", f"http://127.0.0.1:{server.server_port}/v1", "--threads", "4"]
    return subprocess.run([sys.executable, *words, *where], capture_output=True, text=True, check=False)


def test_a_server_answers_every_question_once(asked: Path, server: Server, tmp_path: Path) -> None:
    done = ask_server(asked, server, tmp_path / "answers")
    assert done.returncode == 0, done.stderr
    assert answers(tmp_path / "answers") == sorted(expected(asked).items())
    assert server.asked == len(expected(asked))


def test_a_run_that_broke_goes_on(asked: Path, server: Server, tmp_path: Path) -> None:
    server.breaks_at = 30
    assert ask_server(asked, server, tmp_path / "answers").returncode != 0
    some = answers(tmp_path / "answers")
    assert len(some) < len(expected(asked))
    server.breaks_at = None
    assert ask_server(asked, server, tmp_path / "answers").returncode == 0
    assert answers(tmp_path / "answers") == sorted(expected(asked).items())


def test_the_score_commands_read_what_was_answered(asked: Path, server: Server, tmp_path: Path) -> None:
    assert ask_server(asked, server, tmp_path / "answers").returncode == 0
    report = sm.vqa_ce.score(tmp_path / "built", predictions={"model": tmp_path / "answers"})
    assert report.scores.filter(model="model", group="overall")["value"].to_list() == [0.0]


class Inputs(dict[str, Any]):
    """What a processor makes of conversations."""

    def to(self, device: str) -> "Inputs":
        assert device == "cpu"
        return self


class Processor:
    """A stand-in: a question becomes four tokens, an answer its letters' codes."""

    def __init__(self) -> None:
        self.tokenizer = types.SimpleNamespace(padding_side="right")

    def apply_chat_template(self, chats: list[Any], **options: Any) -> Inputs:
        assert options == {
            "add_generation_prompt": True, "tokenize": True, "return_dict": True, "return_tensors": "pt",
            "padding": True,
        }  # fmt: skip
        assert self.tokenizer.padding_side == "left"
        said = []
        for ((turn,),) in zip(chats, strict=True):
            image, text = turn["content"]
            assert (turn["role"], image["type"], text["type"]) == ("user", "image", "text")
            content = io.BytesIO()
            image["image"].save(content, "PNG")
            said.append(answer_to(text["text"].partition("\n")[0], content.getvalue()))
        return Inputs(input_ids=np.zeros((len(chats), 4), np.int64), said=said)

    def batch_decode(self, tokens: np.ndarray[Any, Any], *, skip_special_tokens: bool) -> list[str]:
        assert skip_special_tokens
        return ["".join(map(chr, row)) for row in tokens.tolist()]


class Model:
    """A stand-in that says the answers after the question's tokens."""

    device = "cpu"

    def generate(
        self, input_ids: Any, said: list[str], max_new_tokens: int, do_sample: bool
    ) -> np.ndarray[Any, Any]:
        assert (max_new_tokens, do_sample) == (16, False)
        return np.hstack([input_ids, [[*map(ord, one)] for one in said]])


def test_a_model_of_transformers_answers_every_question_once(
    asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = types.ModuleType("transformers")
    module.AutoProcessor = types.SimpleNamespace(from_pretrained=lambda name: Processor())
    module.AutoModelForImageTextToText = types.SimpleNamespace(
        from_pretrained=lambda name, dtype, device_map: Model()
    )
    monkeypatch.setitem(sys.modules, "transformers", module)
    words = ["ask_transformers.py", str(asked), "--model", "some/model", "--out", str(tmp_path / "answers")]
    monkeypatch.setattr(sys, "argv", words)
    for _ in range(2):  # the second time nothing is left to ask
        runpy.run_path(str(EXAMPLES / "ask_transformers.py"), run_name="__main__")
        assert answers(tmp_path / "answers") == sorted(expected(asked).items())
