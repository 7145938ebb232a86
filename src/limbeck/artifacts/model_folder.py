"""The model that ships: ONNX graph, tokenizer.json and model.json, or a blend of such (numpy alone, no pyarrow)."""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from limbeck.artifacts.manifest import faults_of, read_manifest
from limbeck.errors import ArtifactDamaged, some

GRAPH, TOKENIZER, CARD = "model.onnx", "tokenizer.json", "model.json"
README = "README.md"  # for people: written after evaluation, listed in no manifest, may be edited
ADVICE = "Give the folder of an exported model, e.g. runs/NAME/models/bilstm-int8."


@dataclass(frozen=True)
class Member:
    """A model inside a blend. Its logits, divided by its own temperature, count with this weight."""

    folder: str  # inside the folder of the blend
    weight: float


@dataclass(frozen=True)
class ModelFacts:
    """The content of model.json: all that the runtime needs in addition to graph and tokenizer."""

    name: str
    kind: str  # of the student: "bilstm", "transformer" …; "blend" if it has members
    precision: Literal["fp32", "int8"]
    labels: list[str]
    language: str
    pair: bool
    max_length: int
    parameters: int
    parameters_without_embeddings: int
    multi_label: bool = False  # a row may have several labels: sigmoid of each logit instead of softmax
    tokenizer: Literal["words", "framed"] = "words"  # StudentTokenizer, or FramedTokenizer, which adds special tokens
    temperature: float = 1.0  # logits are divided by it before softmax or sigmoid; it does not change labels
    members: tuple[Member, ...] = ()  # of a blend, which has neither a graph nor a tokenizer of its own


@dataclass(frozen=True)
class ModelFolder:
    """An exported model on disk."""

    folder: Path

    @property
    def graph(self) -> Path:
        """The ONNX file. Inputs: input_ids (rows, tokens) int64 and lengths (rows) int32; for pairs also pair_ids and
        pair_lengths, or type_ids if a pair is one sequence of tokens. Output: logits (rows, classes)."""
        return self.folder / GRAPH

    @property
    def tokenizer(self) -> Path:
        """The tokenizer that training used."""
        return self.folder / TOKENIZER

    @property
    def graphs(self) -> list[Path]:
        """Its ONNX file; of a blend those of its members."""
        return sorted(self.folder.rglob(GRAPH))

    def facts(self) -> ModelFacts:
        """The content of model.json."""
        card = json.loads((self.folder / CARD).read_text(encoding="utf-8"))
        members = tuple(Member(**member) for member in card.pop("members", []))
        return ModelFacts(**card, members=members)

    def member(self, member: Member) -> "ModelFolder":
        """One of the models of a blend. Raises ArtifactDamaged if it would be outside of the folder."""
        is_name = Path(member.folder).name == member.folder and member.folder not in ("", "..")
        if not is_name or not (self.folder / member.folder / CARD).is_file():
            raise ArtifactDamaged(folder=self.folder, faults=[f"there is no member '{member.folder}' in it"])
        return ModelFolder(self.folder / member.folder)

    def size_mb(self) -> float:
        """All files of the folder except README.md, in millions of bytes."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and not path.name.startswith(README)]
        return sum(path.stat().st_size for path in files) / 1e6


def open_model(folder: Path) -> ModelFolder:
    """The model in this folder. Raises if it has none, if it is damaged, or if a newer Limbeck wrote it."""
    manifest = read_manifest(folder, kind="model", advice=_advice(folder))
    if faults := faults_of(folder, manifest):
        raise ArtifactDamaged(folder=folder, faults=faults)
    return ModelFolder(folder)


def _advice(folder: Path) -> str:
    """Which folder to give instead of this one: the models in it, if it is a run or a folder of models."""
    inside = sorted(card.parent for place in ("*", "models/*") for card in folder.glob(f"{place}/{CARD}"))
    return f"Give the folder of one model: {some(inside)}." if inside else ADVICE


def save_facts(folder: Path, facts: ModelFacts) -> None:
    """Write model.json into a scratch folder."""
    card = asdict(facts)
    if not facts.members:
        del card["members"]
    (folder / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False), encoding="utf-8")


def copy_model(model: ModelFolder, folder: Path) -> None:
    """Copy the files that its manifest lists into a scratch folder; not the README.md."""
    for name in read_manifest(model.folder, kind="model").files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(model.folder / name, folder / name)
