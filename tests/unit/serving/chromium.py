"""A real Chromium, driven by the protocol of its developer tools over a pair of pipes; no library is needed."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--hide-scrollbars"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SECONDS = 60  # for one answer: a machine may have much else to do
# The browser reads from the descriptor 3 and writes to 4. Both are moved there by a process that becomes the browser.
WITH_PIPES = (
    "import fcntl, os, sys; taken = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]; "
    "[os.dup2(one, 3 + place) for place, one in enumerate(taken)]; os.execv(sys.argv[3], sys.argv[3:])"
)
KEYS: dict[str, tuple[int, str]] = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), " ": (32, " ")}
CTRL = 2


class Chromium:
    """A browser with a new profile."""

    def __init__(self, folder: Path) -> None:
        assert BROWSER is not None
        its_input, self._commands = os.pipe()
        self._messages, its_output = os.pipe()
        arguments = [BROWSER, *QUIET, "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", WITH_PIPES, str(its_input), str(its_output), *arguments],
            pass_fds=(its_input, its_output),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(its_input)
        os.close(its_output)
        self._number, self._unread = 0, b""
        self.events: list[Json] = []

    def close(self) -> None:
        """End it, and the processes that it started."""
        os.close(self._commands)
        try:
            self._process.wait(timeout=10)  # it ends when its input does
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._messages)

    def send(self, method: str, *, session: str | None = None, **parameters: Any) -> Json:
        """Give a command, and wait for its result."""
        self._number += 1
        number = self._number
        command = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == number:
                assert "error" not in message, message
                result: Json = message["result"]
                return result
            self.events.append(message)

    def event(self, method: str, **wanted: Any) -> Json:
        """The first event with these parameters, which may still have to come."""
        seen = 0
        while True:
            for message in self.events[seen:]:
                if message.get("method") == method and wanted.items() <= message["params"].items():
                    return message
            seen = len(self.events)
            self.events.append(self._message())

    def _message(self) -> Json:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._messages], [], [], SECONDS)
            data = os.read(self._messages, 1 << 20) if ready else b""
            assert data, "the browser says nothing more"
            self._unread += data
        first, self._unread = self._unread.split(b"\0", 1)
        message: Json = json.loads(first)
        return message

    def open(self, address: str, *, width: int = 1280, height: int = 900, scheme: str = "light") -> "Tab":
        """A page with cookies, files and settings of its own."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session, context)
        for domain in ("Page", "Runtime", "Log", "DOM", "Network"):
            tab.send(f"{domain}.enable")
        tab.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        tab.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        tab.send("Page.navigate", url=address)
        tab.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
        return tab


class Tab:
    """A page that is open."""

    def __init__(self, browser: Chromium, session: str, context: str) -> None:
        self._browser, self._session, self._context = browser, session, context

    def close(self) -> None:
        """Close it, and forget what was done in it."""
        self._browser.send("Target.disposeBrowserContext", browserContextId=self._context)
        self._browser.events.clear()

    def send(self, method: str, **parameters: Any) -> Json:
        """Give a command about this page."""
        return self._browser.send(method, session=self._session, **parameters)

    def evaluate(self, script: str) -> Any:
        """The value of an expression, or what it promises."""
        found = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression is true."""
        look = f"const look = () => (({condition}) ? yes(true) : setTimeout(look, 5)); look();"
        seconds = SECONDS * 1_000 // 2
        found = self.evaluate(f"new Promise(yes => {{ setTimeout(() => yes(false), {seconds}); {look} }})")
        assert found, f"never: {condition}; the page has:\n{self.text('main')}"

    def text(self, selector: str) -> str:
        """What is shown of an element."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def texts(self, selector: str) -> list[str]:
        """What is shown of all such elements."""
        return list(self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.innerText)"))

    def is_shown(self, selector: str) -> bool:
        """Whether an element takes any space."""
        return bool(self.evaluate(f"document.querySelector({json.dumps(selector)}).getClientRects().length > 0"))

    def click(self, selector: str) -> None:
        """With the mouse, in its middle."""
        box = f"document.querySelector({json.dumps(selector)})"
        self.evaluate(f"{box}.scrollIntoView({{block: 'center'}})")
        place = self.evaluate(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({box}.getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Where the focus is."""
        self.send("Input.insertText", text=text)

    def press(self, key: str, *, ctrl: bool = False) -> None:
        """One key."""
        code, text = KEYS[key]
        event: Json = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": CTRL if ctrl else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text and not ctrl else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def drop(self, path: Path) -> None:
        """A file, from outside of the browser."""
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.send("Input.dispatchDragEvent", type=kind, x=300, y=300, data=data)

    def choose(self, selector: str, path: Path) -> None:
        """A file, in a file input."""
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def downloaded(self, selector: str, folder: Path) -> Path:
        """The file that a click on a link gives."""
        settings: Json = {"behavior": "allow", "downloadPath": str(folder), "eventsEnabled": True}
        self._browser.send("Browser.setDownloadBehavior", browserContextId=self._context, **settings)
        self.click(selector)
        begun = self._browser.event("Browser.downloadWillBegin")["params"]
        self._browser.event("Browser.downloadProgress", guid=begun["guid"], state="completed")
        self._browser.events.clear()
        return folder / str(begun["suggestedFilename"])

    def picture(self, path: Path) -> None:
        """All of the page."""
        found = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def complaints(self) -> list[str]:
        """Everything on the console: exceptions, messages, and what the policy forbids; not answers like 401."""
        own = [event for event in self._browser.events if event.get("sessionId") == self._session]
        return [
            json.dumps(event["params"])
            for event in own
            if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled")
            or (event["method"] == "Log.entryAdded" and event["params"]["entry"]["source"] != "network")
        ]

    def hosts(self) -> set[str]:
        """Of all requests of the page."""
        own = [event for event in self._browser.events if event.get("sessionId") == self._session]
        asked = [event["params"]["request"]["url"] for event in own if event["method"] == "Network.requestWillBeSent"]
        return {address.split("/")[2] for address in asked if address.startswith("http")}
