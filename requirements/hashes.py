"""Writes requirements/base.txt and build.txt: what the base install needs, pinned as in constraints.txt, with hashes.

    python requirements/hashes.py

Which packages these are follows from the metadata of what is installed. pip itself is asked for the wheels, once for
each Python and machine, in the order from the oldest Linux to newer ones; nothing is installed. Hashes of the build of
a package that only some machines take (torch) are not needed here: the base install has none such.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from limbeck.sbom.packages import installed_packages, reached_from
from limbeck.sbom.pins import Pin, read_pins

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_24", "manylinux_2_26", "manylinux_2_27", "manylinux_2_28")
LINUX = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux"}
HEADER = """\
# Written by `make hashes` from constraints.txt; to be installed with pip install --require-hashes -r {name}
# Wheels for Python 3.11 to 3.14 on Linux, x86_64 and aarch64 (glibc 2.28 or newer);
# above each pin: the files of its hashes, in their order.
"""


def main() -> None:
    """Write both files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pinned = read_pins(ROOT / "constraints.txt")
    for name, lines in {
        "requirements/base.txt": project["project"]["dependencies"],
        "requirements/build.txt": project["build-system"]["requires"],
    }.items():
        pins = with_hashes([pinned[one] for one in needed(lines)])
        text = HEADER.format(name=name) + "".join(f"\n{pin.lines()}\n" for pin in pins)
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}: {len(pins)} packages, {sum(len(pin.hashes) for pin in pins)} hashes")


def needed(lines: Iterable[str]) -> list[str]:
    """Canonical names of all packages that requirements lead to, with any Python and machine."""
    wanted = [Requirement(line) for line in lines]
    packages = installed_packages()
    if missing := [one.name for one in wanted if canonicalize_name(one.name) not in packages]:
        sys.exit(f"not installed here: {', '.join(missing)}. Run `make setup` first.")
    environments = [
        {"python_version": python, "python_full_version": f"{python}.0", "platform_machine": machine, **LINUX}
        for python in PYTHONS
        for machine in MACHINES
    ]
    return list(reached_from(wanted, packages, environments=environments))


def with_hashes(pins: Iterable[Pin]) -> list[Pin]:
    """The same pins with the wheels of every Python and machine."""
    found: dict[str, Pin] = {canonicalize_name(pin.name): Pin(pin.name, pin.version, {}) for pin in pins}
    for python in PYTHONS:
        for machine in MACHINES:
            for name, (file, digest) in wheels(found, python=python, machine=machine).items():
                found[name].hashes[file] = digest
    return [found[name] for name in sorted(found)]


def wheels(pins: Mapping[str, Pin], *, python: str, machine: str) -> dict[str, tuple[str, str]]:
    """What pip would install there: by canonical name, the wheel's file name and its SHA-256."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:", f"--report={report}"]
        command += [f"--target={Path(scratch) / 'nothing'}", f"--python-version={python}"]
        command += [f"--platform={platform}_{machine}" for platform in PLATFORMS]
        subprocess.run([*command, *(f"{pin.name}=={pin.version}" for pin in pins.values())], check=True)
        entries = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {
        canonicalize_name(entry["metadata"]["name"]): (
            unquote(Path(urlsplit(entry["download_info"]["url"]).path).name),
            entry["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for entry in entries
    }


if __name__ == "__main__":
    main()
