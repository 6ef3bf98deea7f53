"""OpenAPI paths of non-resource endpoints: discovery, version, token issuer.

Upstream: k8s.io/apiserver/pkg/endpoints/discovery/group.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from simkit.schema.behaviour import default_behaviour
from simkit.schema.openapi.operation_descriptions import described
from simkit.schema.openapi.operations import UNAUTHORIZED, camel, capitalized, response, tag
from simkit.schema.openapi.parameters import ENCODINGS
from simkit.schema.openapi.schemas import V2, Dialect, Shape

_JSON: Final = ("application/json",)
_VERSION_INFO: Final = "io.k8s.apimachinery.pkg.version.Info"
_TOKENS: Final = {
    ".well-known/openid-configuration": ("getServiceAccountIssuerOpenIDConfiguration", "WellKnown", _JSON),
    "openid/v1/jwks": ("getServiceAccountIssuerOpenIDKeyset", "openid", ("application/jwk-set+json",)),
}
_SINGLE: Final = ("api", "apis", "logs", "version", *_TOKENS)


def single(release: str) -> tuple[str, ...]:
    """The documents of a release that belong to no group."""
    without = default_behaviour(release).ids & {"no-logs-handler"}
    return tuple(each for each in _SINGLE if each != "logs" or not without)


class Roots:
    """Writes non-resource paths in one dialect."""

    def __init__(self, dialect: Dialect, general: Callable[[str], str]) -> None:
        self._dialect, self._general = dialect, general

    def kind(self, name: str) -> str | None:
        """The definition at a path, by the name of its document; None for text."""
        if name in _TOKENS or name == "logs":
            return None
        if name == "version":
            return _VERSION_INFO
        root, *rest = name.split("/")
        if root == "api":
            return self._general("APIResourceList" if rest else "APIVersions")
        return self._general(("APIGroupList", "APIGroup", "APIResourceList")[len(rest)])

    def paths(self, name: str) -> Iterator[tuple[str, Shape]]:
        """The path of a document's root with its one operation; two for log files."""
        if name != "logs":
            yield f"/{name}/", {"get": self._operation(name)}
            return
        yield "/logs/", {"get": self._of_logs("logFileListHandler")}
        yield "/logs/{logpath}", {"get": self._of_logs("logFileHandler"), "parameters": [self._log_path()]}

    def _of_logs(self, operation: str) -> Shape:
        out: Shape = {"operationId": operation, "responses": UNAUTHORIZED, "tags": ["logs"]}
        return described({**out, "schemes": ["https"]} if self._dialect is V2 else out, "logs")

    def _log_path(self) -> Shape:
        kind = {"type": "string", "uniqueItems": True}
        return {
            "name": "logpath",
            "in": "path",
            "required": True,
            **(kind if self._dialect is V2 else {"schema": kind}),
        }

    def _operation(self, name: str) -> Shape:
        operation, label, media = self._named(name)
        kind = self.kind(name)
        schema = self._dialect.reference(kind) if kind else {"type": "string"}
        out: Shape = {
            "operationId": operation,
            "responses": {"200": response(self._dialect, "OK", schema, media), **UNAUTHORIZED},
            "tags": [label],
        }
        if self._dialect is V2:
            out |= {"produces": list(media), "schemes": ["https"]}
            if kind:
                out["consumes"] = list(media)
        return described(out, label)

    def _named(self, name: str) -> tuple[str, str, tuple[str, ...]]:
        """The operation's id, its tag, and the media types of its responses."""
        if name in _TOKENS:
            return _TOKENS[name]
        if name == "version":
            return "getCodeVersion", name, _JSON
        root, *rest = name.split("/")
        if name == "apis":
            return "getAPIVersions", name, ENCODINGS
        group, version = ("", rest) if root == "api" else (rest[0], rest[1:])
        if version:
            found = f"get{camel(group)}{capitalized(version[0])}APIResources"
            return found, tag(group, version[0]), ENCODINGS
        return f"get{camel(group)}{'APIGroup' if group else 'APIVersions'}", tag(group), ENCODINGS
