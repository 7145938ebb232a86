"""docs/licences.md lists what constraints.txt pins, as the metadata of what is installed describe it."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from limbeck.sbom.packages import installed_packages
from limbeck.sbom.pins import Pin, read_pins

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\S+) \| (\S+) \| (.+?) \| (.+?) \|(.*)\|$", re.MULTILINE)


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    """docs/licences.py, which is a script and no part of the package."""
    spec = spec_from_file_location("licences_page", ROOT / "docs" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, ...]]:
    """Of the page: name, version, licence, who needs it, remarks."""
    found = ROW.findall((ROOT / "docs" / "licences.md").read_text(encoding="utf-8"))
    return [row for row in found if row[:2] != ("package", "version")]


def test_names_and_versions_are_the_pinned_ones(rows: list[tuple[str, ...]]) -> None:
    pins = read_pins(ROOT / "constraints.txt")

    assert [row[:2] for row in rows] == [(pins[name].name, pins[name].version) for name in sorted(pins)]


def test_licences_are_those_of_the_metadata(rows: list[tuple[str, ...]]) -> None:
    packages = {one.name: one for one in installed_packages().values()}
    checked = [(row, packages[row[0]]) for row in rows if row[0] in packages]
    fresh = [(row, one) for row, one in checked if one.version.partition("+")[0] == row[1]]

    assert len(fresh) > 30
    assert [row for row, one in fresh if row[2] != (one.licence or "not stated")] == []


def test_every_package_is_needed_by_something(rows: list[tuple[str, ...]]) -> None:
    assert [row[0] for row in rows if row[3] == "none"] == []


def test_the_base_install_has_permissive_licences_and_lgpl_is_optional(rows: list[tuple[str, ...]]) -> None:
    assert [row[0] for row in rows if "base" in row[3] and "GPL" in row[2]] == []
    assert [(row[0], row[3]) for row in rows if "GPL" in row[2]] == [("HanTa", "augment")]


def test_remarks_are_about_packages_that_are_there(licences: ModuleType) -> None:
    assert set(licences.REMARKS) - set(read_pins(ROOT / "constraints.txt")) == set()


def test_other_versions_than_the_pinned_ones_are_refused(licences: ModuleType) -> None:
    pins = {"numpy": Pin("numpy", "0.1"), "nothing": Pin("nothing", "1")}

    with pytest.raises(SystemExit, match=r"nothing is missing, numpy .* \(pinned: 0\.1\)"):
        licences.refuse_others(pins, installed_packages())
