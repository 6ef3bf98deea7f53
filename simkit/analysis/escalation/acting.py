"""The attacker on a fork: steps of a path turned into requests, sent, and their answers kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from simkit.analysis.custom import catalogue_of
from simkit.analysis.escalation import place as at_place
from simkit.analysis.escalation.certificates import certificate_request, signed
from simkit.analysis.escalation.credentials import (
    BOOTSTRAP_USER,
    SOMEBODY,
    Credential,
    impersonating,
    of_token,
    starting,
)
from simkit.analysis.escalation.filling import (
    body_of,
    collection,
    fill,
    merged,
    resource_of,
    workload_change,
)
from simkit.analysis.escalation.goal import Access
from simkit.analysis.escalation.granting import Question, review
from simkit.analysis.escalation.need import Permission
from simkit.analysis.escalation.path import Path, Step
from simkit.analysis.escalation.place import GROUP, POD, SERVICE_ACCOUNT, Place
from simkit.analysis.escalation.primitive import Act, needs_of, primitives
from simkit.analysis.escalation.world import PODS, World
from simkit.analysis.subject import identity_of, parse
from simkit.analysis.target import VIRTUAL
from simkit.logic.rbac.binding import CLUSTER_ROLES, USER, Subject
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.domain import RBAC_GROUP, SYSTEM_NAMESPACE
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity, administrator, service_account
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.schema.catalogue import Resource
from simkit.snapshot.protocol import Sandbox

MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
FRESH: Final = "proof"
REFUSALS: Final = (401, 403, 404)
NOT_CARRIED_OUT: Final = 501
UNKNOWN_PATH: Final = b"404 page not found"
ASKED_ONLY: Final = ("impersonate", "bind", "escalate", "approve", "sign", "attest", "use")
"""Verbs that no request has: whether they are granted is asked by a review."""
CONTROLLERS: Final = {
    "deployments": "replicaset-controller",
    "replicasets": "replicaset-controller",
    "daemonsets": "daemon-set-controller",
    "statefulsets": "statefulset-controller",
    "jobs": "job-controller",
    "cronjobs": "job-controller",
    "replicationcontrollers": "replication-controller",
}


@runtime_checkable
class Settling(Protocol):
    """A sandbox that can run its controllers to rest."""

    def settle(self) -> int: ...


class Refused(Exception):
    """The server said no."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unable(Exception):
    """Something cannot be executed here."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Performed:
    """One request with its answer; or, without a request, what is assumed and needs none."""

    step: int
    primitive: str
    actor: str
    request: str
    status: int
    message: str = ""
    assumption: str = ""

    def __str__(self) -> str:
        if not self.request:
            return f"{self.actor}"
        return f"{self.actor}: {self.request} -> {self.status}" + (f" {self.message}" if self.message else "")


class Actor:
    """Somebody who walks a path on a fork, with all credentials that were had on the way."""

    def __init__(self, sandbox: Sandbox, path: Path, groups: Sequence[str] = ()) -> None:
        self.sandbox, self.path = sandbox, path
        self.performed: list[Performed] = []
        self.number = 0
        self.credential = starting(path.start, tuple(groups))
        self._wallet: list[Credential] = [self.credential]
        self._world = World(sandbox.snapshot())
        self._catalogue = catalogue_of(sandbox.snapshot())
        self._words: dict[str, Any] = {}
        self._inside: dict[str, str] = {}
        """The pod or node that one has got into."""
        self._step: Step | None = None
        self._last: Object = {}

    # Steps

    def take_step(self, number: int, step: Step) -> None:
        """Do what a step says. Raises Refused or Unable."""
        self.number, self._step = number, step
        if not step.primitive.executable:
            raise Unable(step.primitive.why_not)
        self._words = self._prepared(step)
        acts = step.way.execute
        if acts is None:
            acts = (Act(use="needs"),) if step.way.needs and step.cost else ()
        if not acts and step.cost and not step.way.needs:
            self._note(f"at {step.target}", step.edge.value("detail") or step.primitive.title)
        for act in acts:
            self._act(act)
        self._inside.update({name: step.variables[name] for name in ("pod", "node", "namespace") if name in step.variables})

    def finish(self, question: Question | None) -> None:
        """Ask whether the goal is granted; nothing where the last answer shows it already."""
        self.number += 1
        self._step = None
        if question is None:
            return
        access, who = question
        path, body = review(access, who)
        answer = self._send("POST", path, body, by=self.credential if who is None else None)
        status = (answer.object or {}).get("status") or {} if answer.succeeded else {}
        whose = "self" if who is None else who.user or who.groups[0]
        self._keep(answer, f"review of {whose}: {access}", status.get("reason") or "", allowed=status.get("allowed"))
        if not status.get("allowed"):
            raise Refused(f"the authorizer does not grant {access}")

    def world_rules(self, role: Key) -> tuple[Rule, ...]:
        """The rules of a role on the fork."""
        found = self.sandbox.snapshot().get(role.resource, role.name, role.namespace)
        return rules_of(found) if found is not None else ()

    # Words

    def _prepared(self, step: Step) -> dict[str, Any]:
        """What the words in the step's requests stand for."""
        words: dict[str, Any] = {**self._inside, **step.variables, "fresh": f"{FRESH}-{self.number}"}
        if words.get("namespace") in (None, "", at_place.ALL):
            words["namespace"] = self._some_namespace(step)
        words.update(fill(step.way.variables, words))
        namespace = words["namespace"]
        words.setdefault("account", "default")
        words.setdefault("node", next(iter(self._world.nodes), ""))
        words.setdefault("secret", next(iter(self._world.secrets.get(namespace, ())), ""))
        if not words["secret"] and step.way.yields == "secrets":
            raise Unable(f"there is no secret in {namespace}")
        words.setdefault("pod", next((name_of(pod) for pod in self._world.pods.get(namespace, ())), ""))
        words["pod_uid"] = self._uid(namespace, words["pod"])
        words["me_subject"] = self._entry()
        words["by_name"] = words["and_by_name"] = ""
        if "secret" in step.variables:
            words["by_name"] = f"?fieldSelector=metadata.name%3D{words['secret']}"
            words["and_by_name"] = f"&fieldSelector=metadata.name%3D{words['secret']}"
        self._add_requests(step, words)
        self._add_workload(step, words)
        if "aggregated" in words:
            words["aggregation_labels"] = self._labels(words["aggregated"])
        return words

    def _some_namespace(self, step: Step) -> str:
        places = self._world.secrets if step.way.yields == "secrets" else self._world.pods
        return next(iter(places), None) or next(iter(self._world.enforced), "default")

    def _uid(self, namespace: str, pod: str) -> str:
        found = self.sandbox.snapshot().get(PODS, pod, namespace) if PODS in self.sandbox.snapshot().captured() else None
        return at(found, "metadata", "uid") or ""

    def _entry(self) -> dict[str, str]:
        """The attacker as an entry of a binding."""
        identity = self.credential.seen
        account = identity.service_account
        if account is not None:
            return {"kind": SERVICE_ACCOUNT, "namespace": account[0], "name": account[1]}
        if self.credential.user == SOMEBODY and identity.groups:
            return {"kind": GROUP, "name": identity.groups[0], "apiGroup": RBAC_GROUP}
        return {"kind": USER, "name": self.credential.user, "apiGroup": RBAC_GROUP}

    def _add_requests(self, step: Step, words: dict[str, Any]) -> None:
        if step.primitive.id == "F1":
            words["certificate_request"] = certificate_request(*self._names(step))
        if step.primitive.id == "F3":
            words["node_certificate_request"] = certificate_request(f"system:node:{words['node']}", ("system:nodes",))

    @staticmethod
    def _names(step: Step) -> tuple[str, tuple[str, ...]]:
        """The user and groups that a certificate shall be for."""
        place = step.becomes
        if place is None or place.subject is None:
            return SOMEBODY, ()
        return (SOMEBODY, (place.name,)) if place.kind == GROUP else (identity_of(place.subject).user, ())

    def _add_workload(self, step: Step, words: dict[str, Any]) -> None:
        if "workload" not in [need.label for need in needs_of(step.primitive.id, step.edge.way, self._world.release)]:
            return
        permission = step.edge.permissions[0]
        resource = self._served(permission)
        if "resource" in step.variables:
            resource = self._catalogue.lookup(step.variables["resource"])
        words |= {"resource": resource, "collection": collection(resource, words["namespace"])}
        words["workload_change"] = workload_change(resource, {"serviceAccountName": words["account"]})
        words["privileged_change"] = workload_change(resource, self._host_specification(words))

    @staticmethod
    def _host_specification(words: Mapping[str, Any]) -> dict[str, Any]:
        """What opens the host, out of the table's pod that does."""
        pod = fill(primitives().bodies["privileged-pod"], words)["spec"]
        return {name: pod[name] for name in ("hostPID", "volumes", "containers")}

    def _labels(self, aggregated: str) -> dict[str, str]:
        for name, selectors in self._world.aggregated:
            if name == aggregated:
                return next((dict(one["matchLabels"]) for one in selectors if one.get("matchLabels")), {})
        return {}

    def _served(self, permission: Permission) -> Resource:
        resource = resource_of(self._catalogue, permission)
        if resource is None:
            raise Unable(f"nothing serves {permission.resource}.{permission.group} at release {self._world.release}")
        return resource

    # Acts

    def _act(self, act: Act) -> None:
        if act.use == "needs":
            self._make_needed_requests()
        elif act.use:
            for one in primitives().sequences[act.use]:
                self._act(one)
        elif act.wear:
            self._wear(act)
        elif act.settle:
            self._settle(act)
        elif act.approve:
            self._approve(act)
        elif act.read:
            self._read(act)
        elif act.connect:
            self._connect(act)
        elif act.ephemeral:
            self._add_container(act)
        elif act.change:
            self._change(act)
        elif act.sign:
            self._sign(act)
        else:
            self._do(act)

    def _do(self, act: Act) -> None:
        method, path = fill(act.do, self._words).split(" ", 1)
        body = body_of(act.body, self._words) if act.body else None
        self._take(act, self._ask(act, method, path, body))

    def _take(self, act: Act, answer: Response) -> None:
        """Keep what an answer gives: names of what was made, credentials."""
        self._last = answer.object if answer.stream is None and answer.body else {}
        if at(self._last, "kind") == "Pod":
            self._words |= {"pod": name_of(self._last), "pod_uid": at(self._last, "metadata", "uid") or ""}
        becomes = self._step.becomes if self._step else None
        if act.take == "token" and becomes is not None:
            token = at(self._last, "status", "token") or ""
            self._become(of_token(self.sandbox, token, becomes, "a token that the server issued"))
        elif act.take == "secret" and becomes is not None and becomes.subject is not None:
            self._note(f"is {becomes}", "the secret holds a token of the service account, as its annotation says")
            self._become(Credential(identity_of(becomes.subject), "a token in a secret"))
        elif act.take == "bootstrap":
            groups = ("system:bootstrappers", self._words["group"], AUTHENTICATED)
            self._become(Credential(Identity(BOOTSTRAP_USER, tuple(dict.fromkeys(groups))), "a bootstrap token"))

    def _become(self, credential: Credential) -> None:
        self.credential = credential
        self._wallet.append(credential)

    def _change(self, act: Act) -> None:
        """Update or patch an object, by whichever verb is granted."""
        path = fill(act.change, self._words)
        live = self._stored(path)
        if act.add_subject:
            change: Any = {"subjects": [*(live.get("subjects") or ()), self._words["me_subject"]]}
        elif act.pod_image:
            containers = [dict(one) for one in at(live, "spec", "containers") or ()]
            containers[0]["image"] = "registry.example/tools:1"
            change = {"spec": {"containers": containers}}
        else:
            change = fill(act.merge, self._words)
        self._write(act, path, live, change)

    def _write(self, act: Act, path: str, live: Object, change: Any) -> Response:
        verbs = [one.verb for one in self._step.edge.permissions] if self._step else []
        if "patch" in verbs or "update" not in verbs:
            answer = self._ask(act, "PATCH", path, change, content_type=MERGE)
        else:
            answer = self._ask(act, "PUT", path, merged(live, change))
        self._take(act, answer)
        return answer

    def _stored(self, path: str) -> Object:
        """The object at a path, in the version of the path. Raises Unable where there is none."""
        answer = self.sandbox.perform(Request.of("GET", path), identity=administrator())
        if not answer.succeeded:
            raise Unable(f"there is nothing at {path} to change")
        found: Object = answer.object
        return found

    def _add_container(self, act: Act) -> None:
        path = fill(act.ephemeral, self._words)
        pod = self._stored(path.rpartition("/")[0])
        debug = {"name": f"debug-{self.number}", "image": "registry.example/tools:1"}
        containers = [*(at(pod, "spec", "ephemeralContainers") or ()), debug]
        if self._step and self._step.edge.permissions[0].verb == "update":
            self._ask(act, "PUT", path, merged(pod, {"spec": {"ephemeralContainers": containers}}))
        else:
            self._ask(act, "PATCH", path, {"spec": {"ephemeralContainers": [debug]}}, content_type=STRATEGIC)

    def _connect(self, act: Act) -> None:
        """Ask for a stream: whatever comes after the authorizer's yes is left to the node."""
        permission = self._step.edge.permissions[0] if self._step else Permission("create", "", "pods/exec")
        path = fill(act.connect, self._words)
        plural, _, subresource = permission.resource.partition("/")
        name = self._words["node"] if plural == "nodes" else self._words["pod"]
        where = "" if plural == "nodes" else self._words["namespace"]
        self._review(Access(permission.verb, plural, permission.group, where, name, subresource))
        answer = self._attempt("GET" if permission.verb == "get" else "POST", path, None)
        self._keep(answer, f"{'GET' if permission.verb == 'get' else 'POST'} {path}", _message(answer))
        if answer.status in REFUSALS:
            raise Refused(_message(answer))
        self._note(f"inside pod {self._words['pod']}", "the kubelet would run the command in the container")

    def _review(self, access: Access) -> None:
        path, body = review(access)
        answer = self._attempt("POST", path, body, accept=lambda one: bool(at(one.object, "status", "allowed")))
        granted = bool(at(answer.object, "status", "allowed")) if answer.succeeded else False
        self._keep(answer, f"review of self: {access}", at(answer.object, "status", "reason") or "", allowed=granted)
        if not granted:
            raise Refused(f"{self.credential.user} may not {access}")

    def _approve(self, act: Act) -> None:
        path = fill(act.approve, self._words)
        live = self._stored(path.rpartition("/")[0])
        condition = {"type": "Approved", "status": "True", "reason": "Proof", "message": "approved in a proof"}
        body = merged(live, {"status": {"conditions": [condition]}})
        permissions = self._step.edge.permissions if self._step else ()
        if any(one.verb == "patch" and one.subresource == "approval" for one in permissions):
            self._ask(act, "PATCH", path, {"status": {"conditions": [condition]}}, content_type=MERGE)
        else:
            self._ask(act, "PUT", path, body)

    def _sign(self, act: Act) -> None:
        method, path = fill(act.do, self._words).split(" ", 1)
        live = self._stored(path.rpartition("/")[0])
        certificate, user, groups = signed(at(live, "spec", "request"))
        if not at(live, "status", "certificate"):
            self._ask(act, method, path, merged(live, {"status": {"certificate": certificate}}))
        self._become(Credential(Identity(user, (*groups, AUTHENTICATED)), "a client certificate"))
        self._pending = self.credential

    def _read(self, act: Act) -> None:
        """Read an object by whichever of get, list and watch is granted, as who one was before."""
        path = fill(act.read, self._words)
        permissions = self._step.edge.permissions if self._step else ()
        plural = path.rpartition("/")[0].rpartition("/")[2]
        verb = next((one.verb for one in permissions if one.resource == plural and one.verb in ("get", "list", "watch")), "get")
        base, _, name = path.rpartition("/")
        asked = {
            "get": path,
            "list": base,
            "watch": f"{base}?watch=true&timeoutSeconds=1",
        }[verb]
        now, self.credential = self.credential, self._wallet[-2] if len(self._wallet) > 1 else self.credential
        try:
            self._ask(act, "GET", asked, None)
        finally:
            self.credential = now

    def _wear(self, act: Act) -> None:
        becomes = self._step.becomes if self._step else None
        words = self._words
        if act.wear == "masters":
            self._note("is in system:masters", act.because)
            self._become(Credential(Identity(f"{self.credential.user}-with-keys", (MASTERS, AUTHENTICATED)), "a forged certificate"))
        elif act.wear == "node":
            self._note(f"is system:node:{words['node']}", act.because)
            identity = Identity(f"system:node:{words['node']}", ("system:nodes", AUTHENTICATED))
            self._become(Credential(identity, "the kubelet's certificate"))
        elif act.wear == "deputy":
            deputy = service_account(words["deputy_namespace"], words["deputy"])
            self._note(f"commands {deputy.user}", act.because)
            self._become(Credential(deputy, "what the controller does with its own rights"))
        else:
            self._impersonate(becomes)

    def _impersonate(self, becomes: Place | None) -> None:
        target = becomes or Place(USER, self._words.get("user", SOMEBODY))
        if self._step and self._step.target.kind == at_place.NODE_IDENTITY:
            target = Place(GROUP, "system:nodes")
        worn = impersonating(self.credential, target, self._words.get("user", ""))
        before, self.credential = self.credential, worn
        answer = self._send("POST", *review(Access("get", "pods")), by=worn)
        self._keep(answer, f"any request, with {_shown(worn.headers)}", _message(answer))
        if answer.status in REFUSALS:
            self.credential = before
            raise Refused(_message(answer))
        self._wallet.append(worn)

    def _settle(self, act: Act) -> None:
        if not isinstance(self.sandbox, Settling):
            raise Unable("this sandbox has no controllers to run")
        self.sandbox.settle()
        self._note("the controllers run", act.because)

    # The needed requests themselves

    def _make_needed_requests(self) -> None:
        step = self._step
        assert step is not None
        for need, permission in zip(needs_of(step.primitive.id, step.edge.way, self._world.release), step.edge.permissions):
            name = step.variables.get(need.label, "") or next(iter(need.names), "")
            if permission.verb in ASKED_ONLY or permission.resource.partition("/")[0] in VIRTUAL and permission.verb in ASKED_ONLY:
                plural, _, behind = permission.resource.partition("/")
                self._review(Access(permission.verb, plural, permission.group, "", name, behind))
            else:
                self._make_request(permission, name)

    def _make_request(self, permission: Permission, name: str) -> None:
        resource = self._served(permission)
        act = Act.model_validate({"as": "attacker"})
        if permission.nameless and permission.verb == "create":
            path = collection(resource, self._words["namespace"])
            self._take(act, self._ask(act, "POST", path, self._new(resource)))
            return
        if permission.verb in ("list", "watch", "deletecollection"):
            method = "DELETE" if permission.verb == "deletecollection" else "GET"
            self._ask(act, method, collection(resource, self._words["namespace"]), None)
            return
        path = self._existing(resource, name)
        behind = f"/{permission.subresource}" if permission.subresource else ""
        self._touch(act, permission, path, behind)

    def _touch(self, act: Act, permission: Permission, path: str, behind: str) -> None:
        """One request about an object that is there."""
        verb = permission.verb
        if behind in ("/proxy", "/portforward", "/exec", "/attach"):
            self._connect(Act.model_validate({"as": "attacker", "connect": path + behind}))
        elif verb == "get":
            self._ask(act, "GET", path + behind, None)
        elif verb == "delete":
            self._ask(act, "DELETE", path + behind, None)
        elif verb == "create":
            self._ask(act, "POST", path + behind, self._of_subresource(path, behind))
        else:
            change = {"metadata": {"annotations": {"proof.example/step": str(self.number)}}}
            if verb == "patch":
                self._ask(act, "PATCH", path + behind, change, content_type=MERGE)
            else:
                self._ask(act, "PUT", path + behind, merged(self._stored(path + behind), change))

    def _of_subresource(self, path: str, behind: str) -> Any:
        if behind == "/eviction":
            return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": path.rpartition("/")[2]}}
        raise Unable(f"nothing is known to send to {behind}")

    def _new(self, resource: Resource) -> Any:
        if resource.resource in primitives().bodies:
            return body_of(resource.resource, self._words)
        if resource.resource == "pods":
            return body_of("plain-pod", self._words)
        if not resource.custom:
            raise Unable(f"no example of {resource} is in the table")
        spec = {"serviceAccountName": self._words["account"]}
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": self._words["fresh"]}, "spec": spec}

    def _existing(self, resource: Resource, name: str) -> str:
        """The path of an object that is there: of the name, or any. Raises Unable where there is none."""
        where = self._words["namespace"] if resource.namespaced else None
        name = name or self._words.get("object", "")
        snapshot = self.sandbox.snapshot()
        key = GroupResource(resource.group, resource.resource)
        if key in snapshot.captured():
            anywhere = self._step is not None and self._step.edge.value("namespace") in ("", at_place.ALL)
            for place in (where, None) if anywhere else (where,):
                for obj in snapshot.scan(key, place):
                    if not name or name_of(obj) == name:
                        return f"{collection(resource, namespace_of(obj))}/{name_of(obj)}"
        raise Unable(f"there is no {resource} to change")

    # Requests

    def _ask(self, act: Act, method: str, path: str, body: Any, *, content_type: str = "application/json") -> Response:
        """The answer to a request of whoever does the act. Raises Refused where it is no success."""
        if act.by == "attacker":
            answer = self._attempt(method, path, body, content_type=content_type)
            actor, assumption = self.credential.user, ""
        else:
            answer, actor = self._played(act, method, path, body, content_type)
            assumption = act.because
        if answer.stream is not None:
            answer.stream.close()
        self._keep(answer, f"{method} {path}", "" if answer.succeeded else _message(answer), actor, assumption)
        if not answer.succeeded and answer.status not in act.accept:
            if answer.status == NOT_CARRIED_OUT or answer.body.startswith(UNKNOWN_PATH):
                raise Unable(_message(answer).strip() + f": {path}")
            raise Refused(_message(answer))
        return answer

    def _attempt(
        self, method: str, path: str, body: Any, *, content_type: str = "application/json", accept: Any = None
    ) -> Response:
        """The answer to the attacker: as who it is now, or else as anybody that it was on the way."""
        accept = accept or (lambda answer: answer.status not in (401, 403))
        first = self._send(method, path, body, by=self.credential, content_type=content_type)
        if accept(first):
            return first
        for credential in reversed(self._wallet):
            if credential is not self.credential:
                answer = self._send(method, path, body, by=credential, content_type=content_type)
                if accept(answer):
                    self.credential = credential
                    return answer
        return first

    def _send(
        self, method: str, path: str, body: Any, *, by: Credential | None, content_type: str = "application/json"
    ) -> Response:
        credential = by or Credential(administrator(), "an administrator asks")
        headers = dict(credential.headers)
        request = Request.of(method, path, body, content_type=content_type, headers=headers)
        return self.sandbox.perform(request, identity=credential.identity)

    def _played(self, act: Act, method: str, path: str, body: Any, content_type: str) -> tuple[Response, str]:
        """The answer to somebody else, whose part an administrator plays where its own rights are not enough."""
        identity = self._other(act)
        request = Request.of(method, path, body, content_type=content_type)
        answer = self.sandbox.perform(request, identity=identity)
        if answer.status != 403 or act.by in ("accomplice", "administrator"):
            return answer, identity.user
        return self.sandbox.perform(request, identity=administrator()), f"{identity.user}, played by an administrator"

    def _other(self, act: Act) -> Identity:
        if act.by == "kubelet":
            return Identity(f"system:node:{self._words['node']}", ("system:nodes", AUTHENTICATED))
        if act.by == "controller":
            resource = self._words.get("resource")
            name = CONTROLLERS.get(getattr(resource, "resource", ""), "replicaset-controller")
            return service_account(SYSTEM_NAMESPACE, "service-account-controller" if act.accept else name)
        if act.by in ("approver", "signer"):
            return service_account(SYSTEM_NAMESPACE, "certificate-controller")
        if act.by == "token-controller":
            return Identity("system:kube-controller-manager", (AUTHENTICATED,))
        if act.by == "accomplice":
            return identity_of(parse(self._words["accomplice"]))
        return administrator()

    def _keep(
        self, answer: Response, request: str, message: str = "", actor: str = "", assumption: str = "", allowed: Any = None
    ) -> None:
        if allowed is not None:
            message = f"{'allowed' if allowed else 'not allowed'}" + (f": {message}" if message else "")
        primitive = self._step.primitive.id if self._step else "end"
        who = actor or self.credential.user
        self.performed.append(Performed(self.number, primitive, who, request, answer.status, message, assumption))

    def _note(self, actor: str, assumption: str) -> None:
        primitive = self._step.primitive.id if self._step else "end"
        self.performed.append(Performed(self.number, primitive, actor, "", 0, "", assumption))


def _message(answer: Response) -> str:
    """What a Status says; nothing for other answers."""
    if answer.stream is not None or not answer.body:
        return ""
    try:
        found = answer.object
    except ValueError:
        return answer.body[:200].decode("utf-8", "replace")
    return str(found.get("message") or "") if isinstance(found, Mapping) and found.get("kind") == "Status" else ""


def _shown(headers: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in headers.items())


__all__ = ["CLUSTER_ROLES", "POD", "Actor", "Performed", "Refused", "Subject", "Unable"]
