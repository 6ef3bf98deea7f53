"""The state that mutating plugins share when they are reinvoked for one write.

Upstream: k8s.io/apiserver/pkg/admission/reinvocation.go, plugin/webhook/mutating/reinvocationcontext.go and
plugin/policy/mutating/reinvocationcontext.go, release 1.36.
"""

from __future__ import annotations

from simkit.meta.objects import Object


class PluginReinvocation:
    """The webhooks or policies of one plugin that want to hear of later changes to an object.

    Attributes
    ----------
    output
        The object as the plugin left it.
    """

    __slots__ = ("_invoked", "_wanted", "output")

    def __init__(self) -> None:
        self.output: Object | None = None
        self._invoked: set[str] = set()
        self._wanted: set[str] = set()

    def invoked(self, key: str) -> None:
        """Note that one which wants reinvocation was asked."""
        self._invoked.add(key)

    def changed(self) -> None:
        """Note that the object changed: those asked before are to be asked again."""
        self._wanted |= self._invoked
        self._invoked = set()

    def wants(self, key: str) -> bool:
        """True if one is to be asked in the second round."""
        return key in self._wanted


class ReinvocationContext:
    """The rounds of mutating admission of one write.

    Attributes
    ----------
    is_reinvoke
        Whether this is the second round.
    should_reinvoke
        Whether a webhook or policy changed the object, so that there is one.
    """

    __slots__ = ("_plugins", "is_reinvoke", "should_reinvoke")

    def __init__(self) -> None:
        self.is_reinvoke = self.should_reinvoke = False
        self._plugins: dict[str, PluginReinvocation] = {}

    def begin(self, plugin: str, obj: Object | None) -> PluginReinvocation:
        """The state of a plugin that is asked now.

        In the second round, all of its webhooks or policies that want it are asked again where others changed the
        object since.
        """
        found = self._plugins.setdefault(plugin, PluginReinvocation())
        if self.is_reinvoke and found.output != obj:
            found.changed()
        return found

    @property
    def round(self) -> int:
        """The number of the round, from 0."""
        return int(self.is_reinvoke)
