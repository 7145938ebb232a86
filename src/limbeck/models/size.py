"""Counting parameters, with and without embeddings: honest reports give both."""

from torch import nn


def parameter_count(model: nn.Module) -> int:
    """All parameters, each counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def parameter_count_without_embeddings(model: nn.Module) -> int:
    """Those outside embedding tables (of words, positions and token types)."""
    tables = {
        parameter
        for module in model.modules()
        if isinstance(module, nn.Embedding)
        for parameter in module.parameters(recurse=False)
    }
    return sum(parameter.numel() for parameter in model.parameters() if parameter not in tables)
