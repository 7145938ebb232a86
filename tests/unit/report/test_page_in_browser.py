"""The pages in a real browser: nothing on the console, nothing asked for, every picture there, no sideways scrolling.

A page is opened in a frame of the wanted width, because a browser's own window has a least width. In the test's copy, a
script measures the page and sends what it finds to the page around the frame, whose text the browser prints.
"""

import copy
import json
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from limbeck.report.html import page
from limbeck.report.tables.comparison import comparison_page
from limbeck.report.tables.runs import ComparedRun

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--hide-scrollbars"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SECONDS = 180
DESKTOP, PHONE = 1280, 390
MEASURE = """<script>
addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement;
  const box = element => element.getBoundingClientRect();
  const inside = element => element.closest(".wide, pre") !== null;
  parent.postMessage(JSON.stringify({
    width: innerWidth,
    scroll: Math.max(root.scrollWidth, document.body.scrollWidth),
    plots: [...document.querySelectorAll("svg[id]")].filter(svg => box(svg).width > 200 && box(svg).height > 100)
      .map(svg => svg.id),
    outside: [...document.querySelectorAll("body *")].filter(element => !inside(element) && !element.closest("svg")
      && box(element).right > innerWidth + 1).map(element => element.tagName),
    fetched: performance.getEntriesByType("resource").map(entry => entry.name),
  }), "*");
}, 50));
</script>"""
FRAME = """<!doctype html><html><body style="margin: 0"><pre id="measured"></pre>
<iframe src="page.html" style="border: 0; width: {width}px; height: 9000px"></iframe>
<script>
addEventListener("message", event => {{ document.getElementById("measured").textContent = event.data; }});
</script>
</body></html>"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on the path"),
]


@dataclass(frozen=True)
class Measured:
    """What a browser found in a page."""

    width: int
    scroll: int
    plots: list[str]
    outside: list[str]  # elements that stick out on the right, and cannot be scrolled to in a box of their own
    fetched: list[str]
    console: list[str]


Open = Callable[..., Measured]


def browse(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the browser with a new profile."""
    assert BROWSER is not None
    command = [BROWSER, *QUIET, f"--user-data-dir={tempfile.mkdtemp(dir=folder)}", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)


@pytest.fixture
def open_page(tmp_path: Path) -> Open:
    """Opens a page at a width and gives back what was measured."""

    def look(html: str, *, width: int) -> Measured:
        (tmp_path / "page.html").write_text(html.replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
        (tmp_path / "frame.html").write_text(FRAME.format(width=width), encoding="utf-8")
        shown = browse(
            tmp_path,
            *("--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--dump-dom"),
            (tmp_path / "frame.html").as_uri(),
        )
        found = re.search(r'<pre id="measured">(.+?)</pre>', shown.stdout, flags=re.DOTALL)
        assert found, shown.stderr
        console = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
        return Measured(**json.loads(unescape(found[1])), console=console)

    return look


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_report_is_whole_and_quiet_at_every_width(open_page: Open, full_report: dict[str, Any], width: int) -> None:
    found = open_page(page(full_report), width=width)

    assert found.width == width
    assert found.console == []
    assert found.fetched == []
    assert found.scroll <= width
    assert found.outside == []
    assert set(found.plots) == {
        *(
            "plot-latency",
            "plot-size",
            "plot-lengths",
            "plot-confusion-teacher",
            "plot-confusion-student",
            "plot-reliability",
        ),
        *("plot-cascade", "plot-curve", "plot-loss", "plot-terms"),
    }


def test_long_names_do_not_widen_the_page_on_a_phone(open_page: Open, full_report: dict[str, Any]) -> None:
    long = "an-extremely-long-name-without-any-place-to-break-it-" * 4
    full_report["run"] = full_report["models"][0]["name"] = full_report["corpus"]["labels"][0] = long
    full_report["transfer"]["rows_of"] = {long: 5}
    full_report["worst_errors"][0]["text"] = long * 5
    for entry in full_report["models"]:
        entry["per_class"][0]["label"] = long

    found = open_page(page(full_report), width=PHONE)

    assert found.scroll <= PHONE
    assert found.outside == []


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_comparison_is_whole_and_quiet_at_every_width(
    open_page: Open, full_report: dict[str, Any], width: int
) -> None:
    runs = [
        ComparedRun(name=name, path=Path(name), report=copy.deepcopy(full_report), rows_digest=None)
        for name in ("small", "large")
    ]

    found = open_page(comparison_page(runs), width=width)

    assert (found.console, found.fetched, found.outside) == ([], [], [])
    assert found.scroll <= width
    assert found.plots == ["plot-runs-latency", "plot-runs-size"]


def test_faults_that_are_planted_are_found(open_page: Open, report: dict[str, Any]) -> None:
    faults = (
        '<div style="width: 600px">wide</div><img src="https://example.invalid/picture.png" alt="">'
        '<script>console.error("a fault")</script></body>'
    )

    found = open_page(page(report).replace("</body>", faults), width=PHONE)

    assert found.scroll > PHONE
    assert "DIV" in found.outside
    assert found.fetched == ["https://example.invalid/picture.png"]
    assert any("a fault" in line for line in found.console)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_can_be_taken_in_light_and_in_dark(tmp_path: Path, report: dict[str, Any], scheme: str) -> None:
    (tmp_path / "page.html").write_text(page(report), encoding="utf-8")
    picture = tmp_path / "picture.png"

    preferred = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    browse(
        tmp_path,
        *(preferred, f"--window-size={DESKTOP},900", f"--screenshot={picture}"),
        (tmp_path / "page.html").as_uri(),
    )

    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (DESKTOP, 900)
    assert len(data) > 20_000  # an empty page has a tenth of that
