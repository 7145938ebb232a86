"""onnxruntime for browsers, of one version: from npm, from a file that npm gave, or from what was kept before."""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from pathlib import Path

from limbeck.errors import LimbeckError

VERSION = "1.30.0"
# Of the package's files, those that a page needs, with their SHA-256: what is written is what was tested, from wherever
# it comes. With another version, take the hashes of its files, and run the tests that are marked `node` and `browser`.
FILES = {
    "ort.wasm.bundle.min.mjs": "11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90",
    "ort-wasm-simd-threaded.wasm": "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
}
INSIDE = "package/dist"  # of the archive
SECONDS = 600
MOST_BYTES = 1 << 26
BY_HAND = (
    f"Where npm and a network are: npm pack onnxruntime-web@{VERSION}. Then here: limbeck package MODEL --out FOLDER "
    f"--onnxruntime-web onnxruntime-web-{VERSION}.tgz"
)


class RuntimeUnavailable(LimbeckError):
    """The files of onnxruntime-web are not here, and could not be had."""

    def __init__(self, *, reason: str, advice: str = BY_HAND) -> None:
        super().__init__(f"onnxruntime-web {VERSION} is not there", found=reason, advice=advice)


def kept_runtime() -> Path:
    """Where its files are kept for the next time."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "limbeck" / f"onnxruntime-web-{VERSION}"


def is_kept() -> bool:
    """Whether nothing has to be fetched."""
    return not _faults(kept_runtime())


def put_runtime(folder: Path, *, source: Path | None = None) -> None:
    """Write its files into a folder: from `source`, an archive or a folder of npm, or from what is kept, or from npm.

    Raises RuntimeUnavailable.
    """
    kept = kept_runtime()
    if source is not None:
        _take(source, kept)
    elif not is_kept():
        _fetch(kept)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(kept / name, folder / name)


def _fetch(kept: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeUnavailable(reason="there is no npm on the path; it comes with Node.js, e.g. apt-get install npm")
    with tempfile.TemporaryDirectory() as scratch:
        command = [npm, "pack", f"onnxruntime-web@{VERSION}", "--pack-destination", scratch, "--silent"]
        try:
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeUnavailable(reason=f"npm pack: {error}") from error
        archives = sorted(Path(scratch).glob("*.tgz"))
        if done.returncode or not archives:
            lines = [line for line in done.stderr.splitlines() if "error" in line.lower()][:3]
            raise RuntimeUnavailable(reason="\n".join(["npm pack failed", *lines]))
        _take(archives[0], kept)


def _take(source: Path, kept: Path) -> None:
    """Keep the files of an archive or a folder, if they are the ones."""
    if not source.exists():
        raise RuntimeUnavailable(reason=f"there is no '{source}'")
    with tempfile.TemporaryDirectory() as scratch:
        found = Path(scratch)
        (_from_folder if source.is_dir() else _from_archive)(source, found)
        if faults := _faults(found):
            raise RuntimeUnavailable(reason=f"'{source}': {faults[0]}")
        kept.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            beside = kept / f"{name}.{os.getpid()}"
            shutil.copyfile(found / name, beside)
            beside.replace(kept / name)


def _from_folder(source: Path, found: Path) -> None:
    inside = source / "dist" if (source / "dist").is_dir() else source
    for name in FILES:
        if (inside / name).is_file():
            shutil.copyfile(inside / name, found / name)


def _from_archive(source: Path, found: Path) -> None:
    try:
        with tarfile.open(source) as archive:
            for name in FILES:
                member = archive.extractfile(f"{INSIDE}/{name}")
                if member is not None:
                    (found / name).write_bytes(member.read(MOST_BYTES))
    except (tarfile.TarError, zlib.error, EOFError, OSError, KeyError) as error:
        raise RuntimeUnavailable(reason=f"'{source}' is no archive of npm with it: {error}") from error


def _faults(folder: Path) -> list[str]:
    for name, wanted in FILES.items():
        path = folder / name
        if not path.is_file():
            return [f"{name} is missing"]
        if hashlib.sha256(path.read_bytes()).hexdigest() != wanted:
            return [f"{name} is not that of version {VERSION}"]
    return []
