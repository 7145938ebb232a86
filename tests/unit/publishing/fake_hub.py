"""A hub on this machine: as much of the protocol as pushing a folder and fetching files take."""

import base64
import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any

Headers = dict[str, str]


class FakeHub:
    """Repositories in memory, at an address of the loopback; only one token may write."""

    token = "hf_of_this_test"

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}  # of each repository
        self.private: dict[str, bool] = {}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("OwnHandler", (Handler,), {"hub": self}))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever)

    def __enter__(self) -> "FakeHub":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def commit(self, name: str) -> str:
        """Changes with the files."""
        return hashlib.sha1(repr(sorted(self.files.get(name, {}).items())).encode()).hexdigest()

    def file(self, path: str) -> tuple[int, bytes, Headers]:
        """/user/model/resolve/REVISION/FILE"""
        name, _, place = path.strip("/").partition("/resolve/")
        revision, _, file = place.partition("/")
        commit, content = self.commit(name), self.files.get(name, {}).get(file)
        if name not in self.files or revision not in ("main", commit):
            return 401, b"{}", {"X-Error-Code": "RepoNotFound"}
        if content is None:
            return 404, b"{}", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}
        return 200, content, {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'}

    def answer(self, path: str, body: bytes) -> Any:
        """To a question of who may write."""
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            self.files.setdefault(name, {})
            self.private[name] = bool(asked.get("private")) or asked.get("visibility") == "private"
            return {"url": f"{self.url}/{name}"}
        found = re.match(r"/api/models/(.+)/(preupload|commit)/main", path)
        if found is None:  # such as whether the front matter of a card can be read
            return {"errors": [], "warnings": []}
        if found[2] == "preupload":
            files = json.loads(body)["files"]
            return {"files": [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]}
        return self._committed(found[1], [json.loads(line) for line in body.splitlines()])

    def _committed(self, name: str, items: list[Any]) -> Any:
        for item in items:
            if item["key"] == "file":
                self.files[name][item["value"]["path"]] = base64.b64decode(item["value"]["content"])
        commit = self.commit(name)
        return {"commitUrl": f"{self.url}/{name}/commit/{commit}", "commitOid": commit, "success": True}


class Handler(BaseHTTPRequestHandler):
    """HTTP for it."""

    hub: FakeHub

    def do_GET(self) -> None:
        self.hub.asked.append(f"{self.command} {self.path}")
        self._answer(*self.hub.file(self.path))

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.hub.asked.append(f"{self.command} {self.path}")
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else self._chunks()
        if self.headers.get("Authorization") == f"Bearer {self.hub.token}":
            self._answer(200, json.dumps(self.hub.answer(self.path, body)).encode(), {})
        else:
            self._answer(401, b'{"error": "Invalid credentials"}', {})

    def _chunks(self) -> bytes:
        found = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _answer(self, status: int, content: bytes, headers: Headers) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""
