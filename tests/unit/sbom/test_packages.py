"""What requirements lead to, by the metadata of what is installed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from limbeck.sbom.packages import installed_packages, reached_from

Install = Callable[..., dict[str, Any]]


def test_requirements_are_followed_by_extras_and_markers(install: Install) -> None:
    install("Top_Package 1.0", requires=("middle[fast]>=1", "old; python_version < '3'", "more; extra == 'more'"))
    install("middle 2.0", requires=("Quick.One; extra == 'fast'", "slow; extra == 'slow'", "top-package"))
    for name in ("quick_one 1", "slow 1", "old 1", "more 1", "unrelated 1"):
        packages = install(name)

    assert reached_from([Requirement("top.package")], packages) == {
        "middle": {"", "fast"},
        "quick-one": {""},
        "top-package": {""},
    }
    assert "more" in reached_from([Requirement("top-package[more]")], packages)


def test_another_environment_leads_elsewhere(install: Install) -> None:
    install("top 1", requires=("old; python_version < '3.12'", "arm; platform_machine == 'aarch64'"))
    install("old 1")
    packages = install("arm 1")
    new = {"python_version": "3.14", "platform_machine": "aarch64"}
    old = {"python_version": "3.11", "platform_machine": "x86_64"}

    assert list(reached_from([Requirement("top")], packages, environments=[new])) == ["arm", "top"]
    assert list(reached_from([Requirement("top")], packages, environments=[new, old])) == ["arm", "old", "top"]


def test_a_requirement_with_a_marker_of_its_own_counts_only_there(install: Install) -> None:
    packages = install("top 1")

    assert reached_from([Requirement("top; python_version < '3'")], packages) == {}


def test_what_is_half_removed_is_no_package(install: Install, tmp_path: Path) -> None:
    install("whole 1.0+cpu")
    (tmp_path / "site-packages" / "half-1.0.dist-info").mkdir()

    packages = installed_packages([tmp_path / "site-packages"])

    assert {name: one.version for name, one in packages.items()} == {"whole": "1.0+cpu"}
