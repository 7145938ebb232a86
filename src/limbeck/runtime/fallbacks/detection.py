"""Which format a server speaks: found out by asking it, before the first text is sent."""

from typing import Any, Literal

from limbeck.runtime.fallbacks.connections import RefusedByServer, Server
from limbeck.runtime.fallbacks.fallback import FallbackFailed, FallbackUnusable

FormatName = Literal["limbeck", "tei", "hf", "vllm", "kserve", "openai"]
# Addresses that people copy: what is left out of them, and the format that they belong to.
ENDINGS: dict[str, FormatName | None] = {
    "/v1/chat/completions": "openai",
    "/v1/classify": "vllm",
    "/classify": "vllm",
    "/predict": None,
    "/v1": None,
    "/v2": "kserve",
}
NEEDS_KEY = (401, 403)


def without_ending(url: str) -> tuple[str, FormatName | None]:
    """The address of the server alone, and the format that the rest of the address names."""
    plain = url.rstrip("/")
    for ending, format in ENDINGS.items():
        if plain.endswith(ending):
            return plain.removesuffix(ending), format
    return plain, None


def detected(server: Server) -> FormatName:
    """The format of this server. Raises FallbackUnusable if nobody answers, or not in a way that is known."""
    try:
        found = _detected(server)
    except FallbackFailed as error:
        is_locked = isinstance(error, RefusedByServer) and error.status in NEEDS_KEY
        raise FallbackUnusable(
            name=server.url,
            reason=f"it is not known which format it speaks: {error.reason}",
            advice="Put its key into an environment variable, and give the name of that with --fallback-key-from."
            if is_locked
            else "Start it first; or say its format with --fallback-format: then it is asked only once it is needed.",
        ) from error
    if found is None:
        reason = "it answers at none of /model, /info, /v2/health/live and /v1/models as a known server does"
        advice = "Say its format with --fallback-format: limbeck, tei, hf, vllm, kserve or openai."
        raise FallbackUnusable(name=server.url, reason=reason, advice=advice)
    return found


def _detected(server: Server) -> FormatName | None:
    if {"labels", "max_rows"} <= _table(server, "/model").keys():
        return "limbeck"
    if "classifier" in _keys(_table(server, "/info").get("model_type")):
        return "tei"
    if server.has("/v2/health/live"):
        return "kserve"
    if isinstance(_table(server, "/v1/models").get("data"), list):
        return "vllm" if _classifies(server) else "openai"
    return None


def models_of(server: Server) -> list[str]:
    """The names that `GET /v1/models` lists. Raises FallbackFailed."""
    data = _table(server, "/v1/models").get("data")
    listed = data if isinstance(data, list) else []
    return [one["id"] for one in listed if isinstance(one, dict) and isinstance(one.get("id"), str)]


def _classifies(server: Server) -> bool:
    """Whether a server of vLLM has a classifier, not a language model: it lists both in the same way."""
    try:
        names = models_of(server)
        answer = server.post("/classify", {"input": ["a"]} | ({"model": names[0]} if names else {}))
        return "probs" in _keys(answer["data"][0])
    except (FallbackFailed, KeyError, IndexError, TypeError):
        return False


def _table(server: Server, path: str) -> dict[str, Any]:
    """What is there, if it is a table; raises FallbackFailed if nobody answers, or only to those who have a key."""
    try:
        found = server.get(path)
    except RefusedByServer as error:
        if error.status in NEEDS_KEY:
            raise
        return {}
    except FallbackFailed as error:
        if error.reason.endswith("not JSON"):
            return {}
        raise
    return found if isinstance(found, dict) else {}


def _keys(value: Any) -> set[str]:
    return set(value) if isinstance(value, dict) else set()
