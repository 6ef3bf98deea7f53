"""Webhooks, and servers behind registered group versions, as methods of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

    from simkit.cluster.control_plane import ControlPlane
    from simkit.engine.egress.policy import ConversionFunction, EgressPolicy, WebhookFunction


class EgressMethods:
    """The part of ``Cluster`` that says which services outside are called, and what takes their place."""

    _control_plane: ControlPlane

    @property
    def egress(self) -> EgressPolicy:
        """The egress policy: ``egress.allowed`` permits calls, ``egress.services`` gives addresses of services."""
        return self._control_plane.extensions.egress

    @property
    def proxy_authority(self) -> bytes:
        """The authority, in PEM form, that backing servers must trust for the user headers of this one."""
        return self._control_plane.extensions.proxy.made.authority

    def webhook(self, name: str, function: WebhookFunction) -> None:
        """Call a function instead of the webhook of that name, in this cluster and its forks.

        Parameters
        ----------
        name
            The name of the webhook in its configuration.
        function
            It gets a copy of the admission request. None or True let the write pass, False or a text refuse it; a
            mapping is a response as webhooks give it, or the changed object. Where it raises an error, gives anything
            else, or takes longer than ``timeoutSeconds``, the webhook has failed, and its ``failurePolicy`` decides.
        """
        self.egress.functions[name] = function

    def conversion(self, definition: str, function: ConversionFunction) -> None:
        """Call a function instead of the conversion webhook of a CustomResourceDefinition.

        Parameters
        ----------
        definition
            The name of the CustomResourceDefinition.
        function
            It gets a copy of an object and the wanted apiVersion (``example.com/v2``), and gives back the object in
            that version, or a text that says why it cannot. It is called in this cluster and its forks.
        """
        self.egress.conversions[definition] = function

    def uncalled_webhooks(self) -> DataFrame:
        """Calls to webhooks and backing servers that were not made because egress is not allowed.

        Returns
        -------
        DataFrame, one row per skipped call.
        """
        from simkit.analysis.admission.policies import skipped_calls

        return skipped_calls(self.egress.uncalled)
