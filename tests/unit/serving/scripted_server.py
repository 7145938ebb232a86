"""A server for the page, in a process of its own, whose models answer by a few words.

It has every answer that the page has to understand, also those that a small model gives rarely: refusals, a busy
server, a fallback, many classes. The page, and the policy that it is sent with, are the real ones. One process has many
sites: `PUT /NAME` with settings makes one at /NAME/, so the page is also tried below a path, as behind a proxy.
"""

import json
import re
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from limbeck.serving.app import PAGE, PAGE_POLICY

Json = dict[str, Any]

FACTS: Json = {
    "kind": "bag", "precision": "int8", "language": "en", "pair": False, "multi_label": False, "max_length": 128,
    "parameters": 1_234_567, "parameters_without_embeddings": 1_000, "engine": "native avx2", "size_mb": 2.71,
    "max_rows": 2, "max_characters": 1_000, "default": False,
}  # fmt: skip
MODELS: dict[str, Json] = {
    "films": {
        "labels": ["negative", "positive"],
        "examples": ["a gorgeous, witty film that stays with you", "two dreadful hours", "<img src=x onerror=fail()>"],
    },
    "feelings": {"labels": ["anger", "joy", "thanks"], "multi_label": True, "examples": ["thanks, what a joy"]},
    "questions": {
        "labels": ["different", "same"],
        "pair": True,
        "examples": [["How do I learn to swim?", "What is the best way to learn swimming?"]],
    },
    "intents": {"labels": [f"intent number {number}" for number in range(150)]},
}
MOVED = {"gorgeous": 2.5, "witty": 1.0, "dreadful": -2.0, "hours": -0.3}
SPEAKS_FOR = {"thanks": "thanks", "joy": "joy", "anger": "anger", "dreadful": "negative", "swim": "same"}


@dataclass
class Site:
    """What one test has asked for."""

    models: list[str]
    key: str | None = None
    busy: int = 0  # so many questions are refused first
    is_old: bool = False  # it has no list of models
    seen: list[Json] = field(default_factory=list)


SITES: dict[str, Site] = {}


class Scripted(BaseHTTPRequestHandler):
    """Answers as the settings of a site say, and notes what it was asked."""

    def do_PUT(self) -> None:
        """A new site."""
        SITES[self.path.strip("/")] = Site(**self._body())
        self._send(200, {})

    def do_GET(self) -> None:
        """The page, what is said of the models, and what was asked so far."""
        site, path = self._site()
        models = [{**FACTS, **MODELS[name], "name": name} for name in site.models]
        models[-1]["default"] = True
        if path == "":
            page = (files("limbeck.serving") / PAGE).read_bytes()
            self._send(200, page, kind="text/html", headers={"content-security-policy": PAGE_POLICY})
        elif path == "seen":
            self._send(200, site.seen)
        elif self._is_refused(site):
            self._send(401, {"detail": "a key is needed"})
        elif path == "models" and not site.is_old:
            self._send(200, models)
        elif path == "model":
            self._send(200, models[-1])
        else:
            self._send(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        """An answer, or a refusal."""
        body, (site, _) = self._body(), self._site()
        rows = body.get("rows") or [{"text": text} for text in body["texts"]]
        if self._is_refused(site):
            self._send(401, {"detail": "a key is needed"})
        elif len(rows) > FACTS["max_rows"] or any(len(row["text"]) > FACTS["max_characters"] for row in rows):
            self._send(413, {"detail": "too much in one request"})
        elif rows[0]["text"] == "refuse":
            self._send(422, {"detail": "<b>texts[0]</b> is refused"})
        elif site.busy > 0:
            site.busy -= 1
            self._send(429, {"detail": "busy"}, headers={"retry-after": "0"})
        else:
            site.seen.append(body)
            model = MODELS[body.get("model", site.models[-1])]
            said = [_said(model, row, explain=body.get("explain", False)) for row in rows]
            self._send(200, {"predictions": said, "milliseconds": 0.25})

    def _site(self) -> tuple[Site, str]:
        name, path = self.path[1:].split("/", 1)
        return SITES[name], path

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["content-length"])))

    def _is_refused(self, site: Site) -> bool:
        return site.key is not None and self.headers["authorization"] != f"Bearer {site.key}"

    def _send(self, status: int, content: Any, *, kind: str = "application/json", headers: Any = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "content-type": kind, "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing: a test reads standard output."""


def _said(model: Json, row: Json, *, explain: bool) -> Json:
    names: list[str] = model["labels"]
    spoken = [label for word, label in SPEAKS_FOR.items() if word in row["text"] and label in names]
    said: Json
    if model.get("multi_label"):
        said = {"labels": spoken, "probabilities": {name: 0.9 if name in spoken else 0.1 for name in names}}
    else:
        best = [*spoken, names[-1]][0]
        rest = round(0.1 / (len(names) - 1), 6)
        said = {"label": best, "probabilities": {name: 0.9 if name == best else rest for name in names}}
    if "unsure" in row["text"]:
        said["answered_by"] = "fallback"
    if explain:
        pieces = [_moved(row[name]) for name in ("text", "pair") if name in row]
        said["explanation"] = {"text": pieces[0], "pair": pieces[1]} if len(pieces) == 2 else pieces[0]
    return said


def _moved(text: str) -> list[Json]:
    return [{"piece": piece, "effect": MOVED.get(piece, 0.0)} for piece in re.findall(r"\w+|\W+", text)]


class Sites(ThreadingHTTPServer):
    """Many at once; a visitor who leaves early is no error."""

    def handle_error(self, *_: Any) -> None:
        """Nothing: the page cancels what it no longer needs."""


if __name__ == "__main__":
    server = Sites(("127.0.0.1", 0), Scripted)
    print(server.server_address[1], flush=True)
    server.serve_forever()
