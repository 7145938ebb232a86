"""A teacher of any kind as an artifact: the files that its answers depend on, and teacher.json with facts about it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import fingerprint_of, read_facts, read_json, read_manifest
from limbeck.artifacts.model_folder import CARD
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.tasks import Task, task_of

NAMES_OF_WIDTH = ("hidden_size", "dim", "d_model", "emb_dim", "n_embd")  # BERT · DistilBERT · XLNet · XLM · GPT-2
TWIN = "twin_encoder"  # the model_type of limbeck.models.twin_encoder
MEAN = "mean_encoder"  # the model_type of limbeck.models.mean_encoder
QUALITY = "quality.json"  # of an endpoint: how good its answers are on dev
NOT_IN_FINGERPRINT = ("history.json", "teacher.json", "settings.json", QUALITY)  # its answers do not depend on these
ANSWERS = "answers.arrow"  # of a file teacher: content key → logits, see limbeck.artifacts.answers


@dataclass(frozen=True)
class TeacherFacts:
    """What labelling and the report need to know about a teacher. A file or an ensemble has no weights of its own."""

    name: str  # the checkpoint or file it came from
    labels: list[str]
    dev_accuracy: float | None  # None if it was not evaluated by itself: an ensemble, a file without dev rows
    kind: str = "encoder"  # as in the recipe: a row of limbeck.teacher.kinds
    dev_skill: float | None = None  # how far above chance, see limbeck.training.skill; None without answers for dev
    dev_rows: int | None = None  # dev rows it was evaluated on
    dev_others: int | None = None  # of these, rows that are not of the most frequent class; None: several labels a row
    dev_macro_f1: float | None = None  # what its best epoch was chosen by, if not the accuracy
    still_learning: bool = False  # its last epoch was clearly the best one
    multi_label: bool = False
    max_length: int | None = None
    long_texts: str = "head"
    head_share: float = 0.25
    precision: str | None = None  # of training and inference: "fp32", "bf16"; if exported, possibly "int8"
    parameters: int | None = None
    parameters_without_embeddings: int | None = None
    members: dict[str, str] = field(default_factory=dict)  # of an ensemble: name → fingerprint
    weights: list[float] = field(default_factory=list)  # of an ensemble: the weight of each member; they sum to 1
    combine: str | None = None  # of an ensemble: "mean_logits" or "mean_probabilities"
    temperature: float | None = None  # of an endpoint: its logits are divided by it when they are used
    shift: float | None = None  # of an endpoint with scores: subtracted from them before
    texts_per_call: int | None = None  # upper limit; the answers of each call are stored separately; None: any number
    dev_spearman: float | None = None  # of scores, instead of the accuracy
    scale: dict[str, Any] | None = None  # of the corpus's scores, in whose standard units it answers; None: classes

    @property
    def task(self) -> Task:
        """What it gives a row: one label, several, or a score."""
        return task_of(multi_label=self.multi_label, is_score=self.scale is not None)

    def on_dev(self) -> str:
        """How good it is on dev, in words."""
        if not self.dev_rows:
            return "how good it is on dev is unknown" if self.scale else "its accuracy on dev is unknown"
        if self.scale:
            return f"Spearman {self.dev_spearman or 0.0:.3f} on dev"
        return f"{self.dev_accuracy or 0.0:.1%} on dev"


@dataclass(frozen=True)
class TeacherFolder:
    """An encoder: weights, config and tokenizer as save_pretrained writes them. A file: answers.arrow. A student: the
    files of its folder, or of the exported model. A function: custom.json. An endpoint: endpoint.json. Always
    teacher.json; history.json if it was trained."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of everything that its answers depend on: the same answers have the same fingerprint.

        Weights, config and tokenizer, how much of a text is read and which part, and the precision; or the answers of a
        file; or the members of an ensemble and how they are combined. For a student also the order of the classes in
        its answers: its own files have them in the order of the run it comes from.
        """
        manifest = read_manifest(self.folder, kind="teacher")
        return fingerprint_of_teacher({name: entry["blake2b"] for name, entry in manifest.files.items()}, self.facts)

    @property
    def facts(self) -> TeacherFacts:
        """What is in teacher.json."""
        return read_facts(TeacherFacts, self.folder / "teacher.json")

    @property
    def is_encoder(self) -> bool:
        """Whether it is an encoder, with hidden states of tokens, word pieces and word embeddings."""
        return self.facts.kind == "encoder"

    @property
    def is_exported(self) -> bool:
        """Whether it is an exported student, which runs without PyTorch."""
        return self.facts.kind == "student" and (self.folder / CARD).is_file()

    @property
    def is_runnable(self) -> bool:
        """Whether it can be run, and so has a size and a speed; of other kinds only the answers are known."""
        return self.facts.kind in ("encoder", "student")

    @property
    def hidden_size(self) -> int:
        """Width of an encoder's hidden states."""
        config = read_json(self.folder / "config.json")
        return int(next(config[name] for name in NAMES_OF_WIDTH if name in config))

    @property
    def reads_apart(self) -> bool:
        """Whether it is an encoder that reads the two texts of a pair separately."""
        config = self.folder / "config.json"
        return self.is_encoder and read_json(config).get("model_type") == TWIN

    def tokenizer_json(self) -> str:
        """An encoder's fast tokenizer, as the tokenizers library writes it."""
        return (self.folder / "tokenizer.json").read_text(encoding="utf-8")


def fingerprint_of_teacher(files: Mapping[str, object], facts: TeacherFacts) -> str:
    """Of the digests of its files, by name, and of the facts that its answers depend on."""
    named = [f"{name} {digest}" for name, digest in files.items() if name not in NOT_IN_FINGERPRINT]
    reading: list[object] = [facts.max_length, facts.precision]
    if facts.long_texts != "head":
        reading += [facts.long_texts, facts.head_share]
    if facts.kind == "student":  # its files have the classes in its own order
        reading += ["student", facts.labels, *([ScoreScale.from_json(facts.scale)] if facts.scale else [])]
    together = [facts.combine, facts.weights, list(facts.members.values())] if facts.members else []
    return fingerprint_of("\n".join([*named, *(str(value) for value in (*reading, *together))]))


def save_teacher_facts(folder: Path, facts: TeacherFacts) -> None:
    """Write teacher.json into a scratch folder."""
    of_scores = ("dev_spearman", "scale", "shift")
    known = {name: value for name, value in asdict(facts).items() if name not in of_scores or value is not None}
    (folder / "teacher.json").write_text(json.dumps(known, indent=1, ensure_ascii=False), encoding="utf-8")
