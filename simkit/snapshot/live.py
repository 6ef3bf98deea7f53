"""The objects of a running cluster, read through a context of a kubeconfig with the official client."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from string import digits
from typing import Any, Final

import orjson

from simkit.meta.distribution import install_hint
from simkit.meta.errors import NoConnection, SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import at
from simkit.present.progress import tracked
from simkit.snapshot.sources import Piece

PAGE: Final = 500
"""Objects per page of a list, as with kubectl."""
_MOST_PAGES: Final = 20_000
"""The pages of a list after which it has no end."""
_STATUS: Final = {"kind": "Status", "apiVersion": "v1"}
_TRANSIENT: Final = frozenset({"events"})
"""Resources that are left out unless they are named, since they describe events and not state."""

_LONGEST: Final = 16 * 1024 * 1024
"""The most bytes of an event, which is one line."""
_OF_SHAPE: Final = (ValueError, TypeError, AttributeError, LookupError, RecursionError, OSError)
"""Errors of the client, which reads a kubeconfig of any shape without a look at it."""


class LiveCluster:
    """A cluster of a kubeconfig, from which only lists and discovery are requested.

    Parameters
    ----------
    context
        A context of the kubeconfig; empty: the current one.
    kubeconfig
        The file; by default the one that ``KUBECONFIG`` or ``~/.kube/config`` name.

    Raises
    ------
    NoConnection
        Where the client is not installed (extra ``live``), or the kubeconfig or its context cannot be used.
    """

    def __init__(self, context: str = "", kubeconfig: str | Path | None = None) -> None:
        try:
            config, dynamic = import_module("kubernetes.config"), import_module("kubernetes.dynamic")
        except ImportError as missing:
            hint = f"try: {install_hint('live')}"
            raise NoConnection(f"a live cluster needs {missing.name}, which is not installed; {hint}") from missing
        file = None if kubeconfig is None else str(kubeconfig)
        try:
            _refuse_providers(config.kube_config, file)
            connection = config.new_client_from_config(file, context or None, persist_config=False)
        except (config.ConfigException, import_module("yaml").YAMLError, *_OF_SHAPE) as wrong:
            hint = "name its file with kubeconfig=, --kubeconfig or KUBECONFIG, and a context in it"
            raise NoConnection(f"the kubeconfig cannot be used: {type(wrong).__name__}: {wrong}; {hint}") from wrong
        self.server: str = connection.configuration.host
        self._client = dynamic.DynamicClient(connection, discoverer=lambda *_: None)

    def release(self) -> str:
        """The minor release of the server: ``1.30``."""
        told = self._asked("/version")
        minor = "".join(letter for letter in str(told.get("minor")) if letter in digits)
        return f"{told.get('major')}.{minor}"

    def pieces(self, resources: Collection[str] = ()) -> Iterator[Piece]:
        """A list of each resource in the server's preferred version; refusals are among the answers.

        Parameters
        ----------
        resources
            The plurals to ask for, with a group or without (``roles``, ``deployments.apps``); empty: all but events.

        Raises
        ------
        SimkitError
            Where the server cannot be reached or does not tell what it serves.
        """
        refused: list[Piece] = []
        for path, resource, verbs in tracked(self._served(refused.append), "listing resources"):
            named = resource.resource in resources or str(resource) in resources
            if "list" in verbs and (named if resources else resource.resource not in _TRANSIENT):
                yield Piece(f"{self.server}{path}", self._all_pages(path))
        yield from refused

    def watchable(self) -> dict[str, GroupResource]:
        """The resources that can be listed and watched, by path. Raises SimkitError if the server refuses to tell."""
        return {path: resource for path, resource, verbs in self._served() if {"list", "watch"} <= set(verbs)}

    def listing(self, path: str) -> Mapping[str, Any]:
        """All objects of a resource, with the version of the list. Raises SimkitError if the server refuses."""
        found = self._asked(path)
        items = found.get("items", "") or []
        if not isinstance(items, list) or not all(map(is_object, items)):
            raise SimkitError(f"{self.server}{path} gave no list of objects")
        return {**found, "items": items}

    def stream(self, path: str, query: list[tuple[str, Any]]) -> tuple[Iterator[bytes], Callable[[], None]]:
        """The lines of an answer as they come, and a function that ends it.

        Raises
        ------
        SimkitError
            Where the server refuses, or the connection breaks before or while lines are read.
        """
        errors = import_module("kubernetes.client.exceptions")
        broken = import_module("urllib3.exceptions")
        try:
            response = self._client.request("get", path, query_params=query, serialize=False)
        except errors.ApiException as refused:
            raise SimkitError(f"{self.server}{path}: {refused.status} {refused.reason}") from refused
        except broken.HTTPError as failed:
            raise NoConnection(f"{self.server} does not answer: {_reason(failed)}") from failed

        def lines() -> Iterator[bytes]:
            parts, size = list[bytes](), 0  # of the line that has not ended
            try:
                for chunk in response.stream(amt=None, decode_content=True):
                    *whole, rest = chunk.split(b"\n")
                    if whole:
                        whole[0] = b"".join([*parts, whole[0]])
                        parts, size = [], 0
                    yield from filter(None, whole)
                    parts.append(rest)
                    size += len(rest)
                    if size > _LONGEST:
                        response.close()
                        raise SimkitError(f"{self.server}{path}: an event of more than {_LONGEST:,} bytes")
            except broken.HTTPError as failed:
                raise SimkitError(f"{self.server} broke off: {_reason(failed)}") from failed

        def close() -> None:
            with suppress(RuntimeError, ValueError):  # the answer has ended by itself, or is closed
                getattr(response, "shutdown", response.close)()

        return lines(), close

    def _served(
        self, refused: Callable[[Piece], object] = lambda _: None
    ) -> Iterator[tuple[str, GroupResource, tuple[str, ...]]]:
        """The path of each resource, its name, and its verbs. ``refused`` gets the answer of a group that has none."""
        groups = [("", f"/api/{version}") for version in self._listed("/api", "versions")]
        others = [
            (at(each, "name"), at(each, "preferredVersion", "groupVersion")) for each in self._listed("/apis", "groups")
        ]
        groups += [(str(name), f"/apis/{version}") for name, version in others]
        for name, path in groups:
            answer = self._answer(path)
            rows = answer.get("resources")
            if not isinstance(rows, list) or not all(map(_is_resource, rows)):
                told = (
                    answer
                    if answer.get("kind") == "Status"
                    else {**_STATUS, "message": "the server lists no resources"}
                )
                refused(Piece(f"{self.server}{path}", told))
                continue
            for each in rows:
                if "/" not in each["name"]:
                    yield f"{path}/{each['name']}", GroupResource(name, each["name"]), tuple(each["verbs"])

    def _listed(self, path: str, name: str) -> list[Any]:
        """A list in the server's answer, which may be empty. Raises SimkitError if it is none."""
        found = self._asked(path).get(name) or []
        if not isinstance(found, list):
            raise SimkitError(f"{self.server}{path} gave no list of {name}")
        return found

    def _all_pages(self, path: str) -> Mapping[str, Any]:
        """The whole list; the server's answer instead if it refuses a page."""
        found: dict[str, Any] = {}
        items: list[Any] = []
        token, seen = "", set[str]()
        while True:
            page = self._answer(path, [("limit", PAGE), *([("continue", token)] if token else [])])
            if "items" not in page:
                return page
            if token in seen or len(seen) > _MOST_PAGES or not isinstance(page["items"] or [], list):
                return {**_STATUS, "message": "the server gave no list, or one without an end"}
            seen.add(token)
            found, items = found or dict(page), items + (page["items"] or [])
            token = str(at(page, "metadata", "continue") or "")
            if not token:
                return {**found, "metadata": {}, "items": items}

    def _asked(self, path: str) -> Mapping[str, Any]:
        """The server's answer. Raises SimkitError if it refuses."""
        answer = self._answer(path)
        if answer.get("kind") == "Status":
            raise SimkitError(f"{self.server}{path}: {answer.get('message') or answer.get('reason')}")
        return answer

    def _answer(self, path: str, query: list[tuple[str, Any]] | None = None) -> Mapping[str, Any]:
        """The object in an answer, also in a refusal."""
        errors = import_module("kubernetes.client.exceptions")
        broken = import_module("urllib3.exceptions")
        try:
            body = self._client.request("get", path, query_params=query or [], serialize=False).data
        except errors.ApiException as refused:
            body = refused.body or b""
        except broken.HTTPError as failed:
            raise NoConnection(f"{self.server} does not answer: {_reason(failed)}") from failed
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:
            return {**_STATUS, "message": str(body)[:200] or "an empty answer"}
        return value if isinstance(value, dict) else {**_STATUS, "message": str(value)[:200]}


def _reason(failed: Exception) -> str:
    """Why a connection failed, without what the client says of its pools, retries and sources."""
    text = str(getattr(failed, "reason", None) or failed)
    told = re.search(r"\[(?:Errno|SSL)[^\]]*\] ([^:)('\"]*(?:: [^:)('\"]+)?)", text)
    return (told[1] if told else text.rpartition(": ")[2]).strip(" ().")


def _refuse_providers(reader: Any, file: str | None) -> None:
    """Raise NoConnection for users with an auth-provider, which kubectl refuses since 1.26: it may name a program."""
    held = reader.KubeConfigMerger(file or reader.KUBE_CONFIG_DEFAULT_LOCATION).config
    users = getattr(held, "value", {}).get("users") or ()
    for user in (_plain(each) for each in _plain(users)):
        if "auth-provider" in (_plain(user.get("user")) or {}):
            raise NoConnection(
                f"user {user.get('name')} of the kubeconfig has an auth-provider, which kubectl does not take since "
                "1.26; use an exec plugin or a token"
            )


def _plain(node: Any) -> Any:
    """What a node of the client's configuration holds."""
    return getattr(node, "value", node)


def _is_resource(value: Any) -> bool:
    """True for a resource in a discovery document."""
    verbs = value.get("verbs") if isinstance(value, dict) else None
    return isinstance(verbs, list) and all(isinstance(text, str) for text in (value.get("name"), *verbs))


def is_object(value: Any) -> bool:
    """True for a mapping with metadata that names it."""
    about = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(about, dict) or not isinstance(about.get("namespace") or "", str):
        return False
    return isinstance(about.get("name"), str) and bool(about["name"])
