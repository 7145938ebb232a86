"""The Bi-LSTM of Tang et al. 2019 (arXiv:1903.12136), without packed sequences."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from limbeck.recipe.student import BiLstm

PAD = 0  # the token id of padding in every student's vocabulary
MULTI_LABEL = "multi_label_classification"  # transformers' word for it: its pipeline then takes a sigmoid
SPREAD = 0.1  # standard deviation of word vectors that start at random; PyTorch's own, 1, drowns the LSTM's inputs


class BiLstmConfig(PreTrainedConfig):  # type: ignore[misc]  # transformers is untyped
    """The shape of a Bi-LSTM student."""

    model_type = "limbeck_bilstm"

    def __init__(
        self,
        *,
        vocab_size: int = 8,
        embedding_size: int = 300,
        hidden_size: int = 150,
        dense_size: int = 200,
        pooling: str = "max",
        dropout: float = 0.3,
        tune_vectors: bool = True,
        pair: bool = False,
        **rest: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.dense_size = dense_size
        self.pooling = pooling
        self.dropout = dropout
        self.tune_vectors = tune_vectors
        self.pair = pair
        super().__init__(pad_token_id=PAD, **{key: value for key, value in rest.items() if key != "pad_token_id"})


class BiLstmForSequenceClassification(PreTrainedModel):  # type: ignore[misc]  # transformers is untyped
    """Word vectors → LSTM in both directions → pooling → ReLU layer → classes.

    The backward direction is a second LSTM that reads each row reversed within its own length, so the padding
    behind a row never reaches a state that is used. A row of two texts is read by the same LSTMs twice and
    classified from [h1; h2; h1⊙h2; |h1−h2|], as Tang et al. do.
    """

    config_class = BiLstmConfig
    base_model_prefix = "bilstm"

    def __init__(self, config: BiLstmConfig) -> None:
        super().__init__(config)
        width, hidden = config.embedding_size, config.hidden_size
        self.embeddings = nn.Embedding(config.vocab_size, width, padding_idx=PAD)
        self.embeddings.weight.requires_grad_(config.tune_vectors)
        self.forward_lstm = nn.LSTM(width, hidden, batch_first=True)
        self.backward_lstm = nn.LSTM(width, hidden, batch_first=True)
        self.dropout = nn.Dropout(config.dropout)
        self.dense = nn.Linear(2 * hidden * (4 if config.pair else 1), config.dense_size)
        self.classifier = nn.Linear(config.dense_size, config.num_labels)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """PyTorch's own initial values for all but the word vectors."""
        if isinstance(module, nn.Embedding):
            with torch.no_grad():
                module.weight.normal_(0.0, SPREAD)
                module.weight[PAD] = 0.0

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        pair_ids: Tensor | None = None,
        pair_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **_ignored: Any,
    ) -> SequenceClassifierOutput:
        """Logits of shape (rows, classes); ids are (rows, tokens), masks are 1 on tokens and 0 on padding.

        Labels are (rows) class numbers; where a row may have several, (rows, classes) of 0 and 1.
        """
        features = self._read(input_ids, attention_mask)
        if self.config.pair:
            if pair_ids is None:
                raise ValueError("this student reads two texts: pair_ids are missing")
            other = self._read(pair_ids, pair_mask)
            features = torch.cat([features, other, features * other, (features - other).abs()], dim=-1)
        logits = self.classifier(torch.relu(self.dense(self.dropout(features))))
        return SequenceClassifierOutput(loss=None if labels is None else self._loss(logits, labels), logits=logits)

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.config.problem_type == MULTI_LABEL:
            return nn.functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        return nn.functional.cross_entropy(logits, labels)

    def _read(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """(rows, 2 · hidden) features of one text per row."""
        mask = (ids != PAD).long() if mask is None else mask
        lengths = mask.sum(dim=1).clamp(min=1)  # (rows)
        vectors = self.dropout(self.embeddings(ids))  # (rows, tokens, width)
        positions = torch.arange(ids.shape[1], device=ids.device)[None, :]  # (1, tokens)
        inside = positions < lengths[:, None]  # (rows, tokens)
        mirrored = torch.where(inside, lengths[:, None] - 1 - positions, positions)
        reversed_vectors = vectors.gather(1, mirrored[..., None].expand_as(vectors))
        states = torch.cat([self.forward_lstm(vectors)[0], self.backward_lstm(reversed_vectors)[0]], dim=-1)
        if self.config.pooling == "last":
            last = (lengths - 1)[:, None, None].expand(-1, 1, states.shape[-1])
            return states.gather(1, last).squeeze(1)
        # The largest value does not depend on the order, so the reversed states need not be turned back.
        return states.masked_fill(~inside[..., None], float("-inf")).amax(dim=1)


def bilstm(
    section: BiLstm,
    *,
    vocabulary_size: int,
    embedding_size: int,
    labels: list[str],
    pair: bool,
    multi_label: bool = False,
) -> BiLstmForSequenceClassification:
    """A student with fresh weights, as the recipe asks for it."""
    config = BiLstmConfig(
        vocab_size=vocabulary_size,
        embedding_size=embedding_size,
        hidden_size=section.hidden_size,
        dense_size=section.dense_size,
        pooling=section.pooling,
        dropout=section.dropout,
        tune_vectors=section.tune_vectors,
        pair=pair,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        problem_type=MULTI_LABEL if multi_label else None,
    )
    return BiLstmForSequenceClassification(config)


AutoConfig.register(BiLstmConfig.model_type, BiLstmConfig, exist_ok=True)
AutoModelForSequenceClassification.register(BiLstmConfig, BiLstmForSequenceClassification, exist_ok=True)
