"""What transformers wants to know of a student's tokenizer.json, so that its pipelines read batches as we do."""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer


def write_tokenizer_config(folder: Path, model: Any, *, max_length: int) -> None:
    """Write tokenizer_config.json beside the tokenizer.json of a saved student."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = model.config
    reads_types = (getattr(config, "type_vocab_size", None) or 0) > 1
    written = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "padding_side": "right",
        "truncation_side": "right",
        "pad_token": tokenizer.id_to_token(config.pad_token_id),
        "model_input_names": ["input_ids", *(["token_type_ids"] if reads_types else []), "attention_mask"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(written, indent=1, ensure_ascii=False), encoding="utf-8")
