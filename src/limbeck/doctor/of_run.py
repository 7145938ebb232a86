"""What can be examined in a run: every artifact in its folder that is intact and belongs to the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.chosen_rows import ChosenRows
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import (
    FORMATS,
    MANIFEST,
    FormatTooOld,
    Manifest,
    faults_of,
    read_manifest,
    read_small_json,
)
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.report import Report, made_after_report
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.transfer_text import TransferText
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import NO_TEACHER, Asked, AskedTwice, Collected, Known, NotThere, Stale
from limbeck.doctor.language_model import LanguageModelAnswers
from limbeck.doctor.tokens import StudentReading, TeacherReading, sample
from limbeck.errors import ArtifactError, ArtifactMissing, in_shell, some
from limbeck.kinds import STUDENT_KINDS
from limbeck.labeling.source import TeacherSource
from limbeck.labeling.verification import TOLERANCES
from limbeck.pipeline.labels import EXTRA, LabelledRun, labelled_run
from limbeck.recipe.load import load_recipe
from limbeck.recipe.no_teacher import NONE
from limbeck.recipe.recipe import Recipe
from limbeck.teacher.endpoint import questions_of
from limbeck.teacher.endpoints.quality import positions_of
from limbeck.teacher.kinds import kind_of
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_tokenizer import StudentTokenizer

CHECK = "manifest"
UNFINISHED = (".partial", ".old")  # suffixes of folders that are not (or no longer) artifacts


@dataclass
class Artifacts:
    """The artifacts of a run by their place in it: the intact ones, and why others cannot be read."""

    folder: Path
    intact: dict[str, Manifest] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    older: list[str] = field(default_factory=list)  # of the broken: those that are intact but of an older version
    findings: list[Finding] = field(default_factory=list)

    def why_not(self, place: str) -> str:
        """Why there is no intact artifact at this place."""
        return f"{place} is {self.broken[place]}" if place in self.broken else f"{place} is not made yet"


def find_artifacts(folder: Path) -> Artifacts:
    """Compare every file of every artifact with its manifest."""
    found = Artifacts(folder)
    for place in _places(folder):
        _look(found, place)
    if found.older:
        what = f"{_artifacts(len(found.older))} in the format of an older version"
        advice = f"To include them in the checks, rebuild them: limbeck run {in_shell(folder)}"
        found.findings.append(Finding(CHECK, "note", what, some(found.older), advice))
    return found


def _artifacts(count: int) -> str:
    return "an artifact is" if count == 1 else f"{count} artifacts are"


def _places(folder: Path) -> list[str]:
    """Folders with a manifest, and those that run.json lists and that still exist."""
    paths = {path.parent for path in folder.rglob(MANIFEST)} | {folder / name for name in _stages(folder)}
    places = [path.relative_to(folder) for path in sorted(paths) if path.is_dir() and path != folder]
    return [place.as_posix() for place in places if not any(Path(part).suffix in UNFINISHED for part in place.parts)]


def _stages(folder: Path) -> list[str]:
    try:
        return list(read_small_json(folder / "run.json")["stages"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _look(found: Artifacts, place: str) -> None:
    path = found.folder / place
    again = f"Run it again: limbeck run {in_shell(found.folder)} rebuilds what is damaged, and keeps the rest."
    try:
        manifest = read_manifest(path, kind=_kind(path))
    except ArtifactMissing as error:
        found.broken[place] = f"damaged: {error.reason}"
        found.findings.append(Finding(CHECK, "error", f"{place} is damaged", error.reason, again))
        return
    except FormatTooOld:
        found.broken[place] = "of an older version"
        found.older.append(place)
        return
    except ArtifactError as error:
        what = f"{place} is of a newer version of Limbeck"
        found.broken[place] = "of a newer version"
        found.findings.append(Finding(CHECK, "error", what, error.what, error.advice))
        return
    if faults := faults_of(path, manifest):
        found.broken[place] = f"damaged: {some(faults)}"
        found.findings.append(Finding(CHECK, "error", f"{place} does not match its manifest", some(faults), again))
    else:
        found.intact[place] = manifest


def _kind(path: Path) -> str:
    """The kind in its manifest; an unknown kind becomes "model", which is refused when it is read."""
    try:
        raw: Any = read_small_json(path / MANIFEST)
        return raw["kind"] if raw["kind"] in FORMATS else "model"
    except (OSError, ValueError, KeyError, TypeError):
        return "model"


ROWS_ASKED = 32
ROWS_COUNTED = 20_000  # of each split: answers of a language model


def known_of_run(folder: Path, *, asks: bool = True, sources: Sequence[TeacherSource] | None = None) -> Known:
    """Examine all artifacts. With `asks`, the teacher is opened and asked twice about a few rows."""
    recipe = load_recipe(folder, locate=False).recipe  # the files that it was made from may be gone
    artifacts = find_artifacts(folder)
    run, collected = _Run(folder, recipe, artifacts), Collected()
    for name, make in {
        "corpus": run.corpus,
        "transfer": run.transfer,
        "copies": run.copies,
        "teacher": run.teacher,
        "teacher_parameters": run.teacher_parameters,
        "teacher_readings": run.teacher_readings,
        "chosen": run.chosen,
        "asked": run.asked,
        "asked_twice": lambda: run.asked_twice(asks=asks, sources=sources),
        "model_answers": run.model_answers,
        "vocabulary": lambda: run.vocabulary().facts,
        "student_reading": run.student_reading,
        "students": run.students,
        "models": run.models,
        "report": run.report,
    }.items():
        collected.add(name, make, check=CHECK)
    stale = [_stale_finding(reason, folder) for reason in dict.fromkeys(collected.stale)]
    found = (*artifacts.findings, *stale, *collected.found)
    return Known(recipe, collected.parts, collected.absent, folder=folder, found=found)


def _stale_finding(reason: str, folder: Path) -> Finding:
    evidence = "its inputs have been rebuilt since; it is skipped here"
    return Finding(CHECK, "warning", reason, evidence, f"Complete the run: limbeck run {in_shell(folder)}")


@dataclass(frozen=True)
class _Run:
    """The parts of a run; each raises NotThere if it is missing, damaged, or built from earlier inputs."""

    folder: Path
    recipe: Recipe
    artifacts: Artifacts

    def _at(self, place: str, **made_from: str) -> Path:
        """The folder of an intact artifact that was made from these inputs."""
        if place not in self.artifacts.intact:
            raise NotThere(self.artifacts.why_not(place))
        inputs: Mapping[str, str] = self.artifacts.intact[place].key.inputs
        earlier = [name for name, fingerprint in made_from.items() if inputs.get(name, fingerprint) != fingerprint]
        if earlier:
            article = "" if earlier[0] == "labels" else "an "
            raise Stale(f"{place} belongs to {article}earlier {' and '.join(earlier)}")
        return self.folder / place

    def corpus(self) -> Corpus:
        return Corpus(self._at("corpus"))

    def transfer(self) -> TransferText:
        if self.recipe.transfer is None:
            raise NotThere("the recipe has no [transfer]")
        return TransferText(self._at("transfer", corpus=self.corpus().fingerprint))

    def copies(self) -> TransferText:
        if self.recipe.augmentation is None:
            raise NotThere("the recipe has no [augmentation]")
        read = {"transfer": self.transfer().training_fingerprint} if self.recipe.augmentation.transfer_copies else {}
        return TransferText(self._at("augmented", corpus=self.corpus().fingerprint, **read))

    def teacher(self) -> TeacherFolder:
        return TeacherFolder(self._at("teacher", corpus=self.corpus().training_fingerprint))

    def members(self) -> dict[str, TeacherFolder]:
        """The teachers that are asked: all members of an ensemble, or the teacher."""
        teacher = self.teacher()
        if teacher.facts.kind == NONE:
            raise NotThere(NO_TEACHER)
        names = teacher.facts.members
        return {name: TeacherFolder(self._at(f"teachers/{name}")) for name in names} or {teacher.facts.name: teacher}

    def teacher_parameters(self) -> int:
        self.members()
        parameters = self.teacher().facts.parameters
        if parameters is None:
            raise NotThere("the size of the teacher is not known")
        return parameters

    def teacher_readings(self) -> list[TeacherReading]:
        encoders = {name: member for name, member in self.members().items() if member.is_encoder}
        if not encoders:
            raise NotThere("the teacher is not an encoder")
        return [
            TeacherReading.load(
                member.folder / "tokenizer.json",
                name=name,
                max_length=member.facts.max_length or 0,
                long_texts=member.facts.long_texts,
            )
            for name, member in encoders.items()
        ]

    def labelled(self) -> LabelledRun:
        """The stored labels. Damaged files are not opened: Arrow does not check what it maps."""
        for place in ("corpus", "teacher", "labels"):
            self._at(place)
        for place in EXTRA:
            if place in self.artifacts.broken:
                raise NotThere(self.artifacts.why_not(place))
        try:
            return labelled_run(self.folder)
        except ArtifactMissing as error:
            raise Stale(error.reason.removeprefix("its ")) from None

    def asked(self) -> list[Asked]:
        self.members()
        labelled, facts = self.labelled(), self.teacher().facts
        rows = labelled.splits["dev"]
        rows = rows.select(np.flatnonzero(rows.is_labelled & labelled.labels.covers(rows.ids)))
        return [Asked(facts.name, facts.kind, rows, labelled.labels.for_rows(rows.ids))]

    def asked_twice(self, *, asks: bool, sources: Sequence[TeacherSource] | None) -> list[AskedTwice]:
        if not asks:
            raise NotThere("asking the teacher is switched off")
        labelled, name = self.labelled(), self.teacher().facts.name
        if not any(kind_of(member.facts).traits.answers_new_texts for member in self.members().values()):
            raise NotThere("the teacher is a file, whose answers do not change")
        if any(member.facts.kind == "endpoint" for member in self.members().values()):
            raise NotThere("the teacher is a language model behind an address: asking it again would cost money")
        rows = sample(labelled.splits["train"], most=ROWS_ASKED)
        asking = _sources(self.folder) if sources is None else sources
        between = max(_difference(source.open(), rows.texts, rows.pairs) for source in asking)
        from_kept = labelled.verified(asking, sample=ROWS_ASKED).largest_difference
        return [AskedTwice(name, len(rows), between, from_kept, tolerance=TOLERANCES[labelled.precision])]

    def model_answers(self) -> LanguageModelAnswers:
        """Of a language model: the order of its choices follows from the text, so nothing has to be asked again."""
        teacher, labelled = self.teacher(), self.labelled()
        if teacher.facts.kind != "endpoint" or labelled.corpus.is_multi_label:
            raise NotThere("it is for one language model, and rows of one label")
        classes, questions = len(labelled.corpus.labels), questions_of(teacher)
        counts, places = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
        for rows in labelled.splits.values():
            part = sample(rows, most=ROWS_COUNTED)
            part = part.select(np.flatnonzero(labelled.labels.covers(part.ids)))
            if len(part):
                logits = labelled.labels.for_rows(part.ids)
                counts += np.bincount(logits.argmax(axis=1), minlength=classes)
                places += positions_of(logits, part.texts, part.pairs, questions)
        train = labelled.corpus.splits["train"].labels
        is_shuffled = questions.described["order"] == "shuffled"
        of_labels = np.bincount(train[train >= 0], minlength=classes)
        return LanguageModelAnswers(teacher.facts.name, counts, places if is_shuffled else None, of_labels)

    def chosen(self) -> ChosenRows:
        if self.recipe.transfer is None and self.recipe.augmentation is None:
            raise NotThere("the recipe has neither [transfer] nor [augmentation]")
        return ChosenRows(self._at("chosen", labels=self.labelled().labels.fingerprint))

    def vocabulary(self) -> VocabularyFolder:
        return VocabularyFolder(self._at("vocabulary", corpus=self.corpus().training_fingerprint))

    def student_reading(self) -> StudentReading:
        path, section = self.vocabulary().tokenizer, self.recipe.student
        is_framed = STUDENT_KINDS[section.kind].tokenizer == "framed"
        return StudentReading(
            FramedTokenizer.load(path) if is_framed else StudentTokenizer.load(path), section.max_length
        )

    def students(self) -> list[StudentFolder]:
        places = [f"students/{self.recipe.student.kind}/{seed}" for seed in self.recipe.distillation.seeds]
        corpus, vocabulary = self.corpus().training_fingerprint, self.vocabulary().fingerprint
        made = [place for place in places if place in self.artifacts.intact] or places[:1]
        return [StudentFolder(self._at(place, corpus=corpus, vocabulary=vocabulary)) for place in made]

    def models(self) -> dict[str, ModelFolder]:
        places = [place for place in self.artifacts.intact if Path(place).parent == Path("models")]
        if not places:
            raise NotThere("no model is exported yet")
        return {Path(place).name: ModelFolder(self.folder / place) for place in places}

    def report(self) -> dict[str, Any]:
        corpus, labels = self.corpus().fingerprint, self.labelled().labels.fingerprint
        place = self._at("report", corpus=corpus, labels=labels)
        if earlier := made_after_report(self.folder):
            raise Stale(f"report is older than its inputs ({some(earlier)})")
        return Report(place).data


def _sources(folder: Path) -> list[TeacherSource]:
    from limbeck.pipeline import teacher_sources  # loads every stage

    return teacher_sources(folder)


def _difference(teacher: Any, texts: Sequence[str], pairs: Sequence[str] | None) -> float:
    """The largest difference of a logit between two answers; rows that a file does not cover count as equal."""
    first, second = (teacher.logits(texts, pairs) for _ in range(2))
    return float(np.nan_to_num(np.abs(first - second)).max(initial=0.0))
