"""The fine-tuned teacher as an artifact: a Hugging Face folder with teacher.json beside it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from limbeck.artifacts.manifest import fingerprint_of, read_manifest

NAMES_OF_WIDTH = ("hidden_size", "dim", "d_model", "emb_dim", "n_embd")  # BERT · DistilBERT · XLNet · XLM · GPT-2


@dataclass(frozen=True)
class TeacherFacts:
    """What labelling and the report need to know of a teacher."""

    name: str  # the checkpoint it came from
    labels: list[str]
    max_length: int
    precision: str  # "fp32" or "bf16": what it computed in, and will be asked in
    parameters: int
    parameters_without_embeddings: int
    dev_accuracy: float


@dataclass(frozen=True)
class TeacherFolder:
    """Weights, config and tokenizer as save_pretrained writes them, teacher.json and history.json."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of weights, tokenizer, max length and precision: the same answers have the same fingerprint."""
        manifest = read_manifest(self.folder, kind="teacher")
        facts = self.facts
        beside = ("history.json", "teacher.json")  # how it came about, not what it answers
        files = [f"{name} {entry['blake2b']}" for name, entry in manifest.files.items() if name not in beside]
        return fingerprint_of("\n".join([*files, str(facts.max_length), facts.precision]))

    @property
    def facts(self) -> TeacherFacts:
        """What stands in teacher.json."""
        return TeacherFacts(**json.loads((self.folder / "teacher.json").read_text(encoding="utf-8")))

    @property
    def hidden_size(self) -> int:
        """Width of its states."""
        config = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        return int(next(config[name] for name in NAMES_OF_WIDTH if name in config))

    def tokenizer_json(self) -> str:
        """Its fast tokenizer, as the tokenizers library writes it."""
        return (self.folder / "tokenizer.json").read_text(encoding="utf-8")


def save_teacher_facts(folder: Path, facts: TeacherFacts) -> None:
    """Write teacher.json into a scratch folder."""
    (folder / "teacher.json").write_text(json.dumps(asdict(facts), indent=1, ensure_ascii=False), encoding="utf-8")
