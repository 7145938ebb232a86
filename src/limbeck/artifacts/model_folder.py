"""The model that ships: ONNX graph, tokenizer.json and model.json, or a blend of such, and possibly profile.json."""

import json
import shutil
import zlib
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from limbeck.artifacts.manifest import (
    MANIFEST,
    MOST_BYTES_OF_JSON,
    Manifest,
    faults_of,
    is_plain_file,
    read_manifest,
    read_small_json,
)
from limbeck.artifacts.model_json import MOST_MEMBERS, faults_of_values, shown
from limbeck.artifacts.model_profile import PROFILE, ModelProfile, read_profile
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.errors import ArtifactDamaged, some
from limbeck.tasks import Task, task_of

GRAPH, TOKENIZER, CARD = "model.onnx", "tokenizer.json", "model.json"
# What a file may have at most, so that none is read or hashed for ever; an ONNX file cannot hold more than 2 GiB.
MOST_BYTES = {CARD: MOST_BYTES_OF_JSON, PROFILE: MOST_BYTES_OF_JSON, TOKENIZER: 1 << 28, GRAPH: 1 << 31}
PACKED_AT_ONCE = 1 << 20
README = "README.md"  # for people: written after evaluation, listed in no manifest, may be edited
ADVICE = "Give the folder of an exported model, e.g. runs/NAME/models/bilstm-int8."


@dataclass(frozen=True)
class Member:
    """A model inside a blend. Its logits, divided by its own temperature, count with this weight."""

    folder: str  # inside the folder of the blend
    weight: float


@dataclass(frozen=True)
class Abstention:
    """A model gives no label where its score is below the threshold."""

    score: Literal["probability", "margin", "energy"]  # as in limbeck.runtime.abstaining
    threshold: float
    answer: str | None = None  # what is answered then; None: nothing


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
    abstain: Abstention | None = None  # None: it always gives a label
    scale: ScoreScale | None = None  # of scores: from the network's one output to the score; None: it gives labels

    @property
    def task(self) -> Task:
        """What it gives a row: one label, several, or a score."""
        return task_of(multi_label=self.multi_label, is_score=self.scale is not None)


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
        abstain, scale = card.pop("abstain", None), card.pop("scale", None)
        return ModelFacts(
            **card,
            members=members,
            abstain=None if abstain is None else Abstention(**abstain),
            scale=None if scale is None else ScoreScale.from_json(scale),
        )

    def profile(self) -> ModelProfile | None:
        """What is known of it from dev; None in a folder without profile.json."""
        if PROFILE not in read_manifest(self.folder, kind="model").files:
            return None
        facts = self.facts()
        try:
            return read_profile(self.folder / PROFILE, labels=facts.labels, pair=facts.pair)
        except (OSError, ValueError) as error:
            raise ArtifactDamaged(folder=self.folder, faults=[f"{PROFILE}: {error}"]) from error

    def member(self, member: Member) -> "ModelFolder":
        """One of the models of a blend. Raises ArtifactDamaged if it would be outside of the folder."""
        is_name = Path(member.folder).name == member.folder and member.folder not in ("", "..")
        if not is_name or not is_plain_file(self.folder / member.folder / CARD):
            raise ArtifactDamaged(folder=self.folder, faults=[f"there is no member {shown(member.folder)} in it"])
        return ModelFolder(self.folder / member.folder)

    def size_mb(self) -> float:
        """All files of the folder except README.md, in millions of bytes."""
        return sum(path.stat().st_size for path in self._files()) / 1e6

    def packed_mb(self) -> float:
        """The same files as a zip file stores them (deflate), in millions of bytes: zeros take little there."""
        return sum(_packed_size(path) for path in self._files()) / 1e6

    def _files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file() and not path.name.startswith(README)]


def _packed_size(path: Path) -> int:
    packer, size = zlib.compressobj(), 0
    with path.open("rb") as file:
        while block := file.read(PACKED_AT_ONCE):
            size += len(packer.compress(block))
    return size + len(packer.flush())


def open_model(folder: Path) -> ModelFolder:
    """The model in this folder. Raises if it has none, if it is damaged, or if a newer Limbeck wrote it."""
    manifest = read_manifest(folder, kind="model", advice=_advice(folder))
    model = ModelFolder(folder)
    faults = _links_out(folder, manifest) or _faults_of_sizes(manifest) or faults_of(folder, manifest)
    if faults := faults or _faults_of_list(manifest, model.facts()):
        raise ArtifactDamaged(folder=folder, faults=faults)
    model.profile()  # raises ArtifactDamaged if no model has such a profile
    return model


def _links_out(folder: Path, manifest: Manifest) -> list[str]:
    faults = []
    for name in (MANIFEST, *manifest.files):
        try:
            if not (folder / name).resolve().is_relative_to(folder.resolve()):
                faults.append(f"{name} is a link to a file outside of the folder")
        except (OSError, RuntimeError):  # a link to itself, or a path that is too long
            faults.append(f"{name} leads to no file")
    return faults


def _faults_of_sizes(manifest: Manifest) -> list[str]:
    """Files that no model has, or larger than those of any model: these are not even read."""
    if len(manifest.files) > MOST_MEMBERS * len(MOST_BYTES) + 1:
        return [f"its manifest lists {len(manifest.files):,} files, which no model has"]
    faults = []
    for name, facts in manifest.files.items():
        most = MOST_BYTES.get(Path(name).name)
        if most is None:
            faults.append(_not_of_a_model(name))
        elif facts["bytes"] > most:
            faults.append(f"{name} has {facts['bytes']:,} bytes; that of a model has at most {most:,}")
    return faults


def _not_of_a_model(name: str) -> str:
    return f"its manifest lists {name}, which no model has"


def _faults_of_list(manifest: Manifest, facts: ModelFacts) -> list[str]:
    """Files of the model that the manifest does not vouch for, and files that no model has."""
    inside = [f"{member.folder}/" for member in facts.members] or [""]
    files = [GRAPH, TOKENIZER, *([CARD] if facts.members else [])]
    needed = {CARD, *(f"{place}{name}" for place in inside for name in files)}
    missing, other = sorted(needed - set(manifest.files)), sorted(set(manifest.files) - {*needed, PROFILE})
    return [
        *(f"{name} is not in its manifest" for name in missing),
        *map(_not_of_a_model, other),
    ]


def _faults_of_card(card: Any) -> list[str]:
    """What is wrong with the content of model.json: anybody may have written it."""
    if not isinstance(card, dict):
        return ["it is no table of keys"]
    optional = {field.name for field in fields(ModelFacts) if field.default is not MISSING}
    known = {field.name for field in fields(ModelFacts)}
    faults = [f"the key {name} is missing" for name in sorted(known - optional - set(card))]
    faults += [f"the key {shown(name)} is not known" for name in sorted(set(card) - known)]
    return faults or faults_of_values(card)


def _advice(folder: Path) -> str:
    """Which folder to give instead of this one: the models in it, if it is a run or a folder of models."""
    try:
        inside = sorted(card.parent for place in ("*", "models/*") for card in folder.glob(f"{place}/{CARD}"))
    except (OSError, ValueError):  # no folder has such a name
        return ADVICE
    return f"Give the folder of one model: {some(inside)}." if inside else ADVICE


def save_facts(folder: Path, facts: ModelFacts) -> None:
    """Write model.json into a scratch folder."""
    card = asdict(facts)
    if not facts.members:
        del card["members"]
    if facts.abstain is None:
        del card["abstain"]
    if facts.scale is None:
        del card["scale"]
    (folder / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False), encoding="utf-8")


def copy_model(model: ModelFolder, folder: Path, *, has_profile: bool = True) -> None:
    """Copy the files that its manifest lists into a scratch folder; not the README.md.

    A member of a blend has no profile: numbers about dev are those of the blend.
    """
    for name in read_manifest(model.folder, kind="model").files:
        if name == PROFILE and not has_profile:
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(model.folder / name, folder / name)
