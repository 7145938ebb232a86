"""An encoder that reads the two texts of a pair separately, and a classifier on both encodings."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from tokenizers.processors import TemplateProcessing
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from limbeck.models.word_student import StudentOutput

# Families that put a special token before a text and another after it, and pad on the right.
WITH_POOLER = ("albert", "bert", "camembert", "ernie", "mpnet", "roberta", "xlm-roberta")  # by default
FAMILIES = (*WITH_POOLER, "deberta", "deberta-v2", "distilbert", "electra")


class TwinEncoderConfig(PreTrainedConfig):  # type: ignore[misc]  # transformers is untyped
    """The encoder's own config, and the special token at the start of a text.

    There are two token types, one for each text; they are not passed to the encoder.
    """

    model_type = "twin_encoder"

    def __init__(
        self, *, encoder: Mapping[str, Any] | None = None, cls_token_id: int | None = None, **rest: Any
    ) -> None:
        self.encoder = dict(encoder or {})
        self.cls_token_id = cls_token_id
        for name in ("hidden_size", "max_position_embeddings", "initializer_range", "pad_token_id"):
            if name in self.encoder:
                rest.setdefault(name, self.encoder[name])
        rest.setdefault("hidden_size", self.encoder.get("dim"))  # DistilBERT's name for it
        rest.setdefault("type_vocab_size", 2)
        super().__init__(**rest)

    @property
    def pair_feature_size(self) -> int:
        """Width of the classifier's input."""
        return 4 * int(self.hidden_size)


class _Texts(NamedTuple):
    """Both texts of every row, all first texts before all second texts."""

    ids: Tensor  # (2 · rows, tokens)
    inside: Tensor  # (2 · rows, tokens): true on tokens, false on padding
    first: Tensor  # (rows, tokens of the row): true on the first text
    places: Tensor  # (rows, tokens of the row): the position of each token in its own text


class EncoderWithHead(PreTrainedModel):  # type: ignore[misc]  # transformers is untyped
    """Any encoder, whose config is in `config.encoder`, and a linear classifier of features that subclasses compute."""

    base_model_prefix = "encoder"

    def __init__(self, config: Any, *, features: int) -> None:
        from transformers import AutoConfig, AutoModel  # here: they load this module (limbeck.models.auto_classes)

        super().__init__(config)
        inner = AutoConfig.for_model(**config.encoder)
        options = {"add_pooling_layer": False} if inner.model_type in WITH_POOLER else {}
        self.encoder = AutoModel.from_config(inner, **options)
        self.dropout = nn.Dropout(getattr(inner, "hidden_dropout_prob", getattr(inner, "dropout", 0.1)))
        self.classifier = nn.Linear(features, config.num_labels)
        self.post_init()

    def get_input_embeddings(self) -> Any:
        """The encoder's embedding table."""
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: Any) -> None:
        """Replace the encoder's embedding table."""
        self.encoder.set_input_embeddings(value)


class TwinEncoderForSequenceClassification(EncoderWithHead):
    """The same encoder reads each text separately; the classifier reads [u; v; u⊙v; |u−v|] of the mean states u, v.

    As in Sentence-BERT (Reimers and Gurevych 2019, arXiv:1908.10084) and the siamese students here. The input is the
    same as for any other encoder, both texts in one row, distinguished by token types (`typed_pairs`); hidden states
    are returned in the order of that row. A row of one text is read as a pair of that text with itself.
    """

    config_class = TwinEncoderConfig

    def __init__(self, config: TwinEncoderConfig) -> None:
        super().__init__(config, features=config.pair_feature_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        output_hidden_states: bool = False,
        **_ignored: Any,
    ) -> StudentOutput:
        """Logits (rows, classes) of ids (rows, tokens); the mask is 1 on tokens and 0 on the padding after them.

        Types are 0 on the first text and the special tokens around it, 1 on the second and the one after it.
        """
        if token_type_ids is None:
            raise ValueError("token_type_ids are missing: this model distinguishes the two texts by them")
        inside = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
        texts = self._texts(input_ids, inside, token_type_ids)
        output = self.encoder(
            input_ids=texts.ids, attention_mask=texts.inside.long(), output_hidden_states=output_hidden_states
        )
        states = output.last_hidden_state
        share = texts.inside[..., None].to(states.dtype)
        first, second = ((states * share).sum(dim=1) / share.sum(dim=1)).chunk(2)
        features = torch.cat([first, second, first * second, (first - second).abs()], dim=-1)
        return StudentOutput(
            logits=self.classifier(self.dropout(features)),
            hidden_states=tuple(_in_row(one, texts) for one in output.hidden_states) if output_hidden_states else None,
            features=features,
        )

    def _texts(self, ids: Tensor, inside: Tensor, types: Tensor) -> _Texts:
        """Split the rows into their texts. The second text gets the special token that a single text starts with."""
        first = inside & (types == 0)
        number = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        of_first, ends = first.sum(dim=1, keepdim=True), inside.sum(dim=1, keepdim=True)
        # Without a second text, the first one is used again, without its own special token.
        has_second = of_first < ends
        begins, ends = torch.where(has_second, of_first, 1), torch.where(has_second, ends, of_first)
        lengths = torch.cat([of_first, ends - begins + 1])
        place = number[:, : int(lengths.max())]
        taken = (begins + place - 1).clamp(min=0, max=ids.shape[1] - 1)
        second = torch.where(place == 0, self.config.cls_token_id, ids.gather(1, taken))
        within = place.repeat(2, 1) < lengths
        both = torch.where(within, torch.cat([ids[:, : place.shape[1]], second]), self.config.pad_token_id or 0)
        places = torch.where(first, number, number - begins + 1).clamp(min=0, max=place.shape[1] - 1)
        return _Texts(both, within, first, places)


def typed_pairs(tokenizer: Any) -> None:
    """Make a fast tokenizer of any family put one separator between two texts and distinguish them by token types.

    Separators cannot distinguish them: they may appear in a text.
    """
    begin, end = tokenizer.cls_token, tokenizer.sep_token
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{begin}:0 $A:0 {end}:0",
        pair=f"{begin}:0 $A:0 {end}:0 $B:1 {end}:1",
        special_tokens=[(begin, tokenizer.cls_token_id), (end, tokenizer.sep_token_id)],
    )
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer.init_kwargs["model_input_names"] = tokenizer.model_input_names


def twin_of(encoder: PreTrainedModel, *, cls_token_id: int, labels: int) -> Any:
    """A twin encoder with the weights of an encoder, and a classifier with random weights."""
    config = TwinEncoderConfig(encoder=encoder.config.to_dict(), cls_token_id=cls_token_id, num_labels=labels)
    twin = TwinEncoderForSequenceClassification(config)
    own = twin.encoder.state_dict().keys()
    twin.encoder.load_state_dict({name: value for name, value in encoder.state_dict().items() if name in own})
    return twin


def _in_row(states: Tensor, texts: _Texts) -> Tensor:
    """(rows, tokens of the row, width): the states of both texts at their positions in the row."""
    first, second = states.chunk(2)
    places = texts.places[..., None].expand(-1, -1, states.shape[-1])
    return torch.where(texts.first[..., None], first.gather(1, places), second.gather(1, places))
