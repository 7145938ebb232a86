"""A model behind an HTTP port: `limbeck serve` in a process of its own, asked over HTTP.

python examples/serving.py
"""

import csv
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import limbeck

DATA = Path(__file__).parent / "data"


def main() -> None:
    """Train a small model, serve it, ask, and stop."""
    with (DATA / "tickets.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    student = limbeck.LimbeckClassifier(
        teacher="linear", student="ngrams", settings={"distillation.epochs": 4}, folder="runs"
    ).fit([row["text"] for row in rows], [row["label"] for row in rows])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "limbeck", "serve", str(student.model_.folder), "--port", str(port)]
    with subprocess.Popen(command) as server:
        try:
            answer = ask(
                f"http://127.0.0.1:{port}/predict", {"texts": ["The lamp is broken", "The parcel has not arrived"]}
            )
            print([one["label"] for one in answer["predictions"]])
        finally:
            server.terminate()


def ask(url: str, body: object, *, seconds: float = 60.0) -> dict[str, list[dict[str, str]]]:
    """The answer, once the server has started."""
    request = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    end = time.monotonic() + seconds
    while True:
        try:
            with urlopen(request, timeout=seconds) as answer:
                return dict(json.load(answer))
        except URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    main()
