"""The bill of materials as CycloneDX 1.6 JSON: Limbeck, what it runs on, and possibly a model."""

import hashlib
import json
import os
import platform
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from limbeck import __version__
from limbeck.artifacts.manifest import read_manifest
from limbeck.artifacts.model_folder import open_model
from limbeck.errors import LimbeckError
from limbeck.sbom.licences import is_spdx
from limbeck.sbom.packages import Package, installed_packages, reached_from
from limbeck.sbom.pins import Pin

SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
NAMESPACE = uuid.UUID("6f2f8d4e-6a0e-5a2c-9a53-0c2d5b6c7e11")
Json = dict[str, Any]


class ExtraUnknown(LimbeckError):
    """Limbeck has no such extra."""

    def __init__(self, *, extra: str, known: Iterable[str]) -> None:
        super().__init__(
            f"there is no extra '{extra}'", found=f"extras: {', '.join(sorted(known))}", advice="Name one of them."
        )


def bill_of_materials(
    *,
    model: Path | None = None,
    extras: Iterable[str] = (),
    pins: Mapping[str, Pin] | None = None,
    packages: Mapping[str, Package] | None = None,
) -> Json:
    """What runs Limbeck with these extras, from installed metadata; with a model, the model is what it is about.

    The same installation gives the same bill, but for its time, which SOURCE_DATE_EPOCH sets.
    """
    packages = installed_packages() if packages is None else packages
    reached = _reached(packages, tuple(extras))
    refs = {name: purl(packages[name]) for name in reached}
    refs["limbeck"] = _limbeck()["bom-ref"]  # of what is running, whatever its metadata say
    subject = _limbeck() if model is None else _model(model)
    components = [] if model is None else [_limbeck()]
    components += [_python()]
    components += [_component(packages[name], (pins or {}).get(name)) for name in reached if name != "limbeck"]
    dependencies = [] if model is None else [{"ref": subject["bom-ref"], "dependsOn": [refs["limbeck"]]}]
    dependencies += [{"ref": _python()["bom-ref"], "dependsOn": []}]
    dependencies += [{"ref": refs[name], "dependsOn": _below(packages[name], reached[name], refs)} for name in reached]
    return _document({"metadata": {"component": subject}, "components": components, "dependencies": dependencies})


def purl(package: Package) -> str:
    """The package's URL in the registry of Python packages, without naming a host."""
    return f"pkg:pypi/{canonicalize_name(package.name)}@{quote(package.version)}"


def _document(content: Json) -> Json:
    serial = uuid.uuid5(NAMESPACE, json.dumps(content, sort_keys=True))
    tool = {"type": "application", "name": "limbeck", "version": __version__}
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "tools": {"components": [tool]},
            **content["metadata"],
        },
        "components": content["components"],
        "dependencies": content["dependencies"],
    }


def _reached(packages: Mapping[str, Package], extras: tuple[str, ...]) -> dict[str, set[str]]:
    """Everything installed that Limbeck needs with these extras, and Limbeck, by canonical name."""
    own = packages.get("limbeck")
    if own is None:
        raise LimbeckError(
            "limbeck is not installed here, only imported",
            found="its requirements are read from the metadata of its installation",
            advice="Install it: pip install .",
        )
    known = own.distribution.metadata.get_all("Provides-Extra") or []
    for extra in extras:
        if extra not in known:
            raise ExtraUnknown(extra=extra, known=known)
    asked = f"[{','.join(extras)}]" if extras else ""
    return reached_from([Requirement(f"limbeck{asked}")], packages)


def _below(package: Package, extras: set[str], refs: Mapping[str, str]) -> list[str]:
    """What a package needs itself; Limbeck also needs Python."""
    own = refs[canonicalize_name(package.name)]
    names = {canonicalize_name(one.name) for extra in extras for one in package.needs(extra, {})}
    platform_ref = {_python()["bom-ref"]} if own == refs["limbeck"] else set()
    return sorted(({refs[name] for name in names if name in refs} | platform_ref) - {own})


def _component(package: Package, pin: Pin | None) -> Json:
    component: Json = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
        "purl": purl(package),
    }
    if package.summary:
        component["description"] = package.summary
    if package.licence:
        component["licenses"] = licences(package.licence)
    digest = pin.hash_for(package.wheel_tags) if pin is not None and pin.version == package.version else ""
    if digest:
        component["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return component


def licences(licence: str) -> list[Json]:
    """An expression, or a licence by the name that the package gives it."""
    return [{"expression": licence}] if is_spdx(licence) else [{"license": {"name": licence}}]


def _limbeck() -> Json:
    reference = f"pkg:pypi/limbeck@{quote(__version__)}"
    return {
        "type": "application",
        "bom-ref": reference,
        "name": "limbeck",
        "version": __version__,
        "purl": reference,
        "licenses": licences("Apache-2.0"),
    }


def _python() -> Json:
    reference = f"pkg:generic/python@{quote(platform.python_version())}"
    return {
        "type": "platform",
        "bom-ref": reference,
        "name": platform.python_implementation(),
        "version": platform.python_version(),
        "purl": reference,
    }


def _model(folder: Path) -> Json:
    """The model with every file of it; it is checked as before it is loaded."""
    facts = open_model(folder).facts()
    manifest = read_manifest(folder, kind="model")
    files = [_file(folder / name, name) for name in sorted(manifest.files)]
    return {
        "type": "machine-learning-model",
        "bom-ref": "model",
        "name": facts.name,
        "version": manifest.fingerprint,
        "components": files,
    }


def _file(path: Path, name: str) -> Json:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "type": "file",
        "bom-ref": f"model/{name}",
        "name": name,
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }
