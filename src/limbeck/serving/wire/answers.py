"""What the addresses answer, for /openapi.json. The answers themselves are written without these classes: 10 times
faster for a thousand rows of 150 labels."""

from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel


class ExplainedPiece(BaseModel):
    """A piece of a text and what it moved."""

    piece: str
    effect: float = Field(description="How much it speaks for the label; negative: against it.")


class ExplainedPair(BaseModel):
    """The pieces of both texts of a row."""

    text: list[ExplainedPiece]
    pair: list[ExplainedPiece]


class PredictedRow(BaseModel):
    """Keys of a prediction that are there only sometimes."""

    probabilities: dict[str, float] = Field(
        description="The probability of each label: they sum to 1 or, if a row may have several, are independent."
    )
    answered_by: Literal["student", "fallback"] = Field(
        default="student", description="Only where there is a fallback."
    )
    explanation: list[ExplainedPiece] | ExplainedPair = Field(
        default=[], description="Only if asked for with `explain`."
    )


class LabelledRow(PredictedRow):
    """The prediction for one row."""

    label: str | None = Field(
        description="The most probable label; null, or the answer that its recipe names, where the model abstains."
    )
    score: float = Field(default=1.0, description="How sure the model is; only of a model that may abstain.")


class MultiLabelledRow(PredictedRow):
    """The prediction for one row that may have several labels, or none."""

    labels: list[str] = Field(description="Every label with a probability of 0.5 or more; possibly none.")


class PredictAnswer(BaseModel):
    """The predictions for all rows, in the order of the request."""

    predictions: list[LabelledRow]
    milliseconds: float = Field(description="Time the model took, from text to probabilities, without the network.")
    note: str = Field(default="", description="Only if the fallback could not be asked: why the student answered.")


class MultiLabelPredictAnswer(BaseModel):
    """The predictions for all rows of a multi-label model, in the order of the request."""

    predictions: list[MultiLabelledRow]
    milliseconds: float = Field(description="Time the model took, from text to probabilities, without the network.")
    note: str = Field(default="", description="Only if the fallback could not be asked: why the student answered.")


class ScoredRow(BaseModel):
    """The prediction for one row by a model of scores."""

    score: float = Field(description="In the units, and the range, of the model's training.")
    explanation: list[ExplainedPiece] | ExplainedPair = Field(
        default=[], description="Only if asked for with `explain`."
    )


class ScorePredictAnswer(BaseModel):
    """The scores of all rows by a model of scores, in the order of the request."""

    predictions: list[ScoredRow]
    milliseconds: float = Field(description="Time the model took, from text to score, without the network.")


class LabelScore(BaseModel):
    """A label and its probability, or its logit if that was asked for; null with the score of a model that abstains."""

    label: str | None
    score: float


class HuggingFaceAnswer(RootModel[list[list[LabelScore]]]):
    """Per row the labels, the best first."""


class TeiAnswer(RootModel[list[LabelScore] | list[list[LabelScore]]]):
    """The labels of one row, the best first; for a list of rows, such a list for each."""


class ClassifierLabels(BaseModel):
    """The labels by their numbers, and the numbers by the labels."""

    id2label: dict[str, str]
    label2id: dict[str, int]


class ModelKind(BaseModel):
    """What the model does: it is always a classifier."""

    classifier: ClassifierLabels


class InfoAnswer(BaseModel):
    """What TEI tells about its model."""

    model_id: str
    model_sha: str | None
    model_dtype: str
    model_type: ModelKind
    max_concurrent_requests: int
    max_input_length: int
    max_batch_tokens: int
    max_batch_requests: int | None
    max_client_batch_size: int
    auto_truncate: bool
    tokenization_workers: int
    version: str
    sha: str | None
    docker_label: str | None


class ClassifiedText(BaseModel):
    """One row as vLLM answers it."""

    index: int
    label: str | None = Field(description="Null, or the answer that its recipe names, where the model abstains.")
    probs: list[float]
    num_classes: int
    score: float = Field(default=1.0, description="How sure the model is; only of a model that may abstain.")
    answered_by: Literal["student", "fallback"] = Field(
        default="student", description="Only where there is a fallback."
    )


class TokenUsage(BaseModel):
    """Tokens that were read; 0 if they were not counted."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int
    prompt_tokens_details: None


class ClassifyAnswer(BaseModel):
    """All rows as vLLM answers them."""

    id: str
    object: Literal["list"]
    created: int
    model: str
    data: list[ClassifiedText]
    usage: TokenUsage


class ServedModelCard(BaseModel):
    """A model in the list of OpenAI-like servers."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    root: str
    parent: str | None
    max_model_len: int
    permission: list[Any]


class ModelListAnswer(BaseModel):
    """The models of this server, the default one first."""

    object: Literal["list"]
    data: list[ServedModelCard]


class OutputTensor(BaseModel):
    """An output of the Open Inference Protocol: with `data`, or with its size after the JSON in `parameters`."""

    name: str
    datatype: Literal["BYTES", "FP32"]
    shape: list[int]
    data: list[str] | list[float] = []
    parameters: dict[str, int] = {}


class InferAnswer(BaseModel):
    """The outputs that were asked for."""

    model_name: str
    model_version: str = ""
    id: str = ""
    parameters: dict[str, int] = Field(default={}, description="`answered_by_fallback`, where there is a fallback.")
    outputs: list[OutputTensor]


class TensorMetadata(BaseModel):
    """A tensor a model takes or gives; a size of -1 is the number of rows."""

    name: str
    datatype: str
    shape: list[int]
    parameters: dict[str, Any] = {}


class ModelMetadata(BaseModel):
    """What the Open Inference Protocol tells about a model."""

    name: str
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]


class ServerMetadata(BaseModel):
    """What the Open Inference Protocol tells about a server."""

    name: str
    version: str
    extensions: list[str]


class ModelReadiness(BaseModel):
    """Whether a model can answer."""

    name: str
    ready: bool


class ServerReadiness(BaseModel):
    """Whether the server can answer."""

    ready: bool


class ServerLiveness(BaseModel):
    """Whether the server runs."""

    live: bool


class OwnRefusal(BaseModel):
    """Why a request was refused."""

    detail: str


class TeiRefusal(OwnRefusal):
    """Why a request was refused, also as clients of TEI read it."""

    error: str
    error_type: Literal["Unhealthy", "Backend", "Overloaded", "Validation"]


class OpenAIError(BaseModel):
    """Why a request was refused, as clients of OpenAI-like servers read it."""

    message: str
    type: str
    param: None
    code: int


class ClassifyRefusal(OwnRefusal):
    """Why a request was refused, also as clients of vLLM read it."""

    error: OpenAIError


class InferRefusal(BaseModel):
    """Why a request was refused, as clients of KServe read it."""

    error: str


BY_ADDRESS: dict[str, tuple[str, ...]] = {
    "/predict": ("PredictAnswer", "TeiAnswer"),
    "/models/{name}/predict": ("PredictAnswer", "TeiAnswer"),
    "/": ("HuggingFaceAnswer",),
    "/info": ("InfoAnswer",),
    "/v1/classify": ("ClassifyAnswer",),
    "/classify": ("ClassifyAnswer",),
    "/v1/models": ("ModelListAnswer",),
    "/v2": ("ServerMetadata",),
    "/v2/health/live": ("ServerLiveness",),
    "/v2/health/ready": ("ServerReadiness",),
    "/v2/models/{name}": ("ModelMetadata",),
    "/v2/models/{name}/ready": ("ModelReadiness",),
    "/v2/models/{name}/infer": ("InferAnswer",),
}
ANSWERS: tuple[type[BaseModel], ...] = (
    PredictAnswer, MultiLabelPredictAnswer, ScorePredictAnswer, HuggingFaceAnswer, TeiAnswer, InfoAnswer,
    ClassifyAnswer, ModelListAnswer,
    ServerMetadata, ServerLiveness, ServerReadiness, ModelMetadata, ModelReadiness, InferAnswer,
)  # fmt: skip
# By the start of the address, the first that fits.
REFUSALS: dict[str, type[BaseModel]] = {
    "/predict": TeiRefusal,
    "/models/{name}/predict": TeiRefusal,
    "/info": TeiRefusal,
    "/v1/": ClassifyRefusal,
    "/classify": ClassifyRefusal,
    "/v2": InferRefusal,
    "/": OwnRefusal,
}
