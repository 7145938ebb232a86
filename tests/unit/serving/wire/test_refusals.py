import json

import pytest

from limbeck.serving.wire.refusals import Faults, Refused, refusal_body


@pytest.mark.parametrize("path", ["/model", "/models", "/metrics", "/wp-admin", "/v1beta", "/predict/x", "/v22"])
def test_our_own_addresses_refuse_with_a_detail(path: str) -> None:
    assert refusal_body(path, 404, "not here") == b'{"detail":"not here"}'


@pytest.mark.parametrize("path", ["/", "/predict", "/info", "/models/some-name/predict"])
@pytest.mark.parametrize(
    ("status", "kind"), [(422, "Validation"), (429, "Overloaded"), (503, "Unhealthy"), (500, "Backend")]
)
def test_addresses_of_hugging_face_refuse_with_an_error_and_its_type(path: str, status: int, kind: str) -> None:
    found = json.loads(refusal_body(path, status, "so it is"))

    assert found == {"error": "so it is", "error_type": kind, "detail": "so it is"}


@pytest.mark.parametrize("path", ["/v1/classify", "/classify", "/v1/models"])
@pytest.mark.parametrize(
    ("status", "kind"), [(422, "BadRequestError"), (404, "NotFoundError"), (500, "InternalServerError")]
)
def test_addresses_of_vllm_refuse_with_an_object(path: str, status: int, kind: str) -> None:
    found = json.loads(refusal_body(path, status, "so it is"))

    assert found["error"] == {"message": "so it is", "type": kind, "param": None, "code": status}
    assert found["detail"] == "so it is"


@pytest.mark.parametrize("path", ["/v2", "/v2/models/some-name/infer", "/v2/health/ready"])
def test_addresses_of_kserve_refuse_with_an_error(path: str) -> None:
    assert refusal_body(path, 400, "so it is") == b'{"error":"so it is"}'


def test_a_refusal_is_short_and_readable_whatever_it_names() -> None:
    refused = Refused(422, "\ud800" * 1_000, headers={"retry-after": "1"})

    assert refused.detail == "�" * 600
    assert refused.headers == {"retry-after": "1"}
    assert refusal_body("/predict", 422, refused.detail)


def test_a_million_faults_are_counted_and_three_are_shown() -> None:
    faults = Faults()
    for number in range(1_000_000):
        faults.note(f"texts[{number}]", "wrong")

    with pytest.raises(Refused, match=r"texts\[0\]: wrong, texts\[1\]: wrong, texts\[2\]: wrong … and 999,997 more"):
        faults.refuse_any()
