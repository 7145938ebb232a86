"""`make wheels`: a source archive, and wheels for Linux on x86-64 and aarch64 (cross-compiled), checked, into dist/."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
CROSS = {
    "x86_64": "x86_64-linux-gnu-",
    "aarch64": "aarch64-linux-gnu-",
}  # of each machine: what the names of its tools begin with
OURS = os.uname().machine if hasattr(os, "uname") else ""
# Nothing of C++ is needed of the system but the unwinder; what the static library has and nobody calls is left out, as
# some of that needs the newest glibc.
STATIC = "-static-libstdc++ -Wl,--exclude-libs,ALL -Wl,--gc-sections"
ALLOWED = {
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "libpthread.so.0",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
VERSION = re.compile(r"\b(GLIBC|GLIBCXX|CXXABI)_(\d+)\.(\d+)")
NEEDED = re.compile(r"NEEDED\s+(\S+)")


class WheelUnusable(Exception):
    """What was built would not run elsewhere."""


def oldest_glibc(symbols: str) -> tuple[int, int]:
    """The oldest glibc that has all symbols that `objdump -T` lists. Raises WheelUnusable for those of libstdc++."""
    found = VERSION.findall(symbols)
    if shared := sorted({name for name, _, _ in found if name != "GLIBC"}):
        raise WheelUnusable(f"it needs {', '.join(shared)} of the system's libstdc++")
    return max(((int(major), int(minor)) for _, major, minor in found), default=(2, 17))


def refuse_libraries(headers: str) -> None:
    """Raise WheelUnusable for libraries in `objdump -p` that not every Linux has."""
    if others := sorted(set(NEEDED.findall(headers)) - ALLOWED):
        raise WheelUnusable(f"it needs {', '.join(others)}")


def built_sdist(folder: Path) -> Path:
    """The source archive; its C++ is complete."""
    code = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
    _run([sys.executable, "-c", code, str(folder)], cwd=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {Path(name).name for name in opened.getnames()}
    if missing := sorted({path.name for path in (ROOT / "src/limbeck/runtime/native").glob("*.[ch]pp")} - names):
        raise WheelUnusable(f"the source archive lacks {', '.join(missing)}")
    return archive


def built_wheel(sdist: Path, folder: Path, *, machine: str) -> Path:
    """The wheel for this machine, under the name of the oldest manylinux that can run it."""
    prefix = CROSS[machine] if machine != OURS else ""
    compiler = f"{prefix}g++"
    tools = {
        "CC": f"{prefix}gcc",
        "CXX": compiler,
        "LDSHARED": f"{compiler} -shared",
        "LDCXXSHARED": f"{compiler} -shared",
    }
    environment = {**os.environ, **tools, "LDFLAGS": STATIC, "_PYTHON_HOST_PLATFORM": f"linux-{machine}"}
    wheel = _pip_wheel(sdist, folder / machine, environment)
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".so")] or [""]
        if not name:
            raise WheelUnusable(f"{compiler} did not build the extension")
        extension = Path(opened.extract(name, folder / "unpacked" / machine))
    refuse_libraries(_run([f"{prefix}objdump", "-p", str(extension)]))
    major, minor = oldest_glibc(_run([f"{prefix}objdump", "-T", str(extension)]))
    tag = f"manylinux_{major}_{minor}_{machine}"
    said = _run([sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, str(wheel)])
    return wheel.with_name(said.strip().splitlines()[-1])


def refuse_need_of_compiler(sdist: Path, folder: Path) -> None:
    """Raise unless the source archive installs without a compiler, for onnxruntime alone."""
    environment = {**os.environ, "CC": "false", "CXX": "false"}
    with zipfile.ZipFile(_pip_wheel(sdist, folder / "plain", environment)) as opened:
        names = opened.namelist()
    if any(name.endswith(".so") for name in names) or "limbeck/runtime/classifier.py" not in names:
        raise WheelUnusable("without a compiler, the source archive gives another package than it should")


def refuse_what_does_not_answer(wheel: Path, folder: Path) -> None:
    """Raise unless the wheel's extension loads here, from a folder of its own."""
    place = folder / "installed"
    _run([sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target", str(place), str(wheel)])
    code = "import limbeck.runtime._native as native; print(native.__file__, native.level())"
    said = _run([sys.executable, "-c", code], cwd=folder, env={**os.environ, "PYTHONPATH": str(place)})
    if not said.startswith(str(place)):
        raise WheelUnusable(f"another extension answered: {said.strip()}")


def _pip_wheel(sdist: Path, folder: Path, environment: dict[str, str]) -> Path:
    command = [
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-cache-dir",
        "-w",
        str(folder),
        str(sdist),
    ]
    _run([sys.executable, *command], env=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _run(command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WheelUnusable(f"{' '.join(command[:6])} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def main() -> None:
    """Build, check and print."""
    DIST.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="limbeck-wheels-") as scratch:
        folder = Path(scratch)
        sdist = built_sdist(folder)
        refuse_need_of_compiler(sdist, folder)
        made = [sdist]
        for machine, prefix in CROSS.items():
            if machine != OURS and shutil.which(f"{prefix}g++") is None:
                print(f"no wheel for {machine}: there is no {prefix}g++ (Debian: apt install g++-{machine}-linux-gnu)")
                continue
            made.append(built_wheel(sdist, folder, machine=machine))
            if machine == OURS:
                refuse_what_does_not_answer(made[-1], folder)
        for path in made:
            shutil.copyfile(path, DIST / path.name)
            print(f"{(DIST / path.name).relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    try:
        main()
    except WheelUnusable as error:
        sys.exit(f"no wheels: {error}")
