"""The attacker on a fork: steps of a path turned into requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.goal import AccessQuestion
from simkit.analysis.escalation.find.path import Path, Step
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.prove.certificates import signed
from simkit.analysis.escalation.prove.credentials import (
    BOOTSTRAP_USER,
    SOMEBODY,
    Credential,
    impersonating,
    initial_credential,
    token_credential,
)
from simkit.analysis.escalation.prove.goal_check import Question, review
from simkit.analysis.escalation.prove.required_requests import make_needed_requests
from simkit.analysis.escalation.prove.session import REFUSALS, NotExecutable, Refused, Session, message_of
from simkit.analysis.escalation.prove.templates import body_of, fill, merged
from simkit.analysis.escalation.prove.variables import StepVariables
from simkit.analysis.escalation.table.primitive import Operation, primitives
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.least_privilege.role_aggregation import aggregate_roles
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.rbac.binding import GROUP, USER
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity, service_account
from simkit.meta.message import Response
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, name_of
from simkit.snapshot.protocol import Sandbox

MERGE: Final = "application/merge-patch+json"
HELD: Final = "A1"
"""The primitive that is no doing, but a right that one has: whether one has it is asked."""
EXEC: Final = Permission("create", "", "pods/exec")
NEEDED: Final = Operation.model_validate({"use": "needs"})
DEBUGGER: Final = {
    "image": "registry.example/tools:1",
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}
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
"""Where one is after the authorizer's yes, and what the other side does."""
STRATEGIC: Final = "application/strategic-merge-patch+json"


class Attacker:
    """Somebody who walks a path on a fork, with all credentials that were had on the way."""

    def __init__(self, sandbox: Sandbox, path: Path, groups: Sequence[str] = ()) -> None:
        self.path = path
        self.session = Session(sandbox, initial_credential(path.start, tuple(groups)))
        self.finding = StepVariables(sandbox)
        self.words: dict[str, Any] = {}
        self.step: Step | None = None

    # Steps

    def take_step(self, number: int, step: Step) -> None:
        """Do what a step says. Raises Refused or NotExecutable."""
        self.step = step
        self.session.number, self.session.primitive = number, step.primitive.id
        if not step.primitive.executable:
            raise NotExecutable(step.primitive.why_not)
        self.words = self.finding.of(step, number, self.session.credential)
        acts = step.way.execute
        if acts is None:
            acts = (NEEDED,) if step.way.needs and step.cost else ()
        if not acts and step.cost and not step.way.needs:
            self.session.note(f"at {step.target}", step.edge.value("detail") or step.primitive.title)
        for act in acts:
            self._act(act)
        if step.primitive.id == HELD:
            self.review(
                AccessQuestion("*", "*", "*", "" if step.target.namespace == states.ALL else step.target.namespace)
            )
        self.session.end_step()
        kept = ("pod", "node", "namespace")
        self.finding.inside.update({name: step.variables[name] for name in kept if name in step.variables})

    def finish(self, question: Question | None) -> None:
        """Ask whether the goal is granted; nothing where the last answer shows it already."""
        self.session.number, self.session.primitive = self.session.number + 1, "end"
        self.step = None
        if question is None:
            return
        access, who = question
        path, body = review(access, who)
        answer = self.session.send("POST", path, body, by=self.session.credential if who is None else None)
        status = (answer.object or {}).get("status") or {} if answer.succeeded else {}
        whose = "self" if who is None else who.user or who.groups[0]
        asks = "" if who is None else "an administrator"
        self.session.keep(
            answer,
            f"review of {whose}: {access}",
            status.get("reason") or "",
            asks,
            allowed=bool(status.get("allowed")),
        )
        if not status.get("allowed"):
            raise Refused(f"the authorizer does not grant {access}")

    def world_rules(self, role: Key) -> tuple[Rule, ...]:
        """The rules of a role on the fork."""
        found = self.session.sandbox.snapshot().get(role.resource, role.name, role.namespace)
        return rules_of(found) if found is not None else ()

    # Acts

    def _act(self, act: Operation) -> None:
        if act.use == "needs":
            make_needed_requests(self)
        elif act.use:
            for one in primitives().sequences[act.use]:
                self._act(one)
        elif act.wear:
            self._wear(act)
        elif act.refill:
            self._refill(act)
        elif act.approve:
            self._approve(act)
        elif act.read:
            self._read(act)
        elif act.connect:
            self.connect(act)
        elif act.ephemeral:
            self._add_container(act)
        elif act.change:
            self._change(act)
        elif act.sign:
            self._sign(act)
        else:
            self._do(act)

    def _do(self, act: Operation) -> None:
        method, path = fill(act.do, self.words).split(" ", 1)
        body = body_of(act.body, self.words) if act.body else None
        self.take(act, self.ask(act, method, path, body))

    def ask(
        self, act: Operation, method: str, path: str, body: Any, *, content_type: str = "application/json"
    ) -> Response:
        """The answer to a request of whoever does the act. Raises Refused where it is no success."""
        return self.session.ask(act, method, path, body, self.words, content_type=content_type)

    def take(self, act: Operation, answer: Response) -> None:
        """Keep what an answer gives: names of what was made, credentials."""
        made: Object = answer.object if answer.stream is None and answer.body else {}
        if made.get("kind") == "Pod":
            self.words |= {"pod": name_of(made), "pod_uid": at(made, "metadata", "uid") or ""}
        becomes = self.step.becomes if self.step else None
        if act.take == "token" and becomes is not None:
            token = at(made, "status", "token") or ""
            self.session.obtain(
                token_credential(self.session.sandbox, token, becomes, "a token that the server issued")
            )
        elif act.take == "secret" and becomes is not None and becomes.subject is not None:
            self.session.note(
                f"is {becomes}", "the secret holds a token of the service account, as its annotation says"
            )
            self.session.obtain(Credential(identity_of(becomes.subject), "a token in a secret"))
        elif act.take == "bootstrap":
            groups = ("system:bootstrappers", self.words["group"], AUTHENTICATED)
            self.session.obtain(Credential(Identity(BOOTSTRAP_USER, tuple(dict.fromkeys(groups))), "a bootstrap token"))

    def _change(self, act: Operation) -> None:
        """Update or patch an object, by whichever verb is granted."""
        path = fill(act.change, self.words)
        live = self.session.stored(path)
        if act.add_subject:
            change: Any = {"subjects": [*(live.get("subjects") or ()), self.words["me_subject"]]}
        elif act.pod_image:
            containers = [dict(one) for one in at(live, "spec", "containers") or ()]
            containers[0]["image"] = "registry.example/tools:1"
            change = {"spec": {"containers": containers}}
        else:
            change = fill(act.merge, self.words)
        self._write(act, path, live, change)

    def _write(self, act: Operation, path: str, live: Object, change: Any) -> Response:
        verbs = [one.verb for one in self.step.edge.permissions] if self.step else []
        if self.step and "verb" in self.step.variables:
            verbs = [self.step.variables["verb"]]
        if "patch" in verbs or "update" not in verbs:
            answer = self.ask(act, "PATCH", path, change, content_type=MERGE)
        else:
            answer = self.ask(act, "PUT", path, merged(live, change))
        self.take(act, answer)
        return answer

    def _add_container(self, act: Operation) -> None:
        path = fill(act.ephemeral, self.words)
        pod = self.session.stored(path.rpartition("/")[0])
        debug = {**DEBUGGER, "name": f"debug-{self.session.number}"}
        containers = [*(at(pod, "spec", "ephemeralContainers") or ()), debug]
        if self.step and self.step.edge.permissions[0].verb == "update":
            self.ask(act, "PUT", path, merged(pod, {"spec": {"ephemeralContainers": containers}}))
        else:
            self.ask(act, "PATCH", path, {"spec": {"ephemeralContainers": [debug]}}, content_type=STRATEGIC)

    def connect(self, act: Operation) -> None:
        """Ask for a stream: whatever comes after the authorizer's yes is left to the node."""
        permission = self.step.edge.permissions[0] if self.step else EXEC
        if not self.words["pod"]:
            raise NotExecutable("there is no running pod")
        path = fill(act.connect, self.words)
        plural, _, subresource = permission.resource.partition("/")
        name = path.partition(f"/{plural}/")[2].partition("/")[0]
        where = "" if plural == "nodes" else path.partition("/namespaces/")[2].partition("/")[0]
        self.review(AccessQuestion(permission.verb, plural, permission.group, where, name, subresource))
        answer = self.session.attempt("GET" if permission.verb == "get" else "POST", path, None)
        self.session.keep(answer, f"{'GET' if permission.verb == 'get' else 'POST'} {path}", message_of(answer))
        if answer.status in REFUSALS:
            raise Refused(message_of(answer))
        at, why = BEHIND[permission.resource]
        self.session.note(at.format(name=name, pod=self.words["pod"]), why)

    def review(self, access: AccessQuestion) -> None:
        """Ask whether oneself may do something. Raises Refused for a no."""
        path, body = review(access)
        answer = self.session.attempt("POST", path, body, accept=lambda one: bool(at(one.object, "status", "allowed")))
        granted = bool(at(answer.object, "status", "allowed")) if answer.succeeded else False
        self.session.keep(
            answer, f"review of self: {access}", at(answer.object, "status", "reason") or "", allowed=granted
        )
        if not granted:
            raise Refused(f"{self.session.credential.user} may not {access}")

    def _approve(self, act: Operation) -> None:
        path = fill(act.approve, self.words)
        live = self.session.stored(path.rpartition("/")[0])
        condition = {"type": "Approved", "status": "True", "reason": "Proof", "message": "approved in a proof"}
        body = merged(live, {"status": {"conditions": [condition]}})
        permissions = self.step.edge.permissions if self.step else ()
        if any(one.verb == "patch" and one.subresource == "approval" for one in permissions):
            self.ask(act, "PATCH", path, {"status": {"conditions": [condition]}}, content_type=MERGE)
        else:
            self.ask(act, "PUT", path, body)

    def _sign(self, act: Operation) -> None:
        method, path = fill(act.do, self.words).split(" ", 1)
        live = self.session.stored(path.rpartition("/")[0])
        certificate, user, groups = signed(at(live, "spec", "request"))
        if not at(live, "status", "certificate"):
            self.ask(act, method, path, merged(live, {"status": {"certificate": certificate}}))
        self.session.obtain(Credential(Identity(user, (*groups, AUTHENTICATED)), "a client certificate"))

    def _read(self, act: Operation) -> None:
        """Read an object by whichever of get, list and watch is granted."""
        path = fill(act.read, self.words)
        permissions = self.step.edge.permissions if self.step else ()
        plural = path.rpartition("/")[0].rpartition("/")[2]
        verb = next(
            (one.verb for one in permissions if one.resource == plural and one.verb in ("get", "list", "watch")), "get"
        )
        base = path.rpartition("/")[0]
        asked = {
            "get": path,
            "list": base,
            "watch": f"{base}?watch=true&timeoutSeconds=1",
        }[verb]
        self.ask(act, "GET", asked, None)

    def _wear(self, act: Operation) -> None:
        becomes = self.step.becomes if self.step else None
        words = self.words
        if act.wear == "masters":
            self.session.note("is in system:masters", act.because)
            self.session.obtain(
                Credential(
                    Identity(f"{self.session.credential.user}-with-keys", (MASTERS, AUTHENTICATED)),
                    "a forged certificate",
                )
            )
        elif act.wear == "node":
            self.session.note(f"is system:node:{words['node']}", act.because)
            identity = Identity(f"system:node:{words['node']}", ("system:nodes", AUTHENTICATED))
            self.session.obtain(Credential(identity, "the kubelet's certificate"))
        elif act.wear == "deputy":
            deputy = service_account(words["deputy_namespace"], words["deputy"])
            self.session.note(f"commands {deputy.user}", act.because)
            self.session.obtain(Credential(deputy, "what the controller does with its own rights"))
        else:
            self._impersonate(becomes)

    def _impersonate(self, becomes: AttackState | None) -> None:
        target = becomes or AttackState(USER, self.words.get("user", SOMEBODY))
        if self.step and self.step.target.kind == states.NODE_IDENTITY:
            target = AttackState(GROUP, "system:nodes")
        worn = impersonating(self.session.credential, target, self.words.get("user", ""))
        answer = self.session.send("POST", *review(AccessQuestion("get", "pods")), by=worn)
        self.session.keep(answer, f"any request, with {_shown(worn.headers)}", message_of(answer))
        if answer.status in REFUSALS:
            raise Refused(message_of(answer))
        self.session.obtain(worn)

    def _refill(self, act: Operation) -> None:
        """What the aggregation controller does."""
        for path, answer, who in aggregate_roles(self.session.sandbox):
            self.session.keep(answer, f"PATCH {path}", message_of(answer), who, act.because)
            if not answer.succeeded:
                raise Refused(message_of(answer))


def _shown(headers: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in headers.items())
