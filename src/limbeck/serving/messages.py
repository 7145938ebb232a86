"""What travels over HTTP: questions in, answers out, as the OpenAPI page shows them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

Milliseconds = Annotated[
    float, Field(description="Time the model took, from text to probabilities, without the network.")
]


class Strict(BaseModel):
    """A question with a key that nobody reads is a mistake, and is told so."""

    model_config = ConfigDict(extra="forbid")


class TextRow(Strict):
    """One row to classify."""

    text: str
    pair: str | None = Field(default=None, description="The second text, for models of pairs and only for them.")


class Question(Strict):
    """Texts to classify; for a model of pairs, rows."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": ["a gorgeous, witty film"]}]})

    texts: list[str] | None = Field(default=None, description="Texts, for models that read one text per row.")
    rows: list[TextRow] | None = Field(default=None, description="Rows of a text and, for models of pairs, a second.")

    @model_validator(mode="after")
    def _either_texts_or_rows(self) -> "Question":
        if (self.texts is None) == (self.rows is None):
            raise ValueError("give either 'texts' or 'rows'")
        return self


class Prediction(BaseModel):
    """What the model says about one row."""

    label: str = Field(description="The most probable label.")
    probabilities: dict[str, float] = Field(description="The probability of each label; together they are 1.")


class MultiLabelPrediction(BaseModel):
    """What a model says about one row that may have several labels, or none."""

    labels: list[str] = Field(description="Every label with a probability of 0.5 or more; maybe none.")
    probabilities: dict[str, float] = Field(description="The probability of each label, whatever the others are.")


class Answer(BaseModel):
    """What the model says about every row, in the order of the question."""

    predictions: list[Prediction]
    milliseconds: Milliseconds


class MultiLabelAnswer(BaseModel):
    """What a model whose rows may have several labels says about every row, in the order of the question."""

    predictions: list[MultiLabelPrediction]
    milliseconds: Milliseconds


class Health(BaseModel):
    """Whether questions will be answered, and by what."""

    ready: bool
    model: str = Field(description="Name of the model.")
    version: str = Field(description="Version of Limbeck.")


class Model(BaseModel):
    """What is known about the model, and how much one request may ask of it."""

    name: str
    kind: str
    precision: str
    labels: list[str]
    language: str
    pair: bool = Field(description="Whether a row is a pair of texts.")
    multi_label: bool = Field(description="Whether a row may have several labels, or none.")
    max_length: int = Field(description="Tokens of a text that are read; what comes behind them is cut off.")
    parameters: int
    parameters_without_embeddings: int
    engine: str = Field(description="What runs the network: onnxruntime, or native code for this kind of processor.")
    size_mb: float = Field(description="The model's files, in millions of bytes.")
    max_rows: int = Field(description="Rows that one request may hold.")
    max_characters: int = Field(description="Characters that one text may hold.")


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str
