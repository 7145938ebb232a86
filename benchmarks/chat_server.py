"""A server of chat completions in a process of its own, whose answers are scripted and which fails on command.

    python benchmarks/chat_server.py --port 8000 [--answers answers.json]

`PUT /script` sets how it answers, `GET /seen` says what it was asked. Its answers are those of `--answers` (text → one
probability per class name), else by words of the text. It counts tokens itself: words and signs.
"""

import argparse
import json
import math
import re
import socket
import threading
import time
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Json = dict[str, Any]
CHOICE = re.compile(r"^(\w{1,4}): ([^(\n]+?)(?: \(.*\))?$", re.MULTILINE)
DIGITS = re.compile(r"a whole number from (\d) to (\d)")
PIECE = re.compile(r"\w{1,7}|[^\w\s]")
PER_MESSAGE = 4
MOST_TOP = 20


@dataclass
class Script:
    """How it answers from now on."""

    words: Json = field(default_factory=dict)  # a word of the text → the class it speaks for
    sure: float = 0.9  # the probability of that class
    faults: list[str] = field(default_factory=list)  # one per request, from the front: see `Chat._failed`
    always: str = ""  # a fault of every request
    seconds: float = 0.0  # each answer takes so long
    logprobs: bool = True
    many: bool = True  # gives as many answers as asked for
    schema: bool = True  # accepts response_format
    position: int = -1  # answers the choice at this position, whatever the text is
    key: str = ""  # that a request must have


@dataclass
class Seen:
    """What was asked so far."""

    requests: int = 0
    answered: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    at_once: int = 0
    most_at_once: int = 0
    texts: dict[str, int] = field(default_factory=dict)
    last: Json = field(default_factory=dict)


SCRIPT, SEEN, LOCK = Script(), Seen(), threading.Lock()
ANSWERS: dict[str, Json] = {}


class Chat(BaseHTTPRequestHandler):
    """The protocol."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and content in one packet

    def do_PUT(self) -> None:
        """Another script; what was seen so far is forgotten."""
        global SCRIPT, SEEN
        body = self._body()
        with LOCK:
            SCRIPT, SEEN = Script(**body), Seen()
        self._send(200, {})

    def do_GET(self) -> None:
        """What was seen."""
        with LOCK:
            self._send(200, asdict(SEEN))

    def do_POST(self) -> None:
        """One question."""
        body = self._body()
        with LOCK:
            seen = self._seen = SEEN  # a later script does not count what began before it
            seen.requests += 1
            seen.at_once += 1
            seen.most_at_once = max(seen.most_at_once, seen.at_once)
            seen.last = body
            fault = SCRIPT.faults.pop(0) if SCRIPT.faults else SCRIPT.always
        try:
            if not self._failed(fault, body):
                self._answer(body, fault)
        finally:
            with LOCK:
                seen.at_once -= 1

    def _failed(self, fault: str, body: Json) -> bool:
        if SCRIPT.key and self.headers.get("authorization") != f"Bearer {SCRIPT.key}":
            shown = self.headers.get("authorization", "no key")
            self._send(401, {"error": {"message": f"incorrect key provided: {shown}"}})
        elif fault.isdecimal():
            self._send(int(fault), {"error": {"message": "busy"}})
        elif fault.startswith("retry-after "):
            self._send(429, {"error": {"message": "slow down"}}, {"retry-after": fault.partition(" ")[2]})
        elif fault == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{")
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "broken":
            self._send(200, b'{"choices": [{"mess')
        elif fault == "error":
            self._send(200, {"error": {"message": "the model is overloaded"}})
        elif "response_format" in body and not SCRIPT.schema:
            self._send(400, {"error": {"message": "response_format is not supported"}})
        else:
            return False
        return True

    def _answer(self, body: Json, fault: str) -> None:
        time.sleep(SCRIPT.seconds + (5.0 if fault == "slow" else 0.0))
        text = body["messages"][-1]["content"]
        count = int(body.get("n", 1)) if SCRIPT.many else 1
        choices = [_choice(body, text, number, fault) for number in range(count)]
        spent = sum(len(PIECE.findall(message["content"])) + PER_MESSAGE for message in body["messages"])
        out = sum(len(PIECE.findall(one["message"]["content"])) + 1 for one in choices)
        with LOCK:
            self._seen.answered += 1
            self._seen.tokens_in += spent
            self._seen.tokens_out += out
            self._seen.texts[text] = self._seen.texts.get(text, 0) + 1
        usage = {"prompt_tokens": spent, "completion_tokens": out, "total_tokens": spent + out}
        self._send(200, {"object": "chat.completion", "model": body["model"], "choices": choices, "usage": usage})

    def _body(self) -> Json:
        return dict(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _send(self, status: int, content: Json | bytes, headers: Json | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        try:
            self.send_response(status)
            for name, value in {"content-type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def _choice(body: Json, text: str, number: int, fault: str) -> Json:
    """One answer: a letter, lines of yes and no, or JSON, as the question asks for it."""
    system = body["messages"][0]["content"]
    digits = DIGITS.search(system)
    choices = (
        [(str(n), str(n)) for n in range(int(digits[1]), int(digits[2]) + 1)] if digits else CHOICE.findall(system)
    )
    likely = _likely(choices, text)
    is_several = "Any number of these choices" in system
    if fault == "unknown":
        content, tokens = "I would rather not say", [("I", {"I": 1.0})]
    elif "JSON" in system:
        content, tokens = _json(choices, likely, several=is_several), []
    elif is_several:
        content, tokens = _lines(choices, likely)
    else:
        symbols = {symbol: likely[name] for symbol, name in choices}
        best = sorted(symbols, key=lambda symbol: -symbols[symbol])
        content = best[0] if number < max(1, round(body.get("n", 1) * symbols[best[0]])) else best[1]
        tokens = [(content, symbols)]
    has_logprobs = SCRIPT.logprobs and body.get("logprobs") and fault != "no_logprobs"
    answer: Json = {"index": number, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    return {**answer, "logprobs": {"content": [_token(*one) for one in tokens]} if has_logprobs else None}


def _token(token: str, alternatives: dict[str, float]) -> Json:
    likely = sorted(alternatives.items(), key=lambda pair: -pair[1])[:MOST_TOP]
    top = [{"token": name, "logprob": math.log(max(share, 1e-9))} for name, share in likely]
    return {"token": token, "logprob": 0.0, "top_logprobs": top}


def _likely(choices: list[tuple[str, str]], text: str) -> dict[str, float]:
    """Class → how likely it is."""
    names = [name for _, name in choices]
    if text in ANSWERS:
        return {name: float(ANSWERS[text][name]) for name in names}
    spoken = {name for word, name in SCRIPT.words.items() if word in text} & set(names)
    if "Any number" in text or 0 <= SCRIPT.position < len(names):
        spoken = {names[SCRIPT.position]}
    spoken = spoken or {sorted(names)[0]}
    rest = (1 - SCRIPT.sure) / max(len(names) - 1, 1)
    return {name: SCRIPT.sure if name in spoken else rest for name in names}


def _json(choices: list[tuple[str, str]], likely: dict[str, float], *, several: bool) -> str:
    if several:
        return json.dumps({symbol: round(likely[name], 3) for symbol, name in choices})
    symbol, name = max(choices, key=lambda choice: likely[choice[1]])
    return json.dumps({"answer": symbol, "confidence": round(likely[name], 3)})


def _lines(choices: list[tuple[str, str]], likely: dict[str, float]) -> tuple[str, list[tuple[str, dict[str, float]]]]:
    lines, tokens = [], list[tuple[str, dict[str, float]]]()
    for symbol, name in choices:
        says = " yes" if likely[name] >= 0.5 else " no"
        lines.append(f"{symbol}:{says}")
        tokens += [(symbol, {symbol: 1.0}), (":", {":": 1.0}), (says, {" yes": likely[name], " no": 1 - likely[name]})]
        tokens.append(("\n", {"\n": 1.0}))
    return "\n".join(lines), tokens


class Server(ThreadingHTTPServer):
    """Many connections at a time."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, such as one that was killed, is no error."""


def main() -> None:
    """Serve until it is ended; the port is printed first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answers", type=Path)
    given = parser.parse_args()
    if given.answers:
        ANSWERS.update(json.loads(given.answers.read_text(encoding="utf-8")))
    server = Server(("127.0.0.1", given.port), Chat)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
