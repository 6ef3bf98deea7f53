"""Proofs of escalation primitives, executed on the small clusters on which the tests execute them."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.analysis.escalation import next_steps
from simkit.cluster.cluster import Cluster
from tests.analysis.escalation.probes import GRANTS, LABORATORY, PROBE
from tests.analysis.escalation.scenes import served


def proofs() -> dict[str, str]:
    """One proof per primitive, as text, by the id of the primitive."""
    laboratory = served(*LABORATORY)
    found: dict[str, str] = {}
    for probe in GRANTS:
        if probe.verdict == "proven" and probe.primitive not in found:
            cluster = laboratory.fork()
            for obj in probe.objects:
                cluster.apply([obj])
            cluster.settle()
            for identifier, text in _proven(cluster):
                found.setdefault(identifier, text)
    return found


def _proven(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Each first step of the probe that a proof confirms."""
    for path in next_steps(cluster.snapshot(), PROBE):
        proof = path.prove(cluster)
        if proof.proven:
            yield path.primitives[0], str(proof)
