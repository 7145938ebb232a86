"""A cache of token ids: words that were read before are looked up instead of tokenized again."""

from collections.abc import Callable, Mapping, Sequence

from limbeck.text.readable import readable

Ids = list[int]
Ask = Callable[[list[str]], list[Ids]]

# About 20 MB when full. It is then cleared: frequent pieces return after a few texts. If a full memo only stopped
# growing, the words of an unusual first batch would stay forever.
MOST_PIECES, LONGEST_PIECE = 1 << 16, 32
# Texts whose pieces are longer on average rarely consist of known ones: Chinese has no spaces.
LONGEST_MEAN = 16
# Tokenizing one piece alone takes as long as three inside a text, so it pays only if the piece recurs.
PRICE_OF_ONE = 2


class PieceMemo:
    """Texts to ids, for a tokenizer that reads the pieces between spaces one by one (see `is_separable`).

    `of_texts` and `of_pieces` call the tokenizer itself and return a list of ids for each; they get readable text only.
    Threads may share a memo without a lock: what one of them has just cleared, another asks for again.
    """

    def __init__(self, *, of_texts: Ask, of_pieces: Ask) -> None:
        self._of_texts, self._of_pieces = of_texts, of_pieces
        self._known: dict[str, tuple[int, ...]] = {"": ()}
        self._seen_once: set[str] = set()  # new pieces of texts that were tokenized as complete texts

    def __len__(self) -> int:
        """The number of pieces it knows."""
        return len(self._known) - 1

    def read(self, texts: Sequence[str], *, most_tokens: int, most_characters: int) -> list[Ids]:
        """The first `most_tokens` ids of each text, from its first `most_characters` characters."""
        rows: list[Ids] = []
        new: dict[int, str] = {}  # texts that the tokenizer itself has to read, by row
        longer: dict[int, str] = {}  # complete texts of which only the first `most_tokens` pieces were read
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
                row = self._joined(pieces) or self._by_pieces(readable(text, most_characters=most_characters))
            if row is None:
                new[len(rows)] = text
            rows.append(row[:most_tokens] if row else [])
        if new:
            self._ask(new, rows, most_tokens)
        if longer:
            short = {row: text for row, text in longer.items() if len(rows[row]) < most_tokens}
            self._ask(short, rows, most_tokens)  # some of their pieces have no token
        return rows

    def _joined(self, pieces: list[str]) -> Ids | None:
        """The ids of all pieces; None if one of them is not known. Known pieces are readable."""
        known = self._known
        row: Ids = []
        try:
            for piece in pieces:
                row += known[piece]
        except KeyError:
            return None
        return row

    def _by_pieces(self, text: str) -> Ids | None:
        """The ids, by asking for the new pieces only; None if it is cheaper to ask for the complete text."""
        pieces = text.split(" ")
        new = {piece for piece in pieces if piece not in self._known}
        short = {piece for piece in new if len(piece) <= LONGEST_PIECE}
        if len(short) < len(new) or len(new) * PRICE_OF_ONE > len(pieces):
            self._store(self._recurring(short))
            return None
        self._store(new)
        return self._joined(pieces)  # None if all others have just been cleared

    def _recurring(self, pieces: set[str]) -> set[str]:
        """The pieces that were seen before; the others are remembered, so that only recurring pieces are stored."""
        seen = self._seen_once
        if len(seen) > MOST_PIECES:
            seen = self._seen_once = set()
        again = pieces & seen
        seen |= pieces
        return again

    def _store(self, pieces: set[str]) -> None:
        if len(self._known) > MOST_PIECES:
            self._known = {"": ()}
        if pieces:
            self._known.update(zip(pieces, map(tuple, self._of_pieces([*pieces])), strict=True))

    def _ask(self, texts: Mapping[int, str], rows: list[Ids], most_tokens: int) -> None:
        """Fill in the rows of these texts."""
        asked = [readable(text, most_characters=len(text)) for text in texts.values()]
        for at, row in zip(texts, self._of_texts(asked), strict=True):
            rows[at] = row[:most_tokens]
