"""The tokenizer of a checkpoint, set up for its model: special tokens, token types, padding side."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer

from limbeck.errors import TeacherError
from limbeck.models.checkpoint import from_folder
from limbeck.models.decoders import give_padding, is_decoder
from limbeck.text.tokenizer_limits import characters_at_once

FILE = "tokenizer.json"
TO_READ_SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}  # package: its module
BYTE_PAIRS = ("vocab.json", "merges.txt")  # only usable together
XLNET_PADDING_TYPE = 3


class TokenizerNeedsPackages(TeacherError):
    """The checkpoint has its tokenizer only as a SentencePiece model, and the packages to read it are missing."""

    def __init__(self, *, path: Path, found: str, packages: Sequence[str]) -> None:
        self.packages = tuple(packages)
        super().__init__(
            f"cannot read the tokenizer of '{path}'",
            found=f"found {found}, a SentencePiece model, and no tokenizer.json",
            advice=f"Run: pip install {' '.join(packages)}",
        )


class TokenizerMissing(TeacherError):
    """The checkpoint has no tokenizer, or half of one: every word would be unknown."""

    def __init__(self, *, path: Path, missing: Sequence[str]) -> None:
        self.missing = tuple(missing)
        files = f"tokenizer.json, or {' and '.join(missing)}" if missing else "words in its tokenizer.json"
        super().__init__(
            f"'{path}' has no tokenizer: every word would be unknown",
            found=f"missing: {files}",
            advice="Add the tokenizer's files, from the model that it was fine-tuned from: load that model's tokenizer "
            "with transformers and call save_pretrained.",
        )


class TokenizerTooLarge(TeacherError):
    """The tokenizer has tokens that the model has no embedding for."""

    def __init__(self, *, path: Path, tokens: int, rows: int) -> None:
        self.tokens, self.rows = tokens, rows
        super().__init__(
            f"the tokenizer of '{path}' does not belong to its model",
            found=f"it has {tokens:,} tokens; the model has embeddings for {rows:,}",
            advice="Use the tokenizer that the model was trained with, or call resize_token_embeddings before "
            "training.",
        )


def load_tokenizer(folder: Path, config: Any) -> Any:
    """The fast tokenizer of a Hugging Face folder, with the settings that its model needs, whatever the folder has."""
    _refuse_unreadable(folder)
    tokenizer = _loaded(folder)
    if backend := getattr(tokenizer, "backend_tokenizer", None):
        characters_at_once(backend)  # raises if it would lengthen texts without bound
    _refuse_empty(tokenizer, folder=folder)
    _restore_special_tokens(tokenizer, folder=folder, config=config)
    _change(tokenizer, "model_input_names", _input_names(config))
    _change(tokenizer, "padding_side", "left" if reads_last_token(config) else "right")
    _change(tokenizer, "truncation_side", "right")
    if is_decoder(config):
        give_padding(tokenizer, config, folder=folder)
    if config.model_type == "xlnet":
        tokenizer._pad_token_type_id = XLNET_PADDING_TYPE  # transformers 5 intends this, but resets it to 0
    # Tokenising once and padding each batch later is intended here: no warning about it.
    tokenizer.deprecation_warnings["Asking-to-pad-a-fast-tokenizer"] = True
    return tokenizer


def reads_last_token(config: Any) -> bool:
    """Whether the classifier reads the last token, as in XLNet, where [CLS] is last; otherwise it reads the first."""
    return getattr(config, "summary_type", None) == "last"


def refuse_tokens_without_rows(tokenizer: Any, model: Any, *, folder: Path) -> None:
    """Raises TokenizerTooLarge: a token without an embedding would stop the training at the first text that has it."""
    try:
        rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    except NotImplementedError:  # a model without an embedding table, such as CANINE, which reads characters
        return
    tokens = max(tokenizer.get_vocab().values(), default=-1) + 1
    if rows is not None and tokens > rows:
        raise TokenizerTooLarge(path=folder, tokens=tokens, rows=rows)


def _loaded(folder: Path) -> Any:
    try:
        return from_folder(AutoTokenizer, folder, use_fast=True)
    except Exception as error:
        present = [name for name in (FILE, *BYTE_PAIRS) if (folder / name).is_file()]
        if len(present) == 1 and FILE not in present:  # half of a tokenizer: transformers' own error is unclear
            raise TokenizerMissing(path=folder, missing=[name for name in BYTE_PAIRS if name not in present]) from error
        raise


def _refuse_empty(tokenizer: Any, *, folder: Path) -> None:
    """Without its files, transformers silently makes a tokenizer that has only the special tokens."""
    needed = [name for name in tokenizer.vocab_files_names.values() if name != FILE]
    missing = [name for name in needed if not (folder / name).is_file()]
    known = set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens) - set(tokenizer.get_added_vocab())
    if not known:
        raise TokenizerMissing(path=folder, missing=missing)


def _input_names(config: Any) -> list[str]:
    """With token types for models that have more than one.

    The tokenizers of transformers 5 omit them for XLNet and ALBERT (transformers#48128), and those made for BERT pass
    them to models that have no table for them.
    """
    has_types = config.model_type == "xlnet" or (getattr(config, "type_vocab_size", None) or 0) > 1
    return ["input_ids", "token_type_ids", "attention_mask"] if has_types else ["input_ids", "attention_mask"]


def _restore_special_tokens(tokenizer: Any, *, folder: Path, config: Any) -> None:
    """Use the special tokens of the folder's own tokenizer.json, which transformers 5 replaces with its class's.

    Without that file, DeBERTa gets the single [SEP] between two texts that it was trained with; its class uses two.
    """
    if (folder / FILE).is_file():
        own = Tokenizer.from_file(str(folder / FILE))
        if any(own.num_special_tokens_to_add(is_pair=is_pair) for is_pair in (False, True)):
            tokenizer.backend_tokenizer.post_processor = own.post_processor
    elif config.model_type == "deberta":
        first, last = tokenizer.cls_token, tokenizer.sep_token
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A {last} $B:1 {last}:1",
            special_tokens=[(first, tokenizer.cls_token_id), (last, tokenizer.sep_token_id)],
        )


def _change(tokenizer: Any, name: str, value: Any) -> None:
    """Set an attribute, also for saving, unless it has this value already; the order of a list is ignored."""
    found = getattr(tokenizer, name)
    if found != value and not (isinstance(value, list) and sorted(found) == sorted(value)):
        setattr(tokenizer, name, value)
        tokenizer.init_kwargs[name] = value


def _refuse_unreadable(folder: Path) -> None:
    """Raises TokenizerNeedsPackages; transformers' own error names an unrelated package."""
    models = sorted(path.name for path in folder.glob("*.model"))
    missing = [package for package, module in TO_READ_SENTENCEPIECE.items() if not _is_installed(module)]
    if models and missing and not (folder / FILE).is_file():
        raise TokenizerNeedsPackages(path=folder, found=models[0], packages=missing)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False
