"""What each field of the recipe decides: the artifacts whose keys it belongs to, marked where the field is defined."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic.fields import FieldInfo

from limbeck.recipe.base import Section

ArtifactName = Literal[
    "corpus",
    "transfer",
    "augmented",
    "pretrained",
    "teacher",
    "members",  # the teachers of an ensemble, each with the key of a teacher
    "labels",
    "chosen",
    "vocabulary",
    "sized_vocabulary",  # a vocabulary that max_size_mb limits
    "students",
    "baseline",
    "exports",
    "report",
]
EVERYTHING: frozenset[ArtifactName] = frozenset(get_args(ArtifactName))


@dataclass(frozen=True)
class Decides:
    """A marker for `Annotated`. A field without one decides what its table decides."""

    artifacts: frozenset[ArtifactName] | None = None  # None: those of the table
    by_content: bool = False  # the key has a fingerprint of what the field points to, instead of its text
    condition: str = ""  # when the field has an effect at all, in words


def decides(*artifacts: ArtifactName) -> Decides:
    """A change of the field rebuilds these artifacts, instead of those of its table."""
    return Decides(frozenset(artifacts))


def decides_nothing() -> Decides:
    """A change of the field rebuilds nothing: no artifact depends on it."""
    return Decides(frozenset())


def by_content(*artifacts: ArtifactName) -> Decides:
    """The field is a path or a name. The artifacts (default: those of its table) depend on what it points to."""
    return Decides(frozenset(artifacts) or None, by_content=True)


def has_effect_if(condition: str) -> Decides:
    """The field decides what its table decides, but only under this condition: `Section.fields_without_effect`."""
    return Decides(condition=condition)


def settings(section: Section, artifact: ArtifactName) -> dict[str, Any]:
    """The fields of a section, and of the tables inside it, that decide this artifact: the settings part of its key.

    Fields without a marker are included: a forgotten marker rebuilds too much, never too little.
    """
    return _deciding(section, section.model_dump(mode="json"), artifact, EVERYTHING)


@dataclass(frozen=True)
class Decision:
    """What one field decides."""

    section: type[Section]
    field: str
    path: str  # as for `--set`, without list numbers: "distillation.losses.weight"
    artifacts: frozenset[ArtifactName]
    by_content: bool


def decisions(
    section: type[Section], *, path: str = "", table: frozenset[ArtifactName] = EVERYTHING
) -> Iterator[Decision]:
    """The decision of every field of a section and of the tables inside it, for each of their kinds.

    `table` is what fields without a marker decide.
    """
    for name, field in section.model_fields.items():
        marker = _marker(field)
        artifacts = table if marker.artifacts is None else marker.artifacts
        yield Decision(section, name, f"{path}{name}", artifacts, marker.by_content)
        for kind in sections_in(field.annotation):
            yield from decisions(kind, path=f"{path}{name}.", table=artifacts)


def sections_in(annotation: Any) -> list[type[Section]]:
    """The sections that a type contains."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]


def fields_marked(section: type[Section], marker: Decides) -> frozenset[str]:
    """The names of a section's own fields that have this marker."""
    return frozenset(name for name, field in section.model_fields.items() if _marker(field) == marker)


def _marker(field: FieldInfo) -> Decides:
    return next((marker for marker in field.metadata if isinstance(marker, Decides)), Decides())


def _deciding(
    section: Section, written: Mapping[str, Any], artifact: ArtifactName, table: frozenset[ArtifactName]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in type(section).model_fields.items():
        marker = _marker(field)
        if name not in written or name in section.fields_without_effect or marker.by_content:
            continue
        artifacts = table if marker.artifacts is None else marker.artifacts
        kept = _kept(getattr(section, name), written[name], artifact, artifacts)
        if artifact in artifacts or _is_filled(kept):
            found[name] = kept
    return found


def _kept(value: Any, written: Any, artifact: ArtifactName, artifacts: frozenset[ArtifactName]) -> Any:
    if isinstance(value, Section):
        return _deciding(value, written, artifact, artifacts)
    if isinstance(value, list):
        return [_kept(inner, text, artifact, artifacts) for inner, text in zip(value, written, strict=True)]
    return written if artifact in artifacts else None


def _is_filled(kept: Any) -> bool:
    """Whether a table has fields that decide an artifact although the table itself does not."""
    if isinstance(kept, list):
        return any(_is_filled(inner) for inner in kept)
    return bool(kept)
