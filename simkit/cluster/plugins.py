"""Which admission plugins there are, in which order they are asked, and which are on."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simkit.cluster.extensions import Extensions
from simkit.engine.admission.chain import Plugin
from simkit.engine.admission.default_ingress_class import DefaultIngressClass
from simkit.engine.admission.default_storage_class import DefaultStorageClass
from simkit.engine.admission.default_toleration_seconds import DefaultTolerationSeconds
from simkit.engine.admission.limit_ranger import LimitRanger
from simkit.engine.admission.matching import Convert, LiveWorld
from simkit.engine.admission.namespace_lifecycle import NamespaceLifecycle
from simkit.engine.admission.persistent_volume_claim_resize import PersistentVolumeClaimResize
from simkit.engine.admission.pod_security import PodSecurity
from simkit.engine.admission.policy import ValidatingAdmissionPolicy
from simkit.engine.admission.priority import Priority
from simkit.engine.admission.runtime_class import RuntimeClass
from simkit.engine.admission.service_account import ServiceAccount
from simkit.engine.admission.storage_object_in_use_protection import StorageObjectInUseProtection
from simkit.engine.admission.taint_nodes_by_condition import TaintNodesByCondition
from simkit.engine.seams import Authorizer, Store
from simkit.meta.clock import Chance, Clock
from simkit.meta.errors import SimkitError
from simkit.schema.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Needs:
    """What plugins are made from."""

    store: Store
    authorizer: Authorizer
    clock: Clock
    chance: Chance
    catalogue: Callable[[], Catalogue]
    """What is served now."""
    convert: Convert
    extensions: Extensions

    @property
    def world(self) -> LiveWorld:
        """What is stored now, as policies and webhooks look at it."""
        return LiveWorld(self.store, self.authorizer, self.catalogue, self.convert)


Maker = Callable[[Needs], Plugin]

PLUGINS: Final[Mapping[str, tuple[bool, Maker | None]]] = {
    "NamespaceLifecycle": (True, lambda needs: NamespaceLifecycle(needs.store)),
    "LimitRanger": (True, lambda needs: LimitRanger(needs.store)),
    "ServiceAccount": (True, lambda needs: ServiceAccount(needs.store, needs.chance)),
    "TaintNodesByCondition": (True, lambda needs: TaintNodesByCondition()),
    "PodSecurity": (True, lambda needs: PodSecurity(needs.store)),
    "Priority": (True, lambda needs: Priority(needs.store)),
    "DefaultTolerationSeconds": (True, lambda needs: DefaultTolerationSeconds()),
    "DefaultStorageClass": (True, lambda needs: DefaultStorageClass(needs.store)),
    "StorageObjectInUseProtection": (True, lambda needs: StorageObjectInUseProtection()),
    "PersistentVolumeClaimResize": (True, lambda needs: PersistentVolumeClaimResize(needs.store)),
    "RuntimeClass": (True, lambda needs: RuntimeClass(needs.store)),
    "DefaultIngressClass": (True, lambda needs: DefaultIngressClass(needs.store)),
    "ValidatingAdmissionPolicy": (
        True,
        lambda needs: ValidatingAdmissionPolicy(needs.world, needs.extensions.policies),
    ),
}
"""Every plugin in the order in which it is asked: whether it is on by default, and how it is made."""


def plugins(needs: Needs, enable: Sequence[str] = (), disable: Sequence[str] = ()) -> list[Plugin]:
    """The plugins that are on, in order. Raises SimkitError for a name that is not known, or in both lists."""
    for flag, names in (("enable", enable), ("disable", disable)):
        for name in names:
            _check(flag, name)
    both = sorted(set(enable) & set(disable))
    if both:
        raise SimkitError(f"{', '.join(both)}: in --enable-admission-plugins and --disable-admission-plugins")
    made: list[Plugin] = []
    for name, (by_default, maker) in PLUGINS.items():
        if maker is not None and name not in disable and (by_default or name in enable):
            made.append(maker(needs))
    return made


def _check(flag: str, name: str) -> None:
    if name in PLUGINS:
        return
    near = difflib.get_close_matches(name, PLUGINS, n=2)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; known are {', '.join(PLUGINS)}"
    raise SimkitError(f'--{flag}-admission-plugins: plugin "{name}" is unknown{hint}')
