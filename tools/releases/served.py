"""Served resources of every release, from routes; lifecycles of versions, from lifecycle tags and the overrides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tools.releases.packages import Route

Facts = Mapping[str, Any]
FIRST, LAST = 16, 37
VERBS = {"post": "create", "put": "update"}
PART_VERBS = {
    "finalize": ["update"],
    "rollback": ["create"],
    "eviction": ["create"],
    "binding": ["create"],
    "token": ["create"],
}
ORDERED = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def number(release: str) -> int:
    return int(release.partition(".")[2])


def name_of(route: Route) -> str:
    return f"{f'{route.group}/{route.version}' if route.group else route.version} {route.plural}"


def api_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def observed(routes: Mapping[str, Sequence[Route]]) -> dict[str, dict[str, dict[str, Any]]]:
    """By resource and release: kind, scope, verbs, subresources."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for release, listed in routes.items():
        for route in listed:
            row = found.setdefault(name_of(route), {}).setdefault(release, {"subresources": {}})
            if route.action:
                group, version, kind = route.kind
                other = "" if (group, version) == (route.group, route.version) else api_version(group, version)
                verbs = sorted({VERBS.get(verb, verb) for verb in route.verbs if not verb.startswith("global_")})
                row["subresources"][route.action] = [kind, other, verbs]
            else:
                names = {verb.removeprefix("global_") for verb in route.verbs}
                verbs = sorted({VERBS.get(verb, verb) for verb in names})
                row |= {"kind": route.kind[2], "namespaced": route.namespaced, "verbs": verbs}
    return {name: by for name, by in found.items() if any("kind" in row for row in by.values())}


def off_by_default(name: str, first: int, last: int) -> str:
    """The reason for which a default server of any release does not serve the resource; empty if it does.

    Alphas are off. Betas that came with 1.24 or later are off, but for versions of flow control, whose group was
    there before. What 1.16 stopped serving could be switched on until it was deleted in 1.18.
    """
    version, _, plural = name.rpartition(" ")
    group, _, version = version.rpartition("/")
    if "alpha" in version:
        return "alpha"
    if last == 17 and (group == "apps" or (group == "extensions" and plural != "ingresses")):
        return "since1.16"
    if "beta" in version and first >= 24 and not group.startswith("flowcontrol."):
        return "newBeta"
    return ""


def resource_rows(seen: Facts, catalogue: Facts, overrides: Facts) -> dict[str, Any]:
    """One row a resource: what it is, the releases that have it, what was otherwise in earlier ones."""
    known = catalogue["resources"]
    rows = {}
    for name, by_release in sorted(seen.items()):
        releases = sorted((number(each) for each in by_release), key=int)
        newest = by_release[f"1.{releases[-1]}"]
        assert releases == list(range(releases[0], releases[-1] + 1)), f"{name} has gaps: {releases}"
        row: dict[str, Any] = {
            **_same_everywhere(name, newest, known, overrides),
            "releases": [releases[0], releases[-1]],
        }
        if off := off_by_default(name, releases[0], releases[-1]):
            row["off"] = off
        row |= _state(by_release[f"1.{releases[-1]}"], _connects(name, known))
        row["verbs"] = known.get(name, row)["verbs"]  # client models have a watch that discovery has not
        if changes := _changes(by_release, releases, _connects(name, known)):
            row["earlier"] = changes
        rows[name] = row
    for name, row in rows.items():
        stored = stored_as(name, rows, overrides["storedAs"])
        if {"create", "get", "list"} <= set(row["verbs"]) and name != "v1 componentstatuses":
            row["stored"] = known[name]["stored"] if name in known and "stored" in known[name] else stored
    return rows


def _state(facts: Facts, connects: Facts) -> dict[str, Any]:
    parts = {part: list(row) for part, row in facts["subresources"].items()}
    for part, row in parts.items():
        row[2] = PART_VERBS.get(part, ["get", "patch", "update"])
    parts = {**parts, **connects}
    state: dict[str, Any] = {"verbs": [verb for verb in ORDERED if verb in facts["verbs"]]}
    return state | ({"subresources": dict(sorted(parts.items()))} if parts else {})


def _connects(name: str, known: Facts) -> dict[str, Any]:
    """Subresources that a client model tells too little of: taken from 1.30."""
    special = ("attach", "exec", "log", "portforward", "proxy")
    return {part: row for part, row in known.get(name, {}).get("subresources", {}).items() if part in special}


def _changes(by_release: Facts, releases: Sequence[int], connects: Facts) -> list[Any]:
    """States that an older release has and its successor has not: [last release of the state, state]."""
    states = [_state(by_release[f"1.{each}"], connects) for each in releases]
    pairs = list(zip(releases, states, states[1:], strict=False))
    return [[release, state] for release, state, later in pairs if state != later]


def _same_everywhere(name: str, facts: Facts, known: Facts, overrides: Facts) -> dict[str, Any]:
    version, _, plural = name.rpartition(" ")
    group = version.rpartition("/")[0]
    row = {"kind": facts["kind"], "singular": facts["kind"].lower()}
    if facts["namespaced"]:
        row["namespaced"] = True
    sibling = _sibling(name, known)
    for part in ("shortNames", "categories"):
        if sibling and sibling.get(part):
            row[part] = sibling[part]
    short = overrides["shortNames"].get(f"{group} {plural}")
    return row | ({"shortNames": short} if short else {})


def _sibling(name: str, known: Facts) -> Facts | None:
    """The resource of 1.30 with the same plural, in the same group if there is one."""
    version, _, plural = name.rpartition(" ")
    group = version.rpartition("/")[0]
    same = [each for each in known if each.endswith(f" {plural}")]
    same.sort(key=lambda each: (each.rpartition(" ")[0].rpartition("/")[0] != group, each))
    return known[same[0]] if same else None


def rank(version: str) -> tuple[int, int, int]:
    """Stable before beta before alpha, higher numbers first."""
    track = 2 if "alpha" in version else 1 if "beta" in version else 0
    digits = [int(part) for part in version.lstrip("v").replace("alpha", " ").replace("beta", " ").split()]
    return (track, -digits[0], -(digits[1] if len(digits) > 1 else 0))


def stored_as(name: str, rows: Facts, stored: Facts) -> list[str]:
    """Group and version of the form that objects are kept in: the most stable, newest one of all releases."""
    whole, _, plural = name.rpartition(" ")
    group, _, version = whole.rpartition("/")
    moved = stored.get(f"{group} {plural}")
    if moved:
        return list(moved)
    if "own" in (stored.get(whole), stored.get(name)):
        return [group, version]
    return [group, min(versions_of(group, plural, rows), key=rank)]


def versions_of(group: str, plural: str, rows: Facts) -> list[str]:
    """The versions in which a group has a resource at any release."""
    split = [(each.rpartition(" ")[0].rpartition("/"), each.rpartition(" ")[2]) for each in rows]
    return [version for (home, _, version), name in split if (home, name) == (group, plural)]


def groups(rows: Facts, catalogue: Facts, overrides: Facts) -> list[str]:
    """All groups in server order: as 1.30 lists them, those it does not have where their priority puts them."""
    order = [group for group, _ in catalogue["groups"]]
    for group, place in overrides["groups"].items():
        order.insert(order.index(place["after"]) + 1, group)
    every = {name.rpartition(" ")[0].rpartition("/")[0] for name in rows}
    return order + sorted(every.difference(order))


# What is said of versions


def lifecycle(rows: Facts, tags: Iterable[Sequence[Any]], schemas: Facts, overrides: Facts) -> dict[str, Any]:
    """By kind, such as ``apps/v1beta1 Deployment``: introduced, deprecated, removed, deleted, replacement, planned."""
    said = {f"{api_version(group, version)} {kind}": dict(tag) for group, version, kind, tag in tags}
    truth = _corrected(said, overrides)
    found: dict[str, Any] = {}
    for name, row in rows.items():
        element = f"{name.rpartition(' ')[0]} {row['kind']}"
        found[element] = _life(truth.get(element, {}), row["releases"], row.get("off", ""), schemas.get(element))
    for element, tag in truth.items():
        if element.rpartition(" ")[2] in overrides["bodies"]:
            found[element] = _life_of_body(tag)
    for route in overrides["routes"]:
        assert found[route["element"]]["removed"] == route["is"], route
    return found


def _life_of_body(tag: Facts) -> dict[str, Any]:
    """The life of a kind that is sent to a subresource, of which routes say nothing."""
    life, removed = _told(tag), tag.get("removed", "")
    if removed:
        life["removed" if number(removed) <= LAST else "planned"] = removed
    if removed == f"1.{FIRST}":
        life["deleted"] = f"1.{FIRST + 2}"  # as everything that 1.16 stopped serving
    return life


def _corrected(said: dict[str, dict[str, Any]], overrides: Facts) -> dict[str, dict[str, Any]]:
    for entry in overrides["tags"]:
        if entry["field"] == "exists":
            assert entry["element"] not in said, f"{entry['element']} has a tag now"
            for tag in said.values():
                if tag.get("replacement") == entry["element"]:
                    del tag["replacement"]
            continue
        tag = said.setdefault(entry["element"], {})
        says = tag.get(entry["field"])
        assert says == entry["says"], f"{entry['element']}: the source says {says} now"
        tag[entry["field"]] = entry["is"]
    return said


def _told(tag: Facts) -> dict[str, Any]:
    return {key: tag[key] for key in ("introduced", "deprecated", "replacement", "formerly") if key in tag}


def _life(tag: Facts, releases: Sequence[int], off: str, seen: str | None) -> dict[str, Any]:
    life = _told(tag)
    first, last = releases
    if "introduced" not in life or (first > FIRST and number(life["introduced"]) != first):
        # A tag may lag behind; what packages hold is what there was.
        life["introduced"] = f"1.{first}" if first > FIRST else seen or f"1.{first}"
    if last < LAST:
        life["removed"] = "1.16" if off == "since1.16" else f"1.{last + 1}"
    if off == "since1.16":
        life["deleted"] = f"1.{last + 1}"
    announced = tag.get("removed")
    if announced and announced != life.get("removed"):
        life["planned" if last == LAST else "announced"] = announced
    return life
