"""Packages as an installation leaves them: folders of metadata."""

from collections.abc import Callable
from pathlib import Path

import pytest

from limbeck.sbom.packages import Package, installed_packages

Installed = Callable[..., dict[str, Package]]


@pytest.fixture
def install(tmp_path: Path) -> Installed:
    """install("name 1.0", requires=[…], licence=…, tag=…): one more package in a folder; returns all that are there."""

    def one_more(
        what: str, *, requires: tuple[str, ...] = (), extras: tuple[str, ...] = (), fields: tuple[str, ...] = ()
    ) -> dict[str, Package]:
        name, version = what.split()
        folder = tmp_path / "site-packages" / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *fields]
        lines += [f"Provides-Extra: {extra}" for extra in extras] + [f"Requires-Dist: {line}" for line in requires]
        (folder / "METADATA").write_text("\n".join(lines) + "\n\nLong words.\n", encoding="utf-8")
        tags = "Tag: cp311-cp311-manylinux2014_x86_64\nTag: cp311-cp311-manylinux_2_17_x86_64\n"
        (folder / "WHEEL").write_text(f"Wheel-Version: 1.0\n{tags}", encoding="utf-8")
        return installed_packages([tmp_path / "site-packages"])

    return one_more
