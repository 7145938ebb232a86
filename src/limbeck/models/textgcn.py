"""A graph convolution over words and documents (Yao et al. 2019): a graph while it learns, then a table of words."""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, Unpack

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from limbeck.models.multiply_adds import Config, vector_size, word_head
from limbeck.models.word_student import WordStudentConfig, WordStudentModel, WordTask, task_config_values, tokens_inside
from limbeck.recipe.textgcn import TextGcn

TINY = 1e-6  # below the rarity of any word: only a text without a known word has a smaller sum


class TextGcnConfig(WordStudentConfig):
    """The shape of a graph convolution's table."""

    model_type = "limbeck_textgcn"

    def __init__(self, *, dense_size: int = 0, dropout: float = 0.5, **rest: Any) -> None:
        super().__init__(dense_size=dense_size, dropout=dropout, **rest)


class TextGcnForSequenceClassification(WordStudentModel):
    """States of words → their sum over a text, Σ rᵢ·hᵢ / √Σ rᵢ → classes.

    r is the rarity of a word, ln of its inverse document frequency, so that each word weighs as much as its TF-IDF; the
    root is what a document's own degree leaves of it in a normalised graph. It is not trained.
    """

    config_class = TextGcnConfig
    base_model_prefix = "textgcn"

    def __init__(self, config: TextGcnConfig) -> None:
        super().__init__(config)
        self.rarity = nn.Embedding(config.vocab_size, 1)
        self._complete(config.vector_size)
        self.rarity.weight.requires_grad_(False)
        self.dropout = nn.Dropout(0.0)  # that of the graph is on states of words

    @classmethod
    def from_pretrained(cls, *arguments: Any, **options: Any) -> Any:
        """As in other students, with the rarity frozen again."""
        found = super().from_pretrained(*arguments, **options)
        network: Self = found[0] if isinstance(found, tuple) else found
        network.rarity.weight.requires_grad_(False)
        return found

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding) and module is self.rarity:
            nn.init.ones_(module.weight)
        else:
            super()._init_weights(module)

    def word_states(self) -> Tensor:
        """(words, width): what is summed over a text."""
        return self.embeddings.weight

    def _read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        inside = tokens_inside(lengths, ids.shape[1])
        weights = self.rarity(ids).squeeze(-1).masked_fill(~inside, 0.0)  # (rows, tokens)
        states = self.word_states()
        # Not (rows, tokens, width) in memory: of a thousand documents that would be most of it.
        summed = nn.functional.embedding_bag(ids, states, per_sample_weights=weights.to(states.dtype), mode="sum")
        read: Tensor = summed / weights.sum(dim=1, keepdim=True).clamp(min=TINY).sqrt()
        return read

    def vector_readers(self) -> list[str]:
        return ["classifier.weight"]


@dataclass(frozen=True)
class Propagation:
    """A sparse matrix and its transpose, for both directions of a product."""

    forward: Tensor  # (outputs, inputs), sparse
    backward: Tensor

    @classmethod
    def of(cls, matrix: Any) -> "Propagation":
        """From a matrix of scipy."""
        return cls(_sparse(matrix), _sparse(matrix.T))

    def to(self, device: torch.device) -> "Propagation":
        """The same on another device."""
        return Propagation(self.forward.to(device), self.backward.to(device))

    def __call__(self, states: Tensor) -> Tensor:
        """The product with (inputs, width)."""
        found: Tensor = _Product.apply(self, states)  # type: ignore[no-untyped-call]
        return found


class _Product(torch.autograd.Function):
    """A product whose gradient uses the stored transpose: torch would transpose it at every step."""

    @staticmethod
    def forward(ctx: FunctionCtx, matrix: Propagation, states: Tensor) -> Tensor:
        ctx.matrix = matrix  # type: ignore[attr-defined]
        return matrix.forward @ states

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix.backward @ gradient.contiguous()  # type: ignore[attr-defined]


def _sparse(matrix: Any) -> Tensor:
    rows = matrix.tocsr()
    rows.sort_indices()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            torch.from_numpy(rows.indptr.astype("int64")),
            torch.from_numpy(rows.indices.astype("int64")),
            torch.from_numpy(rows.data.astype("float32")),
            size=rows.shape,
            check_invariants=True,
        )


@dataclass(frozen=True)
class GraphOfTraining:
    """The normalised edges that a network learns with; D is the degree of a node."""

    words: Propagation  # D^-½ (PMI + I) D^-½: (words, words)
    from_documents: Propagation  # D^-½ TF-IDF D^-½: (words, documents)
    scale: Tensor  # (words): D^-½, of a word's edge to any document

    def to(self, device: torch.device) -> "GraphOfTraining":
        """The same on another device."""
        if self.scale.device == device:
            return self
        return GraphOfTraining(self.words.to(device), self.from_documents.to(device), self.scale.to(device))


class TextGcnOnGraph(TextGcnForSequenceClassification):
    """The same network while it learns: states of words come from the graph, by its first layer.

        h = relu(Â [E; F]),

    with a vector in E for each word and in F for each document, of which only those of words stay. A document is read
    as a new text is, without the edge to itself, so nothing changes between training and use.
    """

    def __init__(self, config: TextGcnConfig) -> None:
        super().__init__(config)
        self.graph: GraphOfTraining | None = None
        self.documents: nn.Parameter | None = None
        self.layer_dropout = config.dropout
        self._known: tuple[tuple[int, int], Tensor] | None = None
        with torch.no_grad():
            nn.init.xavier_uniform_(self.embeddings.weight)
            nn.init.xavier_uniform_(self.classifier.weight)
            self.classifier.bias.zero_()
        self.classifier.bias.requires_grad_(False)  # the published network has none

    @torch.no_grad()
    def attach(self, graph: GraphOfTraining) -> None:
        """Learn with this graph, with a new vector for each of its documents."""
        self.graph = graph
        self.documents = nn.Parameter(torch.empty(graph.from_documents.forward.shape[1], self.config.embedding_size))
        nn.init.xavier_uniform_(self.documents)

    def word_states(self) -> Tensor:
        vectors = self.embeddings.weight
        if self.training:
            return self._propagated(vectors)
        version = (vectors._version, 0 if self.documents is None else self.documents._version)
        if self._known is None or self._known[0] != version:  # once for all batches of an evaluation
            self._known = version, self._propagated(vectors).detach()
        return self._known[1]

    def _propagated(self, vectors: Tensor) -> Tensor:
        assert self.graph is not None, "it is attached before anything is computed"
        assert self.documents is not None, "they are made with the graph"
        graph = self.graph = self.graph.to(vectors.device)
        words, documents = self._some(vectors), self._some(self.documents)
        states = torch.relu(graph.words(words) + graph.from_documents(documents))
        states = nn.functional.dropout(states, self.layer_dropout, training=self.training)
        return states * graph.scale[:, None]

    def _some(self, vectors: Tensor) -> Tensor:
        """Dropout of an input that is one number, its own: the vector of a node is taken as a whole."""
        if not self.training:
            return vectors
        kept = torch.rand(len(vectors), 1, device=vectors.device) >= self.layer_dropout
        return vectors * kept / (1 - self.layer_dropout)

    def train(self, mode: bool = True) -> Self:
        """As usual; the states of an evaluation are forgotten."""
        self._known = None
        super().train(mode)
        return self

    @torch.no_grad()
    def as_table(self) -> TextGcnForSequenceClassification:
        """The same answers without the graph: its states of words, if a row is one text after the classifier."""
        mode = self.training
        states = self.eval().word_states()
        config = copy.deepcopy(self.config)
        if not config.pair:
            states = states @ self.classifier.weight.T
        config.embedding_size = states.shape[1]
        table = TextGcnForSequenceClassification(config)
        table.embeddings.weight.copy_(states)
        table.rarity.weight.copy_(self.rarity.weight)
        table.classifier.weight.copy_(self.classifier.weight if config.pair else torch.eye(states.shape[1]))
        table.classifier.bias.copy_(self.classifier.bias)
        self.train(mode)
        table.train(mode)
        return table


def textgcn(section: TextGcn, **task: Unpack[WordTask]) -> TextGcnForSequenceClassification:
    """A table, newly initialised: the form that a network has after its training."""
    return TextGcnForSequenceClassification(TextGcnConfig(dropout=section.dropout, **task_config_values(**task)))


def textgcn_on_graph(section: TextGcn, **task: Unpack[WordTask]) -> TextGcnOnGraph:
    """A network before its training, whose graph is still to be attached."""
    values = {**task_config_values(**task), "embedding_size": section.hidden_size}
    return TextGcnOnGraph(TextGcnConfig(dropout=section.dropout, **values))


def textgcn_multiply_adds(config: Config, *, tokens: Sequence[int], classes: int, exported: bool) -> int:
    """Each word's states times its rarity, and the head after their sum."""
    del exported  # its graph computes the same
    width = vector_size(config)
    return sum(tokens) * width + word_head(config, features=width, classes=classes)
