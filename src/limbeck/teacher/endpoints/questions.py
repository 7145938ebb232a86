"""What a language model is asked: the classes as letters, in an order of its own for every text, and the request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from limbeck.artifacts.rows import content_key
from limbeck.teacher.endpoints.levels import is_plain, symbols_of

LETTERS = ascii_uppercase + ascii_lowercase  # a token each; beyond, classes have numbers
MOST_LOGPROBS = 20  # what such servers give at most
TOKENS_OF_LETTER, TOKENS_OF_LINE, TOKENS_OF_JSON = 8, 6, 24
ONE_LETTER = "Answer with the {symbol} of one of these choices, and with nothing else."
YES_OR_NO = (
    "Any number of these choices may apply, or none. Answer with a line for each choice, in this order: its {symbol}, "
    "a colon, and yes or no. Write nothing else."
)
ONE_DIGIT = "Answer with a whole number from {first} to {last}, and with nothing else."
STEPS = "{first} means {low:g}, {last} means {high:g}, and the numbers between them are even steps."
ONE_JSON = (
    "Answer with a JSON object that has the {symbol} of one of these choices as `answer`, and as `confidence` how "
    "sure you are, from 0 to 1. Write nothing else."
)
SEVERAL_JSON = (
    "Any number of these choices may apply, or none. Answer with a JSON object that has for the {symbol} of each "
    "choice how likely it applies, from 0 to 1. Write nothing else."
)


@dataclass(frozen=True)
class Question:
    """One text as it is asked: `order` has the class of each symbol."""

    order: tuple[int, ...]
    symbols: tuple[str, ...]
    body: dict[str, Any]


@dataclass(frozen=True)
class Questions:
    """Everything that a request says besides the text. `described` is what the answers depend on: endpoint.json."""

    described: Mapping[str, Any]

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes, in the order of the corpus."""
        return tuple(self.described["labels"])

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several classes, or none."""
        return bool(self.described["multi_label"])

    @property
    def levels(self) -> tuple[float, ...]:
        """The scores that may be answered; empty where classes are."""
        return tuple(self.described.get("levels", ()))

    @property
    def outputs(self) -> int:
        """Numbers of an answer: one for each class, or the score."""
        return 1 if self.levels else len(self.labels)

    @property
    def symbols(self) -> tuple[str, ...]:
        """A letter for each choice; for more than 52, a number. A digit for each score."""
        if self.levels:
            return symbols_of(self.levels)
        count = len(self.labels)
        return tuple(LETTERS[:count]) if count <= len(LETTERS) else tuple(str(number + 1) for number in range(count))

    def order_of(self, text: str, pair: str | None, attempt: int = 0) -> tuple[int, ...]:
        """The class at each position of the list of choices: always the same for a text and an attempt."""
        classes = range(len(self.labels))
        if self.described["order"] == "given" or self.levels:
            return tuple(classes)
        key = content_key(text, pair) + attempt.to_bytes(2, "little")
        return tuple(sorted(classes, key=lambda number: blake2b(key + number.to_bytes(4, "little")).digest()))

    def about(self, text: str, pair: str | None, *, way: str, samples: int = 1, attempt: int = 0) -> Question:
        """The request for a text; `way` is "logprobs", "votes" or "confidence"."""
        order, symbols = self.order_of(text, pair, attempt), self.symbols
        most = self.described["max_characters"]
        text, pair = text[:most], None if pair is None else pair[:most]
        body: dict[str, Any] = {
            "model": self.described["model"],
            "messages": self._messages(text, pair, order=order, way=way),
            **self._sampling(way, samples),
            **({} if "max_completion_tokens" in self.described["options"] else {"max_tokens": self._most_tokens(way)}),
            **self._form(way, symbols),
            **self.described["options"],
        }
        return Question(order, symbols, body)

    def _sampling(self, way: str, samples: int) -> dict[str, Any]:
        match way:
            case "votes":
                return {"temperature": self.described["sampling_temperature"], "n": samples}
            case "logprobs":
                return {"temperature": 0, "logprobs": True, "top_logprobs": MOST_LOGPROBS}
            case _:
                return {"temperature": 0}

    def _most_tokens(self, way: str) -> int:
        classes = len(self.labels)
        if way == "confidence":
            return TOKENS_OF_JSON + (TOKENS_OF_JSON // 2 * classes if self.multi_label else 0)
        return TOKENS_OF_LETTER + (TOKENS_OF_LINE * classes if self.multi_label else 0)

    def tokens_of_answer(self, way: str) -> int:
        """About how long an answer is, with its end."""
        classes = len(self.labels)
        if way == "confidence":
            return 2 + 6 * classes if self.multi_label else 14
        return 4 * classes if self.multi_label else 2

    def _form(self, way: str, symbols: Sequence[str]) -> dict[str, Any]:
        """What makes the server keep to the allowed answers."""
        asked = self.described["structured_output"]
        if asked == "choice" and way != "confidence" and not self.multi_label:
            return {"structured_outputs": {"choice": list(symbols)}}
        if asked in ("auto", "json_schema") and way == "confidence":
            schema = {"name": "answer", "strict": True, "schema": self._schema(symbols)}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}
        return {}

    def _schema(self, symbols: Sequence[str]) -> dict[str, Any]:
        number = {"type": "number", "minimum": 0, "maximum": 1}
        properties: dict[str, Any] = {"answer": {"type": "string", "enum": list(symbols)}, "confidence": number}
        if self.multi_label:
            properties = dict.fromkeys(symbols, number)
        required = list(properties)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def _messages(self, text: str, pair: str | None, *, order: Sequence[int], way: str) -> list[dict[str, str]]:
        if self.levels:
            return self._with_examples(self._of_score(), text, pair, order=order, way=way)
        forms = {False: (ONE_LETTER, ONE_JSON), True: (YES_OR_NO, SEVERAL_JSON)}[self.multi_label]
        form = forms[way == "confidence"].format(symbol="letter" if self.symbols[0] == "A" else "number")
        choices = [self._choice(symbol, number) for symbol, number in zip(self.symbols, order, strict=True)]
        system = "\n".join([self.described["instruction"], form, *choices])
        return self._with_examples(system, text, pair, order=order, way=way)

    def _of_score(self) -> str:
        """What is said before a text that gets a score."""
        first, last = self.symbols[0], self.symbols[-1]
        lines = [self.described["instruction"], ONE_DIGIT.format(first=first, last=last)]
        if not is_plain(self.levels):
            lines.append(STEPS.format(first=first, last=last, low=self.levels[0], high=self.levels[-1]))
        described = self.described["descriptions"]
        lines += [f"{symbol}: {described[symbol]}" for symbol in self.symbols if symbol in described]
        return "\n".join(lines)

    def _with_examples(
        self, system: str, text: str, pair: str | None, *, order: Sequence[int], way: str
    ) -> list[dict[str, str]]:
        messages = [{"role": "system", "content": system}]
        for example in self.described["examples"]:
            answer = self._answer(example["labels"], order=order, way=way)
            messages.append({"role": "user", "content": shown(example["text"], example["pair"])})
            messages.append({"role": "assistant", "content": answer})
        return [*messages, {"role": "user", "content": shown(text, pair)}]

    def _choice(self, symbol: str, number: int) -> str:
        name = self.labels[number]
        described = self.described["descriptions"].get(name)
        return f"{symbol}: {name} ({described})" if described else f"{symbol}: {name}"

    def _answer(self, labels: Sequence[str], *, order: Sequence[int], way: str) -> str:
        """What the model should have answered to an example."""
        places = [self.labels[number] in labels for number in order]
        if self.multi_label and way == "confidence":
            return "{" + ", ".join(f'"{s}": {float(yes)}' for s, yes in zip(self.symbols, places, strict=True)) + "}"
        if self.multi_label:
            pairs = zip(self.symbols, places, strict=True)
            return "\n".join(f"{symbol}: {'yes' if yes else 'no'}" for symbol, yes in pairs)
        symbol = self.symbols[places.index(True)]
        return f'{{"answer": "{symbol}", "confidence": 1.0}}' if way == "confidence" else symbol


def shown(text: str, pair: str | None) -> str:
    """A row as the model sees it; halves of characters, which UTF-8 cannot hold, are replaced."""
    both = text if pair is None else f"First text:\n{text}\n\nSecond text:\n{pair}"
    return both.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
