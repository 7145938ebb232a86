"""The folder of `limbeck package`: a model with what answers from it in browsers and in Node, without a server."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from limbeck import __version__
from limbeck.artifacts.manifest import MANIFEST
from limbeck.artifacts.model_folder import ModelFacts, ModelFolder, copy_model, open_model
from limbeck.errors import LimbeckError, PathUnusable
from limbeck.packaging.javascript import refuse_unreadable
from limbeck.packaging.node import NodeCheck, check_in_node, node
from limbeck.packaging.onnxruntime_web import VERSION, put_runtime
from limbeck.packaging.vectors import ROWS, make_vectors, write_vectors

WEB, MARK = "web", "limbeck-package.json"
MODEL, RUNTIME, VECTORS, PAGE_FACTS = "model", "runtime", "vectors.json", "about.json"
README = """# {name}

A text classifier that runs in a browser or in Node, made by `limbeck package` (Limbeck {version}). Nothing here asks
another server for anything.

    python -m http.server --directory .     # then open http://localhost:8000/: any server of static files will do
    node check.mjs                          # this machine against vectors.json, which has what Python answers

```js
import {{ load }} from "./limbeck/index.js"; // after `npm install ./FOLDER`: from "{package}"
const model = await load();
await model.predict([{example}]); // labels; predictProba gives all probabilities, logits and encode what is behind them
```

`load(undefined, {{ runtime }})` takes another onnxruntime, e.g. `onnxruntime-node`, which is faster than WebAssembly.
The runtime in runtime/ is onnxruntime-web {runtime} (MIT licence, Microsoft Corporation).
"""


class PackageWrong(LimbeckError):
    """The package does not answer as Python does."""

    def __init__(self, *, found: str) -> None:
        advice = (
            "It was not written. The model's folder is fine for Python; a report with its tokenizer.json would help."
        )
        super().__init__("the package gives other answers in Node than Python does", found=found, advice=advice)


@dataclass(frozen=True)
class WrittenPackage:
    """What was written."""

    folder: Path
    checked: NodeCheck | None  # None: there is no Node here
    model_mb: float
    runtime_mb: float
    vectors_mb: float


def package(folder: Path, *, out: Path, runtime: Path | None = None, rows: int = ROWS) -> WrittenPackage:
    """Write the model in `folder` as a static folder; if Node is here, it is checked against its vectors first.

    Raises NotForBrowsers, RuntimeUnavailable, PackageWrong, PathUnusable, and what opening the model raises.
    """
    model, out = open_model(folder), out.resolve()
    facts = model.facts()
    _refuse_place(out)
    refuse_unreadable(model, facts)
    with _put_in_place(out) as scratch:
        put_runtime(scratch / RUNTIME, source=runtime)
        _put_model(model, scratch / MODEL)
        _put_pages(model, facts, scratch)
        write_vectors(make_vectors(folder, rows=rows), scratch / VECTORS)
        found = check_in_node(scratch) if node() else None
        if found is not None and not found.conforms:
            raise PackageWrong(found=found.sentence)
        sizes = [_mb(scratch / name) for name in (MODEL, RUNTIME, VECTORS)]
    return WrittenPackage(out, found, *sizes)


def _refuse_place(out: Path) -> None:
    """Only an empty place, or a package of an earlier time, is written over."""
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file()):
        reason = "it is a file" if out.is_file() else "there are other files in it"
        raise PathUnusable(path=str(out), reason=reason, advice="Give the name of a new folder.")


@contextmanager
def _put_in_place(out: Path) -> Iterator[Path]:
    """A folder beside `out` whose contents are moved there in the end; what else is there stays, such as a .git."""
    scratch = out.with_name(f"{out.name}.partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        yield scratch
        out.mkdir(exist_ok=True)
        for path in sorted(scratch.iterdir()):
            shutil.rmtree(out / path.name, ignore_errors=True)
            path.replace(out / path.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _put_model(model: ModelFolder, place: Path) -> None:
    place.mkdir()
    copy_model(model, place)
    shutil.copyfile(model.folder / MANIFEST, place / MANIFEST)


def _put_pages(model: ModelFolder, facts: ModelFacts, scratch: Path) -> None:
    web = files("limbeck.packaging") / WEB
    for path in web.iterdir():
        if path.is_dir():
            (scratch / path.name).mkdir()
            for inside in path.iterdir():
                (scratch / path.name / inside.name).write_bytes(inside.read_bytes())
        else:
            (scratch / path.name).write_bytes(path.read_bytes())
    name = package_name(facts.name)
    example = '["a text", "another text"]' if facts.pair else '"a text"'
    about = README.format(name=facts.name, version=__version__, runtime=VERSION, package=name, example=example)
    (scratch / "README.md").write_text(about, encoding="utf-8")
    _write_json(scratch / "package.json", _npm(facts, name))
    _write_json(scratch / MARK, {"limbeck": __version__, "onnxruntime-web": VERSION})
    _write_json(scratch / PAGE_FACTS, _about(model, facts, scratch))


def package_name(name: str) -> str:
    """A model's name as npm wants names."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._") or "model"


def _npm(facts: ModelFacts, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "version": "1.0.0",
        "description": f"{facts.name}: a text classifier, packaged by Limbeck",
        "private": True,
        "type": "module",
        "exports": {".": {"types": "./limbeck/index.d.ts", "default": "./limbeck/index.js"}, "./*": "./*"},
        "peerDependencies": {"onnxruntime-node": f">={VERSION}"},
        "peerDependenciesMeta": {"onnxruntime-node": {"optional": True}},
        "engines": {"node": ">=20"},
    }


def _about(model: ModelFolder, facts: ModelFacts, scratch: Path) -> dict[str, Any]:
    """What the page shows that is in no other file."""
    profile = model.profile()
    return {
        "name": facts.name,
        "examples": list(profile.examples) if profile else [],
        "model_mb": _mb(scratch / MODEL),
        "runtime_mb": _mb(scratch / RUNTIME),
    }


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _mb(place: Path) -> float:
    paths = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return round(sum(path.stat().st_size for path in paths) / 1e6, 2)
