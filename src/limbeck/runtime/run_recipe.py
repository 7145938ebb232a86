"""What the recipe of a model's run says about its rows, for whoever reads rows like them."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limbeck.runtime.entries import Trained


def corpus_keys(model: Path) -> Mapping[str, Any]:
    """`[corpus]` of the recipe of the run that the model's folder is in; empty for a model outside a run."""
    try:
        recipe = tomllib.loads((model.resolve().parents[1] / "recipe.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError, IndexError, RecursionError):
        return {}
    corpus = recipe.get("corpus")
    return corpus if isinstance(corpus, dict) else {}


def as_in_training(model: Path) -> Trained:
    """The form of the rows that the model was trained on; empty for a model outside a run."""
    keys = corpus_keys(model)
    columns = {role: keys[role] for role in ("text", "pair") if type(keys.get(role)) in (str, int)}
    switches = {key: keys[key] for key in ("header", "quoting") if isinstance(keys.get(key), bool)}
    has_tabs = keys.get("format", "auto") in ("auto", "tsv") and ".txt" in Path(str(keys.get("train"))).suffixes
    return Trained(**columns, **switches, had_tabs=has_tabs)
