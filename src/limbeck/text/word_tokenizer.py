"""Builds a student's tokenizer with a vocabulary of whole words, by the rules of their language."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import assert_never

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import Model, Unigram, WordLevel, WordPiece
from tokenizers.normalizers import NFKC, Lowercase, Normalizer, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import Split
from tokenizers.trainers import WordLevelTrainer

from limbeck.text.forms import FormStep, as_normalizer
from limbeck.text.jieba_words import Cut, jieba_cut
from limbeck.text.language_rules import LanguageRules, rules_of, steps_of
from limbeck.text.learned_parts import cut_by_parts
from limbeck.text.readable import MOST_CHARACTERS, readable
from limbeck.text.segmenter import Segmenter, marked_jieba
from limbeck.text.student_tokenizer import MASK, SPECIAL_TOKENS, UNK, UNK_ID, StudentTokenizer
from limbeck.text.word_patterns import CHINESE_UNIT, DOUBLE_QUOTE, LONGEST_UNIT, SINGLE_QUOTE

QUOTES: tuple[Normalizer, ...] = (Replace(Regex(SINGLE_QUOTE), "'"), Replace(Regex(DOUBLE_QUOTE), '"'))

OfSize = Callable[[int], StudentTokenizer]  # from the number of tokens, special ones included, to the tokenizer


def build_word_tokenizer(
    texts: Iterable[str],
    *,
    language: str,
    max_size: int,
    min_count: int,
    lowercase: bool,
    form: Sequence[FormStep] = (),
    segmenter: Segmenter = "longest_match",
) -> StudentTokenizer:
    """A tokenizer of the most frequent words; `max_size` includes padding, unknown and mask.

    The tokenizer converts every text to the `form` first, in training and in use.

    English words are split as in the Penn treebank and SST-2 ("don't" is do n't, "it's" is it 's); text that is already
    split like that gives the same tokens.

    Chinese words are found with jieba. With "longest_match" that is done once: the tokenizer itself is a unigram model
    over them, so serving needs no jieba, and chooses the most probable segmentation. Every character seen is a token
    too, as far as `max_size` allows, so only new characters are unknown; several in a row become one unknown token.

    Words of other languages are those of `limbeck.text.language_rules`; where they are not written apart, they are
    learned from the texts.

    With "jieba" every text is segmented by jieba, in training and in use. A word that is not a token is split further,
    by longest match; one with a new character is one unknown token.
    """
    counted = count_words(
        texts,
        language=language,
        max_size=max_size,
        min_count=min_count,
        lowercase=lowercase,
        form=form,
        segmenter=segmenter,
    )
    return counted(max_size)


def count_words(
    texts: Iterable[str],
    *,
    language: str,
    max_size: int,
    min_count: int,
    lowercase: bool,
    form: Sequence[FormStep] = (),
    segmenter: Segmenter = "longest_match",
    also: Sequence[str] = (),
    listed: Sequence[str] = (),
) -> OfSize:
    """Count once, and get the tokenizer of any size up to `max_size`, the same as from `build_word_tokenizer`.

    The words `also` come after the counted ones, as far as the size allows; in Chinese they are not used. With words
    that are `listed`, the most important first, no text is read.
    """
    read = (readable(text, most_characters=MOST_CHARACTERS) for text in texts)
    first = [as_normalizer(form)] if form else []
    last: list[Normalizer] = [Lowercase()] if lowercase else []
    cut_of: Callable[[Counter[str]], Cut]
    if language == "zh":
        normalizer, unit = Normalizers([*first, NFKC(), *last]), CHINESE_UNIT
        cut_of = lambda _units: jieba_cut()  # noqa: E731  # beside the other one
    else:
        rules, segmenter = rules_of(language), "longest_match"
        normalizer = Normalizers(steps_of(rules, form=first, quotes=QUOTES, last=last))
        if not rules.parts:
            texts_read, more = (iter(()), listed) if listed else (read, also)
            return _spaced(texts_read, normalizer, rules, max_size=max_size, min_count=min_count, also=more)
        unit, cut_of = rules.parts, partial(cut_by_parts, min_count=min_count)
    tokenizer = _of_units(normalizer, unit)
    if listed:
        return _segmented(tokenizer, *_ranked(listed, normalizer), min_count=1, segmenter=segmenter)
    units = _units(tokenizer, read)
    counts = _count_words_and_characters(units, cut_of(units))
    return _segmented(tokenizer, *counts, min_count=min_count, segmenter=segmenter)


def _spaced(
    texts: Iterator[str],
    normalizer: Normalizer,
    rules: LanguageRules,
    *,
    max_size: int,
    min_count: int,
    also: Sequence[str],
) -> OfSize:
    tokenizer = Tokenizer(WordLevel({UNK: 0}, unk_token=UNK))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = Split(Regex(rules.word), behavior="removed", invert=True)

    # The trainer numbers words by descending count, ties by the word itself.
    word_count = max(0, max_size - len(SPECIAL_TOKENS))
    trainer = WordLevelTrainer(vocab_size=word_count, min_frequency=min_count, show_progress=False, special_tokens=[])
    tokenizer.train_from_iterator(texts, trainer)
    ids = tokenizer.get_vocab()
    added = (word for word in map(normalizer.normalize_str, also) if word not in ids)
    words = list(dict.fromkeys([*SPECIAL_TOKENS, *sorted(ids, key=ids.__getitem__), *added]))

    def of_size(size: int) -> StudentTokenizer:
        kept = words[: max(size, len(SPECIAL_TOKENS))]
        return _finished(tokenizer, WordLevel({word: number for number, word in enumerate(kept)}, unk_token=UNK))

    return of_size


def _ranked(listed: Sequence[str], normalizer: Normalizer) -> tuple[Counter[str], Counter[str]]:
    """Listed words as if the first were the most frequent, and the characters in them."""
    words = list(dict.fromkeys(map(normalizer.normalize_str, listed)))
    return Counter({word: len(words) - place for place, word in enumerate(words)}), Counter("".join(words))


def _of_units(normalizer: Normalizer, unit: str) -> Tokenizer:
    tokenizer = Tokenizer(Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = Split(Regex(unit), behavior="removed", invert=True)
    return tokenizer


def _segmented(
    tokenizer: Tokenizer, words: Counter[str], characters: Counter[str], *, min_count: int, segmenter: Segmenter
) -> OfSize:
    """Of runs of letters that have to be cut into words."""
    longer = [word for word in _by_count(words) if len(word) > 1 and words[word] >= min_count]
    in_order = [*_by_count(characters), *longer]

    def of_size(size: int) -> StudentTokenizer:
        kept = in_order[: max(0, size - len(SPECIAL_TOKENS))]
        kept.sort(key=lambda word: (-words[word], word))
        match segmenter:
            case "longest_match":
                return _finished(tokenizer, _most_probable(kept, words))
            case "jieba":
                return _finished(tokenizer, _looked_up(kept), segmenter=segmenter)
            case _:
                assert_never(segmenter)

    return of_size


def _most_probable(kept: Sequence[str], words: Counter[str]) -> Model:
    """A model that chooses the segmentation with the highest product of word frequencies."""
    total = max(1, words.total())
    # Characters that occur only inside longer words count once. Six digits survive a round trip through the library.
    scores = [(word, round(math.log(max(1, words[word]) / total), 6)) for word in kept]
    rarest = round(math.log(1 / total), 6)
    return Unigram([*((token, rarest) for token in SPECIAL_TOKENS), *scores], unk_id=UNK_ID)


def _looked_up(kept: Sequence[str]) -> Model:
    """A model that looks up the word, or else splits it from the start into the longest tokens."""
    ids = {word: number for number, word in enumerate([*SPECIAL_TOKENS, *kept])}
    return WordPiece(ids, unk_token=UNK, continuing_subword_prefix="", max_input_chars_per_word=LONGEST_UNIT)


def _units(tokenizer: Tokenizer, texts: Iterator[str]) -> Counter[str]:
    """How often each run of Han characters, each run of other letters and digits, and each mark occurs."""
    normalize, split = tokenizer.normalizer.normalize_str, tokenizer.pre_tokenizer.pre_tokenize_str
    units: Counter[str] = Counter()
    for text in texts:
        units.update([unit for unit, _ in split(normalize(text))])
    return units


def _count_words_and_characters(units: Counter[str], cut: Cut) -> tuple[Counter[str], Counter[str]]:
    """Counts of words and of characters."""
    words: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for unit, count in units.items():
        for word in cut(unit):
            words[word] += count
        for character in unit:
            characters[character] += count
    return words, characters


def _by_count(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda word: (-counts[word], word))


def _finished(tokenizer: Tokenizer, model: Model, *, segmenter: Segmenter = "longest_match") -> StudentTokenizer:
    tokenizer.model = model
    tokenizer.add_special_tokens([AddedToken(MASK, special=True, normalized=False)])
    json_text = tokenizer.to_str()
    return StudentTokenizer.from_json(marked_jieba(json_text) if segmenter == "jieba" else json_text)
