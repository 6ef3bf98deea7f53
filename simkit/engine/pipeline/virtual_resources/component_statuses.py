"""get and list of component statuses, which are computed and not stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs.selection import selection
from simkit.engine.seams import Entry
from simkit.meta.errors import unexplained
from simkit.meta.message import Response
from simkit.meta.names import Key, Revision
from simkit.meta.objects import Object, null_creation

_NOBODY: Final = 'Get "https://127.0.0.1:{port}/healthz": dial tcp 127.0.0.1:{port}: connect: connection refused'
_WELL: Final = ("True", "ok")
_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "controller-manager": _WELL,
    "etcd-0": _WELL,
    "scheduler": ("False", _NOBODY.format(port=10259)),
}
"""Controllers and store are parts of this server.

The scheduler is one too where there are simulated nodes; else it is unreachable, in kube-apiserver's words.
"""


def answer(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """One of them, or all that are selected. Raises a 500 without a reason for an unknown one."""
    name, now = context.info.name, engine.clock.now()
    if name:
        if name not in _PARTS:
            raise unexplained(f"Component not found: {name}")
        return responses.object_response(scope, _found(engine, scope, name), context.output_media_type, now=now)
    chosen = selection(scope, opt.list_options(context.request, watch=False))
    entries = [entry for entry in (_found(engine, scope, each) for each in _PARTS) if chosen.matches(entry)]
    return responses.list_response(scope, entries, {}, context.output_media_type, now=now)


def _found(engine: Engine, scope: RequestScope, name: str) -> Entry:
    status, message = _PARTS[name] if engine.connections is None else _WELL
    obj: Object = {
        "kind": scope.resource.kind,
        "apiVersion": scope.resource.api_version,
        "metadata": {"name": name, **null_creation()},
        "conditions": [{"type": "Healthy", "status": status, "message": message}],
    }
    return Entry(Key(scope.resource.storage, "", name), Revision(0), obj)
