"""Reads the layers of a transformer: hidden states, and the queries, keys and values of attention."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from limbeck.errors import LayersUnreadable
from limbeck.models.layer_parts import FAMILIES, group_of, layers_of

QUERY, KEY, VALUE = KINDS = ("query", "key", "value")


@dataclass(frozen=True)
class LayerStates:
    """The states of one batch, layer by layer; the states of padding are meaningless."""

    hidden: tuple[Tensor, ...]  # layers + 1 times (rows, tokens, width): the embeddings, then each layer's output
    queries: tuple[Tensor, ...] = ()  # each (rows, heads, tokens, head width)
    keys: tuple[Tensor, ...] = ()
    values: tuple[Tensor, ...] = ()


class LayerReader:
    """Reads the layers of a teacher or a student.

        with LayerReader(model) as reader:
            states = reader.states(model(**inputs, output_hidden_states=True))

    Queries, keys and values are captured by hooks on their projections, so this works with any attention
    implementation: the scores of BERT-like models are QKᵀ/√(head width), before the mask. MPNet and DeBERTa add a
    position term to their scores, which is not in queries and keys. With `queries` false only hidden states are read,
    which every family has.

    Raises LayersUnreadable, on entering, for a family whose projections are not known.
    """

    def __init__(self, model: Any, *, queries: bool = True) -> None:
        self._model, self._queries = model, queries
        self._hooks: list[RemovableHandle] = []
        self._captured: dict[tuple[str, int], Tensor] = {}

    @property
    def layers(self) -> int:
        """The number of layers."""
        return int(self._model.config.num_hidden_layers)

    @property
    def heads(self) -> int:
        """Attention heads per layer."""
        return int(self._model.config.num_attention_heads)

    @property
    def width(self) -> int:
        """The width of the hidden states."""
        return int(self._model.config.hidden_size)

    def __enter__(self) -> Self:
        if not self._queries:
            return self
        kind = self._model.config.model_type
        if kind not in FAMILIES:
            raise LayersUnreadable(family=kind, known=list(FAMILIES))
        parts = FAMILIES[kind].parts
        self._hooks.append(self._model.register_forward_pre_hook(self._clear))
        layers = layers_of(self._model)
        used = [group_of(number, layers=self.layers, groups=len(layers)) for number in range(self.layers)]
        for group, layer in enumerate(layers):
            numbers = [number for number in range(self.layers) if used[number] == group]
            for name in KINDS:
                self._capture(layer.get_submodule(getattr(parts, name)), name, numbers)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._captured.clear()

    def states(self, output: Any) -> LayerStates:
        """The states of the model's last forward pass, which must return its hidden states."""
        if output.hidden_states is None:
            raise ValueError("the output has no hidden states: call the model with output_hidden_states=True")
        hidden = tuple(output.hidden_states)
        if not self._queries:
            return LayerStates(hidden)
        of_kind = {
            kind: tuple(self._by_head(self._captured[kind, number]) for number in range(self.layers)) for kind in KINDS
        }
        return LayerStates(hidden, queries=of_kind[QUERY], keys=of_kind[KEY], values=of_kind[VALUE])

    def _by_head(self, vectors: Tensor) -> Tensor:
        """(rows, tokens, width) → (rows, heads, tokens, head width)."""
        rows, tokens, width = vectors.shape
        return vectors.view(rows, tokens, self.heads, width // self.heads).transpose(1, 2)

    def _clear(self, *_: Any) -> None:
        self._captured.clear()

    def _capture(self, projection: nn.Module, name: str, numbers: list[int]) -> None:
        """Of the layers with these numbers, which are called in this order; DeBERTa calls it again, for positions."""

        def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            number = next((number for number in numbers if (name, number) not in self._captured), None)
            if number is not None:
                self._captured[name, number] = output

        self._hooks.append(projection.register_forward_hook(keep))
