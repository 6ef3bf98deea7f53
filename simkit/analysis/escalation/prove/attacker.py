"""The attacker on a fork: steps of a path turned into requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import BOOTSTRAPPERS
from simkit.analysis.escalation.find.matching import ONLY
from simkit.analysis.escalation.find.path import Path, Step
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.prove.proving_fork import NotExecutable, ProvingFork, message_of
from simkit.analysis.escalation.prove.required_requests import make_needed_requests
from simkit.analysis.escalation.prove.session import (
    BOOTSTRAP_USER,
    REFUSALS,
    SOMEBODY,
    UNKNOWN_PATH,
    Credential,
    Refused,
    Session,
    impersonating,
    initial_credential,
    node_identity,
    reviewed,
    signed,
    token_credential,
)
from simkit.analysis.escalation.prove.simulated_nodes import (
    PRINTED,
    RunningPods,
    has_happened,
    is_carried_out,
    output_of,
    see_output,
)
from simkit.analysis.escalation.prove.variables import TOKEN_FILE, StepVariables, body_of, debugger, fill, fill_path
from simkit.analysis.escalation.table.primitive import Operation, primitives
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.least_privilege.change import MERGE, aggregate_roles
from simkit.analysis.least_privilege.recorded_access import Action, review
from simkit.analysis.rbac.index import identity_with_members, members_in
from simkit.analysis.rbac.subject import identity_of
from simkit.language.merge.mergepatch import merge_patch
from simkit.logic.rbac.binding import GROUP, USER
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity, service_account
from simkit.meta.message import Request, Response
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of

NEEDED: Final = Operation.model_validate({"use": "requirements"})
COMMAND: Final = "the kubelet would run the command in the container"
BEHIND: Final = {
    "pods/exec": ("inside pod {pod}", COMMAND),
    "pods/attach": ("inside pod {pod}", "the kubelet would pass on what is typed to the container"),
    "pods/portforward": ("at a port of pod {pod}", "the kubelet would pass the bytes on"),
    "pods/proxy": ("at a port of pod {pod}", "the server would pass the request on"),
    "pods/log": ("at the log of pod {pod}", "the kubelet would send what the container has written"),
    "services/proxy": ("at service {name}", "the server would pass the request on to a pod of the service"),
    "nodes/proxy": ("inside pod {pod}", COMMAND),
}
"""The attacker's position after a connection to each subresource, and the assumed action of the other side."""
UPGRADE: Final = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "c2lta2l0LXByb29mLWtleQ==",
}
"""Headers of a request that opens a WebSocket."""
OPENED: Final = ("exec", "attach", "portforward")
"""Subresources whose requests open a stream."""
_FORBIDDEN: Final = 403
BOOTSTRAP_TOKEN: Final = "a bootstrap token"
APPLY: Final = "application/apply-patch+yaml"
STRATEGIC: Final = "application/strategic-merge-patch+json"
Question = tuple[Action, Identity | None]
"""The attributes of a review, and its subject: the attacker itself if None."""


class Attacker:
    """An attacker that follows a path on a fork, with all credentials obtained on the way."""

    def __init__(self, sandbox: ProvingFork, path: Path, groups: Sequence[str] = ()) -> None:
        self.path = path
        self.session = Session(sandbox, initial_credential(path.start, tuple(groups)))
        self.step_variables = StepVariables(sandbox)
        self.running = RunningPods(sandbox)
        self.values: dict[str, Any] = {}
        self.step: Step

    @property
    def permissions(self) -> Sequence[Permission]:
        """The granted permissions that the present step needs."""
        return self.step.edge.permissions

    # Steps

    def take_step(self, number: int, step: Step) -> None:
        """Execute a step. Raises Refused or NotExecutable."""
        self.step = step
        self.session.number, self.session.primitive = number, step.primitive.id
        if not step.primitive.executable:
            raise NotExecutable(step.primitive.not_executable)
        self.values = self.step_variables.of(step, number, self.session.credential)
        operations = step.variant.execute
        if operations is None:
            operations = (NEEDED,) if step.variant.requires and step.cost else ()
        if not operations and step.cost and not step.variant.requires:
            self.session.note(f"at {step.target}", step.edge.value("detail") or step.primitive.title)
        for operation in operations:
            self._perform(operation)
        if step.primitive.everything:
            where = "" if step.target.namespace == states.ALL else step.target.namespace
            self.review(Action("*", "*", "*", namespace=where))
        self.session.end_step()
        kept = ("pod", "node", "namespace")
        self.step_variables.inside.update({name: step.variables[name] for name in kept if name in step.variables})

    def finish(self, question: Question | None) -> None:
        """Check that the goal is granted, unless the last answer shows it already."""
        self.session.number, self.session.primitive = len(self.path.steps) + 1, "end"
        if question is None:
            return
        access, who = question
        if who is None:
            granted = self._keep_review(self._judged(access, self.session.credential), "self", access)
        else:
            answer = self._judged_by_others(access, who)
            granted = self._keep_review(answer, who.user or who.groups[0], access, "an administrator")
        if not granted:
            raise Refused(f"the authorizer does not grant {access}")

    def rules_of_role(self, role: Key) -> tuple[Rule, ...]:
        """The rules of a role on the fork."""
        found = self.session.sandbox.snapshot().get(role.resource, role.name, role.namespace)
        return rules_of(found) if found is not None else ()

    # Acts

    def _perform(self, operation: Operation) -> None:
        if operation.use == "requirements":
            make_needed_requests(self)
        elif operation.use:
            for one in primitives().sequences[operation.use]:
                self._perform(one)
        else:
            acts = {
                "become": self._become,
                "refill": self._refill,
                "approve": self._approve,
                "read": self._read,
                "connect": self.connect,
                "ephemeral": self._add_container,
                "change": self._change,
                "sign": self._sign,
            }
            next((act for field, act in acts.items() if getattr(operation, field)), self._do)(operation)

    def _do(self, operation: Operation) -> None:
        if operation.by != "attacker" and has_happened(self, operation):
            return
        method, path = fill_path(operation.do, self.values).split(" ", 1)
        body = body_of(operation.body, self.values) if operation.body else None
        self.take(operation, self.ask(operation, method, path, body))

    def ask(
        self, operation: Operation, method: str, path: str, body: Any, *, content_type: str = "application/json"
    ) -> Response:
        """The answer to a request of the operation's actor. Raises Refused unless it succeeds."""
        session = self.session
        if operation.by == "attacker":
            plural = path.rpartition("/")[2] if method == "POST" else ""
            for number, permission in enumerate(self.permissions):
                if permission.nameless and permission.resource == plural and self.step.edge.value(f"{ONLY}{number}"):
                    method, path, content_type = "PATCH", f"{path}/{name_of(body)}?fieldManager=proof", APPLY
            answer = session.attempt(method, path, body, content_type=content_type)
            actor, assumption = session.credential.actor, ""
        else:
            request = Request.of(method, path, body, content_type=content_type)
            answer, actor = session.played(operation, request, self.values)
            assumption = operation.because
        if answer.stream is not None:
            answer.stream.close()
        session.keep(answer, f"{method} {path}", "" if answer.succeeded else message_of(answer), actor, assumption)
        if not answer.succeeded and answer.status not in operation.accept:
            if answer.body.startswith(UNKNOWN_PATH):
                raise NotExecutable(message_of(answer).strip() + f": {path}")
            raise Refused(message_of(answer))
        return answer

    def take(self, operation: Operation, answer: Response) -> None:
        """Keep names and credentials from an answer."""
        made: Object = answer.object if answer.stream is None and answer.body else {}
        if made.get("kind") == "Pod":
            self.values |= {"pod": name_of(made), "pod_uid": at(made, "metadata", "uid") or ""}
        becomes = self.step.becomes
        if operation.take == "token" and becomes is not None:
            token = at(made, "status", "token") or ""
            self.session.obtain(
                token_credential(self.session.sandbox, token, becomes, "a token that the server issued")
            )
        elif operation.take in ("secret", "bootstrap") and becomes is not None and becomes.subject is not None:
            identity, what = identity_of(becomes.subject), "a token of the service account, as its annotation says"
            if becomes.kind == GROUP:
                identity, what = Identity(BOOTSTRAP_USER, (BOOTSTRAPPERS, becomes.name, AUTHENTICATED)), BOOTSTRAP_TOKEN
            if operation.take == "secret":
                self.session.note(f"is {becomes}", f"the secret holds {what}")
            self.session.obtain(Credential(identity, "a token in a secret" if becomes.kind != GROUP else what))

    def _change(self, operation: Operation) -> None:
        """Update or patch an object, with the verb that is granted."""
        path = fill_path(operation.change, self.values)
        live = self.session.stored(path)
        if operation.add_subject:
            change: Any = {"subjects": [*(live.get("subjects") or ()), self.values["me_subject"]]}
        elif operation.pod_image:
            containers = [dict(one) for one in at(live, "spec", "containers") or ()]
            containers[0]["image"] = "registry.example/tools:1"
            change = {"spec": {"containers": containers}}
        else:
            change = fill(operation.merge, self.values)
        verbs = [one.verb for one in self.permissions]
        if "verb" in self.step.variables:
            verbs = [self.step.variables["verb"]]
        if "patch" in verbs or "update" not in verbs:
            answer = self.ask(operation, "PATCH", path, change, content_type=MERGE)
        else:
            answer = self.ask(operation, "PUT", path, merge_patch(live, change))
        self.take(operation, answer)

    def _add_container(self, operation: Operation) -> None:
        path = fill_path(operation.ephemeral, self.values)
        pod = self.session.stored(path.rpartition("/")[0])
        debug = {**debugger(pod), "name": f"debug-{self.session.number}"}
        containers = [*(at(pod, "spec", "ephemeralContainers") or ()), debug]
        if self.permissions[0].verb == "update":
            self.ask(operation, "PUT", path, merge_patch(pod, {"spec": {"ephemeralContainers": containers}}))
        else:
            self.ask(operation, "PATCH", path, {"spec": {"ephemeralContainers": [debug]}}, content_type=STRATEGIC)
        see_output(self, debug["name"])

    def connect(self, operation: Operation) -> None:
        """Request a stream, up to the authorizer's decision; the rest is done by a simulated node, or would be."""
        permission = self.permissions[0]
        if not self.values["pod"]:
            raise NotExecutable("there is no running pod")
        reads = permission.verb == "get"
        path = fill_path((reads and operation.upgrade) or operation.connect, self.values)
        plural, _, subresource = permission.resource.partition("/")
        name = unquote(path.partition(f"/{plural}/")[2].partition("/")[0])
        where = "" if plural == "nodes" else path.partition("/namespaces/")[2].partition("/")[0]
        self.review(Action(permission.verb, permission.group, plural, subresource, where, name))
        opens = UPGRADE if subresource in OPENED or (reads and operation.upgrade) else {}
        method = "GET" if reads else "POST"
        answer = self.session.attempt(method, path, None, headers=opens)
        given = f"cat {TOKEN_FILE}\n" if subresource == "attach" else ""
        printed = output_of(answer, given) if operation.take == "token" else None
        token = reviewed(self.session.sandbox, printed, PRINTED) if printed else None
        at, why = BEHIND[permission.resource]
        unreached = self.session.sandbox.is_unreached(path, answer)
        message = "" if token or answer.succeeded else message_of(answer)
        self.session.keep(answer, f"{method} {path}", message, assumption=why if unreached else "")
        if answer.status in REFUSALS and not unreached:
            raise Refused(message_of(answer))
        if token and printed:
            self.session.printed[self.values["namespace"], self.values["pod"]] = printed
        done = token or is_carried_out(answer, self.values["port"])
        self.session.note(at.format(name=name, pod=self.values["pod"]), "" if done else why)

    def review(self, access: Action) -> None:
        """Review the access of the attacker, under each of its identities. Raises Refused if none has it."""
        answer = self.session.under_any(lambda credential: self._judged(access, credential), _is_allowed)
        if not self._keep_review(answer, "self", access):
            raise Refused(f"{self.session.credential.actor} may not {access}")

    def _keep_review(self, answer: Response, whose: str, access: Action, actor: str = "") -> bool:
        """Record the answer to a review; true if it is yes."""
        granted = _is_allowed(answer)
        reason = at(answer.object, "status", "reason") or ""
        self.session.keep(answer, f"review of {whose}: {access}", reason, actor, allowed=granted)
        return granted

    def _judged(self, access: Action, credential: Credential) -> Response:
        """The answer to a review of oneself; where no role allows to ask, to that of an administrator."""
        answer = self.session.send("POST", *review(access), by=credential)
        return self._judged_by_others(access, credential.seen) if answer.status == _FORBIDDEN else answer

    def _judged_by_others(self, access: Action, who: Identity) -> Response:
        return self.session.send("POST", *review(access, who), by=None)

    def _approve(self, operation: Operation) -> None:
        if operation.by != "attacker":
            self.running.settle()
        path = fill_path(operation.approve, self.values)
        live = self.session.stored(path.rpartition("/")[0])
        if operation.by != "attacker" and any(at(live, "status", "conditions") or ()):
            return  # the approving controller has decided
        condition = {"type": "Approved", "status": "True", "reason": "Proof", "message": "approved in a proof"}
        change = {"status": {"conditions": [condition]}}
        if any(one.verb == "patch" and one.subresource == "approval" for one in self.permissions):
            self.ask(operation, "PATCH", path, change, content_type=MERGE)
        else:
            self.ask(operation, "PUT", path, merge_patch(live, change))

    def _sign(self, operation: Operation) -> None:
        self.running.settle()
        method, path = fill_path(operation.do, self.values).split(" ", 1)
        live = self.session.stored(path.rpartition("/")[0])
        certificate, user, groups = signed(at(live, "spec", "request"))
        if not at(live, "status", "certificate"):
            self.ask(operation, method, path, merge_patch(live, {"status": {"certificate": certificate}}))
        self.session.obtain(Credential(Identity(user, (*groups, AUTHENTICATED)), "a client certificate"))

    def _read(self, operation: Operation) -> None:
        """Read an object with whichever of get, list and watch is granted."""
        path = fill_path(operation.read, self.values)
        base = path.rpartition("/")[0]
        paths = {"get": path, "list": base, "watch": f"{base}?watch=true&timeoutSeconds=1"}
        verbs = (one.verb for one in self.permissions if one.resource == base.rpartition("/")[2])
        self.ask(operation, "GET", next((paths[verb] for verb in verbs if verb in paths), path), None)

    def _become(self, operation: Operation) -> None:
        becomes, values = self.step.becomes, self.values
        if operation.become == "masters":
            identity = Identity(f"{self.session.credential.user}-with-keys", (MASTERS, AUTHENTICATED))
            told, by = "is in system:masters", "a forged certificate"
        elif operation.become == "node":
            identity = node_identity(values)
            told, by = f"is {identity.user}", "the kubelet's certificate"
        elif operation.become == "principal" and becomes is not None and becomes.subject is not None:
            identity = identity_with_members(becomes.subject, members_in(self.session.sandbox.snapshot(), None))
            told, by = f"is {becomes}", "a token of the cloud provider"
        elif operation.become == "deputy":
            identity = service_account(values["deputy_namespace"], values["deputy"])
            told, by = f"commands {identity.user}", "what the controller does with its own rights"
        else:
            self._impersonate()
            return
        self.session.note(told, operation.because)
        self.session.obtain(Credential(identity, by))

    def _impersonate(self) -> None:
        target = self.step.becomes or AttackState(USER, self.values.get("user", SOMEBODY))
        if self.step.target.kind == states.NODE_IDENTITY:
            target = AttackState(GROUP, "system:nodes")
        impersonated = impersonating(self.session.credential, target, self.values.get("user", ""))
        answer = self.session.send("POST", *review(Action("get", resource="pods")), by=impersonated)
        headers = ", ".join(f"{name}: {value}" for name, value in impersonated.headers.items())
        self.session.keep(answer, f"any request, with {headers}", message_of(answer))
        if answer.status in REFUSALS:
            raise Refused(message_of(answer))
        self.session.obtain(impersonated)

    def _refill(self, operation: Operation) -> None:
        """Fill aggregated roles as the aggregation controller does, unless that of simulated nodes has."""
        self.running.settle()
        for path, answer, who in aggregate_roles(self.session.sandbox):
            self.session.keep(answer, f"PATCH {path}", message_of(answer), who, operation.because)
            if not answer.succeeded:
                raise Refused(message_of(answer))


def _is_allowed(answer: Response) -> bool:
    """True if an access review was answered with yes."""
    return answer.succeeded and bool(at(answer.object, "status", "allowed"))
