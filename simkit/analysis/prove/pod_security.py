"""The pod security levels as expressions about new pods, one for each control.

The checks are those of ``simkit.logic.podsecurity``, from which the lists come; a test compares both on random pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from simkit.logic.podsecurity import baseline, restricted
from simkit.meta.behaviour import ServedBehaviour

LEVELS: Final = ("baseline", "restricted")
_ALL: Final = "(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))"
_POD: Final = "object.spec.securityContext"
_WINDOWS: Final = "has(object.spec.os) && object.spec.os.name == 'windows'"


def controls(level: str, behaviour: ServedBehaviour) -> list[str] | None:
    """The expressions that pods of a level meet; None where the release has checks without an expression.

    Parameters
    ----------
    level
        ``baseline`` or ``restricted``.
    behaviour
        That of the server, whose newest version of the level counts.
    """
    if behaviour.applies("pod-security-of-probe-hosts"):
        return None
    found = list(_baseline(behaviour))
    return [*found, *_restricted(behaviour)] if level == "restricted" else found


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(repr(text) for text in sorted(texts))}]"


def _each(test: str, field: str) -> str:
    """That each container which sets a field of its security context passes a test of it."""
    path, missing = "c.securityContext", ["!has(c.securityContext)"]
    for step in field.split("."):
        path = f"{path}.{step}"
        missing.append(f"!has({path})")
    return f"{_ALL}.all(c, {' || '.join(missing)} || {test.format(path)})"


def _pod(test: str, field: str) -> str:
    """That the pod's security context passes a test of a field, if it sets it."""
    path, missing = _POD, [f"!has({_POD})"]
    for step in field.split("."):
        path = f"{path}.{step}"
        missing.append(f"!has({path})")
    return f"{' || '.join(missing)} || {test.format(path)}"


def _both(test: str, field: str) -> Iterator[str]:
    yield _pod(test, field)
    yield _each(test, field)


def _baseline(behaviour: ServedBehaviour) -> Iterator[str]:
    profiles = _listed(baseline.PROFILES)
    engines = behaviour.applies("pod-security-of-container-engines")
    types = _listed(baseline.SELINUX_TYPES_31 if engines else baseline.SELINUX_TYPES)
    memory = behaviour.applies("pod-security-of-tcp-memory")
    sysctls = _listed(baseline.SYSCTLS_32 if memory else baseline.SYSCTLS_29)
    for field in ("appArmorProfile", "seccompProfile"):
        yield from _both("{0}.type in " + profiles, field)
    notes = "object.metadata.annotations"
    good = f"{notes}[k] in ['', 'runtime/default'] || {notes}[k].startsWith('localhost/')"
    yield f"!has({notes}) || {notes}.all(k, !k.startsWith({baseline.APPARMOR!r}) || {good})"
    yield _each("{0}.all(each, each in " + _listed(baseline.CAPABILITIES) + ")", "capabilities.add")
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        yield f"!has(object.spec.{name}) || !object.spec.{name}"
    yield "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))"
    yield f"{_ALL}.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0))"
    yield _each("!{0}", "privileged")
    yield _each("{0} == 'Default'", "procMount")
    for name in ("user", "role"):
        yield from _both("{0} == ''", f"seLinuxOptions.{name}")
    yield from _both("{0} in " + types, "seLinuxOptions.type")
    yield _pod("{0}.all(each, each.name in " + sysctls + ")", "sysctls")
    yield from _both("!{0}", "windowsOptions.hostProcess")


def _restricted(behaviour: ServedBehaviour) -> Iterator[str]:
    images = ["image"] if behaviour.applies("pod-security-allows-image-volumes") else []
    volumes = " || ".join(f"has(v.{name})" for name in sorted([*restricted.VOLUMES, *images]))
    yield f"!has(object.spec.volumes) || object.spec.volumes.all(v, {volumes})"
    escalation = "has(c.securityContext.allowPrivilegeEscalation) && !c.securityContext.allowPrivilegeEscalation"
    yield f"{_WINDOWS} || {_ALL}.all(c, has(c.securityContext) && {escalation})"
    dropped = "has(c.securityContext.capabilities.drop) && 'ALL' in c.securityContext.capabilities.drop"
    drops = f"has(c.securityContext) && has(c.securityContext.capabilities) && {dropped}"
    yield f"{_WINDOWS} || {_ALL}.all(c, {drops})"
    yield f"{_WINDOWS} || {_each('{0}.all(each, each == ' + repr('NET_BIND_SERVICE') + ')', 'capabilities.add')}"
    yield from _both("{0}", "runAsNonRoot")
    set_for_all = f"has({_POD}) && has({_POD}.runAsNonRoot) && {_POD}.runAsNonRoot"
    yield f"{set_for_all} || {_ALL}.all(c, has(c.securityContext) && has(c.securityContext.runAsNonRoot))"
    yield from _both("{0} != 0", "runAsUser")
    for_all = f"has({_POD}) && has({_POD}.seccompProfile)"
    each = f"{_ALL}.all(c, has(c.securityContext) && has(c.securityContext.seccompProfile))"
    yield f"{_WINDOWS} || {for_all} || {each}"
