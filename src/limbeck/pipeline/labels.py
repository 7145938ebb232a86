"""`limbeck labels`: shows the teacher's labels, verifies a sample of them, and writes them to a file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.file_systems import is_address
from limbeck.artifacts.manifest import faults_of, read_manifest
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.transfer_text import TransferText
from limbeck.errors import ArtifactDamaged, ArtifactMissing, in_shell, some
from limbeck.labeling.label_file import write_label_file
from limbeck.labeling.source import TeacherSource
from limbeck.labeling.store import Root
from limbeck.labeling.summary import SplitSummary, summarise
from limbeck.labeling.tables import print_labels, print_verification
from limbeck.labeling.verification import Verification, stores_of, verify
from limbeck.pipeline.teachers import root_of

EXTRA = ("transfer", "augmented")  # text in addition to the corpus


class Fingerprinted(Protocol):
    """An artifact that labels are made from."""

    @property
    def folder(self) -> Path: ...
    @property
    def fingerprint(self) -> str: ...


@dataclass(frozen=True)
class LabelledRun:
    """The labels of a run, with the rows and the teacher they belong to."""

    folder: Path
    corpus: Corpus
    labels: TeacherLabels
    splits: dict[str, Rows]

    @property
    def teachers(self) -> list[TeacherFolder]:
        """The teachers that answered: the teacher, or the members of an ensemble."""
        teacher = TeacherFolder(self.folder / "teacher")
        return [TeacherFolder(self.folder / "teachers" / name) for name in teacher.facts.members] or [teacher]

    @property
    def precision(self) -> str:
        """The lowest precision that a teacher computed in."""
        found = {teacher.facts.precision for teacher in self.teachers}
        return next((precision for precision in ("int8", "bf16") if precision in found), "fp32")

    @property
    def store(self) -> Root:
        """The label store that was used."""
        used = str(self.labels.asking["store"])
        return root_of(used, self.folder) if is_address(used) else (self.folder / used).resolve()

    def summaries(self) -> dict[str, SplitSummary]:
        """Numbers of each split."""
        corpus = self.corpus
        return summarise(
            self.labels,
            splits=self.splits,
            classes=corpus.labels,
            multi_label=corpus.is_multi_label,
            scale=corpus.scale,
        )

    def head(self) -> dict[str, Any]:
        """The teacher, how many answers were in the label store, and where the store is."""
        facts, asking = self.labels.facts, self.labels.asking
        asked = [source["fingerprint"] for source in asking["sources"]]
        stores = stores_of(self.labels, asked, root=self.store, classes=len(self.corpus.labels))
        shards = [(store, store.shards()) for store in stores]
        return {
            "teacher": TeacherFolder(self.folder / "teacher").facts.name,
            "fingerprint": facts["teacher"],
            "rows": facts["rows"],
            "labelled": facts["rows"] - sum(facts["uncovered"].values()),
            "distinct_texts": facts["distinct_texts"],
            "features": facts.get("features"),
            **{name: asking[name] for name in ("asked", "hit_rate", "seconds", "rows_per_second", "sources")},
            "store": str(self.store),
            "shards": sum(len(found) for _, found in shards),
            "store_mb": sum(store.bytes_of(found) for store, found in shards) / 1e6,
        }

    def verified(self, sources: Sequence[TeacherSource], *, sample: int) -> Verification:
        """Ask the teacher again about a sample of the rows. Raises if the teacher's files have changed."""
        for teacher in self.teachers:
            if faults := faults_of(teacher.folder, read_manifest(teacher.folder, kind="teacher")):
                reason, advice = (
                    f"it is damaged: {some(faults)}",
                    f"Rebuild it with: limbeck run {in_shell(self.folder)}",
                )
                raise ArtifactMissing(folder=teacher.folder, kind="teacher", reason=reason, advice=advice)
        facts = TeacherFolder(self.folder / "teacher").facts
        return verify(
            self.labels,
            splits=self.splits,
            classes=len(self.corpus.labels),
            multi_label=self.corpus.is_multi_label,
            sources=sources,
            combine="mean_logits" if facts.combine == "mean_logits" else "mean_probabilities",
            precision=self.precision,
            store=self.store,
            sample=sample,
            is_score=not self.corpus.task.has_classes,
        )


def labelled_run(folder: Path) -> LabelledRun:
    """The labels of a run. Raises if there is no run, if it has no labels yet, or if they are out of date."""
    if not (folder / "run.json").is_file():
        reason = "it has no run.json" if folder.is_dir() else "the folder does not exist"
        raise ArtifactMissing(folder=folder, kind="run", reason=reason, advice="Give the folder of a run: runs/NAME.")
    advice = f"Continue with: limbeck run {in_shell(folder)}"
    if not (folder / "labels").exists():
        raise ArtifactMissing(folder=folder, kind="labelled run", reason="it has no labels yet", advice=advice)
    manifest = read_manifest(folder / "labels", kind="labels", advice=advice)
    if faults := faults_of(folder / "labels", manifest):
        reason = f"its labels are damaged: {some(faults)}"
        raise ArtifactMissing(folder=folder, kind="labelled run", reason=reason, advice=advice)
    corpus, labels = Corpus(folder / "corpus"), TeacherLabels(folder / "labels")
    extra = {name: TransferText(folder / name) for name in EXTRA if name in labels.facts["splits"]}
    _refuse_stale(folder, {"corpus": corpus, "teacher": TeacherFolder(folder / "teacher"), **extra}, advice=advice)
    return LabelledRun(folder, corpus, labels, {**corpus.splits, **{name: text.rows for name, text in extra.items()}})


def _refuse_stale(folder: Path, made_from: Mapping[str, Fingerprinted], *, advice: str) -> None:
    """Labels belong to row ids, and ids to positions in a file: for changed rows they would be wrong."""
    inputs = read_manifest(folder / "labels", kind="labels", advice=advice).key.inputs
    changed = [name for name, artifact in made_from.items() if inputs.get(name) != _fingerprint(artifact, advice)]
    if changed:
        reason = f"its labels belong to an earlier {' and '.join(changed)}"
        raise ArtifactMissing(folder=folder, kind="labelled run", reason=reason, advice=advice)


def _fingerprint(artifact: Fingerprinted, advice: str) -> str:
    try:
        return artifact.fingerprint
    except (OSError, ValueError, KeyError, TypeError, ArtifactDamaged) as error:
        reason = f"it cannot be read ({type(error).__name__})"
        raise ArtifactMissing(folder=artifact.folder, kind="part of a run", reason=reason, advice=advice) from None


def check_labels(
    folder: Path,
    *,
    is_verified: bool,
    sample: int,
    export: Path | None,
    console: Console,
    as_json: bool = False,
    sources: Sequence[TeacherSource] | None = None,
) -> bool:
    """Show the labels of a run; verify and export them if asked. False if the teacher now gives other answers."""
    run = labelled_run(folder)
    classes, multi_label = run.corpus.labels, run.corpus.is_multi_label
    if export is not None:
        rows = write_label_file(
            export, run.labels, splits=run.splits, classes=classes, multi_label=multi_label, scale=run.corpus.scale
        )
    head, splits = run.head(), run.summaries()
    found = run.verified(_sources(folder) if sources is None else sources, sample=sample) if is_verified else None
    if as_json:
        shown = {**head, "splits": {name: asdict(split) for name, split in splits.items()}}
        console.print_json(data={**shown, "verification": asdict(found) if found else None})
        return found is None or found.is_sound
    print_labels(head, splits, console)
    if found:
        print_verification(found, precision=run.precision, console=console)
    if export is not None:
        console.print(Text(f"Wrote {rows:,} rows to {export}"), soft_wrap=True)
    return found is None or found.is_sound


def _sources(folder: Path) -> list[TeacherSource]:
    from limbeck.pipeline import teacher_sources  # loads PyTorch

    return teacher_sources(folder)
