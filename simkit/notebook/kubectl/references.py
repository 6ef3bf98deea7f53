"""The values that variables of a container refer to, as kubectl looks them up.

Upstream: env_resolve.go in k8s.io/kubectl/pkg/cmd/set/env, release 1.32.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.meta.objects import Object, at, name_of
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.simulation.kubelet.downward import listed_fields, resource_value

_FIELDS: Final = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
"""Fields of a workload that kubectl knows; those of its pods it does not."""


class _Missing(Exception):
    """A reference to something that is not there."""


@dataclass(frozen=True, slots=True)
class References:
    """Looks up references, and notes the errors."""

    client: Client
    errors: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    """The variables that have no value, by object, container and error."""

    def errors_text(self) -> str:
        """A line for each error of a container, with its variables."""
        lines = (
            f"error retrieving reference for {', '.join(sorted(names))}: {error}\n"
            for (_, _, error), names in self.errors.items()
        )
        return "".join(lines)

    def value_of(self, live: Object, container: Mapping[str, Any], env: Mapping[str, Any]) -> str | None:
        """The value of a variable with a reference; None, with an error noted, for one that cannot be found."""
        try:
            return self._value(live, container, env["valueFrom"])
        except (KubectlError, _Missing) as error:
            message = error.message if isinstance(error, KubectlError) else str(error)
            told = message.partition("): ")[2] or message
            self.errors.setdefault((name_of(live), container["name"], told), []).append(env["name"])
            return None

    def _value(self, live: Object, container: Mapping[str, Any], source: Mapping[str, Any]) -> str:
        if "fieldRef" in source:
            path = source["fieldRef"]["fieldPath"]
            if path.partition("[")[0] not in _FIELDS:
                raise _Missing(f"unsupported fieldPath: {path}")
            return listed_fields(live, path)
        if "resourceFieldRef" in source:
            own = {key: value for key, value in source["resourceFieldRef"].items() if key != "containerName"}
            return resource_value(live, container, own)
        if "secretKeyRef" in source:
            return self._key_of("secrets", "secret", source["secretKeyRef"])
        return self._key_of("configmaps", "config map", source["configMapKeyRef"])

    def _key_of(self, word: str, title: str, reference: Mapping[str, Any]) -> str:
        name, key = reference.get("name", ""), reference.get("key", "")
        found = self.client.ask("GET", self.client.path(self.client.resource(word), self.client.namespace, name)).object
        value = at(found, "data", key)
        if value is None:
            raise _Missing(f"key {key} not found in {title} {name}")
        return base64.b64decode(value).decode("utf-8", "replace") if word == "secrets" else str(value)
