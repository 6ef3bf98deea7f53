"""The nature of a binding: a mistake of the operators, a product's need, the server's own, or unused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.analysis.findings.survey import Provider, Survey, is_everybody
from simkit.analysis.findings.workloads import accounts_in_use, has_pods
from simkit.analysis.least_privilege.usage import default_bindings
from simkit.analysis.rbac.default_objects import is_of_control_plane
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.logic.rbac.binding import SERVICE_ACCOUNT, Binding, Subject
from simkit.meta import datasets
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import labels_of

MISTAKE: Final = "mistake"
"""Granted by those who run the cluster, and not needed by a product that is known."""
UNUSED: Final = "unused"
"""Of service accounts that no pod runs as and no workload names."""
ADMINISTRATORS: Final = "administrators"
"""Makes named people administrators of the cluster: to be confirmed, not repaired."""
PRODUCT: Final = "product"
"""A binding of an installed product for its own accounts."""
SERVER: Final = "server"
"""Made by kube-apiserver, its controllers, or whoever runs the control plane."""
NATURES: Final = (MISTAKE, UNUSED, ADMINISTRATORS, PRODUCT, SERVER)
"""In the order in which somebody should look at them."""


LABELS: Final = (label("part-of", "app"), label("name", "app"), "helm.sh/chart")
"""Labels by which installed products name themselves."""


class Nature(NamedTuple):
    """The nature of an object; ``product`` names the product if there is one."""

    name: str
    product: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.product}".strip()


@cache
def products() -> Mapping[str, Provider]:
    """The known products by name, with the bindings that they bring and the accounts that those name."""
    table: dict[str, Any] = datasets.load("rbac/products.yaml")
    return {name: Provider(tuple(each["bindings"]), tuple(each["subjects"])) for name, each in table.items()}


class Natures:
    """The nature of bindings, roles and accounts of one snapshot, that of a survey."""

    def __init__(self, survey: Survey) -> None:
        self._snapshot, self._survey = survey.snapshot, survey
        self._defaults = default_bindings(survey.snapshot) | survey.defaults
        self.of: Callable[[Key], Nature] = cache(self._found)
        """The nature of a binding, or of a role by its bindings."""

    def _found(self, key: Key) -> Nature:
        binding = self._survey.index.binding(key)
        if binding is not None:
            return self._binding(binding)
        if key in self._defaults:
            return Nature(SERVER)
        found = {self._binding(one) for one in self._survey.index.bindings_of(key)}
        if not found:
            return self._by_account(Subject(SERVICE_ACCOUNT, key.name, key.namespace)) or Nature(MISTAKE)
        return min(found, key=lambda one: NATURES.index(one.name))

    def _binding(self, binding: Binding) -> Nature:
        subjects = tuple(map(normalize_subject, binding.subjects))
        if binding.key in self._defaults or binding.key in self._survey.managed:
            return Nature(SERVER)
        if any(is_everybody(one) for one in subjects):
            return Nature(MISTAKE)
        if subjects and all(is_of_control_plane(one, self._snapshot.release) for one in subjects):
            return Nature(SERVER)
        product = self._product(binding, subjects)
        if subjects and self._is_unused(subjects):
            return Nature(UNUSED, product)
        if product:
            return Nature(PRODUCT, product)
        people = bool(subjects) and all(one.kind != SERVICE_ACCOUNT for one in subjects)
        if people and not binding.namespace and binding.role in self._survey.full_roles:
            return Nature(ADMINISTRATORS)
        return Nature(MISTAKE)

    def _product(self, binding: Binding, subjects: Iterable[Subject]) -> str:
        """The product that brought a binding along: a known one, or one that labels what it installs; or nothing."""
        listed = list(subjects)
        known = next((name for name, one in products().items() if listed and one.made(binding)), "")
        if known or not listed or not all(one.kind == SERVICE_ACCOUNT for one in listed):
            return known
        key = binding.key
        written = labels_of(self._snapshot.get(key.resource, key.name, key.namespace) or {})
        return next((written[name] for name in LABELS if written.get(name)), "")

    def _is_unused(self, subjects: Iterable[Subject]) -> bool:
        """True if they are accounts that no pod runs as; nobody can tell where no pod was captured.

        Manifests without pods say nothing of what runs. An account that does not exist is a mistake: whoever creates it
        has the access.
        """
        if not has_pods(self._snapshot):
            return False
        there, in_use = self._survey.accounts, accounts_in_use(self._survey)
        return all(
            one.kind == SERVICE_ACCOUNT and one not in in_use and (one.namespace, one.name) in there for one in subjects
        )

    @staticmethod
    def _by_account(subject: Subject) -> Nature | None:
        """The product whose own account it is, by the name of the account alone."""
        text = text_of(subject)
        named = (name for name, one in products().items() if any(fnmatchcase(text, each) for each in one.subjects))
        return next((Nature(PRODUCT, name) for name in named), None) if subject.namespace else None
