"""The engine that runs a model's network, and the choice between engines."""

from typing import Literal, Protocol, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.errors import EngineUnusable
from limbeck.runtime.inputs import Columns, Inputs
from limbeck.runtime.native_engine import NativeEngine, NativeImpossible

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
                return NativeEngine(model, facts, threads=threads)
            except NativeImpossible as error:
                if choice == "native":
                    raise EngineUnusable(engine=choice, model=facts.name, reason=str(error)) from error
                return _onnx(model, facts, inputs, threads=threads)
        case _:
            assert_never(choice)


def _onnx(model: ModelFolder, facts: ModelFacts, inputs: Inputs, *, threads: int) -> Engine:
    from limbeck.runtime.onnx_engine import OnnxEngine  # importing onnxruntime takes longer than loading a model

    return OnnxEngine(model.graph, inputs, classes=len(facts.labels), threads=threads)
