"""A package in a real Chromium, from a server of static files, with no other address asked."""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from limbeck.packaging.site import WrittenPackage
from tests.unit.packaging.conftest import VECTORS, needs_runtime
from tests.unit.serving.chromium import BROWSER, Chromium, Tab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.node,
    needs_runtime,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on the path"),
]

READY = "!document.querySelector('#ask').disabled"


class QuietFiles(SimpleHTTPRequestHandler):
    """Static files, as `python -m http.server` gives them."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietFiles, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    browser = Chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def compared(tab: Tab) -> dict[str, Any]:
    tab.click("#check")
    tab.wait("document.querySelector('#checked').dataset.found")
    return dict(json.loads(tab.evaluate("document.querySelector('#checked').dataset.found")))


def test_the_page_answers_and_agrees_with_python(
    chromium: Chromium, framed_model: Path, packages: dict[Path, WrittenPackage]
) -> None:
    folder = packages[framed_model].folder

    with served(folder) as host:
        tab = chromium.open(f"http://{host}/")
        tab.wait(READY)
        tab.click("#text")
        tab.type("a gorgeous film")
        tab.click("#pair")
        tab.type("this dreadful evening")
        tab.click("#ask")
        tab.wait("document.querySelectorAll('#bars li').length === 3")

        assert tab.text("#name") == "transformer-int8"
        assert tab.text("#verdict") in ("negative", "neutral", "positive")
        assert "ms in this browser" in tab.text("#took")
        found = compared(tab)
        assert (found["rows"], found["otherTokens"], found["otherLabels"]) == (VECTORS, 0, 0)
        assert found["largestDifference"] < 0.1
        assert "the same answers" in tab.text("#checked")
        assert tab.hosts() == {host}
        assert tab.complaints() == []
        tab.close()


def test_a_blend_answers_and_a_missing_file_is_reported(
    chromium: Chromium, blend_model: Path, packages: dict[Path, WrittenPackage], tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    shutil.copytree(packages[blend_model].folder, folder)

    with served(folder) as host:
        tab = chromium.open(f"http://{host}/")
        tab.wait(READY)
        found = compared(tab)
        assert (found["otherTokens"], found["otherLabels"]) == (0, 0)
        tab.close()
        (folder / "model" / "words" / "model.onnx").unlink()
        tab = chromium.open(f"http://{host}/")
        tab.wait("!document.querySelector('#problem').hidden")
        assert "model.onnx cannot be read: 404" in tab.text("#problem")
        tab.close()
