"""What stays of a text that is longer than the teacher reads: its beginning and its end."""

from collections.abc import Sequence
from itertools import chain


def kept_places(texts_of_tokens: Sequence[int | None], *, max_length: int, head_share: float) -> list[int]:
    """Places of the tokens that stay of a row, in their order: every special token, and the head and tail of each text.

    A token is of text 0 or 1, or special (None). The texts share the room that the special tokens leave, as
    `shared_room` says; a text that is cut keeps `head_share` of its part from its beginning, the rest from its end.
    """
    first = [place for place, text in enumerate(texts_of_tokens) if text == 0]
    second = [place for place, text in enumerate(texts_of_tokens) if text == 1]
    special = [place for place, text in enumerate(texts_of_tokens) if text is None]
    room = max(max_length - len(special), 0)
    counts = shared_room(len(first), len(second), room=room)
    kept = (
        head_and_tail(text, count, head_share=head_share) for text, count in zip((first, second), counts, strict=True)
    )
    return sorted([*special, *chain.from_iterable(kept)])


def shared_room(first: int, second: int, *, room: int) -> tuple[int, int]:
    """How many tokens of two texts stay. The longer one is cut first: the shorter has up to half of the room.

    So both keep something wherever there is room for two tokens. It is how tokenizers cut from the end ("longest
    first"), with which a pair keeps as many tokens of each text.
    """
    if first + second <= room:
        return first, second
    of_shorter = min(first, second, room // 2)
    of_longer = room - of_shorter
    return (of_shorter, of_longer) if first <= second else (of_longer, of_shorter)


def head_and_tail(places: Sequence[int], count: int, *, head_share: float) -> Sequence[int]:
    """`count` of the places, from both ends; at least one from each where two may stay."""
    if len(places) <= count:
        return places
    head = min(max(round(head_share * count), 1), count - 1) if count > 1 else count
    return [*places[:head], *places[len(places) - count + head :]]
