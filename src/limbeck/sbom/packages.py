"""Installed packages as their metadata describes them: versions, requirements, licences, wheels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from limbeck.sbom.licences import licence_of

Environment = Mapping[str, str]  # values of markers, such as python_version, that differ from those here


@dataclass(frozen=True)
class Package:
    """An installed package."""

    distribution: Distribution

    @cached_property
    def name(self) -> str:
        """As its authors write it."""
        return str(self.distribution.metadata["Name"])

    @cached_property
    def version(self) -> str:
        """With the mark of a build, such as +cpu."""
        return self.distribution.version

    @cached_property
    def licence(self) -> str:
        """An SPDX expression where the metadata allows it, otherwise the words that it has, or ""."""
        return licence_of(self.distribution.metadata)

    @cached_property
    def summary(self) -> str:
        """What it is, in a line."""
        return next(iter(self.distribution.metadata.get_all("Summary") or ()), "").strip().partition("\n")[0]

    @cached_property
    def wheel_tags(self) -> frozenset[str]:
        """Those of the wheel that it was installed from."""
        lines = (self.distribution.read_text("WHEEL") or "").splitlines()
        return frozenset(line.removeprefix("Tag: ").strip() for line in lines if line.startswith("Tag: "))

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """All of them, those of its extras and of other systems too."""
        return tuple(map(Requirement, self.distribution.requires or ()))

    def needs(self, extra: str, environment: Environment) -> list[Requirement]:
        """What it asks for in an environment, for an extra of it or, with "", for itself."""
        return [
            one
            for one in self.requirements
            if (one.marker is None or one.marker.evaluate({**environment, "extra": extra}))
            and (not extra or (one.marker is not None and not one.marker.evaluate({**environment, "extra": ""})))
        ]


def installed_packages(folders: Sequence[Path] = ()) -> dict[str, Package]:
    """By canonical name: what this Python can import, or what is installed in folders; the first of a name counts."""
    found: dict[str, Package] = {}
    for one in distributions(path=[str(folder) for folder in folders]) if folders else distributions():
        if name := _name(one):
            found.setdefault(canonicalize_name(name), Package(one))
    return found


def _name(one: Distribution) -> str | None:
    """Its name; None for a folder that was left half removed, of which importlib_metadata says that it has none."""
    try:
        return one.metadata["Name"]
    except FileNotFoundError:
        return None


def reached_from(
    wanted: Iterable[Requirement], packages: Mapping[str, Package], *, environments: Sequence[Environment] = ({},)
) -> dict[str, set[str]]:
    """All packages that requirements lead to in any of the environments, of those that are here: canonical names, each
    with the extras of it that are asked for ("" is the package itself)."""
    reached: dict[str, set[str]] = {}
    for environment in environments:
        seen: set[tuple[str, str]] = set()
        waiting = [one for one in wanted if one.marker is None or one.marker.evaluate(dict(environment))]
        while waiting:
            one = waiting.pop()
            name = canonicalize_name(one.name)
            for extra in {"", *one.extras} if name in packages else ():
                if (name, extra) not in seen:
                    seen.add((name, extra))
                    waiting += packages[name].needs(extra, environment)
                    reached.setdefault(name, set()).add(extra)
    return dict(sorted(reached.items()))
