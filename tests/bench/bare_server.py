"""The ceiling: a bare ASGI answer of 1 KB over TLS, by uvicorn. ``python -m tests.bench.bare_server PORT FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import uvicorn

BODY: Final = b"x" * 1200
_HEADERS: Final = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """The same answer to every request."""
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": BODY})


def main() -> None:
    """Serve until the process is ended."""
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    uvicorn.run(
        bare,
        port=port,
        ssl_certfile=folder / "apiserver.crt",
        ssl_keyfile=str(folder / "apiserver.key"),
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="off",
    )


if __name__ == "__main__":
    main()
