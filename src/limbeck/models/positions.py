"""How many tokens a model of transformers can read."""

from typing import Any


def position_count(model: Any) -> int | None:
    """How many tokens the model has positions for; None when it has no such limit."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings - module.padding_idx - 1)  # RoBERTa and MPNet count from behind padding
    limit = getattr(model.config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None
