"""The bill of materials has the form of CycloneDX 1.6, and says what is installed."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.licenses import canonicalize_license_expression
from typer.testing import CliRunner

from limbeck import __version__
from limbeck.cli import app
from limbeck.errors import LimbeckError
from limbeck.sbom.cyclonedx import ExtraUnknown, bill_of_materials
from limbeck.sbom.pins import Pin

Install = Callable[..., dict[str, Any]]
COMPONENT_KEYS = {
    *("type", "bom-ref", "name", "version", "description", "purl", "licenses", "hashes", "components"),
}
TYPES = {"application", "library", "platform", "machine-learning-model", "file"}  # of those that the standard has
DIGEST = "3" * 64


def faults_of(bill: dict[str, Any]) -> list[str]:
    """What the schema of CycloneDX 1.6 would not allow, in the parts of it that we write."""
    faults = [] if set(bill) == {*BILL_KEYS} else [f"keys {sorted(bill)}"]
    if (bill["bomFormat"], bill["specVersion"]) != ("CycloneDX", "1.6") or bill["version"] < 1:
        faults.append("format")
    if not re.fullmatch(r"urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", bill["serialNumber"]):
        faults.append("serialNumber")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["metadata"]["timestamp"]):
        faults.append("timestamp")
    components = [bill["metadata"]["component"], *bill["components"]]
    components += [inner for one in components for inner in one.get("components", [])]
    for component in components:
        faults += [f"{component.get('name')}: {fault}" for fault in faults_of_component(component)]
    refs = [component["bom-ref"] for component in components]
    if len(refs) != len(set(refs)):
        faults.append("a bom-ref twice")
    edges = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    faults += [f"no component {ref}" for ref in {*edges}.union(*edges.values()) - set(refs)]
    return faults + [f"{ref} twice in dependsOn" for ref, below in edges.items() if len(below) != len(set(below))]


BILL_KEYS = (
    *("$schema", "bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies"),
)


def faults_of_component(component: dict[str, Any]) -> list[str]:
    faults = [f"key {key}" for key in set(component) - COMPONENT_KEYS]
    if component["type"] not in TYPES or not component["name"]:
        faults.append("type or name")
    if "purl" in component and not re.fullmatch(r"pkg:(pypi|generic)/[a-z0-9.-]+@[\w.%]+", component["purl"]):
        faults.append("purl")
    for one in component.get("hashes", []):
        if one["alg"] != "SHA-256" or not re.fullmatch(r"[0-9a-f]{64}", one["content"]):
            faults.append("hash")
    for one in component.get("licenses", []):
        if "expression" in one:
            canonicalize_license_expression(one["expression"])  # raises
        elif not one["license"]["name"]:
            faults.append("licence")
    return faults


def below(bill: dict[str, Any], ref: str) -> list[str]:
    return next(one["dependsOn"] for one in bill["dependencies"] if one["ref"] == ref)


@pytest.fixture
def packages(install: Install) -> dict[str, Any]:
    """Limbeck that needs `fast`, which needs `Deep`; with the extra `all`, by way of another one, also `big`."""
    extra = ("big; extra == 'train'", "limbeck[train]; extra == 'all'")
    install("limbeck 9.9", requires=("fast>=1", *extra), extras=("train", "all"))
    install("fast 1.0", requires=("Deep", "absent"), fields=("License: MIT", "Summary: Is fast."))
    install("Deep 2.0", fields=("License: Own words",))
    install("big 3.0+cpu")
    return install("unrelated 1.0")


def test_of_a_small_installation(packages: dict[str, Any]) -> None:
    wheel = "fast-1.0-cp311-cp311-manylinux2014_x86_64.whl"
    bill = bill_of_materials(packages=packages, pins={"fast": Pin("fast", "1.0", {wheel: DIGEST})})

    assert faults_of(bill) == []
    python, deep, fast = bill["components"]
    assert (python["type"], deep["version"], deep["licenses"]) == (
        "platform",
        "2.0",
        [{"license": {"name": "Own words"}}],
    )
    assert fast == {
        "type": "library",
        "bom-ref": "pkg:pypi/fast@1.0",
        "name": "fast",
        "version": "1.0",
        "purl": "pkg:pypi/fast@1.0",
        "description": "Is fast.",
        "licenses": [{"expression": "MIT"}],
        "hashes": [{"alg": "SHA-256", "content": DIGEST}],
    }
    assert below(bill, "pkg:pypi/fast@1.0") == ["pkg:pypi/deep@2.0"]
    assert below(bill, f"pkg:pypi/limbeck@{__version__}") == [python["bom-ref"], "pkg:pypi/fast@1.0"]


def test_an_extra_adds_what_it_needs_and_an_unknown_one_is_refused(packages: dict[str, Any]) -> None:
    bill = bill_of_materials(packages=packages, extras=["all"])

    assert faults_of(bill) == []
    assert "pkg:pypi/big@3.0%2Bcpu" in below(bill, f"pkg:pypi/limbeck@{__version__}")
    with pytest.raises(ExtraUnknown, match="no extra 'trian'"):
        bill_of_materials(packages=packages, extras=["trian"])


def test_a_hash_of_another_version_or_wheel_is_not_given(packages: dict[str, Any]) -> None:
    other = {"fast": Pin("fast", "1.1", {"fast-1.1-cp311-cp311-manylinux2014_x86_64.whl": DIGEST})}
    arm = {"fast": Pin("fast", "1.0", {"fast-1.0-cp311-cp311-manylinux2014_aarch64.whl": DIGEST})}

    for pins in (other, arm):
        assert DIGEST not in json.dumps(bill_of_materials(packages=packages, pins=pins))


def test_the_same_installation_gives_the_same_bill(packages: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")

    bill = bill_of_materials(packages=packages)

    assert bill == bill_of_materials(packages=packages)
    assert bill["metadata"]["timestamp"] == "2001-09-09T01:46:40Z"
    assert bill["serialNumber"] != bill_of_materials(packages=packages, extras=["train"])["serialNumber"]


def test_without_an_installation_it_says_so(install: Install) -> None:
    with pytest.raises(LimbeckError, match="not installed here"):
        bill_of_materials(packages=install("other 1"))


def test_a_model_is_what_the_bill_is_about(packages: dict[str, Any], make_model: Callable[..., Any]) -> None:
    folder = make_model("small").folder

    bill = bill_of_materials(packages=packages, model=folder)

    assert faults_of(bill) == []
    subject = bill["metadata"]["component"]
    assert (subject["type"], subject["name"]) == ("machine-learning-model", "small")
    graph = next(file for file in subject["components"] if file["name"] == "model.onnx")
    assert graph["hashes"][0]["content"] == hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    assert below(bill, "model") == [f"pkg:pypi/limbeck@{__version__}"]


def test_the_command_writes_what_is_installed_here(make_model: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "model.cdx.json"

    found = CliRunner().invoke(app, ["sbom", str(make_model("small").folder), "--out", str(out)])

    assert found.exit_code == 0, found.stderr
    bill = json.loads(out.read_text(encoding="utf-8"))
    assert faults_of(bill) == []
    assert {"numpy", "onnxruntime", "tokenizers"} <= {one["name"] for one in bill["components"]}
    assert "torch" not in {one["name"] for one in bill["components"]}


def test_the_command_refuses_a_folder_that_is_no_model(tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["sbom", str(tmp_path)])

    assert found.exit_code == 2
    assert "no manifest.json" in found.stderr
