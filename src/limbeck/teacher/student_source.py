"""Finds the student to use as a teacher: in its folder, among its seeds, or exported."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import MANIFEST, faults_of, fingerprint_of, read_manifest, read_small_json
from limbeck.artifacts.model_folder import CARD, ModelFacts, ModelFolder
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import ArtifactDamaged, ArtifactMissing, some

NOT_NEEDED = ("history.json", "losses.json", "teacher.json")  # its answers do not depend on them
ADVICE = (
    "Give the folder of a trained student (runs/NAME/students/bilstm/0), of its seeds (runs/NAME/students/bilstm), "
    "or of an exported model (runs/NAME/models/bilstm-int8)."
)
ENCODER = 'Give an encoder in [teacher] by its own key: checkpoint = "{}"'


@dataclass(frozen=True)
class FoundStudent:
    """A trained student, or an exported one, on disk and undamaged."""

    folder: Path
    name: str  # run and variant: "big/bilstm"
    facts: StudentFacts | ModelFacts
    files: Mapping[str, str]  # name → blake2b, of those that its answers depend on
    seeds: int = 1  # it is the best of this many on dev

    @property
    def fingerprint(self) -> str:
        """Of its contents, independent of its path."""
        return fingerprint_of("\n".join(f"{name} {digest}" for name, digest in self.files.items()))


def find_student(path: str) -> FoundStudent:
    """The student at this path; of several seeds the best on dev, the first of equal ones.

    Raises ArtifactMissing if there is none, and ArtifactDamaged if its files do not match its manifest.
    """
    place = Path(path).expanduser().resolve()
    seeds = {} if _kind(place) else _seeds(place)
    if len({facts.name for facts in seeds.values()}) == 1:
        best = max(seeds, key=lambda folder: (seeds[folder].chosen_by, -seeds[folder].seed))
        return _found(best, seeds[best], kind="student", seeds=len(seeds))
    match _kind(place):
        case "student":
            return _found(place, _facts(place), kind="student")
        case "model":
            return _found(place, _model_facts(place), kind="model")
        case "teacher" if TeacherFolder(place).facts.kind == "student":  # a run's copy of one
            exported = (place / CARD).is_file()
            return _found(place, _model_facts(place) if exported else _facts(place), kind="teacher")
    raise _missing(place)


def _found(folder: Path, facts: StudentFacts | ModelFacts, *, kind: str, seeds: int = 1) -> FoundStudent:
    manifest = read_manifest(folder, kind=kind, advice=ADVICE)
    if faults := faults_of(folder, manifest):
        raise ArtifactDamaged(folder=folder, faults=faults)
    files = {name: str(entry["blake2b"]) for name, entry in manifest.files.items() if name not in NOT_NEEDED}
    name = TeacherFolder(folder).facts.name if kind == "teacher" else _display_name(folder, facts.name)
    return FoundStudent(folder=folder, name=name, facts=facts, files=files, seeds=seeds)


def _display_name(folder: Path, variant: str) -> str:
    """With the name of its run in front, if it is still in one: runs have students of the same names."""
    run = next((parent for parent in list(folder.parents)[:3] if (parent / "run.json").is_file()), None)
    return f"{run.name}/{variant}" if run else variant


def _seeds(place: Path) -> dict[Path, StudentFacts]:
    """The students directly inside a folder; those being written have a suffix."""
    below = sorted(path.parent for path in place.glob(f"*/{MANIFEST}")) if place.is_dir() else []
    return {folder: _facts(folder) for folder in below if not folder.suffix and _kind(folder) == "student"}


def _kind(folder: Path) -> str | None:
    """The kind in its manifest; None without a manifest."""
    try:
        kind: Any = read_small_json(folder / MANIFEST)["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(kind)


def _facts(folder: Path) -> StudentFacts:
    try:
        return StudentFolder(folder).facts
    except (OSError, ValueError, TypeError) as error:
        raise ArtifactDamaged(folder=folder, faults=[f"student.json cannot be read: {error}"]) from None


def _model_facts(folder: Path) -> ModelFacts:
    try:
        return ModelFolder(folder).facts()
    except (OSError, ValueError, TypeError) as error:
        raise ArtifactDamaged(folder=folder, faults=[f"model.json cannot be read: {error}"]) from None


def _missing(place: Path) -> ArtifactMissing:
    """The error, with what the folder has instead and which folder to give."""
    kind, inside = _kind(place), _students_below(place)
    reason = "there is no student in it"
    advice = f"Give one of these: {some(inside, most=6)}" if inside else ADVICE
    if not place.is_dir():
        reason = "it is a file, not a folder" if place.exists() else "there is no such folder"
    elif (place / "config.json").is_file():
        reason, advice = "it is an encoder, or another transformers model", ENCODER.format(place)
    elif kind is not None:
        reason = f"it is a {kind}"
    elif inside:
        reason = "it has several"
    return ArtifactMissing(folder=place, kind="student", reason=reason, advice=advice)


def _students_below(place: Path) -> list[str]:
    """The students and exported models of a run, of several runs, or of a folder of either; seeds count once."""
    places = ("*", "students/*", "models/*", "*/students/*", "*/models/*")
    below = sorted({folder for pattern in places for folder in place.glob(pattern) if not folder.suffix})
    return [str(folder) for folder in below if _kind(folder) in ("student", "model") or _seeds(folder)]
