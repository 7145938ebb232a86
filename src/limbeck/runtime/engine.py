"""The engine that runs a model's network, the choice between engines, and blends of several networks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.errors import ArtifactDamaged, EngineUnusable
from limbeck.runtime.inputs import Columns, Inputs, WordInputs, inputs_of
from limbeck.runtime.native_engine import NativeEngine, NativeImpossible, native_reader
from limbeck.runtime.row import Row

if TYPE_CHECKING:  # it imports the extension, which is optional
    from limbeck.runtime.native_ngrams import NativeNgrams

Logits = npt.NDArray[np.float32]
EngineChoice = Literal["auto", "native", "onnx"]


class Engine(Protocol):
    """Thread-safe."""

    @property
    def name(self) -> str:
        """Its name, and the instruction set that it uses."""

    def logits(self, columns: Columns) -> Logits:
        """(rows, classes), in the order of the rows; there is at least one."""


def open_engine(model: ModelFolder, facts: ModelFacts, inputs: Inputs, *, choice: EngineChoice, threads: int) -> Engine:
    """The engine asked for; "auto" takes the faster one, native, if it can run the model.

    Raises EngineUnusable if "native" was asked for and cannot run the model.
    """
    match choice:
        case "onnx":
            return _onnx(model, facts, inputs, threads=threads)
        case "auto" | "native":
            try:
                engine = _native(model, facts, inputs, threads=threads)
                return engine if choice == "native" or engine.is_fast else _onnx(model, facts, inputs, threads=threads)
            except NativeImpossible as error:
                if choice == "native":
                    raise EngineUnusable(engine=choice, model=facts.name, reason=str(error)) from error
                return _onnx(model, facts, inputs, threads=threads)
        case _:
            assert_never(choice)


def _native(model: ModelFolder, facts: ModelFacts, inputs: Inputs, *, threads: int) -> NativeEngine:
    """Raises NativeImpossible."""
    engine = NativeEngine(model, facts, threads=threads)
    if isinstance(inputs, WordInputs) and len(inputs.tokenizer) > engine.words:
        raise NativeImpossible(f"it knows {engine.words:,} words, and the tokenizer {len(inputs.tokenizer):,}")
    return engine


def _onnx(model: ModelFolder, facts: ModelFacts, inputs: Inputs, *, threads: int) -> Engine:
    from limbeck.runtime.onnx_engine import OnnxEngine  # importing onnxruntime takes longer than loading a model

    return OnnxEngine(model.graph, inputs, facts=facts, threads=threads)


class RowNetwork(Protocol):
    """From rows to logits. Thread-safe."""

    @property
    def name(self) -> str:
        """What runs it."""

    def logits(self, rows: list[Row]) -> Logits:
        """(rows, classes), in the order of the rows; there is at least one."""


class SingleNetwork:
    """A tokenizer and an engine."""

    def __init__(self, inputs: Inputs, engine: Engine) -> None:
        self.inputs, self.engine, self.name = inputs, engine, engine.name

    def logits(self, rows: list[Row]) -> Logits:
        """(rows, classes)"""
        return self.engine.logits(self.inputs.encode(rows))


class NativeNetwork:
    """A tokenizer and an engine that are both in C++."""

    def __init__(self, reader: "NativeNgrams", engine: NativeEngine) -> None:
        self._reader, self._engine, self.name = reader, engine, engine.name

    def logits(self, rows: list[Row]) -> Logits:
        """(rows, classes)"""
        return self._engine.logits(self._reader.encode(rows))


class BlendedNetwork:
    """Several networks, one after the other, each with its own tokenizer and engine."""

    def __init__(self, members: Sequence[RowNetwork], *, factors: Sequence[float]) -> None:
        self._members, self._factors = list(members), list(factors)
        self.name = " and ".join(dict.fromkeys(member.name for member in members))

    def logits(self, rows: list[Row]) -> Logits:
        """(rows, classes)"""
        return blended([member.logits(rows) for member in self._members], factors=self._factors)


def blended(logits: Sequence[Logits], *, factors: Sequence[float]) -> Logits:
    """Σ factor · logits: the logits of a blend. A factor is a member's weight divided by its temperature."""
    total = logits[0] * np.float32(factors[0])
    for of_member, factor in zip(logits[1:], factors[1:], strict=True):
        total += of_member * np.float32(factor)
    return total


def open_network(model: ModelFolder, facts: ModelFacts, *, choice: EngineChoice, threads: int) -> RowNetwork:
    """The network of a model, or those of the members of a blend; raises as `open_engine` does, and ArtifactDamaged if
    a member has other classes."""
    if not facts.members:
        inputs = inputs_of(model, facts)
        engine = open_engine(model, facts, inputs, choice=choice, threads=threads)
        if isinstance(engine, NativeEngine) and (reader := native_reader(inputs)):
            return NativeNetwork(reader, engine)
        return SingleNetwork(inputs, engine)
    folders = [model.member(member) for member in facts.members]
    each = [folder.facts() for folder in folders]
    if others := [one.name for one in each if one.labels != facts.labels or one.scale != facts.scale]:
        raise ArtifactDamaged(folder=model.folder, faults=[f"its member {others[0]} has other classes"])
    if blends := [one.name for one in each if one.members]:  # its manifest says nothing about files of their members
        raise ArtifactDamaged(folder=model.folder, faults=[f"its member {blends[0]} is a blend itself"])
    return BlendedNetwork(
        [open_network(one, its, choice=choice, threads=threads) for one, its in zip(folders, each, strict=True)],
        factors=[member.weight / its.temperature for member, its in zip(facts.members, each, strict=True)],
    )
