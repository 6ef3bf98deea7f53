"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final

import orjson

from simkit.engine.admission.candidates import LiveClusterReader, attributes_of
from simkit.engine.admission.plugin_attributes import Handler
from simkit.engine.admission.webhook_calls import Answer, CallFailed, WebhookClient, rejection
from simkit.engine.admission.webhook_index import EXEMPT, MUTATING, VALIDATING, WebhookAccessor, WebhookIndex
from simkit.language.merge.jsonpatch import checked_json_patch, json_patch
from simkit.language.merge.mergepatch import PatchError
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.meta.clock import NameSource
from simkit.meta.deadline import Deadline, check_deadline, current_deadline, within
from simkit.meta.domain import api_group
from simkit.meta.errors import forbidden, internal
from simkit.meta.go_json import go_kind
from simkit.meta.objects import Object
from simkit.meta.threads import HAS_THREADS
from simkit.schema.catalogue import Resource
from simkit.seams import Review
from simkit.seams.caveats import uncalled_webhook

# MutatingAdmissionWebhook and ValidatingAdmissionWebhook.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook, release 1.30.

_AT_ONCE: Final = 16
_CHANGED: Final = api_group("mutation.webhook.admission")
_PATCHED: Final = api_group("patch.webhook.admission")
_LET_THROUGH: Final = {
    MUTATING: api_group("failed-open.mutating.webhook.admission"),
    VALIDATING: api_group("failed-open.validating.webhook.admission"),
}

Restore = Callable[[Mapping[str, Any], Resource], Object]
"""A function from an object in the version of a resource to the stored form, typed and defaulted."""


class _Webhooks(Handler):
    """The common part of both plugins: the webhooks for a write, and the call of one."""

    def __init__(
        self,
        reader: LiveClusterReader,
        index: WebhookIndex,
        caller: WebhookClient,
        name_source: NameSource,
    ) -> None:
        self._reader, self._index, self._caller, self._name_source = reader, index, caller, name_source

    def _attributes(self, review: Review) -> AdmissionAttributes | None:
        if not self._index.any() or review.resource in EXEMPT:
            return None
        return attributes_of(review, self._reader.catalogue)

    def _match(self, webhook: WebhookAccessor, attributes: AdmissionAttributes) -> Resource | None:
        from simkit.logic.policy.definition import MatchConditionsFailed

        try:
            return webhook.match(attributes, self._reader)
        except MatchConditionsFailed as error:
            raise forbidden(attributes.resource.group_resource, attributes.name, str(error)) from None

    def _tell(self, webhook: WebhookAccessor, answer: Answer, review: Review) -> None:
        """Pass on the warnings and audit annotations of a webhook. Raises its refusal."""
        for key, value in (answer.annotations or {}).items():
            review.annotations.setdefault(f"{webhook.name}/{key}", value)
        review.warnings.extend(answer.warnings)
        if not answer.allowed:
            raise rejection(webhook.name, answer.status)


class ValidatingAdmissionWebhook(_Webhooks):
    """Calls all matching webhooks at the same time; the first refusal in their order counts."""

    def validate(self, review: Review) -> None:
        """Raises the refusal of a webhook, or 500 if one with failurePolicy Fail cannot be called."""
        attributes = self._attributes(review)
        if attributes is None:
            return
        kind = (attributes.operation, attributes.resource, attributes.subresource)
        asked: list[tuple[WebhookAccessor, Resource]] = []
        for webhook in self._index.concerned(VALIDATING, self._reader, *kind):
            matched = self._match(webhook, attributes)
            if matched is not None:
                asked.append((webhook, matched))
        for index, (webhook, found) in enumerate(
            zip((webhook for webhook, _ in asked), self._answers(attributes, asked))
        ):
            if isinstance(found, CallFailed):
                if not webhook.ignores:
                    raise internal(str(found))
                review.annotations.setdefault(f"{_LET_THROUGH[VALIDATING]}/round_0_index_{index}", webhook.name)
            elif found is None:
                review.warnings.append(uncalled_webhook(webhook.name))
            else:
                self._tell(webhook, found, review)

    def _answers(
        self, attributes: AdmissionAttributes, asked: Sequence[tuple[WebhookAccessor, Resource]]
    ) -> list[Answer | CallFailed | None]:
        def one(pair: tuple[WebhookAccessor, Resource]) -> Answer | CallFailed | None:
            try:
                return self._caller.ask(pair[0], attributes, pair[1], self._name_source.uid(), mutating=False)
            except CallFailed as error:
                return error

        if len(asked) < 2 or not HAS_THREADS:
            return [one(pair) for pair in asked]
        deadline = current_deadline() or Deadline()

        def in_time(pair: tuple[WebhookAccessor, Resource]) -> Answer | CallFailed | None:
            check_deadline()
            return one(pair)

        with ThreadPoolExecutor(min(_AT_ONCE, len(asked)), thread_name_prefix="simkit-webhook") as pool:
            return list(pool.map(lambda pair: within(deadline, partial(in_time, pair)), asked))


class MutatingAdmissionWebhook(_Webhooks):
    """Calls the matching webhooks in order, each with the object of the previous one.

    Where one changed the object, all plugins are asked again; of the webhooks those that want to know what others
    changed after them.
    """

    def __init__(
        self,
        reader: LiveClusterReader,
        index: WebhookIndex,
        caller: WebhookClient,
        name_source: NameSource,
        restore: Restore,
    ) -> None:
        super().__init__(reader, index, caller, name_source)
        self._restore = restore

    def mutate(self, review: Review) -> Object:
        """The object after all webhooks. Raises the refusal of one, or 500 if one with failurePolicy Fail cannot be
        called."""
        attributes = self._attributes(review)
        if attributes is None:
            return review.object or {}
        kind = (attributes.operation, attributes.resource, attributes.subresource)
        webhooks = self._index.concerned(MUTATING, self._reader, *kind)
        if not webhooks:
            return review.object or {}
        return _Round(self, review, attributes).run(webhooks)

    def patched(
        self, webhook: WebhookAccessor, answer: Answer, attributes: AdmissionAttributes, matched: Resource
    ) -> Object | None:
        """The object after the webhook's patch, in its stored form; None if nothing changed. Raises 500."""
        if not answer.patch and answer.changed is None:
            return None
        if attributes.object is None or attributes.operation == "CONNECT":
            text = f'admission webhook "{webhook.name}" attempted to modify the object, which is not supported for this'
            raise internal(f"{text} operation")
        before = self._reader.convert(attributes.object, matched)
        try:
            after = answer.changed or json_patch(before, checked_json_patch(list(answer.patch)))
        except PatchError as error:
            raise internal(error.detail) from None
        if not isinstance(after, Mapping):
            raise internal(f"json: cannot unmarshal {go_kind(after)} into Go value of type {matched.kind}")
        return None if after == before else self._restore(after, matched)


class _Round:
    """One pass over mutating webhooks."""

    def __init__(self, plugin: MutatingAdmissionWebhook, review: Review, attributes: AdmissionAttributes) -> None:
        self._plugin, self._review, self._attributes = plugin, review, attributes
        self._known = review.reinvocation.begin(plugin.name, attributes.object)

    def run(self, webhooks: Sequence[WebhookAccessor]) -> Object:
        """The object after the webhooks: in the second round those that want to be called again."""
        for index, webhook in enumerate(webhooks):
            check_deadline()
            matched = self._plugin._match(webhook, self._attributes)
            if matched is not None and self._known.asks(webhook.uid):
                changed = self._one(webhook, matched, index)
                self._known.made(webhook.uid, changed=changed, again=webhook.again)
        self._known.output = self._attributes.object
        return self._attributes.object or {}

    def _one(self, webhook: WebhookAccessor, matched: Resource, index: int) -> bool:
        """Call one webhook; True if it changed the object."""
        place = f"round_{self._review.reinvocation.round}_index_{index}"
        try:
            uid = self._plugin._name_source.uid()
            answer = self._plugin._caller.ask(webhook, self._attributes, matched, uid, mutating=True)
        except CallFailed as error:
            if not webhook.ignores:
                raise internal(str(error)) from None
            self._review.annotations.setdefault(f"{_LET_THROUGH[MUTATING]}/{place}", webhook.name)
            return False
        if answer is None:
            self._review.warnings.append(uncalled_webhook(webhook.name))
            return False
        self._plugin._tell(webhook, answer, self._review)
        made = self._plugin.patched(webhook, answer, self._attributes, matched)
        self._note(webhook, answer, place, changed=made is not None)
        if made is None:
            return False
        self._attributes = replace(self._attributes, object=made)
        return True

    def _note(self, webhook: WebhookAccessor, answer: Answer, place: str, *, changed: bool) -> None:
        """Record the audit annotations of the call."""
        entry: dict[str, Any] = {"configuration": webhook.configuration, "webhook": webhook.name}
        mutated = orjson.dumps({**entry, "mutated": changed}).decode()
        self._review.annotations.setdefault(f"{_CHANGED}/{place}", mutated)
        if changed and answer.patch:
            patch = {**entry, "patch": list(answer.patch), "patchType": "JSONPatch"}
            self._review.annotations.setdefault(f"{_PATCHED}/{place}", orjson.dumps(patch).decode())
