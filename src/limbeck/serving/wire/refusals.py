"""A refusal, and its JSON in the manner of the address that refuses."""

import re
from collections.abc import Mapping

from pydantic_core import to_json

from limbeck.errors import some
from limbeck.text.readable import readable

MOST_CHARACTERS_OF_A_REASON = 600
MOST_FAULTS_SHOWN = 3
KSERVE = re.compile(r"/v2(/|\Z)")
VLLM = re.compile(r"/(v1/|classify\Z)")
TEI = re.compile(r"/(\Z|info\Z|predict\Z|models/[^/]+/predict\Z)")
# What clients distinguish; any other status is a fault of the request or of the server.
TEI_TYPES = {424: "Backend", 429: "Overloaded", 503: "Unhealthy"}
VLLM_TYPES = {401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError", 503: "ServiceUnavailableError"}


class Refused(Exception):
    """The request is refused with this status and sentence."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.detail = readable(
            detail, most_characters=MOST_CHARACTERS_OF_A_REASON
        )  # a key may be long, or half an emoji
        self.headers = dict(headers or {})
        super().__init__(self.detail)


class Faults:
    """Counts the faults of a body and keeps the first few, so that a million of them cost no memory."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._count = 0

    def note(self, place: str, sentence: str) -> None:
        """One more fault."""
        self._count += 1
        if len(self._shown) < MOST_FAULTS_SHOWN:
            shown = readable(place, most_characters=MOST_CHARACTERS_OF_A_REASON // MOST_FAULTS_SHOWN)
            self._shown.append(f"{shown}: {sentence}" if shown else sentence)

    def refuse_any(self) -> None:
        """Raise Refused with the first faults and the number of the others, if there are any."""
        if self._count:
            more = self._count - len(self._shown)
            first = some(self._shown, most=MOST_FAULTS_SHOWN)
            raise Refused(422, f"{first} … and {more:,} more" if more else first)


def refusal_body(path: str, status: int, detail: str) -> bytes:
    """The JSON of a refusal, as clients of this address expect it; `detail` is there in every form but KServe's."""
    if KSERVE.match(path):
        return to_json({"error": detail})
    if VLLM.match(path):
        error = {"message": detail, "type": _type_of(status, VLLM_TYPES, "BadRequestError", "InternalServerError")}
        return to_json({"error": {**error, "param": None, "code": status}, "detail": detail})
    if TEI.match(path):
        return to_json(
            {"error": detail, "error_type": _type_of(status, TEI_TYPES, "Validation", "Backend"), "detail": detail}
        )
    return to_json({"detail": detail})


def _type_of(status: int, types: Mapping[int, str], of_request: str, of_server: str) -> str:
    return types.get(status, of_request if status < 500 else of_server)
