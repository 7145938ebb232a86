"""What the layers of a transformer say: hidden states, and the queries, keys and values of attention."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from limbeck.errors import LayersUnreadable
from limbeck.models.layer_parts import FAMILIES, layers_of

QUERY, KEY, VALUE = KINDS = ("query", "key", "value")


@dataclass(frozen=True)
class LayerStates:
    """Of one batch, layer by layer; padding has states too, which mean nothing."""

    hidden: tuple[
        Tensor, ...
    ]  # layers + 1 times (rows, tokens, width): what the first layer reads, then what each says
    queries: tuple[Tensor, ...] = ()  # each (rows, heads, tokens, head width)
    keys: tuple[Tensor, ...] = ()
    values: tuple[Tensor, ...] = ()


class LayerReader:
    """Reads the layers of a teacher or a student.

        with LayerReader(model) as reader:
            states = reader.states(model(**inputs, output_hidden_states=True))

    Queries, keys and values are caught where they are made, so any kind of attention will do: the scores of BERT and
    its like are QKᵀ/√(head width), before the mask. MPNet and DeBERTa add to their scores what they know of positions;
    that is not among the queries and keys. With `queries` false only hidden states are read, which every family has.

    Raises LayersUnreadable, on entering, for a family whose projections are not known.
    """

    def __init__(self, model: Any, *, queries: bool = True) -> None:
        self._model, self._queries = model, queries
        self._hooks: list[RemovableHandle] = []
        self._caught: dict[tuple[str, int], Tensor] = {}

    @property
    def layers(self) -> int:
        """How many there are."""
        return int(self._model.config.num_hidden_layers)

    @property
    def heads(self) -> int:
        """Attention heads of a layer."""
        return int(self._model.config.num_attention_heads)

    @property
    def width(self) -> int:
        """Of the hidden states."""
        return int(self._model.config.hidden_size)

    def __enter__(self) -> Self:
        if not self._queries:
            return self
        kind = self._model.config.model_type
        if kind not in FAMILIES:
            raise LayersUnreadable(family=kind, known=list(FAMILIES))
        parts = FAMILIES[kind].parts
        self._hooks.append(self._model.register_forward_pre_hook(self._forget))
        for number, layer in enumerate(layers_of(self._model)):
            for name in KINDS:
                self._catch(layer.get_submodule(getattr(parts, name)), (name, number))
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._caught.clear()

    def states(self, output: Any) -> LayerStates:
        """Those of the model's last answer, which must have been asked for its hidden states."""
        if output.hidden_states is None:
            raise ValueError("the model was not asked for its hidden states: output_hidden_states=True")
        hidden = tuple(output.hidden_states)
        if not self._queries:
            return LayerStates(hidden)
        of_kind = {
            kind: tuple(self._by_head(self._caught[kind, number]) for number in range(self.layers)) for kind in KINDS
        }
        return LayerStates(hidden, queries=of_kind[QUERY], keys=of_kind[KEY], values=of_kind[VALUE])

    def _by_head(self, vectors: Tensor) -> Tensor:
        """(rows, tokens, width) → (rows, heads, tokens, head width)."""
        rows, tokens, width = vectors.shape
        return vectors.view(rows, tokens, self.heads, width // self.heads).transpose(1, 2)

    def _forget(self, *_: Any) -> None:
        self._caught.clear()

    def _catch(self, projection: nn.Module, place: tuple[str, int]) -> None:
        def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            self._caught.setdefault(place, output)  # DeBERTa asks again, for its positions

        self._hooks.append(projection.register_forward_hook(keep))
