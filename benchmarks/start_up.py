"""What it costs to begin: importing, `--help`, loading a model of 10 MB, and the memory it takes then.

    python benchmarks/start_up.py [--rounds 9] [--python path/to/base/install/bin/python]
    python benchmarks/start_up.py --write-page

Every number is the median over fresh processes that take turns; none of them may load torch. The student is a Bi-LSTM
of the usual size with random weights and made-up words, exported as int8; its rows are 24 words drawn evenly from all
of its vocabulary, so that nearly every word is a new one: no real text asks that much of what an engine keeps of words.
Numbers go to benchmarks/results/start_up.json; --write-page puts their table into docs/runtime.md.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "start_up.json", ROOT / "docs" / "runtime.md"
START, END = "<!-- start-up -->", "<!-- /start-up -->"
WORDS, WORDS_A_ROW, ROWS = 30_000, 24, 1_000
SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]
ENGINES = ("native", "onnx")

# In the process: what the modules of an engine cost is part of the first `load`, as it is for whoever calls it.
LOADING = """
import json, os, sys, time
import limbeck

def resident_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6

def loaded():
    wall, cpu = time.perf_counter(), time.process_time()
    model = limbeck.load(folder, threads=1, engine=engine)
    return model, [time.perf_counter() - wall, time.process_time() - cpu]

folder, engine, texts = sys.argv[1:]
with open(texts, encoding="utf-8") as file:
    rows = file.read().splitlines()
before = resident_mb()
model, first = loaded()
after_load = resident_mb()
for row in rows:
    model.predict([row])
after_rows = resident_mb()
_, again = loaded()
assert "torch" not in sys.modules
print(json.dumps({"first": first, "again": again, "resident_mb": [before, after_load, after_rows]}))
"""


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--python", default=sys.executable, help="the interpreter to measure in")
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as folder:
        numbers = measured(Path(folder), python=asked.python, rounds=asked.rounds)
    print(json.dumps(numbers, indent=1))
    asked.out.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def measured(folder: Path, *, python: str, rounds: int) -> dict[str, Any]:
    """All numbers, of a student made in this folder."""
    from limbeck.timing.machine import machine_facts

    model, texts = make_student(folder)
    one = folder / "one.txt"
    one.write_text(texts.read_text(encoding="utf-8").partition("\n")[0], encoding="utf-8")
    commands = {
        "interpreter": ["-c", "pass"],
        "import": ["-c", "import limbeck"],
        "help": ["-m", "limbeck", "--help"],
        "predict": ["-m", "limbeck", "predict", str(model.folder), str(one)],
    }
    engines = [engine for engine in ENGINES if _is_there(python, model.folder, engine, one)]
    processes: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    loads: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    for _ in range(rounds):
        for name, arguments in commands.items():
            processes[name].append(_timed([python, *arguments]))
        for engine, samples in loads.items():
            samples.append(_loaded(python, model.folder, engine, texts))
    return {
        "machine": machine_facts(threads=1),
        "rounds": rounds,
        "student": {"size_mb": round(model.size_mb(), 2), "words": WORDS, "kind": "bilstm", "precision": "int8"},
        "rows": ROWS,
        "words_a_row": WORDS_A_ROW,
        "processes": {name: _medians(samples) for name, samples in processes.items()},
        "loading": {engine: _summary(samples) for engine, samples in loads.items()},
    }


def make_student(folder: Path) -> tuple[Any, Path]:
    """An exported Bi-LSTM with random weights, as a ModelFolder, and a file of rows for it."""
    import torch

    from limbeck.artifacts.atomic_folder import written_atomically
    from limbeck.artifacts.manifest import Key
    from limbeck.artifacts.rows import Rows
    from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
    from limbeck.export import export_student
    from limbeck.models.bilstm import bilstm
    from limbeck.progress import SilentReporter
    from limbeck.recipe.export import Export
    from limbeck.recipe.student import BiLstm
    from limbeck.text.word_tokenizer import build_word_tokenizer
    from limbeck.training.modes import quiet_transformers

    dice, key, section = random.Random(0), Key(section={}, inputs={}), BiLstm()
    words = made_up_words(dice)
    rows = [" ".join(dice.choices(words, k=WORDS_A_ROW)) for _ in range(ROWS)]
    tokenizer = build_word_tokenizer(words, language="en", max_size=WORDS, min_count=1, lowercase=True)
    torch.manual_seed(0)
    labels, width = ["negative", "positive"], section.embedding_size
    network = bilstm(section, vocabulary_size=len(tokenizer), embedding_size=width, labels=labels, pair=False)
    facts = StudentFacts(
        name="bilstm", kind="bilstm", role="student", seed=0, labels=labels, language="en", pair=False, best_epoch=1,
        dev_accuracy=0.5, max_length=section.max_length, parameters=network.num_parameters(),
        parameters_without_embeddings=0,
    )  # fmt: skip
    quiet_transformers()
    with written_atomically(folder / "student", kind="student", key=key) as scratch:
        network.save_pretrained(scratch)
        tokenizer.save(scratch / "tokenizer.json")
        save_student_facts(scratch, facts, history=[])
    model = export_student(
        Export(int8_agreement=0),  # with random weights most rows lie near the border
        student=StudentFolder(folder / "student"),
        rows=Rows.of(ids=rows[:100], texts=rows[:100]),
        precision="int8",
        out=folder / "model",
        key=key,
        reporter=SilentReporter(),
    )
    texts = folder / "texts.txt"
    texts.write_text("\n".join(rows), encoding="utf-8")
    return model, texts


def made_up_words(dice: random.Random) -> list[str]:
    """As many different words as the vocabulary is to have, in a fixed order."""
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(dice.choices(SYLLABLES, k=dice.randint(1, 5)))] = None
    return list(words)


def _is_there(python: str, model: Path, engine: str, texts: Path) -> bool:
    command = [python, "-c", LOADING, str(model), engine, str(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "EngineUnusable" not in done.stderr:
        raise RuntimeError(done.stderr)
    return done.returncode == 0


def _timed(command: Sequence[str]) -> tuple[float, float]:
    """Seconds of a process from start to end, and those that it computed."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


def _loaded(python: str, model: Path, engine: str, texts: Path) -> dict[str, Any]:
    command = [python, "-c", LOADING, str(model), engine, str(texts)]
    found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def _medians(samples: Sequence[Sequence[float]]) -> dict[str, float]:
    wall, cpu = (round(statistics.median(column), 4) for column in zip(*samples, strict=True))
    return {"wall_s": wall, "cpu_s": cpu}


def _summary(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    memory = zip(*(sample["resident_mb"] for sample in samples), strict=True)
    before, loaded, asked = (round(statistics.median(column), 1) for column in memory)
    return {
        "first": _medians([sample["first"] for sample in samples]),
        "again": _medians([sample["again"] for sample in samples]),
        "resident_mb": {"before": before, "loaded": loaded, "after_rows": asked},
    }


def page(text: str) -> str:
    """The page with the table between its marks."""
    if START not in text:
        raise SystemExit(f"docs/{PAGE.name} has no place for the table: put {START} and {END} into it")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table(json.loads(RESULTS.read_text(encoding='utf-8')))}\n\n{END}{after}"


def table(found: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    machine, student = found["machine"], found["student"]
    what = {
        "interpreter": "Python alone",
        "import": "`import limbeck`",
        "help": "`limbeck --help`",
        "predict": "`limbeck predict` of one row",
    }
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}; medians of {found['rounds']} fresh "
        f"processes. The student: Bi-LSTM 150, {student['words']:,} words, {student['precision']}, "
        f"{student['size_mb']:.1f} MB.",
        "",
        "| from start to end | ms | ms of CPU |",
        "|---|---:|---:|",
        *(f"| {name} | {_ms(found['processes'][key])} |" for key, name in what.items()),
        "",
        f"| engine | first `load`, ms | ms of CPU | again, ms | ms of CPU | MB before | MB loaded | MB after "
        f"{found['rows']:,} rows |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for engine, of_engine in found["loading"].items():
        memory = " | ".join(f"{of_engine['resident_mb'][key]:.0f}" for key in ("before", "loaded", "after_rows"))
        lines.append(f"| {engine} | {_ms(of_engine['first'])} | {_ms(of_engine['again'])} | {memory} |")
    return "\n".join([*lines, "", "Made by `benchmarks/start_up.py`, which says what exactly is measured."])


def _ms(times: Mapping[str, float]) -> str:
    return f"{1000 * times['wall_s']:.0f} | {1000 * times['cpu_s']:.0f}"


if __name__ == "__main__":
    main()
