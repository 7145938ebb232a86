"""Model folders that somebody has changed and signed again: each is loaded and asked, and what happened is printed.

    python tests/hostile/mutated_models.py FOLDER COUNT SEED [FIRST]

A line of JSON for each: what was changed, and the outcome: "refused" (a LimbeckError), "answers", or the traceback of
anything else. The line is printed in two parts: the end of the process leaves the first one alone, and names it.
"""

import json
import random
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import limbeck
from limbeck.artifacts.manifest import MANIFEST, Key, write_manifest
from limbeck.errors import LimbeckError

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 7, 2**31, 2**63, -(2**63), 1e308, 0.5, -0.0, float("nan"), float("inf")),
    *("", "x", "\x00", "\x1b[31m", "é" * 50, "../../etc/passwd", "a" * 100_000),
    *([], {}, [[]], [0], {"type": "Sequence"}, [""] * 1000),
]


def main() -> None:
    """Change, load, ask; again and again."""
    source, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for number in range(int((sys.argv[4:] or ["0"])[0]), count):
        chance = random.Random(f"{seed} {number}")
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "model"
            shutil.copytree(source, folder)
            what = change(folder, chance)
            print(json.dumps([number, what])[:-1], end=", ", flush=True)
            print(f"{json.dumps(outcome(folder, engine=chance.choice(['auto', 'onnx'])))}]", flush=True)


def outcome(folder: Path, *, engine: Any) -> str:
    """What comes of it."""
    try:
        model = limbeck.load(folder, engine=engine, threads=1)
    except LimbeckError as error:
        str(error)
        return "refused"
    except BaseException:
        return traceback.format_exc()
    texts = ["a gorgeous film", "", "dreadful " * 300]
    try:
        rows = model.predict([(text, text) for text in texts] if model.facts.pair else texts)
        return "answers" if len(rows) == len(texts) else "another number of answers"
    except LimbeckError:
        return "refused"
    except BaseException as error:
        return f"failed when it was asked: {type(error).__name__}"


def change(folder: Path, chance: random.Random) -> str:
    """Change one file, and sign the folder again, or not if it is the manifest that was changed."""
    names = ["model.json", "model.json", "tokenizer.json", "tokenizer.json", "model.onnx", "profile.json", MANIFEST]
    name = chance.choice([name for name in names if (folder / name).is_file()])
    path = folder / name
    how = chance.choice(["value", "value", "value", "remove", "bytes", "cut"])
    if how in ("value", "remove") and path.suffix == ".json":
        content = json.loads(path.read_text(encoding="utf-8"))
        place = changed_place(content, chance, removes=how == "remove")
        path.write_text(json.dumps(content), encoding="utf-8")
    elif how == "cut":
        place = f"cut to {(length := chance.randrange(path.stat().st_size))} bytes"
        path.write_bytes(path.read_bytes()[:length])
    else:
        data = bytearray(path.read_bytes())
        places = [chance.randrange(len(data)) for _ in range(chance.choice([1, 1, 4, 32]))]
        for at in places:
            data[at] = chance.randrange(256)
        path.write_bytes(bytes(data))
        place = f"bytes {places}"
    if name != MANIFEST:
        (folder / MANIFEST).unlink()
        write_manifest(folder, kind="model", key=Key(section={}, inputs={}))
    return f"{name}: {how} {place}"


def changed_place(content: Any, chance: random.Random, *, removes: bool) -> str:
    """Change a value somewhere inside, and say where."""
    way: list[Any] = []
    at = content
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return f"{way} is empty"
        key = chance.choice(keys)
        way.append(key)
        if isinstance(at[key], dict | list) and at[key] and chance.random() < 0.7:
            at = at[key]
            continue
        if removes:
            del at[key]
            return f"{way} removed"
        at[key] = chance.choice(VALUES)
        return f"{way} = {str(at[key])[:40]!r}"


if __name__ == "__main__":
    main()
