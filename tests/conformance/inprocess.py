"""A server in the same process for recorded conversations: no sockets, and time that passes when it is waited for."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from simkit.cluster.control_plane import ControlPlane, fresh
from simkit.cluster.options import Options
from simkit.cluster.parts import object_getter
from simkit.engine.authn.options import AuthenticationOptions, build
from simkit.engine.authn.serviceaccount import DEFAULT_ISSUER
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.asgi import Application
from simkit.engine.http.loop_turns import WorkerThreads
from simkit.engine.http.request_state import Work
from simkit.engine.http.server import ServingOptions
from simkit.meta.clock import SimulatedClock
from simkit.schema.feature_gates import known
from tests.conformance.conversation import Answer, compared_headers, with_token
from tests.releases import BASE

TOKENS: Final = 'admin-token,admin,admin-uid,"system:masters"\nalice-token,alice,alice-uid,"devs"\n'
ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
"""Of service account tokens, in all recordings but the first."""
_GATES_OF_KINDS: Final = (
    "ClusterTrustBundle",
    "CoordinatedLeaderElection",
    "DRADeviceTaintRules",
    "DRADeviceTaints",
    "DRAResourcePoolStatus",
    "GangScheduling",
    "GenericWorkload",
    "MutatingAdmissionPolicy",
    "PodCertificateRequest",
    "StorageVersionAPI",
    "StorageVersionMigrator",
)
"""The gates of kinds that are off by default."""
_WORKER_SECONDS: Final = 0.01
"""How long the loop waits for a worker thread before it looks again."""
_REQUEST_SECONDS: Final = 0.02
"""How long a request takes."""
_SMALLEST_STEP: Final = 0.001
"""Seconds by which the clock is turned at least: sums of seconds since 1970 are exact to a millionth."""


class _Hurried(selectors.DefaultSelector):
    """A selector that turns a clock forward instead of waiting."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__()
        self._clock = clock
        self.workers = 0
        """Calls that run on worker threads, for which there is a true wait."""

    def select(self, timeout: float | None = None) -> Any:
        if self.workers or timeout is None:
            return super().select(_WORKER_SECONDS)
        ready = super().select(0)
        if not ready and timeout > 0:
            self._clock.advance(max(timeout, _SMALLEST_STEP))
        return ready


class HurriedLoop(asyncio.SelectorEventLoop):
    """An event loop on a simulated clock: when nothing is left to do, the clock goes on to the next timer.

    Examples
    --------
    >>> loop = HurriedLoop(SimulatedClock(start=0))
    >>> loop.run_until_complete(asyncio.sleep(3600))
    >>> loop.time() >= 3600
    True
    >>> loop.close()
    """

    def __init__(self, clock: SimulatedClock) -> None:
        self._simulated, self._begin, self._hurried = clock, clock.now(), _Hurried(clock)
        super().__init__(self._hurried)

    def time(self) -> float:
        return self._simulated.now() - self._begin

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        future = super().run_in_executor(executor, func, *args)
        self._hurried.workers += 1
        future.add_done_callback(self._returned)
        return future

    def waited_for(self, work: Future[Any]) -> Future[Any]:
        """A call on a worker thread, before whose result is there no time passes."""
        told: Future[Any] = Future()
        self._hurried.workers += 1
        told.add_done_callback(self._returned)
        work.add_done_callback(lambda _: self.call_soon_threadsafe(_tell, work, told))
        return told

    def _returned(self, _: object) -> None:
        self._hurried.workers -= 1


def _tell(work: Future[Any], told: Future[Any]) -> None:
    error = work.exception()
    if error is not None:
        told.set_exception(error)
    else:
        told.set_result(work.result())


class _Watched(WorkerThreads):
    """Worker threads on which a hurried loop waits."""

    def __init__(self, loop: HurriedLoop) -> None:
        super().__init__()
        self._loop = loop

    def start(self, work: Work) -> Future[Any] | None:
        """Have a step run as soon as there is a thread."""
        future = super().start(work)
        return None if future is None else self._loop.waited_for(future)


class InProcess:
    """A server that is called through its ASGI application."""

    def __init__(self, made: ControlPlane, clock: SimulatedClock) -> None:
        self._control_plane, self._clock = made, clock
        self._application = Application(
            APIServerHandler(made.engine), compress=made.engine.gate("APIResponseCompression")
        )
        self._loop = HurriedLoop(clock)
        self._application.close()
        self._application._threads = _Watched(self._loop)

    def close(self) -> None:
        """Let go of threads and the loop."""
        self._application.close()
        self._loop.close()

    def wait(self, seconds: float) -> None:
        """Turn the clock forward; the controllers do what is due by then."""
        self._clock.advance(seconds)
        self._control_plane.runner.settle()

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, *, user: str) -> Answer:
        """The answer to a request; the controllers come to rest before it is given."""
        sent = [("host", "localhost"), *with_token(headers, user).items()]
        if not any(name.lower() == "accept-encoding" for name in headers):
            sent.append(("accept-encoding", "identity"))
        if body is not None or method in ("POST", "PUT", "PATCH"):
            sent.append(("content-length", str(len(body or b""))))
        self._clock.advance(_REQUEST_SECONDS)
        answer = self._loop.run_until_complete(self._exchange(method, path, sent, body or b""))
        self._control_plane.runner.settle()
        return answer

    async def _exchange(self, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        raw, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(raw),
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
            "client": ("127.0.0.1", 40000),
        }
        inbox: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        inbox.put_nowait({"type": "http.request", "body": body, "more_body": False})
        sent: list[Mapping[str, Any]] = []

        async def send(message: Mapping[str, Any]) -> None:
            sent.append(message)

        await self._application(scope, inbox.get, send)
        answered = [(name.decode(), value.decode("latin-1")) for name, value in sent[0]["headers"]]
        return Answer(sent[0]["status"], compared_headers(answered), b"".join(part["body"] for part in sent[1:]))


def release_of(bundle: str) -> str:
    """The release of the server that a recording was made with."""
    return bundle.partition("-")[0]


def controllers_of(area: str) -> Sequence[str]:
    """The controllers that ran while an area was recorded: all, or none."""
    return ("*", "bootstrapsigner", "tokencleaner") if area == "controllers" else ()


def plugins_off(bundle: str) -> Sequence[str]:
    """The admission plugins that the recorded server did not have."""
    return ("ServiceAccount",) if bundle.endswith(("-explored", "-enabled")) else ()


def feature_gates(bundle: str) -> Mapping[str, bool]:
    """The feature gates that were set on the recorded server: where all versions were enabled, those of their kinds."""
    there = known(release_of(bundle))
    return {gate: True for gate in _GATES_OF_KINDS if gate in there} if bundle.endswith("-enabled") else {}


def runtime_config(bundle: str) -> Mapping[str, bool]:
    """The API versions that were enabled on the recorded server beyond its defaults."""
    return {"api/all": True} if bundle.endswith("-enabled") else {}


def has_bootstrap_tokens(bundle: str, area: str) -> bool:
    """True if the recorded server knew bootstrap tokens."""
    return bundle != "1.30" or area == "controllers"


@contextmanager
def serving(folder: Path, bundle: str, area: str, without: Sequence[str] = ()) -> Iterator[InProcess]:
    """A server set up as the recorded one was, but for some admission plugins; its tokens and certificates are written
    to a folder."""
    tokens = folder / "tokens.csv"
    tokens.write_text(TOKENS)
    clock = SimulatedClock()
    identities = ServingOptions(certificate_folder=folder / "certificates").identities(clock)
    options = Options(
        release=release_of(bundle),
        runtime_config=runtime_config(bundle),
        feature_gates=feature_gates(bundle),
        clock=clock,
        controllers=controllers_of(area),
        disable_admission_plugins=without or plugins_off(bundle),
        cluster_signing_cert_file=identities.authority,
        cluster_signing_key_file=identities.authority.with_suffix(".key"),
        root_ca_file=identities.authority,
    )
    settings = AuthenticationOptions(
        client_authorities=identities.authority.read_bytes(),
        token_auth_file=tokens,
        enable_bootstrap_token_auth=has_bootstrap_tokens(bundle, area),
        service_account_issuer=(DEFAULT_ISSUER if bundle == "1.30" else ISSUER,),
        service_account_signing_key_file=identities.token_key,
    )
    made = fresh(options)
    made.engine.authenticate_with(build(BASE, settings, object_getter(made.store), clock, made.engine.metrics))
    made.authentication_trust.publish()
    server = InProcess(made, clock)
    try:
        yield server
    finally:
        server.close()
