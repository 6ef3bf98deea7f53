"""Parts of many descriptions: names, labels, annotations, tolerations, times, resources.

Lines have cells that end with a tab, for ``tabbed``. Upstream: k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from simkit.meta.domain import label
from simkit.meta.objects import Object, at
from simkit.meta.quantity import parse

HIDDEN_ANNOTATION: Final = label("last-applied-configuration", "kubectl")
_LONGEST: Final = 140
"""The longest annotation that is shown on the line of its name."""


def name_lines(obj: Object, *, namespace: bool = True) -> Iterator[str]:
    """The name, and the namespace of an object in one."""
    data = obj["metadata"]
    yield f"Name:\t{data['name']}"
    if namespace:
        yield f"Namespace:\t{data.get('namespace', '')}"


def label_lines(labels: Mapping[str, str] | None, head: str = "Labels") -> Iterator[str]:
    """Labels, or what has their form, one a line."""
    yield from _below(f"{head}:", [f"{name}={text}" for name, text in sorted((labels or {}).items())])


def annotation_lines(obj: Object, head: str = "Annotations") -> Iterator[str]:
    """Annotations, long ones below their name."""
    shown: list[str] = []
    for name, text in sorted((obj["metadata"].get("annotations") or {}).items()):
        value = text.removesuffix("\n")
        if name == HIDDEN_ANNOTATION:
            continue
        if len(value) + len(name) + 2 > _LONGEST or "\n" in value:
            shown += [f"{name}:", *(f"  {_shortened(line, _LONGEST - 2)}" for line in value.split("\n"))]
        else:
            shown.append(f"{name}: {value}")
    yield from _below(f"{head}:", shown)


def _shortened(text: str, width: int) -> str:
    return f"{text[:width]}..." if len(text) > width else text


def _below(head: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines or ["<none>"]):
        yield f"{head if not number else ''}\t{line}"


def toleration_lines(tolerations: Iterable[Mapping[str, Any]] | None, head: str = "Tolerations") -> Iterator[str]:
    """Tolerations in the order of their keys."""
    found = sorted(tolerations or (), key=lambda each: each.get("key") or "")
    yield from _below(f"{head}:", [_toleration(each) for each in found])


def _toleration(toleration: Mapping[str, Any]) -> str:
    text = str(toleration.get("key") or "")
    text += f"={toleration['value']}" if toleration.get("value") else ""
    text += f":{toleration['effect']}" if toleration.get("effect") else ""
    if toleration.get("operator") == "Exists" and not toleration.get("value"):
        text += " op=Exists" if text else "op=Exists"
    seconds = toleration.get("tolerationSeconds")
    return text + (f" for {seconds}s" if seconds is not None else "")


def taint_lines(taints: Iterable[Mapping[str, Any]] | None) -> Iterator[str]:
    """Taints in the order of effect and key."""
    found = sorted(taints or (), key=lambda each: (each.get("effect") or "", each.get("key") or ""))
    lines = [
        f"{each['key']}{'=' + each['value'] if each.get('value') else ''}"
        f"{':' + each['effect'] if each.get('effect') else ''}"
        for each in found
    ]
    yield from _below("Taints:", lines)


def controller_lines(obj: Object) -> Iterator[str]:
    """The controller that owns an object; nothing if none does."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            yield f"Controlled By:\t{owner['kind']}/{owner['name']}"


def condition_lines(obj: Object) -> Iterator[str]:
    """Conditions of a workload with their reasons."""
    conditions = (obj.get("status") or {}).get("conditions")
    if conditions:
        yield from ("Conditions:", "  Type\tStatus\tReason", "  ----\t------\t------")
        yield from (f"  {each['type']} \t{each['status']}\t{each.get('reason', '')}" for each in conditions)


def seccomp_lines(secured: Mapping[str, Any], indent: str = "", deeper: str = "") -> Iterator[str]:
    """The seccomp profile of a pod or container; nothing if it has none."""
    profile = at(secured, "securityContext", "seccompProfile")
    if profile:
        yield f"{indent}SeccompProfile:\t{profile['type']}"
        if profile["type"] == "Localhost":
            yield f"{deeper}LocalhostProfile:\t{profile.get('localhostProfile', '')}"


def resource_lines(resources: Mapping[str, Any] | None, indent: str) -> Iterator[str]:
    """Limits and requests."""
    for head, field in (("Limits", "limits"), ("Requests", "requests")):
        found = (resources or {}).get(field)
        if found:
            yield f"{indent}{head}:"
            yield from amount_lines(found, f"{indent}  ")


def amount_lines(amounts: Mapping[str, str], indent: str) -> Iterator[str]:
    """Amounts of resources in the order of their names."""
    yield from (f"{indent}{name}:\t{parse(str(amount))}" for name, amount in sorted(amounts.items()))


def shown_time(time: str | None) -> str:
    """A time as Go's RFC1123Z writes it.

    Examples
    --------
    >>> shown_time("2026-01-02T03:04:05Z")
    'Fri, 02 Jan 2026 03:04:05 +0000'
    """
    if not time:
        return "Mon, 01 Jan 0001 00:00:00 +0000"
    return datetime.fromisoformat(time.replace("Z", "+00:00")).strftime("%a, %d %b %Y %H:%M:%S %z")


def yes_or_no(value: Any) -> str:
    """A boolean as Go prints it."""
    return "true" if value else "false"


def selector_text(selector: Mapping[str, Any] | None, *, none: str = "<none>") -> str:
    """A label selector: its requirements in the order of their keys.

    Examples
    --------
    >>> selector_text({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]})
    'a,app=web'
    """
    found = [(name, f"{name}={value}") for name, value in ((selector or {}).get("matchLabels") or {}).items()]
    for each in (selector or {}).get("matchExpressions") or ():
        values = ",".join(sorted(each.get("values") or ()))
        forms = {"In": "{} in ({})", "NotIn": "{} notin ({})", "Exists": "{}", "DoesNotExist": "!{}"}
        found.append((each["key"], forms[each["operator"]].format(each["key"], values)))
    return ",".join(text for _, text in sorted(found)) or none
