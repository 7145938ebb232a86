"""What a general stage is worth to transformer students: TinyBERT's ablations, DistilBERT, MiniLM-v2, and few rows.

    LIMBECK_DATA=path/to/data python benchmarks/general_transformers.py ablation [--text en-wiki.txt.gz] [--seeds 0,1,2]
    LIMBECK_DATA=path/to/data python benchmarks/general_transformers.py shapes
    LIMBECK_DATA=path/to/data python benchmarks/general_transformers.py curve [--rows 100,300,1000,3000,all]
    python benchmarks/general_transformers.py collect     # benchmarks/results/general_transformers.json, from the runs

`ablation` distils TinyBERT-4 in general and on SST-2, whole and without each of its parts: the general stage, the
task's stage on layers, the copies; the losses on embeddings, states, attention and predictions; the maps g(m). `shapes`
compares six layers that start from the teacher, from MiniLM-v2's and from DistilBERT's general stage. `curve` takes so
many labelled rows of SST-2, tweet_emotion, hwu64 and ChnSentiCorp: a Bi-LSTM from scratch and a general one, and
transformers, all distilled. (General ones know English; --general-zh names the folder of a Chinese Bi-LSTM.)

All runs are plain `limbeck pretrain` and `limbeck run`: what is finished is reused, a stopped benchmark goes on where
it was. Each command needs hours of a GPU; `--set KEY=VALUE` (for runs) and `--general KEY=VALUE` (for general stages)
make it smaller, and `--only NAME,NAME` takes some of its lines.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.arena import read, write  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "general_transformers.json"
TINYBERT, MINILM, DISTILBERT = "tinybert-4-general", "minilm-v2-6-general", "distilbert-6-general"
LAYERS = ("embedding_mse", "hidden_mse", "attention_mse")
MAPS = {"top": 'layers = "top"', "bottom": 'layers = "every", every = 1'}
LAYER_STAGE, LAST_STAGE = (10, 5e-5), (3, 3e-5)  # epochs and learning rates of TinyBERT's task stages
SETS = {"sst2": "en", "tweet_emotion": "en", "hwu64": "en", "chnsenticorp": "zh"}
FOLDERS = {"tweet_emotion": "arena/tweet_emotion", "hwu64": "arena/hwu64"}


def main() -> None:
    """Run one of the parts, or collect what they left."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("part", choices=("ablation", "shapes", "curve", "collect"))
    options.add_argument("--runs", type=Path, default=Path("runs/general-transformers"))
    options.add_argument("--text", default="en-wiki.txt.gz", help="general text: files, separated by commas")
    options.add_argument("--seeds", default="0,1,2")
    options.add_argument("--rows", default="100,300,1000,3000,all")
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--only", default="")
    options.add_argument("--teacher", default="bert-base-uncased")
    options.add_argument("--general-zh", default="", help="a general Chinese Bi-LSTM's folder")
    options.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options.add_argument("--general", action="append", default=[], metavar="KEY=VALUE")
    asked = options.parse_args()
    asked.runs = asked.runs.resolve()
    if asked.part == "collect":
        collect(asked.runs)
        return
    data = Path(os.environ.get("LIMBECK_DATA") or sys.exit("Name the folder of the data sets in LIMBECK_DATA."))
    {"ablation": ablation, "shapes": shapes, "curve": curve}[asked.part](asked, data.resolve())


def wanted(asked: argparse.Namespace, lines: Mapping[str, Any]) -> dict[str, Any]:
    """The lines that --only names, or all."""
    chosen = asked.only.split(",") if asked.only else list(lines)
    return {name: lines[name] for name in lines if name in chosen}


def limbeck(asked: argparse.Namespace, *words: str, sets: Sequence[str], folder: Path, log: str) -> None:
    """One command, whose output goes to a file of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    given = [word for one in sets for word in ("--set", one)]
    with (folder / f"{log}.log").open("a", encoding="utf-8") as file:
        print(f"{log}: {' '.join(words)}", flush=True)
        command = [sys.executable, "-m", "limbeck", *words, *given]
        subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=True, cwd=asked.runs)


def general(asked: argparse.Namespace, name: str, recipe: str, changes: Sequence[str] = ()) -> str:
    """`student.start` for a general stage with these changes, which is made first."""
    files = json.dumps([str(Path(one).resolve()) for one in asked.text.split(",")])
    own = [f"general.name={name}", f"general.teacher={asked.teacher}", f"transfer.files={files}"]
    sets = [*own, *changes, *asked.general]
    limbeck(asked, "pretrain", recipe, sets=sets, folder=asked.runs, log=f"general-{name}")
    return str(asked.runs / "general" / name)


def losses(kinds: Sequence[str], options: str = "") -> str:
    """A list of losses in TOML; the options belong to those that have a map of layers."""
    written = []
    for kind in kinds:
        own = f", {options}" if options and kind in ("hidden_mse", "attention_mse") else ""
        written.append(f'{{kind = "{kind}"{own}}}')
    return f"[{', '.join(written)}]"


def stages(kinds: Sequence[str], *, options: str = "", predicts: bool = True) -> str:
    """TinyBERT's two stages on the task; without a loss on predictions, labels teach the classifier."""
    (epochs, rate), (last_epochs, last_rate) = LAYER_STAGE, LAST_STAGE
    last = '[{kind = "soft_targets", temperature = 1.0}]' if predicts else '[{kind = "hard_labels"}]'
    first = f"{{epochs = {epochs}, learning_rate = {rate}, losses = {losses(kinds, options)}}}, " if kinds else ""
    return f"distillation.stages=[{first}{{epochs = {last_epochs}, learning_rate = {last_rate}, losses = {last}}}]"


def ablation(asked: argparse.Namespace, data: Path) -> None:
    """The tables 3 to 5 of Jiao et al. 2020, on SST-2."""
    for name, line in wanted(asked, ablation_lines()).items():
        changes = [f"general.losses={losses(line['general'], line['map'])}"]
        same = line["general"] == list(LAYERS) and not line["map"]
        start = "random"
        if line["general"]:
            start = general(asked, "tinybert-4" if same else f"tinybert-4-{name}", TINYBERT, changes)
        recipe = "sst2-tinybert-4" if line["copies"] else "sst2-tinybert"
        task = stages(line["task"], options=line["map"], predicts=line["predicts"])
        run(asked, data, recipe, f"ablation-{name}", [f"student.start={start}", task])


def ablation_lines() -> dict[str, dict[str, Any]]:
    """What each line of the table has: losses in general and on the task, predictions, copies, the map of layers."""
    whole = {"general": list(LAYERS), "task": list(LAYERS), "predicts": True, "copies": True, "map": ""}
    without = {
        f"without-{kind.partition('_')[0]}": {"general": rest, "task": rest}
        for kind in LAYERS
        for rest in [[one for one in LAYERS if one != kind]]
    }
    changed: dict[str, dict[str, Any]] = {
        "whole": {},
        "without-general": {"general": []},
        "without-task-layers": {"task": []},
        "without-copies": {"copies": False},
        **without,
        "without-layers": {"general": [], "task": []},
        "without-prediction": {"predicts": False},
        **{f"map-{name}": {"map": option} for name, option in MAPS.items()},
    }
    return {name: {**whole, **changes} for name, changes in changed.items()}


def shapes(asked: argparse.Namespace, data: Path) -> None:
    """Six layers, from the teacher's layers and from two general stages; each beside itself alone (the baseline)."""
    lines = {
        "distilbert-6": ("sst2-distilbert-6", lambda: general(asked, "distilbert-6", DISTILBERT)),
        "distilbert-6-from-teacher": ("sst2-distilbert-6", lambda: "teacher"),
        "minilm-v2-6": ("sst2-minilm-v2-6", lambda: general(asked, "minilm-v2-6", MINILM)),
        "minilm-v2-6-from-teacher": ("sst2-minilm-v2-6", lambda: "teacher"),
    }
    for name, (recipe, start) in wanted(asked, lines).items():
        six = ["student.layers=6"] if name.endswith("from-teacher") else []
        run(asked, data, recipe, f"shapes-{name}", [f"student.start={start()}", *six])


def run(asked: argparse.Namespace, data: Path, recipe: str, name: str, changes: Sequence[str]) -> None:
    """One run with all seeds."""
    seeds = f"distillation.seeds=[{asked.seeds}]"
    os.environ["LIMBECK_DATA"] = str(data)
    sets = [f"teacher.checkpoint={asked.teacher}", seeds, *changes, *asked.set]
    out = asked.runs / name
    limbeck(asked, "run", recipe, "--out", str(out), sets=sets, folder=asked.runs, log=name)


def curve(asked: argparse.Namespace, data: Path) -> None:
    """Accuracy against labelled rows, of students with and without general knowledge."""
    for data_set in asked.sets.split(","):
        language = SETS[data_set]
        for rows in asked.rows.split(","):
            folder = cut(data, data_set, rows, asked.runs / "data")
            for name, changes in wanted(asked, curve_lines(asked, language)).items():
                recipe = folder / "recipe.toml"
                recipe.write_text(
                    CURVE.format(language=language, teacher=teacher_of(asked, language)), encoding="utf-8"
                )
                run_sets = [f"distillation.seeds=[{asked.seeds}]", *changes(), *asked.set]
                out = asked.runs / f"curve-{data_set}-{rows}-{name}"
                limbeck(asked, "run", str(recipe), "--out", str(out), sets=run_sets, folder=asked.runs, log=out.name)


CURVE = """[corpus]
train = "train.csv"
test = "test.csv"
language = "{language}"

[teacher]
checkpoint = "{teacher}"

[student]
kind = "bilstm"

[distillation]
losses = [{{ kind = "logit_mse" }}]
"""


def teacher_of(asked: argparse.Namespace, language: str) -> str:
    return str(asked.teacher) if language == "en" else "bert-base-chinese"


def curve_lines(asked: argparse.Namespace, language: str) -> dict[str, Any]:
    """Changes for each student of the curve, as functions: general stages are made only when they are needed."""
    of_words = "general:english" if language == "en" else asked.general_zh
    shape = {"kind": "bilstm", "hidden_size": 150, "embedding_size": 200}
    rate = "distillation.learning_rate=1e-4"
    lines: dict[str, Any] = {"bilstm": lambda: [f"student={toml(shape)}"]}
    if of_words:
        lines["bilstm-general"] = lambda: [f"student={toml({**shape, 'start': of_words})}"]
    lines["transformer-from-teacher"] = lambda: [f"student={toml({'kind': 'transformer', 'layers': 6})}", rate]
    if language == "en":
        for name, recipe in (("minilm-v2-6", MINILM), ("tinybert-4", TINYBERT)):
            lines[name] = lambda name=name, recipe=recipe: [
                f"student={toml({'kind': 'transformer', 'start': general(asked, name, recipe)})}",
                rate,
            ]
    return lines


def toml(table: Mapping[str, Any]) -> str:
    """A table on one line."""
    return f"{{{', '.join(f'{key} = {json.dumps(value)}' for key, value in table.items())}}}"


def cut(data: Path, name: str, rows: str, folder: Path) -> Path:
    """So many rows of train, and the rows to judge by: test, or dev of sets whose test has no labels."""
    place = data / FOLDERS.get(name, name)
    in_arena = name in FOLDERS
    train = list(read(place / "train.csv")) if in_arena else tsv(place / "train.tsv")
    judged = list(read(place / "test.csv")) if in_arena else tsv(place / "dev.tsv")
    here = folder / f"{name}-{rows}"
    here.mkdir(parents=True, exist_ok=True)
    write(here / "train.csv", train if rows == "all" else train[: int(rows)])
    write(here / "test.csv", judged)
    return here


def tsv(path: Path) -> list[tuple[str, str]]:
    """Texts and labels of a tsv file, whose columns may be in either order; its quotes are plain characters."""
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    label = head.split("\t").index("label")
    found = [line.split("\t") for line in lines if "\t" in line]
    return [(cells[1 - label], cells[label]) for cells in found]


def collect(runs: Path) -> None:
    """What every run and every general stage left, as one small file."""
    found = {
        "general": [general_line(path) for path in sorted(runs.glob("general/*/general.json"))],
        "runs": [run_line(path) for path in sorted(runs.glob("*/report/report.json"))],
        "machine": machine_facts(threads=0),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for line in found["runs"]:
        print(json.dumps(line))


def general_line(path: Path) -> dict[str, Any]:
    """Text, steps, minutes and speed of a general stage, and its loss before and after."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    speed, history = facts["settings"]["speed"], facts["history"]
    return {
        "name": facts["name"],
        "tokens": facts["text"]["tokens"],
        "steps": facts["settings"]["steps"],
        "minutes": facts["minutes"],
        "rate_of_teacher": round(speed["student"] / speed["teacher"], 3),
        "loss": [round(history[place]["dev_loss"], 4) for place in (0, -1)],
        "machine": facts["machine"].get("gpu") or facts["machine"].get("cpu"),
    }


def run_line(path: Path) -> dict[str, Any]:
    """Accuracies of teacher, students and baseline: the mean and each seed."""
    models = json.loads(path.read_text(encoding="utf-8"))["models"]
    line: dict[str, Any] = {"name": path.parent.parent.name}
    for role in ("teacher", "student", "baseline"):
        of_role = [one for one in models if one["role"] == role and one.get("accuracy") is not None]
        if of_role:
            line[role] = round(mean(one["accuracy"] for one in of_role), 4)
            line |= {f"{role}_seeds": of_role[0]["accuracy_per_seed"]} if role != "teacher" else {}
    student: dict[str, Any] = next((one for one in models if one["role"] == "student"), {})
    return line | {"gain": student.get("gain_over_baseline")}


if __name__ == "__main__":
    main()
