"""A running server: in a thread of its own for notebooks, or in the foreground for a command."""

from __future__ import annotations

import atexit
import signal
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from simkit.engine.authn.union import Union
from simkit.engine.authn.x509 import ClientCertificates
from simkit.engine.http import certificates
from simkit.engine.http.listeners import (
    allow_many_connections,
    listen,
    reachable,
    release,
)
from simkit.engine.http.request_state import Handler
from simkit.engine.http.tls import server_context
from simkit.engine.http.watch_server import SHORTEST_WATCH
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.client.leader_election import Runner
    from simkit.engine.http.serving import Listener, ServingLoop
    from simkit.engine.pipeline.engine import Engine

_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """The addresses, ports and certificates of a server.

    Attributes
    ----------
    host
        Address on which HTTPS is served.
    port
        HTTPS port; 0 picks a free one, None serves no HTTPS.
    insecure_port
        Port of plain HTTP on loopback (it authenticates and authorizes as the other); 0 and None likewise.
    certificate_folder
        Where certificates are kept; by default a folder of the user.
    certificate_file, key_file
        The server's own certificate and key instead of made ones.
    client_authorities, proxy_authorities
        PEM bundles whose certificates clients and front proxies may have, besides the administrator's made one.
    kubeconfig
        Where the client configuration of an administrator is written; by default in the certificate folder.
    request_timeout
        Seconds that a request may take which is no watch.
    shortest_watch
        Seconds that a watch without a time of its own lasts at least.
    shutdown_delay
        Seconds after a signal to stop in which all requests are still answered, but the server is not ready.

    Raises
    ------
    SimkitError
        Without any port, or for a certificate without its key.
    """

    host: str = _LOOPBACK
    port: int | None = 0
    insecure_port: int | None = None
    certificate_folder: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    client_authorities: bytes = b""
    proxy_authorities: bytes = b""
    kubeconfig: Path | None = None
    request_timeout: float = 60.0
    shortest_watch: float = SHORTEST_WATCH
    shutdown_delay: float = 0.0

    def __post_init__(self) -> None:
        if self.port is None and self.insecure_port is None:
            raise SimkitError("a server needs a port: the secure one, the insecure one, or both")
        if (self.certificate_file is None) != (self.key_file is None):
            raise SimkitError("a serving certificate and its key must be given together")

    def identities(self, clock: Clock | None = None) -> certificates.CertificateFiles:
        """The certificates and keys of the folder, created where needed. Raises SimkitError."""
        return certificates.ensure_certificates(self.certificate_folder, hosts=(self.host,), clock=clock)

    def address_of(self, path: str) -> str:
        """The HTTPS address of a path; empty while the port is not known."""
        return f"https://{reachable(self.host)}:{self.port}{path}" if self.port else ""

    def trusted_clients(self, identities: certificates.CertificateFiles) -> bytes:
        """The PEM bundle of all authorities for client certificates, which the authenticator must be given."""
        return b"\n".join(filter(None, (self.client_authorities, identities.authority.read_bytes())))


class Server:
    """A server that serves an engine over HTTPS, and on request over plain HTTP on loopback.

    Parameters
    ----------
    engine
        Answers the requests.
    serving
        Addresses, ports and certificates.
    clock
        On which client certificates are judged.
    compress
        Whether large answers are compressed for clients that take it.
    controllers
        Started and stopped with the server: the controllers.
    prepare_to_stop
        Called by the first signal to stop, before the delay.

    Notes
    -----
    A running server is stopped when the interpreter ends. Needs the extra ``serve``; SimkitError says so where it is
    missing.
    """

    def __init__(
        self,
        engine: Handler,
        serving: ServingOptions | None = None,
        *,
        clock: Clock | None = None,
        compress: bool = True,
        controllers: Runner | None = None,
        prepare_to_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.serving = serving or ServingOptions()
        self._engine, self._clock, self._compress = engine, clock, compress
        self._controllers, self._prepare_to_stop = controllers, prepare_to_stop
        self._thread: threading.Thread | None = None
        self._running: ServingLoop | None = None
        self._ports: dict[str, int] = {}
        self._delay = self.serving.shutdown_delay
        self._listeners: list[Listener] = []
        self._ready = threading.Event()
        self.kubeconfig: Path | None = None
        """Path of the administrator's client configuration, once the server runs."""

    def __repr__(self) -> str:
        return f"<simkit server at {', '.join(self._urls())}>" if self._ports else "<simkit server, stopped>"

    def __enter__(self) -> Self:
        return self if self.running else self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """True if the server listens."""
        return bool(self._ports)

    @property
    def url(self) -> str:
        """The address for clients: HTTPS, or plain HTTP if that is the only one. Raises SimkitError."""
        if not self._ports:
            raise SimkitError("the server does not run; start() it")
        return self._urls()[0]

    @property
    def insecure_url(self) -> str | None:
        """The address of plain HTTP; None if it is not served."""
        return f"http://{_LOOPBACK}:{self._ports['http']}" if "http" in self._ports else None

    def _urls(self) -> list[str]:
        secure = [f"https://{reachable(self.serving.host)}:{self._ports['https']}"] if "https" in self._ports else []
        return secure + ([self.insecure_url] if self.insecure_url else [])

    def start(self) -> Self:
        """Serve in a thread of its own and return when requests are answered. Raises SimkitError for a taken port."""
        running = self._prepare(self._ready.set)
        self._thread = threading.Thread(target=self._serve, args=(running,), name="simkit-server", daemon=True)
        self._thread.start()
        self._ready.wait()
        if not self._ports:
            self._thread = None
            raise SimkitError("the server ended while it started; the error above says why")
        atexit.register(self.stop)
        return self

    def stop(self) -> None:
        """Stop listening, let running requests finish, end all watches. Stopping a stopped server does nothing."""
        atexit.unregister(self.stop)
        thread, self._thread = self._thread, None
        if self._running is not None:
            self._running.stop()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve in this thread until SIGINT or SIGTERM and the delay after it; ``ready`` is called once requests are
        answered. A second signal stops the server at once.
        """
        allow_many_connections()
        running = self._prepare(ready)
        previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in previous:
            signal.signal(number, lambda *_: self._leave(running))
        try:
            self._serve(running)
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _prepare(self, ready: Callable[[], None]) -> ServingLoop:
        """Prepare all that can fail in the caller's thread: certificates, ports, imports of packages."""
        if self.running:
            raise SimkitError(f"{self!r} runs already; stop() it first")
        from simkit.engine.http.asgi import Application
        from simkit.engine.http.serving import ServingLoop

        self._ready.clear()
        listeners = self._listen()
        try:
            self._write_kubeconfig()
            serving = self.serving
            patience, watches = serving.request_timeout, serving.shortest_watch
            application = Application(self._engine, compress=self._compress, patience=patience, shortest_watch=watches)
            self._running = ServingLoop(application, listeners, ready)
        except SimkitError:
            self._release(listeners)
            raise
        self._listeners = listeners
        return self._running

    def _listen(self) -> list[Listener]:
        from simkit.engine.http.serving import Listener

        serving, listeners = self.serving, list[Listener]()
        context = self._context() if serving.port is not None else None
        try:
            if serving.port is not None:
                listeners.append(Listener(listen(serving.host, serving.port, self), context))
            if serving.insecure_port is not None:
                listeners.append(Listener(listen(_LOOPBACK, serving.insecure_port, self)))
        except SimkitError:
            self._release(listeners)
            raise
        self._ports = {"https" if item.tls else "http": item.sock.getsockname()[1] for item in listeners}
        return listeners

    def _context(self) -> ssl.SSLContext:
        """The TLS context: the server's own certificate, and the authorities for client certificates."""
        serving, made = self.serving, self.serving.identities(self._clock)
        own = (made.certificate, made.key)
        if serving.certificate_file is not None and serving.key_file is not None:
            own = (serving.certificate_file, serving.key_file)
        authorities = [serving.trusted_clients(made), serving.proxy_authorities]
        return server_context(*own, [bundle for bundle in authorities if bundle])

    def _write_kubeconfig(self) -> None:
        """Write the client configuration of an administrator, who authenticates by certificate, so over HTTPS only."""
        serving = self.serving
        if "https" not in self._ports:
            if serving.kubeconfig is not None:
                raise SimkitError("a client configuration needs HTTPS: its administrator is known by certificate")
            return
        made = serving.identities(self._clock)
        authority = serving.certificate_file or made.authority
        content = certificates.kubeconfig_document(
            self.url,
            authority=authority.read_bytes(),
            certificate=made.admin_certificate.read_bytes(),
            key=made.admin_key.read_bytes(),
        )
        self.kubeconfig = serving.kubeconfig or made.authority.with_name(f"kubeconfig-{self._ports['https']}")
        certificates.write_kubeconfig(self.kubeconfig, content)

    def _leave(self, running: ServingLoop) -> None:
        """Stop after the delay; at once where there is none, or where it has begun."""
        delay, self._delay = self._delay, 0.0
        self._prepare_to_stop()
        if not delay:
            running.stop()
            return
        timer = threading.Timer(delay, running.stop)
        timer.daemon = True
        timer.start()

    def _serve(self, running: ServingLoop) -> None:
        from simkit.engine.http.loop_turns import QUICK_SWITCHES
        from simkit.engine.http.serving import new_loop

        loop = new_loop()
        if self._controllers is not None:
            self._controllers.start()
        try:
            with QUICK_SWITCHES:
                loop.run_until_complete(running.serve())
                loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()
            if self._controllers is not None:
                self._controllers.stop()
            self._release(self._listeners)
            self._ready.set()

    def _release(self, listeners: list[Listener]) -> None:
        for listener in listeners:
            listener.sock.close()
        for port in self._ports.values():
            release(port, self)
        self._ports, self._running = {}, None


def serve(
    engine: Engine, controllers: Runner, *, port: int, bind_address: str, kubeconfig: str | Path | None
) -> Server:
    """Serve an engine over HTTPS in the background, with controllers running.

    Parameters
    ----------
    engine
        From now on it also knows the administrator by the certificate in the client configuration.
    port
        0 picks a free one.
    bind_address
        Where to listen.
    kubeconfig
        Where the administrator's client configuration is written; by default in the certificate folder.
    """
    from simkit.engine.http.apiserver import APIServerHandler

    serving = ServingOptions(bind_address, port, kubeconfig=Path(kubeconfig) if kubeconfig else None)
    known = engine.authenticator
    if not isinstance(known, Union):
        raise SimkitError(f"cannot add client certificates to {known!r}; assemble the cluster with a Union")
    trusted = serving.trusted_clients(serving.identities(engine.clock))
    server = Server(APIServerHandler(engine), serving, clock=engine.clock, controllers=controllers)
    engine.authenticator = known.preceded_by(ClientCertificates(engine.behaviour, trusted, engine.clock))
    return server.start()
