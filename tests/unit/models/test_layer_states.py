"""Inner layers of teacher and student, read from outside and checked against transformers' own output."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from limbeck.errors import LayersUnreadable
from limbeck.models.layer_parts import FAMILIES, layers_of
from limbeck.models.layer_states import LayerReader

# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

READABLE = [
    "bert",
    "roberta",
    "xlm-roberta",
    "electra",
    "electra-projected",
    "distilbert",
    "mpnet",
    "deberta-v2",
    "albert",
]
LIKE_BERT = ["bert", "roberta", "xlm-roberta", "electra", "electra-projected", "distilbert", "albert"]
Make = Callable[..., Any]


def rows(model: Any) -> dict[str, torch.Tensor]:
    """Two rows of six tokens, the second with two of padding."""
    ids = torch.randint(6, 60, (2, 6), generator=torch.Generator().manual_seed(3))
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    return {"input_ids": ids.where(mask == 1, model.config.pad_token_id), "attention_mask": mask}


@pytest.mark.parametrize("family", READABLE)
def test_every_layer_is_read_by_head(make_transformer: Make, family: str) -> None:
    model = make_transformer(family, layers=3)

    with torch.no_grad(), LayerReader(model) as reader:
        states = reader.states(model(**rows(model), output_hidden_states=True))

    assert (reader.layers, reader.heads, reader.width) == (3, 2, 16)
    assert [state.shape for state in states.hidden] == [(2, 6, 16)] * 4
    for parts in (states.queries, states.keys, states.values):
        assert [part.shape for part in parts] == [(2, 2, 6, 8)] * 3


@pytest.mark.parametrize("family", LIKE_BERT)
def test_queries_and_keys_give_the_attention_of_transformers(make_transformer: Make, family: str) -> None:
    model = make_transformer(family, eager=True)
    inputs = rows(model)

    with torch.no_grad(), LayerReader(model) as reader:
        output = model(**inputs, output_hidden_states=True, output_attentions=True)
        states = reader.states(output)

    inside = inputs["attention_mask"][:, None, None, :] == 1
    for query, key, theirs in zip(states.queries, states.keys, output.attentions, strict=True):
        scores = query @ key.transpose(-1, -2) / 8**0.5
        attention = scores.masked_fill(~inside, float("-inf")).softmax(dim=-1)
        torch.testing.assert_close(attention, theirs, atol=1e-6, rtol=1e-4)


def test_attention_of_mpnet_follows_from_queries_and_keys_without_its_bias(make_transformer: Make) -> None:
    model = make_transformer("mpnet")
    nn.init.zeros_(model.mpnet.encoder.relative_attention_bias.weight)
    inputs = {"input_ids": torch.tensor([[5, 9, 30, 7]])}

    with torch.no_grad(), LayerReader(model) as reader:
        output = model(**inputs, output_hidden_states=True, output_attentions=True)
        states = reader.states(output)

    for query, key, theirs in zip(states.queries, states.keys, output.attentions, strict=True):
        attention = (query @ key.transpose(-1, -2) / 8**0.5).softmax(dim=-1)
        torch.testing.assert_close(attention, theirs, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("family", LIKE_BERT)
def test_values_are_those_that_attention_weighs(make_transformer: Make, family: str) -> None:
    """With the attention of transformers and the values read, the first layer's attended states come out."""
    model = make_transformer(family, eager=True)
    attended: list[torch.Tensor] = []
    first = FAMILIES[family.removesuffix("-projected")]
    out = layers_of(model)[0].get_submodule(first.parts.attended)
    out.register_forward_pre_hook(lambda _module, inputs: attended.append(inputs[0]))

    with torch.no_grad(), LayerReader(model) as reader:
        output = model(**rows(model), output_hidden_states=True, output_attentions=True)
        states = reader.states(output)

    weighed = (output.attentions[0] @ states.values[0]).transpose(1, 2).flatten(2)
    torch.testing.assert_close(weighed, attended[0], atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("family", READABLE)
def test_the_first_state_is_that_of_the_embeddings_after_their_norm(make_transformer: Make, family: str) -> None:
    model = make_transformer(family)
    seen: list[torch.Tensor] = []
    last = getattr(model.base_model, "embeddings_project", model.base_model.embeddings)
    last = getattr(model.base_model.encoder, "embedding_hidden_mapping_in", last) if family == "albert" else last
    last.register_forward_hook(lambda _module, _inputs, output: seen.append(output))

    with torch.no_grad(), LayerReader(model) as reader:
        states = reader.states(model(**rows(model), output_hidden_states=True))

    torch.testing.assert_close(states.hidden[0], seen[0])


def test_all_kinds_of_attention_give_the_same_states(make_transformer: Make) -> None:
    found = []
    for eager in (True, False):
        model = make_transformer("bert", eager=eager)
        assert model.config._attn_implementation == ("eager" if eager else "sdpa")
        with torch.no_grad(), LayerReader(model) as reader:
            found.append(reader.states(model(**rows(model), output_hidden_states=True)))

    for part in ("hidden", "queries", "keys", "values"):
        torch.testing.assert_close(getattr(found[0], part), getattr(found[1], part), atol=1e-5, rtol=1e-4)


def test_a_student_learns_through_what_was_read(make_transformer: Make) -> None:
    model = make_transformer("bert").train()

    with LayerReader(model) as reader:
        states = reader.states(model(**rows(model), output_hidden_states=True))
    first, second = model.bert.encoder.layer
    weights = [second.attention.self.query.weight, first.output.dense.weight, second.attention.self.key.weight]
    loss = states.queries[1].square().mean() + states.hidden[1].square().mean()
    of_query, of_output, of_key = torch.autograd.grad(loss, weights, allow_unused=True)

    assert of_query.abs().sum() > 0
    assert of_output.abs().sum() > 0
    assert of_key is None


def test_a_model_that_is_wrapped_later_is_read_too(make_transformer: Make) -> None:
    class Wrapped(nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, **inputs: Any) -> Any:
            return self.inner(**inputs, output_hidden_states=True)

    model = make_transformer("bert")

    with torch.no_grad(), LayerReader(model) as reader:
        through = reader.states(Wrapped(model)(**rows(model)))
        straight = reader.states(model(**rows(model), output_hidden_states=True))

    torch.testing.assert_close(through.queries, straight.queries)


def test_half_precision_is_read_as_it_is_computed(make_transformer: Make) -> None:
    model = make_transformer("bert")

    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16), LayerReader(model) as reader:
        states = reader.states(model(**rows(model), output_hidden_states=True))

    assert states.queries[0].dtype == torch.bfloat16


@pytest.mark.parametrize("family", ["bert", "deberta-v2"])
def test_the_states_are_those_of_the_last_rows_read(make_transformer: Make, family: str) -> None:
    model = make_transformer(family)
    first, second = {"input_ids": torch.tensor([[7, 8, 9]])}, {"input_ids": torch.tensor([[20, 21]])}

    with torch.no_grad(), LayerReader(model) as reader:
        model(**first, output_hidden_states=True)
        again = reader.states(model(**second, output_hidden_states=True))
    with torch.no_grad(), LayerReader(model) as reader:
        alone = reader.states(model(**second, output_hidden_states=True))

    torch.testing.assert_close(again.queries, alone.queries)
    torch.testing.assert_close(again.keys, alone.keys)


def test_nothing_stays_attached_to_the_model(make_transformer: Make) -> None:
    model = make_transformer("bert")
    model(**rows(model), output_hidden_states=True)  # transformers attaches hooks of its own, once
    before = [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in model.modules()]

    def read_and_fail() -> None:
        with LayerReader(model) as reader:
            reader.states(model(**rows(model), output_hidden_states=True))
            raise KeyError

    with pytest.raises(KeyError):
        read_and_fail()

    assert [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in model.modules()] == before


@pytest.mark.parametrize("family", ["xlnet"])
def test_other_families_are_refused_by_name_but_have_hidden_states(make_transformer: Make, family: str) -> None:
    model = make_transformer(family)

    with pytest.raises(LayersUnreadable, match=family) as raised, LayerReader(model):
        pass
    with torch.no_grad(), LayerReader(model, queries=False) as reader:
        states = reader.states(model(**rows(model), output_hidden_states=True))

    assert "distilbert" in str(raised.value)
    assert [state.shape for state in states.hidden] == [(2, 6, 16)] * 3
    assert states.queries == ()


def test_a_model_that_was_not_asked_for_its_states_is_a_mistake_of_the_caller(make_transformer: Make) -> None:
    model = make_transformer("bert")

    with LayerReader(model) as reader, pytest.raises(ValueError, match="output_hidden_states"):
        reader.states(model(**rows(model)))
