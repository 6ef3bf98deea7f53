"""The AuthorizationConfiguration file: its fields, defaults and validation.

Upstream: k8s.io/apiserver/pkg/apis/apiserver, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from simkit.engine.authz.webhook import MatchConditions, compiled
from simkit.engine.egress import configfile
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.duration import seconds, written
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_subdomain

KIND: Final = "AuthorizationConfiguration"
TYPES: Final = ("ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")
"""The types of kube-apiserver."""
LONGEST_TIMEOUT: Final = 30.0
_IN_CLUSTER: Final = "InClusterConfig"
_FROM_FILE: Final = {"KubeConfigFile": "kubeConfigFile", "ClientConfig": "clientConfigFile"}
"""The connection types with the address in a file, each with the field of the file name."""


def _duration(value: Any) -> Any:
    if value is None:
        return 0.0
    if not isinstance(value, str):
        raise ValueError("a length of time is a text such as 30s")
    return seconds(value)


Seconds = Annotated[float, BeforeValidator(_duration)]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Connection(_Document):
    """The connection to a webhook."""

    type: Text = ""
    kube_config_file: str | None = Field(None, alias="kubeConfigFile")
    client_config_file: str | None = Field(None, alias="clientConfigFile")

    @property
    def file(self) -> str:
        """The file with the address; empty if it is that of the cluster itself."""
        return (self.kube_config_file if self.type == "KubeConfigFile" else self.client_config_file) or ""


class Condition(_Document):
    """One expression that must be true before the webhook is called."""

    expression: Text = ""


class WebhookEntry(_Document):
    """The settings of one webhook."""

    authorized_ttl: Seconds = Field(0.0, alias="authorizedTTL")
    unauthorized_ttl: Seconds = Field(0.0, alias="unauthorizedTTL")
    timeout: Seconds = 0.0
    version: Text = Field("", alias="subjectAccessReviewVersion")
    condition_version: Text = Field("", alias="matchConditionSubjectAccessReviewVersion")
    failure_policy: Text = Field("", alias="failurePolicy")
    connection: Connection = Field(default_factory=lambda: Connection.model_validate({}), alias="connectionInfo")
    conditions: tuple[Condition, ...] = Field((), alias="matchConditions")


class Entry(_Document):
    """One authorizer."""

    type: Text = ""
    name: Text = ""
    webhook: WebhookEntry | None = None


class Document(_Document):
    """The whole file."""

    api_version: str = Field(alias="apiVersion")
    kind: str
    authorizers: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfiguredAuthorizer:
    """One validated authorizer of the file, its conditions compiled."""

    type: str
    name: str
    webhook: WebhookEntry | None = None
    conditions: MatchConditions | None = None


def load(behaviour: ServedBehaviour, path: str | Path) -> list[ConfiguredAuthorizer]:
    """The authorizers in a file. Raises SimkitError with all its errors."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise SimkitError(f"failed to load {KIND} from file: open {path}: {error.strerror or error}") from error
    return parse(behaviour, content, str(path))


def parse(
    behaviour: ServedBehaviour, content: bytes, source: str = "the file", known: Sequence[str] = TYPES
) -> list[ConfiguredAuthorizer]:
    """The authorizers in a file's content, of known types. Raises SimkitError with all its errors."""
    chosen, errors = checked(behaviour, configfile.parse(content, Document, KIND, source), known)
    configfile.refuse(errors, source)
    return chosen


def checked(
    behaviour: ServedBehaviour, document: Document, known: Sequence[str] = TYPES
) -> tuple[list[ConfiguredAuthorizer], list[FieldError]]:
    """The authorizers of a document, and all its errors in kube-apiserver's words."""
    errors: list[FieldError] = []
    if not document.authorizers:
        errors.append(required("authorizers", "at least one authorization mode must be defined"))
    types, names, chosen = set[str](), set[str](), list[ConfiguredAuthorizer]()
    for index, entry in enumerate(document.authorizers):
        path = f"authorizers[{index}]"
        wrong = _type_error(entry, path, types, known)
        if wrong is not None:
            errors.append(wrong)
            continue
        types.add(entry.type)
        errors += _name_errors(entry.name, path, names)
        names.add(entry.name)
        conditions, found = _webhook_errors(behaviour, entry, path)
        errors += found
        chosen.append(ConfiguredAuthorizer(entry.type, entry.name, _defaulted(entry.webhook), conditions))
    return chosen, errors


def _defaulted(webhook: WebhookEntry | None) -> WebhookEntry | None:
    if webhook is None:
        return None
    times = {
        "authorized_ttl": webhook.authorized_ttl or 300.0,
        "unauthorized_ttl": webhook.unauthorized_ttl or 30.0,
    }
    return webhook.model_copy(update=times)


def _type_error(entry: Entry, path: str, types: set[str], known: Sequence[str]) -> FieldError | None:
    if not entry.type:
        return required(f"{path}.type")
    if entry.type not in known:
        return unsupported(f"{path}.type", entry.type, known)
    if entry.type in types and entry.type != "Webhook":
        return duplicate(f"{path}.type", entry.type)
    return None


def _name_errors(name: str, path: str, names: set[str]) -> list[FieldError]:
    if not name:
        return [required(f"{path}.name")]
    if name in names:
        return [duplicate(f"{path}.name", name)]
    texts = dns_subdomain(name, False)
    return [invalid_value(f"{path}.name", name, f"authorizer name is invalid: {', '.join(texts)}")] if texts else []


def _webhook_errors(
    behaviour: ServedBehaviour, entry: Entry, path: str
) -> tuple[MatchConditions | None, list[FieldError]]:
    if entry.type != "Webhook":
        if entry.webhook is None:
            return None, []
        return None, [invalid_value(f"{path}.webhook", "non-null", "may only be specified when type=Webhook")]
    webhook = entry.webhook
    if webhook is None:
        return None, [required(f"{path}.webhook", "required when type=Webhook")]
    errors = _time_errors(webhook, path)
    errors += _choice_errors(f"{path}.subjectAccessReviewVersion", webhook.version, ("v1", "v1beta1"))
    needed = "required if match conditions are specified" if webhook.conditions else ""
    version = f"{path}.matchConditionSubjectAccessReviewVersion"
    errors += _choice_errors(version, webhook.condition_version, ("v1",), needed)
    errors += _choice_errors(f"{path}.failurePolicy", webhook.failure_policy, ("NoOpinion", "Deny"))
    errors += _connection_errors(webhook.connection, f"{path}.connectionInfo")
    conditions, found = compiled(behaviour, [each.expression for each in webhook.conditions], path)
    return conditions, errors + found


def _time_errors(webhook: WebhookEntry, path: str) -> list[FieldError]:
    errors = []
    if not webhook.timeout:
        errors.append(required(f"{path}.timeout"))
    elif not 0 < webhook.timeout <= LONGEST_TIMEOUT:
        errors.append(invalid_value(f"{path}.timeout", written(webhook.timeout), "must be > 0s and <= 30s"))
    for field, value in (("authorizedTTL", webhook.authorized_ttl), ("unauthorizedTTL", webhook.unauthorized_ttl)):
        if value < 0:
            errors.append(invalid_value(f"{path}.{field}", written(value), "must be > 0s"))
    return errors


def _choice_errors(path: str, value: str, choices: Sequence[str], needed: str = "") -> list[FieldError]:
    if not value:
        return [required(path, needed)]
    return [] if value in choices else [unsupported(path, value, choices)]


def _connection_errors(connection: Connection, path: str) -> list[FieldError]:
    if not connection.type:
        return [required(f"{path}.type")]
    given = {"kubeConfigFile": connection.kube_config_file, "clientConfigFile": connection.client_config_file}
    wanted = _FROM_FILE.get(connection.type)
    if wanted is None and connection.type != _IN_CLUSTER:
        return [unsupported(f"{path}.type", connection.type, (_IN_CLUSTER, "KubeConfigFile"))]
    errors = [
        invalid_value(f"{path}.{field}", value, f"can only be set when type={name}")
        for name, field in _FROM_FILE.items()
        if (value := given[field]) is not None and name != connection.type
    ]
    return errors + (_file_errors(given[wanted] or "", f"{path}.{wanted}") if wanted else [])


def _file_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    if not Path(name).is_absolute():
        return [invalid_value(path, name, "must be an absolute path")]
    try:
        Path(name).stat()
    except OSError as error:
        why = f"error loading file: stat {name}: {(error.strerror or '').lower()}"
        return [invalid_value(path, name, why)]
    return [] if Path(name).is_file() else [invalid_value(path, name, "must be a regular file")]
