"""The text that the student is trained on in addition to train: gathered text, changed copies, and the rows chosen."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.artifacts.chosen_rows import ChosenRows
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, file_digest
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.transfer_text import TransferText
from limbeck.augmentation.run import augment
from limbeck.augmentation.word_vectors import general_vectors
from limbeck.labeling.choice import choose_rows
from limbeck.pipeline.keys import ExtraText, input_fingerprints, settings_of, texts
from limbeck.recipe.augmentation import Augmentation, MaskedLm, Pairing, WordVectors
from limbeck.recipe.recipe import Recipe
from limbeck.teacher.checkpoint import checkpoint_fingerprint
from limbeck.text.forms import FormStep
from limbeck.transfer.run import gather_transfer

TAG_STORE = ".tag-store"  # next to the runs, like the label store


@dataclass(frozen=True)
class ChosenText:
    """The rows of the extra text that were chosen."""

    parts: ExtraText
    chosen: ChosenRows | None
    taught: TransferText | None = None  # foreign text, which no teacher labels

    @property
    def rows(self) -> list[Rows]:
        """The chosen rows of each part."""
        return [self.chosen.of(name, text.rows) for name, text in self.parts.items()] if self.chosen else []

    @property
    def foreign(self) -> list[Rows]:
        """The foreign rows that are taught."""
        return [self.taught.rows] if self.taught else []

    @property
    def fingerprints(self) -> dict[str, str]:
        """Fingerprints of the choice and of foreign text, for the keys of what is trained on them."""
        chosen = {"chosen": self.chosen.fingerprint} if self.chosen else {}
        return {**chosen, "taught": self.taught.training_fingerprint} if self.taught else chosen

    @property
    def form(self) -> list[FormStep]:
        """The normalisation steps of the gathered text; the student's tokenizer applies them too."""
        gathered = self.parts.get("transfer")
        steps: list[FormStep] = gathered.quality["form"]["steps"] if gathered else []
        return steps

    def quality(self, part: str) -> dict[str, Any] | None:
        """All numbers of a part: from gathering it, and from the teacher's labels."""
        if part not in self.parts or self.chosen is None:
            return None
        known = {"teacher_entropy_of_corpus": self.chosen.quality["teacher_entropy"], **self.chosen.quality[part]}
        return {**self.parts[part].quality, "chosen": known}


def transfer_of(recipe: Recipe, corpus: Corpus, run: RunFolder) -> ExtraText:
    """The gathered text, if the recipe has `[transfer]`."""
    section = recipe.transfer
    if section is None:
        return {}
    gathered = run.step(
        "transfer",
        kind="transfer",
        key=Key(
            section=settings_of(recipe, "transfer"),
            inputs={**input_fingerprints(section), "corpus": corpus.fingerprint},
        ),
        load=TransferText,
        make=lambda out, key: gather_transfer(section, corpus=corpus, out=out, key=key, reporter=run.reporter),
    )
    return {"transfer": gathered}


def copies_of(recipe: Recipe, corpus: Corpus, gathered: ExtraText, run: RunFolder) -> ExtraText:
    """Changed copies of training rows and of gathered text, if the recipe has `[augmentation]`."""
    section = recipe.augmentation
    if section is None:
        return {}
    text = gathered["transfer"] if section.transfer_copies else None
    read = {"corpus": corpus.fingerprint, **({} if text is None else {"transfer": text.training_fingerprint})}
    made = run.step(
        "augmented",
        kind="transfer",
        key=Key(section=settings_of(recipe, "augmented"), inputs={**_files_of_methods(section), **read}),
        load=TransferText,
        make=lambda out, key: augment(
            section,
            corpus=corpus,
            transfer=text,
            store=run.folder.parent / TAG_STORE,
            out=out,
            key=key,
            reporter=run.reporter,
        ),
    )
    return {"augmented": made}


def choose_text(recipe: Recipe, corpus: Corpus, parts: ExtraText, labels: TeacherLabels, run: RunFolder) -> ChosenText:
    """Choose rows of the extra text by the teacher's labels."""
    if not parts:
        return ChosenText(parts, None)
    chosen = run.step(
        "chosen",
        kind="chosen",
        key=Key(section=settings_of(recipe, "chosen"), inputs={"labels": labels.fingerprint, **texts(corpus, parts)}),
        load=ChosenRows,
        make=lambda out, key: choose_rows(
            recipe.transfer, corpus=corpus, parts=parts, labels=labels, out=out, key=key, reporter=run.reporter
        ),
    )
    return ChosenText(parts, chosen)


def _files_of_methods(section: Augmentation) -> dict[str, str]:
    """Fingerprints of the files and models that the methods use."""
    found = {}
    for number, method in enumerate(section.methods):
        if isinstance(method, WordVectors):
            general = general_vectors(method.path)
            found[f"method {number}"] = general.fingerprint if general else file_digest(Path(method.path))
        elif isinstance(method, MaskedLm):
            vectors = file_digest(Path(method.word_vectors)) if method.word_vectors else ""
            found[f"method {number}"] = f"{checkpoint_fingerprint(method.checkpoint)} {vectors}"
        elif isinstance(method, Pairing) and method.checkpoint is not None:
            found[f"method {number}"] = checkpoint_fingerprint(method.checkpoint)
    return found
