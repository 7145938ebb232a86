"""`[teacher] kind = "endpoint"`: a language model behind a server that speaks OpenAI's chat completions."""

import json
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from limbeck.recipe.base import Section
from limbeck.recipe.decisions import decides, decides_nothing
from limbeck.recipe.traits import NearChance, TeacherTraits

INSTRUCTION = "Classify the text."
KEY_NAMES = ("key", "api_key", "apikey", "token", "authorization", "password", "secret")


class Example(Section):
    """A text whose answer the model is shown before it is asked."""

    text: str = Field(min_length=1)
    """The text."""
    pair: str | None = None
    """The second text, for tasks about two texts."""
    labels: list[str]
    """Its class; with `multi_label` all of its classes, or none."""


class Prices(Section):
    """What tokens cost, in any currency."""

    input_per_million: float = Field(default=0.0, ge=0)
    """Price of a million tokens of the questions."""
    output_per_million: float = Field(default=0.0, ge=0)
    """Price of a million tokens of the answers."""


class EndpointTeacher(Section):
    """A language model behind an address: vLLM, Ollama, llama.cpp, TGI, LM Studio, or a hosted one. Needs the extra
    `llm`. docs/endpoint.md has an example."""

    traits: ClassVar = TeacherTraits(has_tokens=False, has_features=False, answers_new_texts=True)

    kind: Literal["endpoint"]
    """The kind of teacher."""
    url: Annotated[str, decides_nothing()] = Field(pattern=r"^https?://\S+$")
    """Address of the server, with or without "/v1": "http://localhost:8000/v1". Another address of the same model has
    the same answers."""
    model: str = Field(min_length=1)
    """Name of the model, as the server knows it."""
    key_from: Annotated[str | None, decides_nothing()] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable that holds the key of the server. The key itself is never written down. Default:
    no key is sent."""
    name: str | None = None
    """Name of this teacher in the report. Default: that of the model."""
    instruction: str = Field(default=INSTRUCTION, min_length=1)
    """What the model should do; the classes and the form of the answer are added below it."""
    descriptions: dict[str, str] = {}
    """A line about each class, shown beside its name: {"refund" = "wants money back"}."""
    examples: list[Example] = []
    """Texts with their answers, shown before the question."""
    examples_from_train: int = Field(default=0, ge=0)
    """Examples that are drawn from the labelled rows of train, as many of each class as of any other. They are part of
    every question, and are paid for every time."""
    answers: Literal["auto", "logprobs", "votes", "confidence"] = "auto"
    """Where probabilities come from: the probabilities of the first token ("logprobs"), the share of `samples` answers
    ("votes"), or what the model says itself ("confidence"). "auto": logprobs where the server has them, else votes."""
    samples: int = Field(default=5, ge=1, le=64)
    """Answers per text for votes."""
    sampling_temperature: float = Field(default=1.0, ge=0, le=2)
    """Temperature at which votes are sampled."""
    order: Literal["shuffled", "given"] = "shuffled"
    """Order of the classes in a question. "shuffled": another one for every text, always the same for the same text, so
    that a preference for the first of several letters cancels out. "given": that of the corpus."""
    structured_output: Literal["auto", "none", "json_schema", "choice"] = "auto"
    """How the server is made to give one of the allowed answers: a JSON schema (for `answers = "confidence"`), a list
    of choices as vLLM has it (for letters), or nothing. "auto": a JSON schema for confidence, unless the server refuses
    it; nothing for letters."""
    max_characters: int | None = Field(default=None, ge=1)
    """Longer texts are cut: only their beginning is sent. Default: all is sent."""
    options: dict[str, Any] = {}
    """Further fields of the request: {reasoning_effort = "none"}, {max_completion_tokens = 4}."""
    least_probability: float = Field(default=1e-3, gt=0, lt=0.5)
    """Probabilities are clipped to this distance from 0 and 1, whose logits are infinite. Lower it for many classes."""
    calibration: Annotated[Literal["dev", "none"], decides("teacher", "members", "labels")] = "dev"
    """Divide its logits by a temperature that is fitted on the labelled rows of dev, if there are 30 or more. "none":
    leave them as they are."""
    concurrency: Annotated[int, decides_nothing()] = Field(default=8, ge=1, le=512)
    """Requests at a time."""
    requests_per_minute: Annotated[float | None, decides_nothing()] = Field(default=None, gt=0)
    """Limit of the server. Default: none."""
    tokens_per_minute: Annotated[float | None, decides_nothing()] = Field(default=None, gt=0)
    """Limit of the server. Default: none."""
    timeout: Annotated[float, decides_nothing()] = Field(default=60.0, gt=0)
    """Seconds for one request."""
    retries: Annotated[int, decides_nothing()] = Field(default=6, ge=0)
    """How often a request is repeated after a broken connection, a time-out, or the status 408, 429 or 5xx."""
    retry_seconds: Annotated[float, decides_nothing()] = Field(default=0.5, gt=0)
    """Pause before the first repetition; it doubles each time, up to a minute, and varies at random. A server's
    Retry-After is kept to."""
    answer_retries: Annotated[int, decides_nothing()] = Field(default=2, ge=0)
    """How often a text is asked again, with the classes in another order, if the answer names no class."""
    prices: Annotated[Prices | None, decides_nothing()] = None
    """What tokens cost, so that cost can be shown and limited."""
    max_requests: Annotated[int | None, decides("labels")] = Field(default=None, ge=1)
    """Stop after so many requests in total: all runs that use this label store count. Default: no limit."""
    max_tokens: Annotated[int | None, decides("labels")] = Field(default=None, ge=1)
    """Stop before more tokens than this are used in total. Default: no limit."""
    max_cost: Annotated[float | None, decides("labels")] = Field(default=None, gt=0)
    """Stop before it costs more than this in total, in the currency of `prices`. Default: no limit."""
    tokenizer: Annotated[str | None, decides_nothing()] = None
    """Folder or file of the model's tokenizer (tokenizer.json), to count tokens before the first request. Default: an
    estimate, corrected by what the server counted so far."""
    uncovered: Annotated[Literal["stop", "skip"], decides("labels")] = "skip"
    """What to do with rows that have no answer, because a limit was reached or no answer named a class: stop the run,
    or skip them and report how many."""
    near_chance: Annotated[NearChance, decides_nothing()] = "stop"
    """What to do if the teacher is hardly better on dev than guessing: stop the run, or only warn."""

    @model_validator(mode="after")
    def _no_key_is_written_down(self) -> Self:
        if named := [name for name in self.options if name.casefold() in KEY_NAMES]:
            raise ValueError(f"options has {named[0]}: keys come from an environment variable only, see key_from")
        parts = urlsplit(self.url)
        if parts.username or parts.password or parts.query:
            raise ValueError("url should have no user, password or query: keys come from an environment variable")
        return self

    @model_validator(mode="after")
    def _options_can_be_kept(self) -> Self:
        """They are part of the key of its answers, so they must be JSON."""
        if named := sorted({"messages", "model", "stream", "logprobs", "top_logprobs", "n"} & self.options.keys()):
            raise ValueError(f"options has {named[0]}, which Limbeck sets itself: remove it")
        try:
            json.dumps(self.options, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("options should contain only texts, numbers, true or false, lists and tables") from None
        return self

    @model_validator(mode="after")
    def _cost_is_known(self) -> Self:
        if self.max_cost is not None and self.prices is None:
            raise ValueError("max_cost needs prices: {input_per_million = 0.15, output_per_million = 0.6}")
        return self

    @property
    def shown_name(self) -> str:
        """Its name in the report."""
        return self.name or self.model.rpartition("/")[2]

    @property
    def base_url(self) -> str:
        """The address below which the paths of the interface are, with its version."""
        url = self.url.rstrip("/").removesuffix("/chat/completions")
        last = url.rpartition("/")[2]
        return url if last[:1] == "v" and last[1:].isdecimal() else f"{url}/v1"
