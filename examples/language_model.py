"""A language model behind an OpenAI-compatible address as the teacher. Without an address, a stand-in answers.

python examples/language_model.py [http://localhost:11434/v1 MODEL]
"""

import csv
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar
from urllib.request import Request, urlopen

import limbeck

DATA = Path(__file__).parent / "data"
CLASSES = ["billing", "delivery", "fault"]
PROMPT = "Which department is this ticket for? Answer with one word of: {classes}.\n\nTicket: {text}"
SURE = 0.9  # what a plain answer counts; the rest is shared by the other classes


class LanguageModel:
    """Asks once for each text; its labels are kept by Limbeck, so that no later run asks again."""

    def __init__(self, address: str, model: str) -> None:
        self.address, self.model = address, model

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """(texts, classes)"""
        return [self._probabilities(self._answer(text)) for text in texts]

    def _answer(self, text: str) -> str:
        content = PROMPT.format(classes=", ".join(CLASSES), text=text)
        body = {"model": self.model, "messages": [{"role": "user", "content": content}], "temperature": 0}
        headers = {"content-type": "application/json"}
        with urlopen(Request(f"{self.address}/chat/completions", json.dumps(body).encode(), headers)) as answer:
            return str(json.load(answer)["choices"][0]["message"]["content"])

    @staticmethod
    def _probabilities(answer: str) -> list[float]:
        named = [name in answer.lower() for name in CLASSES]
        if sum(named) != 1:  # it said nothing useful
            return [1 / len(CLASSES)] * len(CLASSES)
        return [SURE if is_it else (1 - SURE) / (len(CLASSES) - 1) for is_it in named]


class StandIn(BaseHTTPRequestHandler):
    """Speaks like a server of a language model, and knows a few words."""

    words: ClassVar = {
        "billing": ("charged", "invoice", "refund", "price", "receipt", "discount"),
        "fault": ("work", "switch", "crack", "noise", "battery", "broken"),
    }

    def do_POST(self) -> None:
        """One answer."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = body["messages"][0]["content"].partition("Ticket: ")[2].lower()
        found = next((name for name, words in self.words.items() if any(word in text for word in words)), "delivery")
        answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": found.title()}}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *values: object) -> None:
        """Nothing."""


def main(arguments: list[str]) -> None:
    """Distil it."""
    server = None
    if not arguments:
        server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
        Thread(target=server.serve_forever, daemon=True).start()
        arguments = [f"http://127.0.0.1:{server.server_port}/v1", "stand-in"]
    with (DATA / "tickets.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    student = limbeck.LimbeckClassifier(
        teacher=LanguageModel(*arguments),
        transfer=DATA / "unlabelled.txt",
        student="ngrams",
        settings={"distillation.epochs": 4},
    ).fit([row["text"] for row in rows], [row["label"] for row in rows])
    if server is not None:
        server.shutdown()
        server.server_close()
    print(student.predict(["The heater makes a noise", "Why was I charged again?"]))


if __name__ == "__main__":
    main(sys.argv[1:])
