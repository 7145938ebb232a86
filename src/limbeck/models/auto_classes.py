"""Students among Hugging Face's Auto classes, as soon as somebody asks for those and not before.

Importing transformers takes a second and the base install has none, so `import limbeck` only leaves word: once the
module of the Auto models is imported, the students are entered there.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader  # loading it would take longer than all the rest of `import limbeck`

AUTO_MODELS = "transformers.models.auto.modeling_auto"


def enter_students_once_asked() -> None:
    """Let transformers know every kind of student: now if its Auto models are loaded, else right after they are."""
    if AUTO_MODELS in sys.modules:
        _enter_students()
    else:
        sys.meta_path.insert(0, _Watch())


class _Watch:
    """Steps aside when the Auto models are looked for, and goes with whoever loads them."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != AUTO_MODELS or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _ThenStudents(spec.loader))
        return spec


class _ThenStudents:
    """Loads the Auto models as their own loader does, and enters the students."""

    def __init__(self, loader: "Loader") -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader  # leaves no trace
        self._loader.exec_module(module)
        _enter_students()


def _enter_students() -> None:
    if find_spec("torch") is None:  # transformers can be had without it, students cannot
        return
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from limbeck.models.bag import BagConfig, BagForSequenceClassification
    from limbeck.models.bilstm import BiLstmConfig, BiLstmForSequenceClassification
    from limbeck.models.textcnn import TextCnnConfig, TextCnnForSequenceClassification
    from limbeck.models.twin_encoder import TwinEncoderConfig, TwinEncoderForSequenceClassification

    for config, model in (
        (BagConfig, BagForSequenceClassification),
        (BiLstmConfig, BiLstmForSequenceClassification),
        (TextCnnConfig, TextCnnForSequenceClassification),
        (TwinEncoderConfig, TwinEncoderForSequenceClassification),
    ):
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModelForSequenceClassification.register(config, model, exist_ok=True)
