"""Which words a language model is asked about, and how its words are written in their place."""

from typing import Literal, TypeAlias

from limbeck.augmentation.words import is_han
from limbeck.text.student_tokenizer import MASK

WordKind: TypeAlias = Literal["word", "han"]  # of letters; or of ideographs, in a Chinese corpus

MOST_CHARACTERS = 4  # of a Chinese word: what characters a model proposes one by one makes hardly ever a longer word
# TinyBERT leaves function words alone: of them it hangs who does what, and the model mostly gives the same ones back.
FUNCTION_WORDS_TEXT = """
a an the this that these those such i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves who whom whose which what
am is are was were be been being do does did doing done have has had having will would shall should can could may
might must ought not no nor never and or but if because as while until unless although though than then so of at by
for with about against between into through during before after above below to from up down in out on off over
under again further once here there when where why how all any both each few more most other some only own same too
very just also n't 's 'm 'd 'll 're 've 'em ain't aren't can't cannot couldn't didn't doesn't don't hadn't hasn't
haven't isn't mustn't shouldn't wasn't weren't won't wouldn't i'm i've i'd i'll you're you've you'd you'll he's he'd
he'll she's she'd she'll it's it'd it'll we're we've we'd we'll they're they've they'd they'll that's there's who's
what's let's -lrb- -rrb- -lsb- -rsb- -lcb- -rcb-
"""
FUNCTION_WORDS = frozenset(FUNCTION_WORDS_TEXT.split())
PARTICLES_TEXT = "的 地 得 了 着 过 吗 呢 吧 啊 呀 哦 嘛 么 们 和 与 及 或 而 但 但是 因为 所以 如果 把 被 之"
PARTICLES = frozenset(PARTICLES_TEXT.split())


def kind_of(word: str, *, language: str) -> WordKind | None:
    """None for what always stays: marks, numbers, function words, long Chinese words."""
    if is_han(word):
        # Elsewhere than in a Chinese corpus ideographs are not cut into words: each may be part of one.
        is_asked = language == "zh" and len(word) <= MOST_CHARACTERS and word not in PARTICLES
        return "han" if is_asked else None
    plain = word.lower().replace("’", "'")
    is_asked = word.upper() != MASK and any(map(str.isalpha, word)) and plain not in FUNCTION_WORDS
    return "word" if is_asked else None


def written_like(word: str, other: str) -> str:
    """The other, which is in lower case, in the case of the word: as title, in capitals, or as it is."""
    if len(word) > 1 and word.isupper():
        return other.upper()
    return other[0].upper() + other[1:] if word[0].isupper() else other
