"""How large a model is, and how many tokens it can read."""

from typing import Any

from torch import nn


def parameter_count(model: nn.Module) -> int:
    """All parameters, each counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def parameter_count_without_embeddings(model: nn.Module) -> int:
    """All parameters outside embedding tables (of words, positions and token types)."""
    tables = {
        parameter
        for module in model.modules()
        if isinstance(module, nn.Embedding)
        for parameter in module.parameters(recurse=False)
    }
    return sum(parameter.numel() for parameter in model.parameters() if parameter not in tables)


def position_count(model: Any) -> int | None:
    """The number of tokens the model has positions for; None if it has no such limit."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings - module.padding_idx - 1)  # RoBERTa and MPNet count from after padding
    limit = getattr(model.config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None
