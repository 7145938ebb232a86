"""What the base install needs is pinned once, in constraints.txt, and has hashes in requirements/."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from limbeck.sbom.packages import installed_packages, reached_from
from limbeck.sbom.pins import Pin, read_pins

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FILES = {
    "requirements/base.txt": PROJECT["project"]["dependencies"],
    "requirements/build.txt": PROJECT["build-system"]["requires"],
}
PYTHONS, MACHINES = ("cp311", "cp312", "cp313", "cp314"), ("x86_64", "aarch64")


def has_wheel(pin: Pin, *, python: str, machine: str) -> bool:
    """Whether one of its files can be installed there."""
    tags = {tag for file in pin.hashes for tag in parse_wheel_filename(file)[3]}
    return any(
        tag.platform.endswith(("any", machine))
        and (tag.interpreter in (python, "py3") or (tag.abi == "abi3" and int(tag.interpreter[3:]) <= int(python[3:])))
        for tag in tags
    )


@pytest.mark.parametrize("file", FILES)
def test_pins_are_those_of_the_constraints(file: str) -> None:
    pinned = read_pins(ROOT / "constraints.txt")

    assert {name: pin.version for name, pin in read_pins(ROOT / file).items()} == {
        name: pinned[name].version for name in read_pins(ROOT / file)
    }, "run `make hashes`"


@pytest.mark.parametrize("file", FILES)
def test_everything_that_is_required_has_hashes_for_every_python_and_machine(file: str) -> None:
    pins = read_pins(ROOT / file)
    required = reached_from([Requirement(line) for line in FILES[file]], installed_packages())

    assert set(required) - set(pins) == set(), "run `make hashes`"
    without = [
        f"{pin.name}: {python} {machine}"
        for pin in pins.values()
        for python in PYTHONS
        for machine in MACHINES
        if not has_wheel(pin, python=python, machine=machine)
    ]
    assert without == []


@pytest.mark.parametrize("file", FILES)
def test_hashes_are_those_of_files_of_that_version(file: str) -> None:
    wrong = [
        name
        for name, pin in read_pins(ROOT / file).items()
        for wheel in pin.hashes
        if parse_wheel_filename(wheel)[:2] != (canonicalize_name(pin.name), Version(pin.version))
    ]

    assert wrong == []


def test_pins_suffice_for_what_is_declared() -> None:
    pinned = read_pins(ROOT / "constraints.txt")
    groups = [*FILES.values(), *PROJECT["project"]["optional-dependencies"].values()]
    lines = [Requirement(line) for group in groups for line in group]
    own = [one for one in lines if one.name not in ("limbeck", "tensorflow")]  # one build of TensorFlow is pinned

    unfit = [str(one) for one in own if pinned[canonicalize_name(one.name)].version not in one.specifier]
    assert unfit == []


@pytest.mark.parametrize("file", [*FILES, "constraints.txt"])
def test_no_file_names_a_server(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")

    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text


def test_a_missing_wheel_is_noticed() -> None:
    pin = Pin("a", "1", {"a-1-cp310-abi3-manylinux2014_x86_64.whl": "0" * 64})

    assert has_wheel(pin, python="cp314", machine="x86_64")
    assert not has_wheel(pin, python="cp314", machine="aarch64")
    assert not has_wheel(
        Pin("a", "1", {"a-1-cp312-abi3-manylinux2014_x86_64.whl": ""}), python="cp311", machine="x86_64"
    )
