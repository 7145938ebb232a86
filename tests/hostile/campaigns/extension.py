"""The C++ extension, built with sanitizers and called with anything."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.hostile.campaigns.campaign import Campaign
from tests.hostile.campaigns.impossible import CampaignImpossible
from tests.hostile.campaigns.toy_models import word_model

ROOT = Path(__file__).resolve().parents[3]
SUPPRESSED = Path(__file__).with_name("thread_sanitizer.txt")
BUILDS = ROOT / "build" / "hostile"
CALLS_A_PROCESS = 2_000  # a process that dies costs those behind it a new start


@dataclass(frozen=True)
class Sanitizer:
    """How the extension is built and loaded, and by how many threads at once it is called."""

    flags: str
    library: str  # that of the sanitizer: Python, which has none, must load it before anything else
    options: dict[str, str]
    threads: int
    share: float  # of all calls


SANITIZERS = {
    # Python itself frees little at its end, so leaks cannot be distinguished.
    "address": Sanitizer(
        "-fsanitize=address,undefined",
        "libasan.so",
        {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"},
        threads=1,
        share=0.8,
    ),
    "thread": Sanitizer(
        "-fsanitize=thread",
        "libtsan.so",
        {"TSAN_OPTIONS": f"halt_on_error=1:suppressions={SUPPRESSED}"},
        threads=4,
        share=0.2,
    ),
}


def extension(count: int, *, seed: int = 0) -> Campaign:
    """So many calls under AddressSanitizer and UndefinedBehaviorSanitizer, and under ThreadSanitizer. No call may end
    the process, raise what is no refusal, or give another answer than a row alone, another thread or Python."""
    findings: list[str] = []
    detail: Counter[str] = Counter()
    clean = 0
    for name, sanitizer in SANITIZERS.items():
        library = built(name)
        for number, what, calls, outcome in cases(library, sanitizer, round(count * sanitizer.share), seed=seed):
            detail[f"{name}, {what}"] += calls
            clean += calls if not outcome else 0
            findings += [f"{name} {seed} {number}, {what}: {outcome}"] if outcome else []
    return Campaign("extension", detail.total(), clean, tuple(findings), dict(detail))


def cases(library: Path, sanitizer: Sanitizer, calls: int, *, seed: int) -> Iterator[tuple[int, str, int, str]]:
    """Number, kind, calls and outcome of each case. One that ends its process is described by how it ended."""
    number = done = 0
    while done < calls:
        wanted = min(CALLS_A_PROCESS, calls - done)
        process = _process(library, sanitizer, wanted, seed=seed, first=number)
        lines = process.stdout.splitlines()
        if not lines:
            raise RuntimeError(f"no call could be made: {process.stderr[-2000:]}")
        for line in lines:
            if line.endswith("]"):
                number, what, made, outcome = json.loads(line)
            else:
                number, what = json.loads(f"{line.removesuffix(', ')}]")
                made, outcome = 1, f"the process ended with {process.returncode}: {process.stderr[:1500]}"
            done += made
            yield number, what, made, outcome
        number += 1


def _process(
    library: Path, sanitizer: Sanitizer, calls: int, *, seed: int, first: int
) -> subprocess.CompletedProcess[str]:
    graphs = [str(word_model(precision) / "model.onnx") for precision in ("fp32", "int8")]
    numbers = [str(number) for number in (calls, seed, first, sanitizer.threads)]
    environment = {
        **os.environ,
        **sanitizer.options,
        "LD_PRELOAD": f"{_library(sanitizer.library)} {_library('libstdc++.so')}",  # whose exceptions are watched
        "PYTHONMALLOC": "malloc",  # so that every object of Python is watched too
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
    }
    command = [sys.executable, "-m", "tests.hostile.campaigns.extension_calls", str(library), *numbers, *graphs]
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False
    )


def _library(name: str) -> str:
    """Where the compiler has a library."""
    found = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = Path(found.stdout.strip())
    if not path.is_absolute():
        raise CampaignImpossible(f"the compiler here has no {name}")
    return str(path.resolve())


@cache
def built(name: str) -> Path:
    """The extension as setup.py builds it, with a sanitizer; built again if a source has changed."""
    native = _installed()
    if not native:
        raise CampaignImpossible("the extension was not built")
    if shutil.which("g++") is None:
        raise CampaignImpossible("there is no g++ here")
    sanitizer = SANITIZERS[name]
    _library(sanitizer.library)
    flags = f"{sanitizer.flags} -fno-sanitize-recover=all"
    environment = {
        **os.environ,
        "CC": "gcc",
        "CXX": "g++",
        "CFLAGS": flags,
        "CXXFLAGS": flags,
        "LDFLAGS": sanitizer.flags,
    }
    folder = BUILDS / name
    command = [sys.executable, "setup.py", "-q", "build_ext", "--build-lib", str(folder), "--build-temp", str(folder)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    libraries = list(folder.rglob("_native*.so"))
    if done.returncode != 0 or len(libraries) != 1:
        raise RuntimeError(f"the extension could not be built with {flags}: {done.stderr[-2000:]}")
    return libraries[0]


def _installed() -> str:
    """The best level of this processor, or "" without the extension."""
    try:
        from limbeck.runtime import _native
    except ImportError:
        return ""
    return _native.level()
