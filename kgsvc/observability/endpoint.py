"""What a process shows over plain HTTP: its metrics, and whether it lives and is ready."""

from __future__ import annotations

import errno
import http.client
import socket
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from socketserver import ThreadingMixIn
from typing import Any, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

METRICS, ALIVE, READY = "/metrics", "/healthz", "/readyz"
_PORTS_TRIED = 32
_LAST_PORT = 65_535
_CALLER_S = 10.0  # for a caller to send its request and to take the answer
_READ_S = 2.0  # that another process may take to answer
_Start = Callable[[str, list[tuple[str, str]]], Any]


class Probed(Protocol):
    """Whom probes ask."""

    def not_alive(self) -> str:
        """Why the process must be started again; "": it need not."""

    def not_ready(self) -> str:
        """Why no calls should be sent here; "": they should."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = _CALLER_S

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the log is of calls."""


class MetricsEndpoint:
    """Serves /metrics, /healthz and /readyz on `host`:`port`, or on the first free one of the ports behind
    it: another service of this machine may have taken it. Port 0 takes a free one. Raises OSError when it
    cannot bind."""

    def __init__(
        self, registry: CollectorRegistry, port: int, host: str = "127.0.0.1", asked: Probed | None = None
    ) -> None:
        self._metrics = make_wsgi_app(registry)
        self._asked = asked
        self._server = _bound(host, port)
        self._server.set_app(self._answer)
        self.port = int(self._server.server_port)
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, environ: dict[str, Any], start: _Start) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if self._asked is not None and path == ALIVE:
            return _told(self._asked.not_alive(), start)
        if self._asked is not None and path == READY:
            return _told(self._asked.not_ready(), start)
        page: Iterable[bytes] = self._metrics(environ, start)
        return page


def _told(trouble: str, start: _Start) -> Iterable[bytes]:
    status = HTTPStatus.SERVICE_UNAVAILABLE if trouble else HTTPStatus.OK
    start(f"{status.value} {status.phrase}", [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{trouble or 'ok'}\n".encode()]


def _bound(host: str, port: int) -> _Server:
    end = min(port + _PORTS_TRIED, _LAST_PORT + 1)
    family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    kind = type("_Server", (_Server,), {"address_family": family})
    for tried in range(port, end):
        try:
            return kind((host, tried), _Handler)  # type: ignore[no-any-return]
        except OSError as error:
            if error.errno != errno.EADDRINUSE or tried + 1 == end:
                raise
    raise OSError(errno.EADDRINUSE, f"no port from {port} on")


def shown(address: str, path: str, timeout_s: float = _READ_S) -> tuple[int, str]:
    """Status and text that the endpoint at HOST:PORT answers; 0 and "" if there is no answer. Asks directly,
    never through a proxy that the environment names."""
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()


def metrics_page(address: str) -> str:
    """What the endpoint at HOST:PORT counts; "" if there is no answer."""
    return shown(address, METRICS)[1]
