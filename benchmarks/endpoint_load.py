"""Ten thousand requests to a language model, 64 at a time: requests a second, memory, and tokens against the forecast.

    python benchmarks/endpoint_load.py [--texts 10000] [--concurrency 64] [--out benchmarks/results/endpoint_load.json]

The server is `benchmarks/chat_server.py`, in a process of its own on the same machine, so the rate says little; the
process that asks is another one, which also reports its memory after a tenth of the requests. Then the forecast of
`limbeck label --dry-run` for other texts is compared with what the server counts for them.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from limbeck.artifacts.rows import Rows
from limbeck.labeling.asking import asked_rows
from limbeck.labeling.source import TeacherSource
from limbeck.progress import SilentReporter
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.labeling import Labeling
from limbeck.teacher.endpoint import described_for
from limbeck.teacher.endpoints.asking import EndpointAnswers
from limbeck.teacher.endpoints.ledger import spent_in
from limbeck.teacher.endpoints.questions import Questions
from limbeck.teacher.endpoints.tokens import TokenCount

HERE = Path(__file__).resolve().parent
WORDS = [
    "the",
    "film",
    "scene",
    "actor",
    "road",
    "city",
    "letter",
    "blue",
    "unforgettable",
    "performances",
    "and",
    "was",
    "of",
    "a",
    "quite",
    "disappointing",
]
WORDS_A_TEXT = 20


class Task:
    """Two classes, and no rows yet."""

    is_multi_label, is_pair, scale = False, False, None

    def __init__(self) -> None:
        self.labels, self.splits = ["negative", "positive"], {"train": Rows.of(ids=[], texts=[])}


def made_rows(count: int, *, seed: int) -> Rows:
    """Different texts."""
    dice = random.Random(seed)
    texts = [f"{number} " + " ".join(dice.choices(WORDS, k=WORDS_A_TEXT)) for number in range(count)]
    return Rows.of(ids=[str(number) for number in range(count)], texts=texts)


def ask(url: str, store: Path, *, texts: int, concurrency: int) -> dict[str, Any]:
    """Ask, in this process; and what it took."""
    section = EndpointTeacher(kind="endpoint", url=url, model="scripted", concurrency=concurrency)
    questions = Questions(described_for(section, Task()))
    source = TeacherSource(name="it", fingerprint="it", open=lambda: EndpointAnswers(section, questions))
    rows = made_rows(texts, seed=0)
    found: dict[str, Any] = {}
    for name, part in (("tenth", rows.select(range(texts // 10))), ("all", rows)):
        started = time.perf_counter()
        asked_rows(source, Labeling(), rows=part, classes=2, root=store, reporter=SilentReporter())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found[name] = {"seconds": round(time.perf_counter() - started, 1), "peak_mb": round(peak, 1)}
    return {**found, "forecast": forecast(section, questions, url, store)}


def forecast(section: EndpointTeacher, questions: Questions, url: str, store: Path) -> dict[str, Any]:
    """Tokens of other texts: as forecast before the first request, after those of above, and as the server counts."""
    rows, count = made_rows(500, seed=1), TokenCount(section)
    bodies = [questions.about(text, None, way="logprobs").body for text in rows.texts]
    estimate = sum(count.of_question(body) for body in bodies)
    correction = spent_in(store / "it").correction
    urllib.request.urlopen(urllib.request.Request(f"{url}/script", b"{}", method="PUT")).read()
    EndpointAnswers(section, questions).logits(rows.texts, None)
    seen = json.load(urllib.request.urlopen(f"{url}/seen"))
    of_server = seen["tokens_in"]
    return {
        "texts": len(rows),
        "server": of_server,
        "before_the_first_request": estimate,
        "corrected_by_earlier_answers": round(estimate * correction),
        "off_before": round(estimate / of_server - 1, 4),
        "off_corrected": round(estimate * correction / of_server - 1, 4),
    }


def measure(texts: int, concurrency: int) -> dict[str, Any]:
    """Both processes, started and ended."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([sys.executable, HERE / "chat_server.py"], stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        command = [sys.executable, __file__, "--texts", str(texts), "--concurrency", str(concurrency)]
        worker = subprocess.run([*command, "--worker", url, folder], capture_output=True, text=True, check=True)
        found = json.loads(worker.stdout)
        server.terminate()
        return {"texts": texts, "concurrency": concurrency, "cores": os.cpu_count(), **found}


def main() -> None:
    """Measure, or be the process that is measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "endpoint_load.json")
    parser.add_argument("--worker", nargs=2, metavar=("URL", "FOLDER"))
    given = parser.parse_args()
    if given.worker:
        url, folder = given.worker
        print(json.dumps(ask(url, Path(folder), texts=given.texts, concurrency=given.concurrency)))
        return
    found = {**measure(given.texts, given.concurrency), "note": "cores shared with other jobs"}
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
