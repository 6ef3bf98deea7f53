"""Type checking of a policy's expressions against the kinds that its rules name.

k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from simkit.kinds.parts.admission_expressions import environment, variable_type
from simkit.language.cel.decl_types import DeclType, schema_decl_type
from simkit.language.cel.environment import Environment
from simkit.language.cel.errors import CompileError
from simkit.language.cel.names import Variables
from simkit.language.cel.types import DYN, Type
from simkit.logic.policy.definition import PolicyDefinition
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, at
from simkit.schema.catalogue import Catalogue

_MOST_TYPES: Final = 10


def expression_warnings(policy: Object, catalogue: Catalogue) -> list[dict[str, str]]:
    """The entries of ``status.typeChecking.expressionWarnings``: a field's path and its errors by kind."""
    return list(_Check(policy, catalogue).warnings())


def kinds_to_check(policy: Object, catalogue: Catalogue) -> list[GroupVersionKind]:
    """The kinds that the rules name without wildcards, by group, version and kind; at most ten per rule."""
    found: set[GroupVersionKind] = set()
    for rule in at(policy, "spec", "matchConstraints", "resourceRules") or ():
        groups, versions = _exact(rule.get("apiGroups")), _exact(rule.get("apiVersions"))
        resources = sorted(each for each in rule.get("resources") or () if "*" not in each and "/" not in each)
        known = [each.gvk for place in product(groups, versions, resources) if (each := catalogue.find(*place))]
        found.update(known[:_MOST_TYPES])
        if len(known) >= _MOST_TYPES:
            break
    return sorted(found)


def _exact(items: Sequence[str] | None) -> list[str]:
    return [] if any("*" in item for item in items or ()) else sorted(items or ())


class _Check:
    def __init__(self, policy: Object, catalogue: Catalogue) -> None:
        self._spec: Object = policy.get("spec") or {}
        self._catalogue = catalogue
        self._params = self._declared(PolicyDefinition(policy, catalogue.behaviour).param_kind)
        self._environments: list[tuple[GroupVersionKind, Environment]] = []
        for kind in kinds_to_check(policy, catalogue):
            declared = self._declared(kind)
            if declared is not None:
                self._environments.append((kind, self._environment(declared)))

    def _declared(self, kind: GroupVersionKind | None) -> DeclType | None:
        resource = self._catalogue.kind(kind) if kind is not None else None
        if kind is None or resource is None:
            return None
        try:
            return schema_decl_type(self._catalogue.schema(kind), kind.kind, resource=resource.custom)
        except SimkitError:
            return None

    def _environment(self, declared: DeclType) -> Environment:
        typed: Variables = {"object": declared, "oldObject": declared}
        if self._params is not None:
            typed = {**typed, "params": self._params}
        types: dict[str, Type] = {}
        for row in self._spec.get("variables") or ():
            try:
                types[row["name"]] = variable_type(self._known(types, typed).compile(row["expression"]).type)
            except CompileError:
                types[row["name"]] = DYN
        return self._known(types, typed)

    def _known(self, types: Mapping[str, Type], typed: Variables) -> Environment:
        """The variables that the type checker of kube-apiserver knows: all but ``authorizer.requestResource``."""
        params = self._params is not None
        return environment(
            self._catalogue.behaviour, params=params, request_resource=False, variables=types
        ).with_variables(typed)

    def warnings(self) -> Iterator[dict[str, str]]:
        for index, validation in enumerate(self._spec.get("validations") or ()):
            for field in ("expression", "messageExpression"):
                text = self._issues(validation.get(field) or "")
                if text:
                    yield {"fieldRef": f"spec.validations[{index}].{field}", "warning": text}

    def _issues(self, source: str) -> str:
        if not source:
            return ""
        found: list[str] = []
        for kind, known in self._environments:
            try:
                known.compile(source)
            except CompileError as error:
                if error.stage != "instantiation":
                    found.append(f"{kind.group}/{kind.version}, Kind={kind.kind}: {error}\n")
        return "\n".join(found)
