"""Files of pinned requirements with hashes, as `requirements/base.txt`: which files each package may come from."""

import re
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from limbeck.errors import FileMissing, FileUnreadable

PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


MOST_BYTES = 1 << 24  # the file of all wheels of the base install has a hundred thousand


@dataclass(frozen=True)
class Pin:
    """A package in one version, with the files that it may be installed from and their SHA-256 hashes."""

    name: str
    version: str
    hashes: dict[str, str] = field(default_factory=dict)

    def lines(self) -> str:
        """As pip reads it; the files are named above, in the order of their hashes."""
        files = sorted(self.hashes)
        named = "".join(f"# {file}\n" for file in files)
        return named + " \\\n".join(
            [f"{self.name}=={self.version}", *(f"    --hash=sha256:{self.hashes[f]}" for f in files)]
        )

    def hash_for(self, tags: Collection[str]) -> str:
        """That of the wheel with these tags, or ""."""
        return next((digest for file, digest in self.hashes.items() if _tags_of(file) & set(tags)), "")


def read_pins(path: Path) -> dict[str, Pin]:
    """By canonical name. Raises FileMissing, or FileUnreadable for a file that is not of this form."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # /dev/urandom has no end
            raise _not_of_this_form(path, "it is not a plain file")
        if (size := path.stat().st_size) > MOST_BYTES:
            raise _not_of_this_form(path, f"it has {size:,} bytes")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileMissing(path=str(path), looked_in=[path.parent]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileUnreadable(path=path, kind="requirements", reason=str(error)) from error
    pins: dict[str, Pin] = {}
    named: list[str] = []  # in comments, since the last pin
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("#"):
            named.append(line.removeprefix("#").strip())
        elif line.strip():
            pin = _pin(line.strip(), [file for file in named if file.endswith(".whl")], path=path)
            pins[canonicalize_name(pin.name)] = pin
            named = []
    return pins


def _pin(line: str, wheels: list[str], *, path: Path) -> Pin:
    found, hashes = PIN.match(line), HASH.findall(line)
    if found is None:
        raise _not_of_this_form(path, f"found the line '{line[:80]}'")
    if hashes and len(wheels) != len(hashes):
        raise _not_of_this_form(path, f"{found[1]} has {len(hashes)} hashes and names {len(wheels)} files")
    if odd := next((wheel for wheel in wheels if not _is_wheel(wheel)), ""):
        raise _not_of_this_form(path, f"'{odd}' is no name of a wheel")
    return Pin(found[1], found[2], dict(zip(wheels, hashes, strict=False)))


def _not_of_this_form(path: Path, reason: str) -> FileUnreadable:
    advice = (
        "Lines are NAME==VERSION with --hash=sha256:…, below comments that name the files: see requirements/base.txt."
    )
    return FileUnreadable(path=path, kind="requirements with hashes", reason=reason, advice=advice)


def _is_wheel(name: str) -> bool:
    try:
        parse_wheel_filename(name)
    except InvalidWheelFilename:
        return False
    return True


def _tags_of(wheel: str) -> set[str]:
    return {str(tag) for tag in parse_wheel_filename(wheel)[3]}
