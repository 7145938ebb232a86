import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import LimbeckError, PathUnusable
from limbeck.serving.access import (
    Access,
    AccessSettings,
    ApiKeys,
    HostNames,
    KeysUnusable,
    OriginUnusable,
    default_hosts,
    read_keys,
)

KEY, OTHER = "a-key-of-the-first-team", "a-key-of-the-second-team"
PAGE_ELSEWHERE = "https://app.example.com"


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answers everything with its id."""
    del receive
    headers = [(b"content-type", b"application/json")]
    if scope["path"] == "/cached":
        headers.append((b"cache-control", b"max-age=60"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(scope["state"]["request_id"]).encode()})


class Answer:
    """What a client sees."""

    def __init__(self, messages: list[Any]) -> None:
        self.status = messages[0]["status"]
        self.pairs = [(name.decode(), value.decode()) for name, value in messages[0]["headers"]]
        self.headers = dict(self.pairs)
        self.body = messages[1]["body"]

    @property
    def detail(self) -> str:
        return str(json.loads(self.body)["detail"])


def ask(
    settings: AccessSettings, path: str = "/predict", *, method: str = "POST", hosts: int = 1, **headers: str
) -> Answer:
    """The answer to a request with these headers (underscores are hyphens)."""
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    if "host" not in headers:
        pairs += [(b"host", b"localhost:8000")] * hosts
    scope = {"type": "http", "path": path, "method": method, "headers": pairs, "http_version": "1.1"}
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    async def receive() -> Any:
        raise AssertionError("who may not ask is not listened to")

    asyncio.run(Access(application, settings)(scope, receive, send))
    return Answer(messages)


def keys_of(folder: Path, text: str, *, mode: int = 0o600) -> ApiKeys:
    path = folder / "keys.txt"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return read_keys(path)


@pytest.fixture
def locked(tmp_path: Path) -> AccessSettings:
    return AccessSettings(keys=keys_of(tmp_path, f"# the teams\n{KEY}\n\n  {OTHER}  \n"))


# Keys


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_each_key_opens_in_both_headers(locked: AccessSettings, key: str) -> None:
    assert ask(locked, authorization=f"Bearer {key}").status == 200
    assert ask(locked, authorization=f"bearer  {key} ").status == 200
    assert ask(locked, x_api_key=key).status == 200
    assert ask(locked, authorization="Bearer hf_some_token_of_another_place", x_api_key=key).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {KEY}"},
        {"authorization": KEY},
        {"authorization": f"Bearer {KEY}x"},
        {"authorization": f"Bearer {KEY[:-1]}"},
        {"authorization": f"Bearer {KEY.upper()}"},
        {"x_api_key": ""},
        {"x_api_key": f"{KEY}{OTHER}"},
        {"x_api_key": "# the teams"},
    ],
)
def test_without_a_right_key_it_is_401(locked: AccessSettings, headers: dict[str, Any]) -> None:
    answer = ask(locked, **headers)

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "key" in answer.detail
    assert KEY not in answer.detail


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/health", "/v2/health/live", "/v2/health/ready", "/"])
def test_health_and_the_page_need_no_key(locked: AccessSettings, path: str) -> None:
    assert ask(locked, path, method="GET").status == 200
    assert ask(locked, path, method="HEAD").status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", path) for path in ("/metrics", "/model", "/v1/models", "/v2/models/a/ready", "/openapi.json")),
        *(("GET", path) for path in ("/health/", "//health", "/livez/../predict", "/unknown")),
        *(("POST", path) for path in ("/", "/predict", "/v1/classify")),
        ("OPTIONS", "/"),
    ],
)
def test_all_else_needs_a_key(locked: AccessSettings, method: str, path: str) -> None:
    """Also POST /, where Hugging Face's client asks."""
    assert ask(locked, path, method=method).status == 401


def test_metrics_may_be_opened(locked: AccessSettings) -> None:
    settings = AccessSettings(keys=locked.keys, open_metrics=True)

    assert ask(settings, "/metrics", method="GET").status == 200
    assert ask(settings, "/model", method="GET").status == 401


def test_a_file_without_keys_and_short_keys_are_refused(tmp_path: Path) -> None:
    for text, reason in [
        ("", "no key"),
        ("# only a remark\n\n", "no key"),
        (f"{KEY}\nshort\n", "line 2: fewer than 16"),
        (f"{KEY} {OTHER}\n", "line 1: a space"),
        ("schlüssel-der-ersten-gruppe\n", "line 1"),
    ]:
        with pytest.raises(KeysUnusable, match=reason) as refused:
            keys_of(tmp_path, text)
        assert KEY not in str(refused.value)
        assert "short\n" not in str(refused.value)


def test_a_file_of_keys_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "binary"):
        with pytest.raises(PathUnusable):
            read_keys(path)


def test_a_file_of_keys_that_others_can_read_is_warned_about(tmp_path: Path) -> None:
    assert keys_of(tmp_path, KEY).warning is None
    warning = keys_of(tmp_path, KEY, mode=0o644).warning

    assert warning is not None
    assert "chmod 600" in warning


def test_keys_are_not_shown(locked: AccessSettings) -> None:
    assert KEY not in repr(locked)
    assert locked.keys.hashes[0].hex() not in repr(locked)
    assert repr(locked.keys.hashes[0]) not in repr(locked)


# Host names


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_on_loopback_only_its_names_are_answered(host: str) -> None:
    settings = AccessSettings(hosts=default_hosts(host))

    for name in ("localhost", "localhost:8000", "LOCALHOST:80", "127.0.0.1:9", "[::1]:8000", "[::1]", "localhost."):
        assert ask(settings, host=name).status == 200, name
    for name in ("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io", "", "localhost@a"):
        refused = ask(settings, host=name)
        assert refused.status == 421, name
        assert "evil" not in refused.detail


def test_on_every_network_all_names_are_answered_unless_listed() -> None:
    assert default_hosts("0.0.0.0") == default_hosts("192.0.2.1") == default_hosts("models.example") == ("*",)
    names = HostNames(["models.example.com", "other.example:8000", "*.internal"])

    assert all(names.have(name) for name in (b"models.example.com", b"models.example.com:1", b"other.example:8000"))
    assert all(names.have(name) for name in (b"a.internal", b"a.b.INTERNAL:80"))
    assert not any(names.have(name) for name in (b"other.example", b"other.example:80", b"internal", b"xinternal", b""))


def test_probes_may_ask_by_any_name() -> None:
    """Kubernetes asks for the address of the pod."""
    settings = AccessSettings(hosts=("models.example.com",))

    assert ask(settings, "/livez", method="GET", host="10.0.0.7:8000").status == 200
    assert ask(settings, "/metrics", method="GET", host="10.0.0.7:8000").status == 421


@pytest.mark.parametrize("hosts", [0, 2])
def test_a_request_has_one_host(hosts: int) -> None:
    assert ask(AccessSettings(), hosts=hosts).status == 400


# Pages of other sites


def test_no_page_of_another_site_may_read_unless_listed() -> None:
    answer = ask(AccessSettings(), origin=PAGE_ELSEWHERE)

    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control") or name == "vary"]
    assert (
        ask(AccessSettings(), method="OPTIONS", origin=PAGE_ELSEWHERE, access_control_request_method="POST").status
        == 403
    )


def test_a_listed_origin_may_read_and_its_browser_ask_first_without_a_key(locked: AccessSettings) -> None:
    settings = AccessSettings(keys=locked.keys, origins=(PAGE_ELSEWHERE,))

    first = ask(settings, method="OPTIONS", origin=PAGE_ELSEWHERE, access_control_request_method="POST")
    then = ask(settings, origin=PAGE_ELSEWHERE, x_api_key=KEY)
    refused = ask(settings, origin=PAGE_ELSEWHERE)
    other = ask(settings, origin="https://evil.example", x_api_key=KEY)
    asked_first = ask(settings, method="OPTIONS", origin="null", access_control_request_method="POST")

    assert (first.status, first.body) == (204, b"")
    assert "x-api-key" in first.headers["access-control-allow-headers"]
    assert {answer.headers["access-control-allow-origin"] for answer in (first, then, refused)} == {PAGE_ELSEWHERE}
    assert [answer.status for answer in (then, refused, other, asked_first)] == [200, 401, 200, 403]
    assert "access-control-allow-origin" not in {**other.headers, **asked_first.headers}
    assert {answer.headers["vary"] for answer in (first, then, refused, other, asked_first)} == {"origin"}


@pytest.mark.parametrize(
    "origin", ["*", "null", "app.example.com", "https://a.example/", "https://*.example", "file://", ""]
)
def test_what_is_not_the_origin_of_one_site_cannot_be_listed(origin: str) -> None:
    with pytest.raises(OriginUnusable, match="scheme, host"):
        AccessSettings(origins=(PAGE_ELSEWHERE, origin))
    assert issubclass(OriginUnusable, LimbeckError)


# Headers


@pytest.mark.parametrize("number", ["abc-123", "a", "0b6f9c9e-8c1d-4b7e-9d0e-1b2c3d4e5f60", "x" * 64])
def test_a_plain_id_is_kept(number: str) -> None:
    answer = ask(AccessSettings(), x_request_id=number)

    assert answer.headers["x-request-id"] == json.loads(answer.body) == number


@pytest.mark.parametrize("number", ["", "x" * 65, "a b", "a\r\nset-cookie: b", '"', "é"])
def test_another_id_is_replaced(number: str) -> None:
    answers = [ask(AccessSettings(), x_request_id=number) for _ in range(2)]

    assert answers[0].headers["x-request-id"] != answers[1].headers["x-request-id"] != number


def test_refusals_have_an_id_too(locked: AccessSettings) -> None:
    assert ask(locked, x_request_id="mine").headers["x-request-id"] == "mine"


def test_answers_are_not_kept_and_not_guessed_at(locked: AccessSettings) -> None:
    for answer in (ask(AccessSettings()), ask(locked), ask(AccessSettings(), "/", method="GET")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert ask(AccessSettings(), "/", method="GET").headers["x-frame-options"] == "DENY"
    assert [value for name, value in ask(AccessSettings(), "/cached").pairs if name == "cache-control"] == [
        "max-age=60"
    ]


def test_what_is_not_a_request_passes() -> None:
    seen: list[Any] = []

    async def app(scope: Any, *_: Any) -> None:
        seen.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        return None

    asyncio.run(Access(app, AccessSettings())({"type": "lifespan"}, nothing, nothing))
    assert seen == ["lifespan"]
