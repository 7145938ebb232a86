"""Students with a head for masked words: with all of the teacher's layers they say what it says."""

import pytest
import torch
import transformers
from torch import Tensor

from limbeck.models.masked_head import masked_lm_student
from limbeck.recipe.student import Transformer

SIZES = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24, "num_hidden_layers": 2}
FAMILIES = {
    "Bert": {},
    "Roberta": {"pad_token_id": 1, "type_vocab_size": 1},
    "MPNet": {"pad_token_id": 1},
    "Electra": {"embedding_size": 16},
}
INPUTS = {"input_ids": torch.tensor([[7, 8, 9, 30], [11, 12, 13, 14]])}


def teacher_of(family: str) -> torch.nn.Module:
    config = getattr(transformers, f"{family}Config")(**SIZES, vocab_size=60, **FAMILIES[family])
    torch.manual_seed(2)
    model: torch.nn.Module = transformers.AutoModelForMaskedLM.from_config(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(mean=0.5 if "norm" in name.lower() and "weight" in name else 0.0, std=0.3)
    return model


def logits(model: torch.nn.Module) -> Tensor:
    with torch.no_grad():
        found: Tensor = model.eval()(**INPUTS).logits
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_student_with_all_layers_of_its_family_is_its_teacher(family: str) -> None:
    teacher = teacher_of(family)

    student = masked_lm_student(Transformer(kind="transformer", layers=2), teacher=teacher)

    torch.testing.assert_close(logits(student), logits(teacher))


@pytest.mark.parametrize("family", ["Bert", "Roberta"])
def test_a_distilbert_with_all_layers_is_its_teacher_too(family: str) -> None:
    """Its positions have the type of first texts in them, and its head the parts of the teacher's."""
    teacher = teacher_of(family)

    section = Transformer(kind="transformer", family="distilbert", layers=2)
    student = masked_lm_student(section, teacher=teacher)

    assert type(student).__name__ == "DistilBertForMaskedLM"
    torch.testing.assert_close(logits(student), logits(teacher))


def test_the_table_of_the_head_is_that_of_the_words_and_a_random_start_takes_nothing() -> None:
    teacher = teacher_of("Bert")

    student = masked_lm_student(Transformer(kind="transformer", layers=1, start="random"), teacher=teacher)

    assert student.get_output_embeddings().weight is student.get_input_embeddings().weight
    assert not torch.allclose(student.get_input_embeddings().weight, teacher.get_input_embeddings().weight)  # type: ignore[operator]
