"""Two texts that are read separately: as the encoder reads each by itself, in any batch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from limbeck.models.twin_encoder import TwinEncoderForSequenceClassification, twin_of

PAD, CLS, SEP = 0, 1, 2
SIZES = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
# The texts (5, 6, 7) and (8, 9) in one row.
IDS, TYPES = [CLS, 5, 6, 7, SEP, 8, 9, SEP], [0, 0, 0, 0, 0, 1, 1, 1]
CONFIGS: dict[str, Any] = {
    "bert": lambda: transformers.BertConfig(**SIZES, pad_token_id=PAD),
    "roberta": lambda: transformers.RobertaConfig(**SIZES, pad_token_id=PAD, type_vocab_size=1),
    "distilbert": lambda: transformers.DistilBertConfig(vocab_size=30, dim=8, n_layers=2, n_heads=2, hidden_dim=8),
}


@pytest.fixture(params=CONFIGS)
def family(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def encoder(family: str) -> Any:
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(CONFIGS[family]())
    with torch.no_grad():  # larger than they start, so that texts differ clearly
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model.eval()


@pytest.fixture
def twin(encoder: Any) -> TwinEncoderForSequenceClassification:
    found: TwinEncoderForSequenceClassification = twin_of(encoder, cls_token_id=CLS, labels=3).eval()
    return found


def read(model: Any, ids: list[int], types: list[int], *, padding: int = 0, **options: Any) -> Any:
    """The model's output for one row, with this much padding after it."""
    batch = {
        "input_ids": torch.tensor([[*ids, *[PAD] * padding]]),
        "attention_mask": torch.tensor([[*[1] * len(ids), *[0] * padding]]),
        "token_type_ids": torch.tensor([[*types, *[0] * padding]]),
    }
    with torch.no_grad():
        return model(**batch, **options)


def states_of(encoder: Any, *tokens: int) -> Tensor:
    """(tokens, width): of a text alone."""
    with torch.no_grad():
        states: Tensor = encoder(input_ids=torch.tensor([tokens])).last_hidden_state[0]
    return states


def test_it_classifies_what_the_encoder_makes_of_each_text_alone(
    twin: TwinEncoderForSequenceClassification, encoder: Any
) -> None:
    u = states_of(encoder, CLS, 5, 6, 7, SEP).mean(dim=0)
    v = states_of(encoder, CLS, 8, 9, SEP).mean(dim=0)

    logits = read(twin, IDS, TYPES).logits[0]

    expected = twin.classifier(torch.cat([u, v, u * v, (u - v).abs()]))
    np.testing.assert_allclose(logits, expected.detach(), atol=1e-6)


def test_padding_changes_nothing(twin: TwinEncoderForSequenceClassification) -> None:
    np.testing.assert_allclose(read(twin, IDS, TYPES, padding=4).logits, read(twin, IDS, TYPES).logits, atol=1e-6)


def test_rows_of_a_batch_do_not_meet(twin: TwinEncoderForSequenceClassification) -> None:
    rows = torch.tensor([[CLS, 5, SEP, 8, 9, 10, 11, SEP], [CLS, 5, 6, 7, 8, SEP, 9, SEP]])
    types = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1, 1]])

    with torch.no_grad():
        together = twin(input_ids=rows, token_type_ids=types).logits
        alone = [twin(input_ids=rows[[n]], token_type_ids=types[[n]]).logits for n in (0, 1)]

    np.testing.assert_allclose(together, torch.cat(alone), atol=1e-6)


def test_states_are_in_the_order_of_the_row(twin: TwinEncoderForSequenceClassification, encoder: Any) -> None:
    states = read(twin, IDS, TYPES, padding=2, output_hidden_states=True).hidden_states[-1][0]

    first, second = states_of(encoder, CLS, 5, 6, 7, SEP), states_of(encoder, CLS, 8, 9, SEP)
    assert states.shape == (len(IDS) + 2, 8)
    np.testing.assert_allclose(states[:5], first, atol=1e-6)
    np.testing.assert_allclose(states[len(IDS) - 3 : len(IDS)], second[1:], atol=1e-6)


def test_one_text_is_read_as_if_it_were_there_twice(twin: TwinEncoderForSequenceClassification, encoder: Any) -> None:
    u = states_of(encoder, CLS, 5, 6, 7, SEP)

    answer = read(twin, [CLS, 5, 6, 7, SEP], [0] * 5, output_hidden_states=True)

    mean = u.mean(dim=0)
    expected = twin.classifier(torch.cat([mean, mean, mean * mean, torch.zeros(8)]))
    np.testing.assert_allclose(answer.logits[0], expected.detach(), atol=1e-6)
    np.testing.assert_allclose(answer.hidden_states[-1][0], u, atol=1e-6)


def test_a_second_text_may_be_empty(twin: TwinEncoderForSequenceClassification, encoder: Any) -> None:
    logits = read(twin, [CLS, 5, SEP, SEP], [0, 0, 0, 1], padding=1).logits[0]

    u, v = states_of(encoder, CLS, 5, SEP).mean(dim=0), states_of(encoder, CLS, SEP).mean(dim=0)
    expected = twin.classifier(torch.cat([u, v, u * v, (u - v).abs()]))
    np.testing.assert_allclose(logits, expected.detach(), atol=1e-6)


def test_it_is_the_same_after_saving_and_loading(twin: TwinEncoderForSequenceClassification, tmp_path: Path) -> None:
    twin.save_pretrained(tmp_path)

    again = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)

    assert type(again) is TwinEncoderForSequenceClassification
    np.testing.assert_array_equal(read(again, IDS, TYPES).logits, read(twin, IDS, TYPES).logits)


def test_no_weight_is_there_that_is_never_used(twin: TwinEncoderForSequenceClassification) -> None:
    """A pooler would be counted, and stop a group of processes that wait for its gradient."""
    answer = twin(input_ids=torch.tensor([IDS]), token_type_ids=torch.tensor([TYPES]))
    answer.logits.sum().backward()

    unused = [name for name, parameter in twin.named_parameters() if parameter.grad is None]
    assert unused == []


def test_a_separator_inside_a_text_does_not_end_it(twin: TwinEncoderForSequenceClassification, encoder: Any) -> None:
    u = states_of(encoder, CLS, 5, SEP, 6, SEP).mean(dim=0)
    v = states_of(encoder, CLS, SEP, 8, SEP).mean(dim=0)

    answer = read(twin, [CLS, 5, SEP, 6, SEP, SEP, 8, SEP], [0, 0, 0, 0, 0, 1, 1, 1])

    features = torch.cat([u, v, u * v, (u - v).abs()])
    np.testing.assert_allclose(answer.features[0], features, atol=1e-6)
    np.testing.assert_allclose(answer.logits[0], twin.classifier(features).detach(), atol=1e-6)


def test_types_must_be_given(twin: TwinEncoderForSequenceClassification) -> None:
    with pytest.raises(ValueError, match="token_type_ids are missing"):
        twin(input_ids=torch.tensor([IDS]))
