"""Pages of other origins."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.cors import CORSHandler, compile_origins
from simkit.engine.http.request_state import ExecutionMode
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request, Response

ALLOWED = compile_origins([r"^https://.*\.example$", r"//localhost:"])
ORIGIN = "Access-Control-Allow-Origin"


def asked(origin: str, method: str = "GET", cluster: Cluster | None = None) -> Response:
    engine = CORSHandler(APIServerHandler((cluster or Cluster(seed=1)).engine), ALLOWED)
    request = Request.of(method, "/version", headers={"origin": origin} if origin else {})
    assert engine.execution_mode(request) is ExecutionMode.INLINE
    answer = engine.answer(request)
    assert isinstance(answer, Response)
    return answer


@pytest.mark.parametrize("origin", ["https://a.example", "http://localhost:3000"])
def test_allowed_origins(origin: str) -> None:
    """Their pages may read answers; what they may do is another question."""
    answer = asked(origin)
    assert answer.status == 200
    headers = dict(answer.headers)
    assert (headers[ORIGIN], headers["Access-Control-Allow-Credentials"]) == (origin, "true")
    before = asked(origin, "OPTIONS")
    assert (before.status, before.body, dict(before.headers)[ORIGIN]) == (204, b"", origin)


@pytest.mark.parametrize("origin", ["", "https://a.example.evil", "http://a.example", "null", "http://localhost.evil"])
def test_other_origins(origin: str) -> None:
    """Other pages learn nothing, and their questions are requests like any other."""
    assert ORIGIN not in dict(asked(origin).headers)
    assert asked(origin, "OPTIONS").status == 403


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(", "does not compile"),
        ("a.example$", "does not pin to start of host"),
        ("^https://a.example", "does not pin to end of host"),
    ],
)
def test_loose_expressions(text: str, why: str) -> None:
    """An expression that would fit more than its writer thinks is refused."""
    with pytest.raises(SimkitError, match=why):
        compile_origins([text])
