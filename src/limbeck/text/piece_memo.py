"""Ids of words that were read before, looked up instead of computed."""

from collections.abc import Callable, Mapping, Sequence

from limbeck.text.readable import readable

Ids = list[int]
Ask = Callable[[list[str]], list[Ids]]

# Some 20 MB when full. Then all are forgotten: the frequent ones are back after a few texts, whereas in a full memo
# that takes no more, the words of a strange first batch would stay for good.
MOST_PIECES, LONGEST_PIECE = 1 << 16, 32
# Texts whose pieces are longer than that on average are hardly ever made of known ones: Chinese has no spaces.
LONGEST_MEAN = 16
# A piece by itself takes the tokenizer as long as three inside a text. To ask for it pays when it comes again.
PRICE_OF_ONE = 2


class PieceMemo:
    """Texts to ids, for a tokenizer that reads the pieces between spaces one by one (see `is_separable`).

    `of_texts` and `of_pieces` ask the tokenizer itself, for as many lists of ids; they are given readable text only.
    Threads may share a memo, and need no lock: what one of them has just forgotten, another asks for.
    """

    def __init__(self, *, of_texts: Ask, of_pieces: Ask) -> None:
        self._of_texts, self._of_pieces = of_texts, of_pieces
        self._known: dict[str, tuple[int, ...]] = {"": ()}
        self._met: set[str] = set()  # new pieces of texts that were asked for as a whole

    def __len__(self) -> int:
        """How many pieces it knows."""
        return len(self._known) - 1

    def read(self, texts: Sequence[str], *, most_tokens: int, most_characters: int) -> list[Ids]:
        """The first ids of each text, at most so many, from at most so many of its characters."""
        rows: list[Ids] = []
        new: dict[int, str] = {}  # what the tokenizer itself has to read, by the places of the rows
        longer: dict[int, str] = {}  # texts that are not looked at behind as many pieces as there may be tokens
        for text in texts:
            if len(text) > most_characters:
                text = readable(text, most_characters=most_characters)
            pieces = text.split(" ", most_tokens)
            if len(pieces) > most_tokens:
                longer[len(rows)] = text
                del pieces[-1]
                text = " ".join(pieces)
            row = None
            if len(text) <= LONGEST_MEAN * len(pieces):
                row = self._joined(pieces) or self._learned(readable(text, most_characters=most_characters))
            if row is None:
                new[len(rows)] = text
            rows.append(row[:most_tokens] if row else [])
        if new:
            self._ask(new, rows, most_tokens)
        if longer:
            short = {place: text for place, text in longer.items() if len(rows[place]) < most_tokens}
            self._ask(short, rows, most_tokens)  # some of their pieces have no token
        return rows

    def _joined(self, pieces: list[str]) -> Ids | None:
        """None if one of the pieces is not known. Those that are known are readable."""
        known = self._known
        row: Ids = []
        try:
            for piece in pieces:
                row += known[piece]
        except KeyError:
            return None
        return row

    def _learned(self, text: str) -> Ids | None:
        """By asking for the pieces that are new; None where it is better to ask for the text as a whole."""
        pieces = text.split(" ")
        new = {piece for piece in pieces if piece not in self._known}
        short = {piece for piece in new if len(piece) <= LONGEST_PIECE}
        if len(short) < len(new) or len(new) * PRICE_OF_ONE > len(pieces):
            self._learn(self._met_again(short))
            return None
        self._learn(new)
        return self._joined(pieces)  # None if all others have just been forgotten

    def _met_again(self, pieces: set[str]) -> set[str]:
        """Those of the pieces that were met before. The others are met now: what never comes again is never learned."""
        met = self._met
        if len(met) > MOST_PIECES:
            met = self._met = set()
        again = pieces & met
        met |= pieces
        return again

    def _learn(self, pieces: set[str]) -> None:
        if len(self._known) > MOST_PIECES:
            self._known = {"": ()}
        if pieces:
            self._known.update(zip(pieces, map(tuple, self._of_pieces([*pieces])), strict=True))

    def _ask(self, texts: Mapping[int, str], rows: list[Ids], most_tokens: int) -> None:
        """Put the rows of the texts at their places."""
        asked = [readable(text, most_characters=len(text)) for text in texts.values()]
        for place, row in zip(texts, self._of_texts(asked), strict=True):
            rows[place] = row[:most_tokens]
