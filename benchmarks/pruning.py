"""Accuracy against size for pruned students: how much of the weights may go, and how small the packed file becomes.

    LIMBECK_DATA=path/to/data python benchmarks/pruning.py [--rows 2000] [--seeds 1] [--only 0.8 …]
    python benchmarks/pruning.py --write-page

A Bi-LSTM on SNIPS (seven intents), distilled from TF-IDF with a linear classifier, dense and at several sparsities,
each pruned gradually. Sizes are those of the exported folders, as they are and as a zip file stores them. Numbers go to
benchmarks/results/pruning.json as each line ends, and lines that are there are not run again; --write-page puts table
and picture into docs/distillation.md.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import machine_name, put_between, table  # noqa: E402
from limbeck.artifacts.model_folder import ModelFolder  # noqa: E402
from limbeck.pipeline import run  # noqa: E402
from limbeck.progress import TerminalReporter  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "pruning.json", ROOT / "docs" / "distillation.md"
PICTURE = ROOT / "docs" / "results" / "pruning.svg"
SPARSITIES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
SHOWN = {"fp32": "bilstm", "int8": "bilstm-int8"}
RECIPE = """
[corpus]
train = "arena/snips/train.csv"
dev = "arena/snips/dev.csv"
test = "arena/snips/test.csv"
text = "text"
label = "label"

[teacher]
kind = "linear"

[student]
kind = "bilstm"
hidden_size = 150
embedding_size = 100
word_vectors = "random"

[distillation]
epochs = 20
batch_size = 64
baseline = false

[evaluation]                    # accuracy and size are the matter here, not time
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
throughput_batches = []
teacher_int8 = false
"""


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=2000, help="of train")
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--only", nargs="*", type=float, help="these sparsities only")
    options.add_argument("--runs", type=Path, default=Path("runs"))
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
    else:
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    """Run every sparsity in one folder, and write down its numbers as soon as they are there."""
    asked.runs.mkdir(parents=True, exist_ok=True)
    recipe, folder = asked.runs / "pruning.toml", asked.runs / "pruning"
    recipe.write_text(RECIPE, encoding="utf-8")
    shared = [f"corpus.max_rows={asked.rows}", f"distillation.seeds={list(range(asked.seeds))}"]
    found: dict[str, Any] = {"recipe": RECIPE, "overrides": shared, "lines": []}
    if asked.out.is_file():
        found = json.loads(asked.out.read_text(encoding="utf-8"))
    done = {line["sparsity"] for line in found["lines"]}
    for sparsity in asked.only or SPARSITIES:
        if sparsity in done:
            continue
        print(f"== {sparsity}", file=sys.stderr, flush=True)
        pruning = [f"distillation.pruning={{sparsity={sparsity}}}"] if sparsity else []
        report = run(recipe, overrides=[*shared, *pruning], out=folder, reporter=TerminalReporter()).report
        found["lines"].append({"sparsity": sparsity, **line_of(report, folder), "machine": report["machine"]})
        found["lines"].sort(key=lambda line: float(line["sparsity"]))
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def line_of(report: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Accuracy on test, and the sizes of both files."""
    models = {model["name"]: model for model in report["models"]}
    return {
        "zeros": models["bilstm"].get("sparsity", 0.0),
        "rows": report["judged_rows"],
        "parameters": models["bilstm"]["parameters"],
        **{
            precision: {
                "accuracy": models[name]["accuracy"],
                "mb": models[name]["size_mb"],
                "packed_mb": ModelFolder(folder / models[name]["folder"]).packed_mb(),
            }
            for precision, name in SHOWN.items()
        },
    }


def write_page(found: Mapping[str, Any]) -> None:
    """Table and picture into the page."""
    from benchmarks.results_pictures import Measured, accuracy_by_setting

    lines: Sequence[Mapping[str, Any]] = found["lines"]
    measured = [
        Measured(f"{line['int8']['packed_mb']:.2f}", line["int8"]["packed_mb"], 100 * line["int8"]["accuracy"], 0.0)
        for line in lines
    ]
    accuracy_by_setting(measured, xlabel="int8 folder as a zip file, MB", is_number=True, file=PICTURE)
    first = lines[0]
    how = (
        f"A Bi-LSTM of {first['parameters']:,} parameters on SNIPS, {', '.join(found['overrides'])}, judged on "
        f"{first['rows']:,} test rows; measured on {machine_name(first['machine'])}."
    )
    picture = f"![Accuracy of pruned students by the size of their packed int8 folder](results/{PICTURE.name})"
    text = f"{table(HEADINGS, [_row(line) for line in lines])}\n\n{picture}\n\n{how}\nMade by `benchmarks/pruning.py`."
    put_between(PAGE, text, start="<!-- pruning -->", end="<!-- /pruning -->")


HEADINGS = [
    *("`sparsity`", "fp32 accuracy", "fp32 MB", "packed MB"),
    *("int8 accuracy", "int8 MB", "int8 packed MB"),
]


def _row(line: Mapping[str, Any]) -> list[str]:
    numbers = [
        text
        for precision in SHOWN
        for text in (
            f"{100 * line[precision]['accuracy']:.1f}",
            f"{line[precision]['mb']:.2f}",
            f"{line[precision]['packed_mb']:.2f}",
        )
    ]
    return [f"{line['sparsity']:g}", *numbers]


if __name__ == "__main__":
    main()
