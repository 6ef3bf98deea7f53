"""The fork on which an answer is carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from simkit.cluster.cluster import Cluster
from simkit.cluster.control_plane import ControlPlane

if TYPE_CHECKING:
    from simkit.meta.identity import Identity
    from simkit.meta.message import Request, Response


class Attempt(Cluster):
    """A fork of a cluster that notes what the server warns of, such as a field that it does not know and leaves out.

    Examples
    --------
    >>> import simkit
    >>> trial = Attempt.on(simkit.Cluster(seed=1))
    >>> made = trial.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "date": {"b": "c"}})
    >>> trial.warned
    ['unknown field "date"']
    """

    warned: list[str]
    """The warnings so far, each once."""

    @classmethod
    def on(cls, origin: Cluster) -> Self:
        """An attempt on a fork of a cluster."""
        trial = cls._of(origin.forked(), origin.dump)
        trial.warned = []
        return trial

    def _derived(self, made: ControlPlane) -> Self:
        trial = super()._derived(made)
        trial.warned = []
        return trial

    def perform(self, request: Request, *, identity: Identity | None = None) -> Response:
        """The answer to a request, through the whole handler chain; its warnings are noted."""
        response = super().perform(request, identity=identity)
        self.warned += (text for text in response.warnings if text not in self.warned)
        return response
