"""The exit status of a command, in the error stream of a connection.

Upstream: k8s.io/kubelet/pkg/cri/streaming/remotecommand, release 1.30.
"""

from __future__ import annotations

from typing import Any

import orjson

from simkit.engine.seams import RemoteProcess


def exit_status(process: RemoteProcess) -> bytes:
    """The Status of a process that has ended."""
    code, wrong = process.exit_code, process.failure
    if wrong:
        text = f"error executing command in container: {wrong}"
        status = _failure("InternalError", f"Internal error occurred: {text}", 500)
        status["details"] = {"causes": [{"message": text}]}
        return orjson.dumps(status)
    if code == 0:
        return orjson.dumps({"metadata": {}, "status": "Success"})
    status = _failure("NonZeroExitCode", f"command terminated with exit code {code}", None)
    status["details"] = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    return orjson.dumps(status)


def _failure(reason: str, message: str, code: int | None) -> dict[str, Any]:
    status: dict[str, Any] = {"metadata": {}, "status": "Failure", "message": message, "reason": reason}
    return {**status, "code": code} if code is not None else status


def plain_exit(process: RemoteProcess) -> bytes:
    """The same for the protocols before the fourth: a text, and none for success."""
    if process.failure:
        return f"error executing command in container: {process.failure}".encode()
    return b"" if process.exit_code == 0 else f"command terminated with exit code {process.exit_code}".encode()
