"""Part-of-speech tags for `pos_swap`: HanTa's own, with marks apart, and with parts of words, compared.

    LIMBECK_DATA=path/to/data python benchmarks/tags.py [--rows 2000] [--copies 10] [--seeds 3] [--only marks …]
    python benchmarks/tags.py --write-page

Rows of SST-2 are copied by pos_swap alone, once with each set of tags, and a Bi-LSTM learns from them what
all-MiniLM-L6-v2, fine-tuned on the rows, says of the copies. Counted are the words that are changed, and the copies to
which the teacher gives another label than to the row. NLTK's tagger is not among them: its model is downloaded when it
is first used. Numbers go to benchmarks/results/tags.json as each line ends, and lines that are there are not run again;
--write-page puts their table into docs/augmentation.md.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import machine_name, put_between, table  # noqa: E402
from limbeck.augmentation import tagging  # noqa: E402
from limbeck.pipeline import run  # noqa: E402
from limbeck.progress import TerminalReporter  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "tags.json", ROOT / "docs" / "augmentation.md"
MORPHEMES = 3  # HanTa's level of tags that has the parts of a word
RECIPE = """
[corpus]
train = "sst2/train.tsv"
dev = "sst2/dev.tsv"
text = "sentence"
label_names = { 0 = "negative", 1 = "positive" }
overlap = "remove"

[augmentation]
copies = 10
processes = 1                   # the tags of this script are in this process

[[augmentation.methods]]
kind = "pos_swap"
fraction = 0.3

[teacher]
checkpoint = "all-MiniLM-L6-v2"
epochs = 2
learning_rate = 2e-4
max_length = 64

[student]
kind = "bilstm"
embedding_size = 100

[distillation]
batch_size = 64
baseline = false

[export]
precisions = ["fp32"]

[evaluation]                    # accuracy is the matter here, not time
latency_rows = 10
latency_rounds = 1
throughput_rows = 16
throughput_batches = []
teacher_int8 = false
"""

Refine = Callable[[str, str], str]
own: Refine = tagging.refined  # before it is exchanged


def plain(_word: str, tag: str) -> str:
    """HanTa's tag: one class for most marks, one for quotes."""
    return tag


@cache
def analyser() -> Any:
    """HanTa's model, read once."""
    return tagging._hanta(tagging.hanta_model("en"))


def with_morphemes(word: str, tag: str) -> str:
    """The tag, marks apart, and the tags of the parts of the word: its root and its endings."""
    _, parts, _ = analyser().analyze(word, taglevel=MORPHEMES)
    return own(word, tag) + "".join(f"/{kind.strip()}" for _, kind in parts)


TAGS: dict[str, tuple[str, Refine]] = {
    "plain": ("HanTa's tags", plain),
    "marks": ("HanTa's tags, marks apart", own),
    "morphemes": ("the same with the parts of words", with_morphemes),
}


def line_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """What became of the copies, and of the student."""
    copies, models = report["augmentation"], {model["role"]: model for model in report["models"]}
    return {
        **{key: copies[key] for key in ("asked", "kept", "words_changed_share")},
        "label_flips": copies["chosen"]["label_flips"],
        "teacher": models["teacher"]["accuracy"],
        "accuracies": models["student"]["accuracy_per_seed"],
        "machine": report["machine"],
    }


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=2000, help="of train")
    options.add_argument("--copies", type=int, default=10, help="of each row")
    options.add_argument("--seeds", type=int, default=3, help="students")
    options.add_argument("--only", nargs="*", help=f"of {', '.join(TAGS)}")
    options.add_argument("--runs", type=Path, default=Path("runs"))
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
    else:
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    """A run with each set of tags; the teacher is trained once."""
    asked.runs.mkdir(parents=True, exist_ok=True)
    recipe = asked.runs / "tags.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    overrides = [f"corpus.max_rows={asked.rows}", f"augmentation.copies={asked.copies}"]
    overrides.append(f"distillation.seeds={list(range(asked.seeds))}")
    found: dict[str, Any] = {"recipe": RECIPE, "overrides": overrides, "lines": []}
    if asked.out.is_file():
        found = json.loads(asked.out.read_text(encoding="utf-8"))
    done = {line["name"] for line in found["lines"]}
    for name, (_, refine) in TAGS.items():
        if name in done or (asked.only and name not in asked.only):
            continue
        print(f"== {name}", file=sys.stderr, flush=True)
        setattr(tagging, "refined", refine)  # noqa: B010 - mypy knows a function by its name, which is what changes
        # In a folder of its own: the store of tags is beside the run, and knows nothing of this script.
        out = asked.runs / f"tags-{name}" / "run"
        report = run(recipe, overrides=overrides, out=out, reporter=TerminalReporter()).report
        found["lines"].append({"name": name, **line_of(report)})
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def write_page(found: Mapping[str, Any]) -> None:
    """The table into the page."""
    lines = found["lines"]
    rows = [
        [
            TAGS[line["name"]][0],
            f"{100 * line['words_changed_share']:.1f}",
            f"{100 * line['label_flips']:.2f}",
            f"{100 * statistics.mean(line['accuracies']):.1f} ± {100 * statistics.stdev(line['accuracies']):.1f}",
        ]
        for line in lines
    ]
    headings = ["tags", "words changed, %", "copies of another label, %", "student, dev"]
    how = (
        f"SST-2, {', '.join(found['overrides'])}, `fraction = 0.3`; labels are those of all-MiniLM-L6-v2, "
        f"{100 * lines[0]['teacher']:.1f} on dev; measured on {machine_name(lines[0]['machine'])}. "
        "Made by `benchmarks/tags.py`."
    )
    put_between(PAGE, f"{table(headings, rows)}\n\n{how}", start="<!-- tags -->", end="<!-- /tags -->")


if __name__ == "__main__":
    main()
