"""Errors about what lies on disk."""

from collections.abc import Sequence
from pathlib import Path

from limbeck.errors.message import LimbeckError, some


class ArtifactError(LimbeckError):
    """Something on disk is not what it should be."""


class ArtifactMissing(ArtifactError):
    """A folder that should hold an artifact does not."""

    def __init__(self, *, folder: Path, kind: str, advice: str, reason: str = "it has no manifest.json") -> None:
        self.reason = reason
        super().__init__(f"'{folder}' is not a {kind}: {reason}", advice=advice)


class ArtifactDamaged(ArtifactError):
    """An artifact's files do not match its manifest."""

    def __init__(self, *, folder: Path, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            f"'{folder}' is damaged",
            found=some(faults),
            advice="Run the recipe again (it redoes what is damaged), or copy the folder again from an intact one.",
        )


class FormatTooNew(ArtifactError):
    """A folder was written by a newer version of Limbeck."""

    def __init__(self, *, folder: Path, kind: str, found: int, known: int) -> None:
        super().__init__(
            f"'{folder}' is a {kind} in format {found}; this Limbeck reads formats up to {known}",
            advice="Install a newer version: pip install --upgrade limbeck",
        )


class LabelsDoNotCover(ArtifactError):
    """Some rows have no teacher labels."""

    def __init__(self, *, labels: Path, missing: Sequence[str], total: int) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"{len(missing):,} of {total:,} rows have no teacher logits in '{labels}'",
            found=f"first missing row ids: {some(missing)}",
            advice="The data changed after it was labelled. Run `limbeck run` again.",
        )


class RunBusy(ArtifactError):
    """Another process is working in the run folder."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"another limbeck is working in '{folder}'",
            advice="Wait for it to end, or give this run a folder with --out.",
        )


class NothingToCompare(ArtifactError):
    """A comparison was asked for, and fewer than two runs were given."""

    def __init__(self, *, runs: Sequence[Path]) -> None:
        self.runs = tuple(runs)
        given = f"'{runs[0]}' alone cannot be compared" if runs else "no runs were given to compare"
        super().__init__(
            f"{given}: a comparison takes two runs or more",
            advice=f"Give another one: limbeck compare {runs[0] if runs else 'runs/A'} runs/OTHER",
        )


class ModelsNotAlike(ArtifactError):
    """Models that read one text a row and models that read two cannot be given the same rows."""

    def __init__(self, *, of_pairs: Sequence[str], of_single_texts: Sequence[str]) -> None:
        self.of_pairs, self.of_single_texts = tuple(of_pairs), tuple(of_single_texts)
        super().__init__(
            "models of single texts and models of pairs cannot be timed on the same rows",
            found=f"single texts: {some(of_single_texts)}; pairs: {some(of_pairs)}",
            advice="Time them in two calls.",
        )
