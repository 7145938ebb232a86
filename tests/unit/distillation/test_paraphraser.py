"""Factor transfer's networks, and the training of the paraphraser."""

import pytest
import torch
from torch import Tensor

from limbeck.distillation.paraphraser import Paraphraser, Translator, train_paraphraser


def rows_in_few_directions(rows: int = 600, *, width: int = 16, directions: int = 4) -> Tensor:
    """Features that a few factors can tell."""
    generator = torch.Generator().manual_seed(1)
    factors = torch.randn(rows, directions, generator=generator)
    return factors @ torch.randn(directions, width, generator=generator) + 3


def test_factors_are_a_share_of_the_width_and_at_least_one() -> None:
    assert Paraphraser(16).encode(torch.randn(5, 16)).shape == (5, 8)
    assert Paraphraser(16, share=0.25).factor_width == 4
    assert Paraphraser(3, share=0.01).encode(torch.randn(5, 3)).shape == (5, 1)


def test_a_reconstruction_has_the_shape_and_scale_of_the_features() -> None:
    features = 1000 * rows_in_few_directions()
    paraphraser = Paraphraser(16)

    train_paraphraser(paraphraser, features, epochs=40, learning_rate=1e-2, seed=0)

    assert paraphraser(features).shape == features.shape
    assert (paraphraser(features) - features).square().mean().item() < 0.1 * features.var(dim=0).mean().item()


def test_a_translator_gives_factors_of_the_paraphraser_s_width() -> None:
    translator = Translator(7, Paraphraser(16).factor_width)

    assert translator(torch.randn(5, 7)).shape == (5, 8)


def test_training_makes_the_reconstruction_better() -> None:
    features = rows_in_few_directions()

    before = train_paraphraser(Paraphraser(16), features, epochs=0, seed=0)
    after = train_paraphraser(Paraphraser(16), features, epochs=40, learning_rate=1e-2, seed=0)

    assert 0.5 < before < 2.5  # 1 is what the mean of all rows would give
    assert after < 0.2 * before


def test_the_error_is_that_of_all_rows_after_the_last_step() -> None:
    features, paraphraser = rows_in_few_directions(), Paraphraser(16)

    error = train_paraphraser(paraphraser, features, epochs=2, seed=0)

    squares = (paraphraser(features) - features).square().mean()
    assert error == pytest.approx(squares.item() / features.sub(features.mean(dim=0)).square().mean().item(), rel=1e-4)


def test_the_seed_decides_and_the_weights_at_hand_do_not() -> None:
    features = rows_in_few_directions()
    first, second, other = Paraphraser(16), Paraphraser(16), Paraphraser(16)

    errors = [train_paraphraser(first, features, seed=3), train_paraphraser(second, features, seed=3)]
    train_paraphraser(other, features, seed=4)

    assert errors[0] == errors[1]
    torch.testing.assert_close(first.encode(features), second.encode(features), rtol=0, atol=0)
    assert not torch.allclose(first.encode(features), other.encode(features))


def test_the_random_state_of_the_caller_is_left_alone() -> None:
    paraphraser, features = Paraphraser(16), rows_in_few_directions()
    before = torch.get_rng_state()

    train_paraphraser(paraphraser, features, seed=0)

    assert torch.equal(torch.get_rng_state(), before)


def test_afterwards_it_is_frozen_and_can_be_trained_again() -> None:
    paraphraser, features = Paraphraser(16), rows_in_few_directions()

    first = train_paraphraser(paraphraser, features, seed=0)

    assert not paraphraser.encode(features).requires_grad
    assert train_paraphraser(paraphraser, features, seed=0) == first


def test_three_rows_are_enough() -> None:
    features = rows_in_few_directions(3)

    error = train_paraphraser(Paraphraser(16), features, epochs=50, seed=0)

    assert error < train_paraphraser(Paraphraser(16), features, epochs=0, seed=0)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_half_precision_of_any_scale_trains_as_well(scale: float) -> None:
    features = rows_in_few_directions()
    scaled = (features / features.abs().max() * 4 * scale).half()
    paraphraser = Paraphraser(16)

    error = train_paraphraser(paraphraser, scaled, epochs=40, learning_rate=1e-2, seed=0)

    assert error < 0.2
    assert paraphraser.encode(scaled).dtype == torch.float32


def test_rows_that_do_not_differ_give_no_nan() -> None:
    paraphraser = Paraphraser(4)

    error = train_paraphraser(paraphraser, torch.full((5, 4), 7.0), seed=0)

    assert 0 <= error < 1
    assert torch.isfinite(paraphraser.encode(torch.full((5, 4), 7.0))).all()


def test_what_was_measured_is_saved_with_the_weights() -> None:
    paraphraser, features = Paraphraser(16), rows_in_few_directions()
    train_paraphraser(paraphraser, features, seed=0)

    copy = Paraphraser(16)
    copy.load_state_dict(paraphraser.state_dict())

    torch.testing.assert_close(copy.encode(features), paraphraser.encode(features), rtol=0, atol=0)
