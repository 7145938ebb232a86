"""`make test-arm`: the wheel for aarch64, and models of every kind in it, on an emulated processor.

The wheel is cross-compiled; qemu-user runs it in Debian's own Python for that processor, which apt fetches without
installing it. Each model answers the rows of its conformance vectors, which this machine has made with onnxruntime.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from wheels.build import WheelUnusable, built_sdist, built_wheel  # noqa: E402

CACHE = ROOT / ".cache" / "arm64"
TOOLS = {"aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "qemu-aarch64": "qemu-user", "apt-get": "apt"}
CPUS = {"max": "neon-dot", "cortex-a72": "neon"}  # qemu's name, and the level of its kernels
SYSTEM = ["python3-minimal", "libpython3-stdlib", "libstdc++6"]
PACKAGES = ["numpy", "onnxruntime", "packaging", "pydantic", "rich", "tokenizers", "typer"]
WHEELS = ["manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"]
ROWS = 60  # of each model's vectors
MOST_OTHER_LABELS = 0.005  # share of all rows; weights are random, so that many are near the border
GUEST = """
import json, sys
from pathlib import Path
from limbeck.packaging.vectors import check_vectors, read_vectors
from limbeck.runtime.classifier import load
for model, vectors, engine in json.load(sys.stdin):
    model, vectors = Path(model), Path(vectors)
    found = check_vectors(read_vectors(vectors, folder=model), model, engine=engine)
    print(json.dumps({"engine": load(model, engine=engine).engine, **found.to_json()}), flush=True)
"""


def missing_tools() -> list[str]:
    """Debian's packages that are not installed."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


class Arm:
    """An emulated aarch64 with this version of Limbeck."""

    def __init__(self, work: Path) -> None:
        """The wheel is built in `work`; what does not change from one version to the next is kept."""
        self.system, self.site = CACHE / "system", work / "site"
        if not self.system.exists():
            _fetch_system(self.system)
        self.python = next(self.system.glob("usr/bin/python3.*[0-9]"))
        self.packages = CACHE / f"packages-{self.python.name}"
        if not self.packages.exists():
            _fetch_packages(self.packages, version=self.python.name.removeprefix("python"))
        with zipfile.ZipFile(built_wheel(built_sdist(work), work, machine="aarch64")) as wheel:
            wheel.extractall(self.site)

    def checked(self, models: list[tuple[Path, Path]], *, cpu: str, engine: str = "native") -> list[dict[str, Any]]:
        """What this processor gives for each model and its vectors."""
        asked = json.dumps([[str(model), str(vectors), engine] for model, vectors in models])
        paths = f"{self.site}{os.pathsep}{self.packages}"
        said = subprocess.run(
            ["qemu-aarch64", "-cpu", cpu, "-L", str(self.system), str(self.python), "-c", GUEST],
            env={"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(self.site), "OMP_NUM_THREADS": "1"},
            input=asked, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if said.returncode:
            raise WheelUnusable(f"on '{cpu}' the wheel failed:\n{said.stderr[-3000:]}")
        return [json.loads(line) for line in said.stdout.splitlines()]


def _fetch_system(folder: Path) -> None:
    """Python for aarch64 and its libraries, unpacked; nothing of this machine changes."""
    lists, kept = folder.with_name("lists"), folder.with_name("debs")
    for place in (lists / "partial", kept / "archives" / "partial"):
        place.mkdir(parents=True, exist_ok=True)
    (status := folder.with_name("status")).touch()
    apt = [
        *("apt-get", "-qq", "-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64"),
        *("-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={kept}", "-o", f"Dir::State::status={status}"),
        *("-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"),
    ]
    _run([*apt, "update"])
    _run([*apt, "install", "--yes", "--download-only", "--no-install-recommends", *SYSTEM])
    scratch = folder.with_name("system.partial")
    for package in sorted((kept / "archives").glob("*.deb")):
        _run(["dpkg", "-x", str(package), str(scratch)])
    scratch.rename(folder)


def _fetch_packages(folder: Path, *, version: str) -> None:
    """What Limbeck needs to run models, in the versions of constraints.txt."""
    scratch = folder.with_name(folder.name + ".partial")
    platforms = [argument for name in WHEELS for argument in ("--platform", f"{name}_aarch64")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(scratch)]
    only = ["--only-binary=:all:", "--implementation", "cp", "--python-version", version]
    _run([*pip, *platforms, *only, "-c", str(ROOT / "constraints.txt"), *PACKAGES])
    scratch.rename(folder)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WheelUnusable(f"{' '.join(command[:4])} … failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")


def models_with_vectors(folder: Path) -> list[tuple[Path, Path]]:
    """Small models of every kind, in fp32 and int8, each with what onnxruntime answers here."""
    from limbeck.packaging.vectors import make_vectors, write_vectors
    from tests.hostile.campaigns.graph_models import make_models

    pairs = []
    for model in make_models(folder):
        vectors = folder / f"{model.name}.json"
        write_vectors(make_vectors(model, rows=ROWS), vectors)
        pairs.append((model, vectors))
    return pairs


def main() -> None:
    """Build, run, print, and fail if one model answers otherwise."""
    if missing := missing_tools():
        sys.exit(f"this needs more than there is here; on Debian: apt-get install {' '.join(missing)}")
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="limbeck-arm-") as scratch:
        arm, models = Arm(Path(scratch) / "arm"), models_with_vectors(Path(scratch) / "models")
        for cpu, level in CPUS.items():
            found = arm.checked(models, cpu=cpu)
            wrong += [
                f"{cpu}: {model.name}: {one}"
                for (model, _), one in zip(models, found, strict=True)
                if one["other_tokens"]
                or one["largest_difference"] > one["tolerance"]
                or one["engine"] != f"native {level}"
            ]
            largest = max(one["largest_difference"] for one in found)
            others = sum(one["other_labels"] for one in found)
            if others > MOST_OTHER_LABELS * ROWS * len(found):
                wrong.append(f"{cpu}: {others} rows have other labels")
            print(
                f"{cpu} ({level}): {len(found)} models, {ROWS} rows each: {others} other labels, {largest:.1g} at most"
            )
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
