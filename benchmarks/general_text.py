"""What general text is worth: drafts for a file of few rows, with sentences that have nothing to do with it or without.

    LIMBECK_DATA=path/to/data python benchmarks/general_text.py --text wikipedia=wiki.txt --text reviews=imdb.txt
                                                                [--drafts cpu,gpu] [--sets hwu64,mpqa] [--workers 10]
    python benchmarks/general_text.py --write-page

The files have a sentence a line. For every set of LIMBECK_DATA/arena, 1,000 rows of train are drafted, and the students
of all variants learn from one teacher. They are judged on up to 2,000 other rows of train: test is not read. Variants
differ in their transfer text alone; the first has none, but 20 copies of each row, as all have.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.arena import rows_of, write  # noqa: E402
from benchmarks.page_parts import percents, put_between, table  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "general_text.json", ROOT / "docs" / "transfer.md"
START, END = "<!-- general -->", "<!-- /general -->"
SETS = ("hwu64", "mpqa", "tweet_emotion", "tweet_irony", "tweet_offensive")
ROWS, JUDGED, SEED = 1_000, 2_000, 0
STUDENT = "bilstm-int8"
# Quick ones: one student, no report but its accuracy. All variants have the same training.
SETTINGS = (
    *("distillation.batch_size=128", "distillation.epochs=8", "distillation.baseline=false", "candidates=[]"),
    *('export.precisions=["int8"]', "evaluation.rival=false", "evaluation.teacher_int8=false"),
    *("evaluation.latency_rows=1", "evaluation.throughput_rows=1", "evaluation.throughput_batches=[]"),
)


def main() -> None:
    """Run what is asked for, or write the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--text", action="append", default=[], help="NAME=FILE, a sentence a line")
    options.add_argument("--drafts", default="cpu,gpu")
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--runs", type=Path, default=Path("runs/general-text"))
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
        return
    data = os.environ.get("LIMBECK_DATA") or sys.exit("Name the folder of the data sets in LIMBECK_DATA.")
    texts = dict(named.split("=", 1) for named in asked.text)
    tasks = [(draft, name) for draft in asked.drafts.split(",") for name in asked.sets.split(",")]
    with ThreadPoolExecutor(asked.workers) as pool:
        found = list(pool.map(lambda task: run_set(task[0], task[1], Path(data), texts, runs=asked.runs), tasks))
    facts = {"machine": machine_facts(threads=0), "rows": ROWS, "seed": SEED}
    results = [entry for entries in found for entry in entries]
    RESULTS.write_text(json.dumps({**facts, "results": results}, indent=1) + "\n", encoding="utf-8")


def variants(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The keys of each variant, by name."""
    each = {f"20,000 sentences, {name}": _transfer([file], 20_000) for name, file in texts.items()}
    both = {"120,000 sentences of all": _transfer(list(texts.values()), 120_000)} if len(texts) > 1 else {}
    return {"none": ['transfer.files=["none.txt"]', "transfer.rows=1"], **each, **both}


def _transfer(files: Sequence[str], rows: int) -> list[str]:
    return [f"transfer.files={json.dumps([str(Path(file).resolve()) for file in files])}", f"transfer.rows={rows}"]


def run_set(draft: str, name: str, data: Path, texts: Mapping[str, str], *, runs: Path) -> list[dict[str, Any]]:
    """All variants on one set, with the teacher of one draft."""
    folder = (runs / f"{draft}-{name}").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rows, _ = rows_of(data / "arena" / name, str(10**9), seed=SEED)
    write(folder / "train.csv", rows[:ROWS])
    write(folder / "test.csv", rows[ROWS : ROWS + JUDGED])
    (folder / "none.txt").write_text("nothing\n", encoding="utf-8")  # one row, so that a draft's own text is replaced
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""} if draft == "cpu" else None
    limbeck = [sys.executable, "-m", "limbeck"]
    subprocess.run([*limbeck, "init", "train.csv", "--force"], cwd=folder, env=hidden, check=True)
    found = []
    for variant, keys in variants(texts).items():
        place = variant.replace(" ", "-").replace(",", "")
        sets = [word for key in (*SETTINGS, *_plain(folder), *keys) for word in ("--set", key)]
        subprocess.run([*limbeck, "run", "train.toml", "--out", f"runs/{place}", *sets], cwd=folder, check=True)
        report = json.loads((folder / "runs" / place / "report" / "report.json").read_text(encoding="utf-8"))
        accuracies = {entry["name"]: entry["accuracy"] for entry in report["models"]}
        teacher = next(entry["accuracy"] for entry in report["models"] if entry["role"] == "teacher")
        found.append({"draft": draft, "set": name, "text": variant, "student": accuracies[STUDENT], "teacher": teacher})
    return found


def _plain(folder: Path) -> list[str]:
    """Keys that undo what a draft says of its own general text. Its time is not kept to, as SETTINGS has epochs."""
    drafted = (folder / "train.toml").read_text(encoding="utf-8")
    undone = ["transfer.where={}", "transfer.share=1.0", "transfer.split_sentences=false", "transfer.max_words=400"]
    return undone if "\n[transfer]" in drafted else []


def write_page(found: Mapping[str, Any]) -> None:
    """Put the table between the marks of docs/transfer.md."""
    results = [*found["results"], *found.get("also_tried", [])]
    sets = sorted({entry["set"] for entry in results})
    lines = []
    for draft in dict.fromkeys(entry["draft"] for entry in results):
        here = [entry for entry in results if entry["draft"] == draft]
        teacher = {entry["set"]: entry["teacher"] for entry in here}
        for text in dict.fromkeys(entry["text"] for entry in here):
            of_text = {entry["set"]: entry["student"] for entry in here if entry["text"] == text}
            lines.append([draft, text, *percents(of_text, sets)])
        lines.append([draft, "the teacher", *percents(teacher, sets)])
    text = table(["draft", "general text", *sets, "mean"], lines, words=["draft", "general text"])
    put_between(PAGE, text, start=START, end=END)


if __name__ == "__main__":
    main()
