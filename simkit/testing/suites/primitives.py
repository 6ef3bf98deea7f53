"""The suite of every escalation primitive: subclass PrimitiveSuite, say who may use it where, and pytest runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest

from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import next_steps
from simkit.analysis.escalation.table.primitive import Primitive, primitives, requirements_of
from simkit.cluster.cluster import Cluster
from simkit.meta.objects import Object
from simkit.schema.releases import BASE


class PrimitiveSuite:
    """The promises of escalation primitives, one test each."""

    identifier: ClassVar[str]
    """The id of the primitive."""
    subject: ClassVar[str]
    """Somebody who may use it in the cluster of ``objects``: ``user:ann``."""

    def objects(self) -> Sequence[Object]:
        """The objects of a cluster in which the subject may use it, besides those of every cluster."""
        raise NotImplementedError

    @pytest.fixture
    def primitive(self) -> Primitive:
        """The primitive under test."""
        return primitives().primitive(self.identifier)

    @pytest.fixture
    def cluster(self) -> Cluster:
        """The cluster of the objects."""
        made = Cluster(seed=1)
        for obj in self.objects():
            made.apply(obj)
        made.settle()
        return made

    def uses(self, cluster: Cluster) -> list[Path]:
        """The steps of the subject that use it."""
        return [path for path in next_steps(cluster.snapshot(), self.subject) if self.identifier in path.primitives]

    def test_says_what_to_do(self, primitive: Primitive) -> None:
        """It has a title, an advice in a sentence, references, and requirements that can be read."""
        assert primitive.title
        assert primitive.mitigation.endswith(".")
        assert primitive.references
        for number in range(len(primitive.variants)):
            assert requirements_of(primitive.id, number, BASE)

    def test_is_found(self, cluster: Cluster) -> None:
        """The subject has a step that uses it."""
        assert self.uses(cluster)

    def test_is_proven(self, primitive: Primitive, cluster: Cluster) -> None:
        """The step works when it is executed, unless the primitive says why it cannot be."""
        if primitive.executable:
            proofs = [path.prove(cluster) for path in self.uses(cluster)]
            assert any(proof.proven for proof in proofs), "\n\n".join(map(str, proofs))

    def test_needs_what_it_requires(self, cluster: Cluster) -> None:
        """Nobody can use it who has no permissions."""
        steps = next_steps(cluster.snapshot(), "user:nobody-in-particular")
        assert self.identifier not in {one for path in steps for one in path.primitives}
