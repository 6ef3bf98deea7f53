"""What admission webhooks and policies are asked about: resource rules, and the webhooks of a configuration.

Follows ``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self
from urllib.parse import urlsplit

from simkit.kinds.parts.admission_expressions import validate_match_condition, written
from simkit.kinds.parts.cells import columns, count
from simkit.kinds.parts.copy_on_write import null_where_empty, own_copy, own_items, without_empty
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.validation.fields import alone, repeats, validate_text
from simkit.kinds.parts.validation.ip import PORT_RANGE
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR, validate_label_selector
from simkit.kinds.rules import REQUIRED, by, distinct, fields, must, placed, row, table
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.fielderror import Errors, duplicate, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label, dns_subdomain, path_segment
from simkit.meta.objects import Draft, Object

FAILURE_POLICIES: Final = ("Fail", "Ignore")


def default_rules(holder: Draft, *names: str) -> None:
    """Set the scope of rules to ``*`` by default. The caller owns the holder."""
    for name in names:
        for rule in own_items(holder, name):
            rule.setdefault("scope", "*")


def default_match(holder: Draft, name: str) -> None:
    """Set the defaults of match resources, if there are any. The caller owns the holder."""
    if holder.get(name) is None:
        return
    match = own_copy(holder, name)
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    default_rules(match, "resourceRules", "excludeResourceRules")


def _validate_resource(behaviour: ServedBehaviour, path: str, resources: Sequence[str]) -> Errors:
    whole: set[str] = set()
    parts: set[str] = set()
    plain = False
    for index, text in enumerate(resources):
        resource, slash, part = text.partition("/")
        if not text:
            yield required(f"{path}[{index}]")
        elif not slash:
            plain = text != "*"
        else:
            if resource in whole:
                why = f"if '{resource}/*' is present, must not specify {text}"
                yield invalid_value(f"{path}[{index}]", text, why)
            if part in parts:
                yield invalid_value(f"{path}[{index}]", text, f"if '*/{part}' is present, must not specify {text}")
            whole |= {resource} if part == "*" else set()
            parts |= {part} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_value(path, texts(resources), "if '*/*' is present, must not specify other resources")
    if "*" in resources and plain:
        text = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value(path, texts(resources), text)


RULE: Final = table(
    row("operations", REQUIRED, alone("operations", "admissionregistration.OperationType")),
    row("operations[]", must.be_one_of("*", "CONNECT", "CREATE", "DELETE", "UPDATE")),
    row("apiGroups", REQUIRED, alone("API groups")),
    row("apiVersions", REQUIRED, alone("API versions")),
    row("apiVersions[]", REQUIRED),
    row("resources", REQUIRED, by(_validate_resource)),
    row("scope", must.be_one_of("*", "Cluster", "Namespaced"), empty=True),
)
"""The check of a rule: operations, groups, versions, resources, scope."""
_NAMED_RULE: Final = table(row("resourceNames[]", must.be(path_segment), distinct()), RULE)
MATCH: Final = table(
    row("matchPolicy", must.be_one_of("Equivalent", "Exact"), empty=True),
    row("namespaceSelector", LABEL_SELECTOR),
    row("objectSelector", LABEL_SELECTOR),
    row("resourceRules[]", _NAMED_RULE),
    row("excludeResourceRules[]", _NAMED_RULE),
)
"""The check of match resources."""


_FORM = "; desired format: https://host[/path]"


def _validate_url(behaviour: ServedBehaviour, path: str, url: str) -> Errors:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        yield invalid_value(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield invalid_value(path, host, f"host must be specified{_FORM}")
    if at:
        yield invalid_value(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid_value(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid_value(path, parts.query, "query parameters are not permitted in the URL")


def _validate_path(behaviour: ServedBehaviour, path: str, text: str) -> Errors:
    if text == "//":
        yield invalid_value(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid_value(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid_value(path, text, f"segment[{index}] may not be empty")
            continue
        yield from (invalid_value(path, text, f"segment[{index}]: {why}") for why in dns_subdomain(step))


_ONE: Final = must.be_set("exactly one of url or service is required")
CLIENT: Final = table(
    row("", _ONE, unless=lambda client: (client.get("url") is None) != (client.get("service") is None)),
    row("url", by(_validate_url), unless=fields.present("service"), empty=True),
    row(
        "service",
        row("name", must.be_set("service name is required"), unless=fields.given("namespace"), zero=""),
        row("namespace", must.be_set("service namespace is required"), unless=fields.given("name"), zero=""),
        row("port", must.be_between(1, 65535, f"port is not valid: {PORT_RANGE}")),
        row("path", by(_validate_path), unless=fields.equal("path", "/")),
        unless=fields.present("url"),
    ),
)
"""The check of the client configuration of a webhook.

kube-apiserver takes name and namespace for each other: it says of a missing name that the namespace is missing.
"""


_BETA: Final = f"{api_group('admissionregistration')}/v1beta1"
_VERSIONS: Final = ("v1", "v1beta1")
_EFFECTS: Final = ("None", "NoneOnDryRun")
_ALL_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_SELECTORS: Final = ("namespaceSelector", "objectSelector")
_POLICIES: Final = table(
    row(
        "name",
        REQUIRED,
        must.be(dns_subdomain, joint=","),
        must.hold(
            lambda name: name.count(".") > 1, "should be a domain with at least three segments separated by dots"
        ),
    ),
    row("rules[]", RULE),
    row("failurePolicy", must.be_one_of(*FAILURE_POLICIES), empty=True),
    row("matchPolicy", must.be_one_of("Equivalent", "Exact"), empty=True),
)
_TIMEOUT: Final = row("timeoutSeconds", must.be_between(1, 30, "the timeout value must be between 1 and 30 seconds"))
_CLIENT: Final = row("clientConfig", CLIENT, zero={})
_REINVOCATION: Final = row("reinvocationPolicy", must.be_one_of("IfNeeded", "Never"), empty=True)


def webhook_rules(*, reinvoked: bool) -> Strategy:
    """The strategy of one of the two kinds; mutating webhooks have a reinvocation policy."""
    rules = Strategy(
        metadata_checks=MetadataChecks((WHOLE,)),
        unqualified_finalizers=True,
        default=lambda _, draft: _default(draft, reinvoked=reinvoked),
        prepare=_prepare,
        validate=_validate,
        raises_generation=_differ,
        counts_empty_parts=True,
        print_row=columns(count("webhooks")),
        allow_unconditional_update=False,
    )
    return replace(rules, older_versions={_BETA: replace(rules, validate=_validate_older)})


def _default(draft: Draft, *, reinvoked: bool) -> None:
    """Set the defaults of webhooks."""
    for webhook in own_items(draft, "webhooks"):
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        if reinvoked:
            webhook.setdefault("reinvocationPolicy", "Never")
        default_rules(webhook, "rules")
        if (webhook.get("clientConfig") or {}).get("service") is not None:
            own_copy(webhook, "clientConfig", "service").setdefault("port", 443)


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """Set lists to their stored form if they are empty."""
    without_empty(draft, ("webhooks",))
    for webhook in own_items(draft, "webhooks"):
        null_where_empty(webhook, "admissionReviewVersions")


def _differ(obj: Object, old: Object) -> bool:
    """True if the webhooks changed."""
    return obj.get("webhooks") != old.get("webhooks")


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Errors that an update allows because the old webhooks have them already."""

    effects: Sequence[str]
    same_names: bool
    unread_versions: bool
    any_value: bool
    conditions: Sequence[Any] | None
    """The match conditions of the old webhooks, which are not validated if all are unchanged."""

    @classmethod
    def towards(cls, behaviour: ServedBehaviour, old: Object | None) -> Self:
        before: Sequence[Object] = (old or {}).get("webhooks") or ()
        names = [one.get("name") for one in before]
        listed = [one.get("admissionReviewVersions") for one in before]
        return cls(
            effects=_ALL_EFFECTS if any(one.get("sideEffects") not in _EFFECTS for one in before) else _EFFECTS,
            same_names=len(set(names)) < len(names),
            unread_versions=any(versions and not set(versions) & set(_VERSIONS) for versions in listed),
            any_value=any(
                validate_label_selector(behaviour, one.get(name), name) for one in before for name in _SELECTORS
            ),
            conditions=None if old is None else [one.get("matchConditions") for one in before],
        )


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    """The errors of all webhooks. Errors that the old webhooks have already are tolerated as upstream."""
    return _validate_webhook(behaviour, obj, old, ValidationOptions.towards(behaviour, old))


def _validate_older(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    """The errors in v1beta1, which allows side effects of any kind, and duplicate names."""
    return _validate_webhook(
        behaviour, obj, old, replace(ValidationOptions.towards(behaviour, old), effects=_ALL_EFFECTS, same_names=True)
    )


def _validate_webhook(
    behaviour: ServedBehaviour, obj: Object, old: Object | None, options: ValidationOptions
) -> Errors:
    webhooks = obj.get("webhooks") or ()
    known = {text for webhook in (old or {}).get("webhooks") or () for text in written(webhook, "matchConditions")}
    unchanged = options.conditions == [one.get("matchConditions") for one in webhooks]
    seen: set[str] = set()
    for index, webhook in enumerate(webhooks):
        path, name = f"webhooks[{index}]", webhook.get("name") or ""
        yield from _validate_fields(behaviour, path, webhook, options)
        if not unchanged:
            yield from validate_match_condition(
                behaviour, webhook.get("matchConditions"), f"{path}.matchConditions", known=known
            )
        versions = webhook.get("admissionReviewVersions") or ()
        reviews = f"{path}.admissionReviewVersions"
        if versions:
            yield from validate_review_versions(reviews, versions, recognized=not options.unread_versions)
        else:
            yield required(reviews, f"must specify one of {', '.join(_VERSIONS)}")
        if not options.same_names and name and name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)


def _validate_fields(behaviour: ServedBehaviour, path: str, webhook: Object, options: ValidationOptions) -> Errors:
    effects = options.effects
    yield from placed(path, _POLICIES(behaviour, webhook))
    given = webhook.get("sideEffects")
    if given is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(effects)}")
    elif given not in effects:
        yield unsupported(f"{path}.sideEffects", given, effects)
    yield from placed(path, _TIMEOUT(behaviour, webhook))
    for name in _SELECTORS:
        yield from validate_label_selector(behaviour, webhook[name], f"{path}.{name}", any_value=options.any_value)
    yield from placed(path, _REINVOCATION(behaviour, webhook))
    yield from placed(path, _CLIENT(behaviour, webhook))


def validate_review_versions(path: str, versions: Sequence[str], *, recognized: bool) -> Errors:
    """The errors of versions of reviews; ``recognized``: they must include one that the server knows."""
    again = repeats(versions)
    for index, version in enumerate(versions):
        if index in again:
            yield invalid_value(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from validate_text(f"{path}[{index}]", version, dns1035_label)
    if recognized and not set(versions) & set(_VERSIONS):
        yield invalid_value(path, texts(versions), f"must include at least one of {', '.join(_VERSIONS)}")
