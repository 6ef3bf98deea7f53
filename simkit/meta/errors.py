"""Errors: Status errors for clients, and errors in the use of simkit.

Follows ``k8s.io/apimachinery/pkg/api/errors/errors.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.fielderror import FieldError, aggregate_errors, quoted
from simkit.meta.names import GroupKind, GroupResource
from simkit.meta.objects import Draft, Object

if TYPE_CHECKING:
    from simkit.meta.behaviour import ServedBehaviour

TOLD: Final = 1024 * 1024
"""Letters of field errors after which no further ones are told."""


class SimkitError(Exception):
    """Wrong use of simkit. The message says what was wrong, where, and what to try."""

    def __reduce__(self) -> tuple[Any, ...]:
        """The error as it was raised, whatever its constructor takes: workers of a fleet send theirs back."""
        return _raised, (type(self), self.args), self.__dict__


def _raised(kind: type[SimkitError], args: tuple[Any, ...]) -> SimkitError:
    return kind.__new__(kind, *args)


class NoConnection(SimkitError):
    """A running cluster to which Python cannot connect: the client is missing, or its kubeconfig cannot be used."""


class UnknownResource(SimkitError):
    """A word that names no resource of the release."""

    def __init__(self, word: str, release: str, known: Iterable[str] = (), meant: Iterable[str] = ()) -> None:
        from difflib import get_close_matches  # for wrong names alone

        near = list(dict.fromkeys(meant)) or get_close_matches(word.lower(), list(known), n=2)
        hint = f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
        super().__init__(f"no resource {word!r} at release {release}{hint}")


class IncompleteSnapshot(SimkitError):
    """A question that needs objects which the dump or snapshot did not capture.

    Attributes
    ----------
    missing
        The resources that are missing.
    """

    def __init__(self, missing: Iterable[GroupResource]) -> None:
        self.missing = tuple(sorted(set(missing)))
        names = ",".join(str(resource) for resource in self.missing)
        super().__init__(
            f"the snapshot does not hold {names}, which this question needs; "
            f"capture them too: `simkit dump {' '.join(names.split(','))}` prints how"
        )


class StatusError(Exception):
    """A refused request: the error that a client of the API gets, as a Status object.

    Attributes
    ----------
    code
        The status code of HTTP, such as 404.
    reason
        The reason in one word, such as ``NotFound``; empty where kube-apiserver gives none.
    message
        The sentence that kubectl prints.
    details
        The details of the Status: name, kind, causes; or None.

    Examples
    --------
    >>> import simkit
    >>> try:
    ...     simkit.Cluster(seed=1).get("pod", "web")
    ... except simkit.StatusError as error:
    ...     print(error.code, error.reason, error)
    404 NotFound pods "web" not found
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Object | None = None,
        metadata: Object | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details = details
        self.metadata = metadata or {}
        again = (details or {}).get("retryAfterSeconds")
        self.headers = (*headers, ("Retry-After", str(again))) if again else tuple(headers)

    def status(self) -> Draft:
        """The Status object, its fields in kube-apiserver's order."""
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": dict(self.metadata)}
        body |= {"status": "Failure", "message": self.message}
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = dict(self.details)
        return {**body, "code": self.code}


class UnknownNamespace(UserWarning):
    """A question about a namespace that does not exist."""


class UnknownSubject(UserWarning):
    """A question about a service account that does not exist, or about a user whose name is that of a group."""


class PlainError(Exception):
    """An error that kube-apiserver sends as plain text, without a Status."""

    def __init__(self, code: int, text: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(text.strip())
        self.code, self.text, self.headers = code, text, tuple(headers)


def _details(resource: GroupResource | GroupKind, name: str, **more: Any) -> dict[str, Any]:
    parts = {"name": name, "group": resource.group, "kind": resource[1], **more}
    return {key: value for key, value in parts.items() if value}


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: GroupResource, name: str, why: str, *, causes: Sequence[Mapping[str, str]] = ()) -> StatusError:
    """403. Without a resource (a non-resource path) the details stay empty."""
    if not resource.resource:
        return StatusError(403, "Forbidden", f"forbidden: {why}", details={})
    what = f"{resource} {quoted(name)}" if name else str(resource)
    return StatusError(
        403, "Forbidden", f"{what} is forbidden: {why}", details=_details(resource, name, causes=list(causes))
    )


def not_found(resource: GroupResource, name: str) -> StatusError:
    return StatusError(404, "NotFound", f"{resource} {quoted(name)} not found", details=_details(resource, name))


def scheme_name(behaviour: ServedBehaviour, made_in: str) -> str:
    """The name of a scheme, in quotes, as messages about unknown kinds have it: where it was made."""
    return quoted(made_in if behaviour.applies("scheme-by-its-caller") else "pkg/runtime/scheme.go:100")


def no_route() -> StatusError:
    """404 for an unknown version or resource of a known group."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def no_path() -> PlainError:
    """404 for an unknown group or path."""
    return PlainError(404, "404 page not found\n")


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})


def already_exists(resource: GroupResource, name: str, *, generated: bool = False) -> StatusError:
    """409; for an object with a ``generateName`` the message asks the client to try again."""
    message = f"{resource} {quoted(name)} already exists"
    if not generated:
        return StatusError(409, "AlreadyExists", message, details=_details(resource, name))
    message += ", the server was not able to generate a unique name for the object"
    details = _details(resource, name, retryAfterSeconds=1)
    return StatusError(409, "AlreadyExists", message, details=details)


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: GroupResource | GroupKind, name: str, why: str = STALE) -> StatusError:
    message = f"Operation cannot be fulfilled on {resource} {quoted(name)}: {why}"
    return StatusError(409, "Conflict", message, details=_details(resource, name))


def expired(message: str, *, continue_token: str = "") -> StatusError:
    metadata = {"continue": continue_token} if continue_token else {}
    return StatusError(410, "Expired", message, metadata=metadata)


def invalid(behaviour: ServedBehaviour, kind: GroupKind, name: str, errors: Sequence[FieldError]) -> StatusError:
    """422 in the words of a release, with a cause for every field error; duplicate texts appear once in the message.

    Notes
    -----
    An error may show all of a list, and there may be one for each of its elements. So errors are told until their texts
    are longer than ``TOLD`` together, and the others are counted. kube-apiserver tells all.
    """
    told = list(_told(behaviour, errors))
    texts = [error.told(behaviour) for error in told]
    if len(told) < len(errors):
        texts.append(f"and {len(errors) - len(told)} further errors")
    message = f"{kind} {quoted(name)} is invalid" + (f": {aggregate_errors(texts)}" if texts else "")
    causes = [error.cause(behaviour) for error in told]
    return StatusError(422, "Invalid", message, details=_details(kind, name, causes=causes))


def _told(behaviour: ServedBehaviour, errors: Sequence[FieldError]) -> Iterator[FieldError]:
    length = 0
    for error in errors:
        if length > TOLD:
            return
        yield error
        length += len(error.told(behaviour))


def internal(message: str) -> StatusError:
    """500 with the message as its only cause."""
    return StatusError(
        500, "InternalError", f"Internal error occurred: {message}", details={"causes": [{"message": message}]}
    )


def unexplained(message: str) -> StatusError:
    """500 without a reason: an error of kube-apiserver that has only its text."""
    return StatusError(500, "", message)


def too_large(limit: int) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def not_acceptable(message: str, *, route: bool = False) -> StatusError:
    return StatusError(406, "NotAcceptable", message, details={} if route else None)


def unsupported_media_type(message: str, *, route: bool = False) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message, details={} if route else None)


def future_revision(requested: int, current: int, *, again: int = 1) -> StatusError:
    """504 for a read at a future revision, with the seconds before a retry unless they are 0."""
    details: dict[str, Any] = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    }
    if again:
        details["retryAfterSeconds"] = again
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    return StatusError(504, "Timeout", message, details=details)
