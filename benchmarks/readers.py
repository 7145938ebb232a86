"""The same thousand rows in Python, Node, Chromium, C++ and on ARM: tokens, labels, logits and time.

    python benchmarks/readers.py [MODEL …] [--onnxruntime-node node_modules] [--headers FOLDER] [--arm]
    python benchmarks/readers.py --write-page

Each MODEL is a folder of an exported model; models of other kinds are made with random weights and made-up words, in
the usual sizes: an int8 Bi-LSTM of English and a fp32 one of Chinese, int8 n-grams, an int8 transformer of pairs, and
the blend of the first and the third. Every reader answers the rows of the model's conformance vectors one at a time, in
one thread. Times are the mean over these rows, some of which are far longer than texts usually are, divided by that of
Python with onnxruntime. --onnxruntime-node is a node_modules with that package; --headers the folder of
onnxruntime_cxx_api.h; --arm is Python for aarch64 under qemu-user, with and without the dot product of bytes, whose
times mean nothing (wheels/arm.py says what it needs). What is not there is left out. Numbers go to
benchmarks/results/readers.json; --write-page puts their table into docs/browsers.md.
"""

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wheels.arm import Arm

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the browser is driven by what drives it in tests
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "readers.json", ROOT / "docs" / "browsers.md"
START, END = "<!-- readers -->", "<!-- /readers -->"
READERS = {
    "python_onnx": "Python, onnxruntime",
    "python_native": "Python, native",
    "node": "Node, WebAssembly",
    "node_native": "Node, onnxruntime-node",
    "chromium": "Chromium",
    "cpp": "C++",
    "arm_neon-dot": "aarch64 (emulated), native, dot product",
    "arm_neon": "aarch64 (emulated), native, plain NEON",
}
Json = dict[str, Any]


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("models", nargs="*", type=Path)
    options.add_argument("--onnxruntime-node", type=Path)
    options.add_argument("--headers", type=Path)
    options.add_argument("--arm", action="store_true")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if not asked.write_page:
        with tempfile.TemporaryDirectory() as folder:
            numbers = measured(
                Path(folder), asked.models, modules=asked.onnxruntime_node, headers=asked.headers, is_arm=asked.arm
            )
        RESULTS.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def measured(work: Path, models: list[Path], *, modules: Path | None, headers: Path | None, is_arm: bool) -> Json:
    """All numbers."""
    from benchmarks.reader_models import made_models
    from limbeck.packaging.onnxruntime_web import FILES, VERSION, kept_runtime
    from limbeck.timing.machine import machine_facts
    from wheels.arm import Arm

    reader = built(work, headers) if headers else None
    named = [*((path.name, path) for path in models), *made_models(work).items()]
    arm = Arm(work / "arm") if is_arm else None
    found = [of_model(name, path, work / "packages", modules=modules, reader=reader, arm=arm) for name, path in named]
    return {
        "machine": {**machine_facts(threads=1), "node": said(["node", "--version"]), "chromium": said_by_chromium()},
        "onnxruntime-web": VERSION,
        "runtime_bytes": {name: sizes(kept_runtime() / name) for name in FILES},
        "models": found,
    }


def of_model(
    name: str, model: Path, packages: Path, *, modules: Path | None, reader: Path | None, arm: "Arm | None"
) -> Json:
    """What every reader here gives for the model's vectors."""
    from limbeck.artifacts.model_folder import ModelFolder
    from limbeck.packaging.site import package

    facts, folder = ModelFolder(model).facts(), packages / name
    package(model, out=folder)
    found = {"python_onnx": in_python(folder, "onnx"), "python_native": in_python(folder, "native")}
    found["node"] = in_node(folder)
    if modules:
        (folder / "node_modules").symlink_to(modules.resolve())
        found["node_native"] = in_node(folder, "--native")
    found["chromium"] = in_chromium(folder)
    if reader:
        found["cpp"] = in_cpp(reader, folder)
    if arm and found["python_native"]:
        found |= on_arm(arm, folder)
    return {
        "name": name,
        "kind": facts.kind,
        "precision": facts.precision,
        "mb": round(ModelFolder(model).size_mb(), 2),
        "tolerance": json.loads((folder / "vectors.json").read_text(encoding="ascii"))["tolerance"],
        "readers": {reader: numbers for reader, numbers in found.items() if numbers},
    }


def in_python(folder: Path, engine: Any) -> Json | None:
    """In this process."""
    from limbeck.errors import EngineUnusable
    from limbeck.packaging.vectors import check_vectors, read_vectors
    from limbeck.runtime.classifier import load

    vectors = read_vectors(folder / "vectors.json", folder=folder / "model")
    try:
        classifier = load(folder / "model", threads=1, engine=engine)
    except EngineUnusable:
        return None
    found = check_vectors(vectors, folder / "model", engine=engine)
    rows = [tuple(one["row"]) if classifier.facts.pair else one["row"] for one in vectors["rows"]]
    started = time.perf_counter()
    for row in rows:
        classifier.logits([row])
    spent = (time.perf_counter() - started) * 1e3 / len(rows)
    return numbers_of(found.rows, found.other_tokens, found.other_labels, found.largest_difference, spent)


def in_node(folder: Path, *options: str) -> Json:
    """With WebAssembly, or with onnxruntime-node."""
    return of_javascript(json.loads(said(["node", "check.mjs", *options], folder=folder)))


def in_chromium(folder: Path) -> Json | None:
    """On the page, from a server of files."""
    from tests.unit.serving.chromium import BROWSER, Chromium

    if BROWSER is None:
        return None
    with tempfile.TemporaryDirectory() as profile, served(folder) as address:
        browser = Chromium(Path(profile))
        tab = browser.open(address)
        while tab.evaluate("document.querySelector('#check').disabled"):
            time.sleep(1)
        tab.click("#check")
        while not (text := tab.evaluate("document.querySelector('#checked').dataset.found ?? ''")):
            time.sleep(1)
        found = json.loads(text)
        browser.close()
    return of_javascript(found)


def in_cpp(reader: Path, folder: Path) -> Json | None:
    """With the example; None for a model that it refuses."""
    command = [str(reader), str(folder / "model"), "--check", str(folder / "vectors.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 2 and "transformer" in done.stderr:
        return None
    found = json.loads(done.stdout)
    return numbers_of(
        *(found[name] for name in ("rows", "other_tokens", "other_labels", "largest_difference", "ms_per_row"))
    )


def on_arm(arm: "Arm", folder: Path) -> Json:
    """With each level of its kernels."""
    from wheels.arm import CPUS

    answers = {}
    for cpu, level in CPUS.items():
        (found,) = arm.checked([(folder / "model", folder / "vectors.json")], cpu=cpu)
        answers[f"arm_{level}"] = numbers_of(
            found["rows"], found["other_tokens"], found["other_labels"], found["largest_difference"], None
        )
    return answers


def of_javascript(found: Json) -> Json:
    return numbers_of(
        *(found[name] for name in ("rows", "otherTokens", "otherLabels", "largestDifference", "msPerRow"))
    )


def numbers_of(rows: int, tokens: int, labels: int, difference: float, ms: float | None) -> Json:
    """What is kept of a reader."""
    return {
        "rows": rows,
        "other_tokens": tokens,
        "other_labels": labels,
        "largest_difference": float(f"{difference:.2g}"),
        "ms_per_row": None if ms is None else round(ms, 3),
    }


def built(work: Path, headers: Path) -> Path:
    """The example in C++, linked with the library of the Python package."""
    import onnxruntime

    (library,) = (Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
    given = [f"HEADERS={headers.resolve()}", f"LIBRARY={library}", f"OUT={work / 'limbeck'}"]
    subprocess.run(["make", "-C", str(ROOT / "examples" / "cpp"), *given], check=True, capture_output=True)
    return work / "limbeck"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A server of static files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def sizes(path: Path) -> Json:
    """Bytes, also packed as most servers of files send them."""
    data = path.read_bytes()
    return {"bytes": len(data), "gzip": len(gzip.compress(data))}


def said(command: list[str], *, folder: Path | None = None) -> str:
    """What a command writes."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout.strip()


def said_by_chromium() -> str:
    from tests.unit.serving.chromium import BROWSER

    return said([BROWSER, "--version", "--no-sandbox"]) if BROWSER and shutil.which(BROWSER) else ""


def page(text: str) -> str:
    """The page with the tables of what was measured."""
    numbers = json.loads(RESULTS.read_text(encoding="utf-8"))
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table(numbers)}\n\n{END}{after}"


def table(numbers: Json) -> str:
    """For each model and reader: other tokens, other labels, the largest difference, and the time."""
    lines = [
        "| model | reader | rows with other tokens | with another label | largest difference of a logit | time |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for model in numbers["models"]:
        base = model["readers"]["python_onnx"]["ms_per_row"]
        title = f"{model['name']} ({model['kind']}, {model['precision']}, {model['mb']:.1f} MB)"
        for reader, found in model["readers"].items():
            time_of = "" if found["ms_per_row"] is None else f"{found['ms_per_row'] / base:.1f}"
            lines.append(
                f"| {title} | {READERS[reader]} | {found['other_tokens']} | {found['other_labels']} | "
                f"{found['largest_difference']:.1g} | {time_of} |"
            )
            title = ""
    return "\n".join(lines)


if __name__ == "__main__":
    main()
