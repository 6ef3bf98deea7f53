"""Strategy of mutating and validating webhook configurations.

Follows ``pkg/apis/admissionregistration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from simkit.kinds.parts.admission.expressions import validate_match_condition, written
from simkit.kinds.parts.admission.rules import FAILURE_POLICIES, MATCH_POLICIES, default_rules, validate_rule
from simkit.kinds.parts.admission.webhook_client_config import validate_client
from simkit.kinds.parts.copy_on_write import null_where_empty, own_copy, own_items, without_empty
from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.fields import validate_qualified_webhook, validate_text
from simkit.kinds.parts.validation.label_selector import validate_label_selector
from simkit.kinds.parts.validation.repeats import repeats
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy
from simkit.meta.domain import api_group
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label
from simkit.meta.objects import Draft, Object, name_of

_BETA: Final = f"{api_group('admissionregistration')}/v1beta1"
_VERSIONS: Final = ("v1", "v1beta1")
_EFFECTS: Final = ("None", "NoneOnDryRun")
_ALL_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_SELECTORS: Final = ("namespaceSelector", "objectSelector")
_REINVOCATIONS: Final = ("IfNeeded", "Never")


def webhook_rules(*, reinvoked: bool) -> Strategy:
    """The strategy of one of the two kinds; mutating webhooks have a reinvocation policy."""
    rules = Strategy(
        metadata_checks=MetadataChecks((WHOLE,)),
        unqualified_finalizers=True,
        default=lambda draft: _default(draft, reinvoked=reinvoked),
        prepare=_prepare,
        validate=_validate,
        raises_generation=_differ,
        print_row=_row,
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


def _prepare(draft: Draft, old: Object | None) -> None:
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
    def towards(cls, old: Object | None) -> Self:
        before: Sequence[Object] = (old or {}).get("webhooks") or ()
        names = [one.get("name") for one in before]
        listed = [one.get("admissionReviewVersions") for one in before]
        return cls(
            effects=_ALL_EFFECTS if any(one.get("sideEffects") not in _EFFECTS for one in before) else _EFFECTS,
            same_names=len(set(names)) < len(names),
            unread_versions=any(versions and not set(versions) & set(_VERSIONS) for versions in listed),
            any_value=any(validate_label_selector(one.get(name), name) for one in before for name in _SELECTORS),
            conditions=None if old is None else [one.get("matchConditions") for one in before],
        )


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors of all webhooks. Errors that the old webhooks have already are tolerated as upstream."""
    return _validate_webhook(obj, old, ValidationOptions.towards(old))


def _validate_older(obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors in v1beta1, which allows side effects of any kind, and duplicate names."""
    return _validate_webhook(obj, old, replace(ValidationOptions.towards(old), effects=_ALL_EFFECTS, same_names=True))


def _validate_webhook(obj: Object, old: Object | None, options: ValidationOptions) -> Sequence[FieldError]:
    webhooks = obj.get("webhooks") or ()
    known = {text for webhook in (old or {}).get("webhooks") or () for text in written(webhook, "matchConditions")}
    unchanged = options.conditions == [one.get("matchConditions") for one in webhooks]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, webhook in enumerate(webhooks):
        path, name = f"webhooks[{index}]", webhook.get("name") or ""
        errors += _validate_fields(path, webhook, options)
        if not unchanged:
            errors += validate_match_condition(webhook.get("matchConditions"), f"{path}.matchConditions", known=known)
        versions = webhook.get("admissionReviewVersions") or ()
        errors += _validate_version(f"{path}.admissionReviewVersions", versions, options)
        if not options.same_names and name and name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
    return errors


def _validate_fields(path: str, webhook: Object, options: ValidationOptions) -> Iterator[FieldError]:
    effects = options.effects
    yield from validate_qualified_webhook(f"{path}.name", webhook.get("name") or "")
    for index, rule in enumerate(webhook.get("rules") or ()):
        yield from validate_rule(f"{path}.rules[{index}]", rule)
    for name, choices in (("failurePolicy", FAILURE_POLICIES), ("matchPolicy", MATCH_POLICIES)):
        if webhook[name] not in choices:
            yield unsupported(f"{path}.{name}", webhook[name], choices)
    given = webhook.get("sideEffects")
    if given is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(effects)}")
    elif given not in effects:
        yield unsupported(f"{path}.sideEffects", given, effects)
    if not 1 <= webhook["timeoutSeconds"] <= 30:
        text = "the timeout value must be between 1 and 30 seconds"
        yield invalid_value(f"{path}.timeoutSeconds", webhook["timeoutSeconds"], text)
    for name in _SELECTORS:
        yield from validate_label_selector(webhook[name], f"{path}.{name}", any_value=options.any_value)
    reinvoked = webhook.get("reinvocationPolicy")
    if reinvoked is not None and reinvoked not in _REINVOCATIONS:
        yield unsupported(f"{path}.reinvocationPolicy", reinvoked, _REINVOCATIONS)
    yield from validate_client(f"{path}.clientConfig", webhook.get("clientConfig") or {})


def _validate_version(path: str, versions: Sequence[str], options: ValidationOptions) -> Iterator[FieldError]:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    again = repeats(versions)
    for index, version in enumerate(versions):
        if index in again:
            yield invalid_value(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from validate_text(f"{path}[{index}]", version, dns1035_label)
    if not options.unread_versions and not set(versions) & set(_VERSIONS):
        yield invalid_value(path, texts(versions), f"must include at least one of {', '.join(_VERSIONS)}")


def _row(obj: Object, now: float) -> Sequence[Any]:
    """Name, number of webhooks, age."""
    return [name_of(obj), len(obj.get("webhooks") or ()), created(obj, now)]
