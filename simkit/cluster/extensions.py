"""What objects in the store make a server do besides serving them: policies, webhooks, aggregated groups."""

from __future__ import annotations

from simkit.engine.admission.policy_index import PolicyIndex
from simkit.engine.seams import Store


class Extensions:
    """Everything of one server that follows its policies, webhooks and registered group versions.

    Attributes
    ----------
    policies
        The compiled admission policies.
    """

    def __init__(self, store: Store, *, policies: PolicyIndex | None = None) -> None:
        self.policies = policies or PolicyIndex(store)

    def fork(self, store: Store) -> Extensions:
        """The same over a fork of the store."""
        return Extensions(store, policies=self.policies.fork(store))
