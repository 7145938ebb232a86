"""The model that ships: ONNX graph, tokenizer.json and model.json, or a blend of such (numpy alone, no pyarrow)."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from limbeck.artifacts.manifest import Manifest, faults_of, read_manifest, read_small_json
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
        try:
            card = read_small_json(self.folder / CARD)
        except (OSError, ValueError) as error:
            raise ArtifactDamaged(folder=self.folder, faults=[f"{CARD} cannot be read: {error}"]) from error
        if faults := _faults_of_card(card):
            raise ArtifactDamaged(folder=self.folder, faults=[f"{CARD}: {fault}" for fault in faults])
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
    model = ModelFolder(folder)
    faults = _links_out(folder, manifest) or faults_of(folder, manifest) or _faults_of_list(manifest, model.facts())
    if faults:
        raise ArtifactDamaged(folder=folder, faults=faults)
    return model


def _links_out(folder: Path, manifest: Manifest) -> list[str]:
    inside = folder.resolve()
    out = [name for name in manifest.files if not (folder / name).resolve().is_relative_to(inside)]
    return [f"{name} is a link to a file outside of the folder" for name in out]


def _faults_of_list(manifest: Manifest, facts: ModelFacts) -> list[str]:
    """Files of the model that the manifest does not vouch for, and files that no model has."""
    inside = [f"{member.folder}/" for member in facts.members] or [""]
    files = [GRAPH, TOKENIZER, *([CARD] if facts.members else [])]
    needed = {CARD, *(f"{place}{name}" for place in inside for name in files)}
    missing, other = sorted(needed - set(manifest.files)), sorted(set(manifest.files) - needed)
    return [
        *(f"{name} is not in its manifest" for name in missing),
        *(f"its manifest lists {name}, which no model has" for name in other),
    ]


MOST_LABELS, MOST_TOKENS = 1_000_000, 1_000_000


def _faults_of_card(card: Any) -> list[str]:
    """What is wrong with the content of model.json: anybody may have written it."""
    if not isinstance(card, dict):
        return ["it is no table of keys"]
    optional = {field.name for field in fields(ModelFacts) if field.default is not MISSING}
    known = {field.name for field in fields(ModelFacts)}
    faults = [f"the key {name} is missing" for name in sorted(known - optional - set(card))]
    faults += [f"the key {name!r} is not known" for name in sorted(map(str, set(card) - known))]
    return faults or [f"{name} is {_shown(card[name])}" for name, is_right in CHECKS.items() if not is_right(card)]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_whole(value: Any, *, least: int, most: float = math.inf) -> bool:
    return type(value) is int and least <= value <= most


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _are_labels(labels: Any) -> bool:
    is_list = isinstance(labels, list) and 1 <= len(labels) <= MOST_LABELS
    return is_list and all(map(_is_text, labels)) and len(set(labels)) == len(labels)


def _are_members(members: Any) -> bool:
    if not isinstance(members, list):
        return False
    are_pairs = all(isinstance(member, dict) and set(member) == {"folder", "weight"} for member in members)
    return are_pairs and all(isinstance(member["folder"], str) and _is_finite(member["weight"]) for member in members)


CHECKS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "name": lambda card: _is_text(card["name"]),
    "kind": lambda card: _is_text(card["kind"]),
    "precision": lambda card: card["precision"] in ("fp32", "int8"),
    "labels": lambda card: _are_labels(card["labels"]),
    "language": lambda card: _is_text(card["language"]),
    "pair": lambda card: isinstance(card["pair"], bool),
    "max_length": lambda card: _is_whole(card["max_length"], least=1, most=MOST_TOKENS),
    "parameters": lambda card: _is_whole(card["parameters"], least=0),
    "parameters_without_embeddings": lambda card: _is_whole(card["parameters_without_embeddings"], least=0),
    "multi_label": lambda card: isinstance(card.get("multi_label", False), bool),
    "tokenizer": lambda card: card.get("tokenizer", "words") in ("words", "framed"),
    "temperature": lambda card: _is_finite(card.get("temperature", 1.0)) and card.get("temperature", 1.0) > 0,
    "members": lambda card: _are_members(card.get("members", [])),
}


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


MOST_SHOWN = 60


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
