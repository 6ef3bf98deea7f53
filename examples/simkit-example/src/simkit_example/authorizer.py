"""An authorizer: teams may read in their namespaces."""

from simkit.meta.attributes import ALLOW, NO_OPINION, Attributes, Decision
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource
from simkit.meta.objects import labels_of
from simkit.seams import PartContext, RuleList

NAMESPACES = GroupResource("", "namespaces")
VERBS = ("get", "list", "watch")


class Teams:
    """Allows members of the group ``team:x`` to read in namespaces with the label ``team: x``."""

    leaves_process = False  # it asks no other process, so requests need no thread of their own

    def __init__(self, context: PartContext) -> None:
        self._snapshot = context.snapshot  # a function: a snapshot that is kept would grow old

    def authorize(self, ask: Attributes) -> Decision:
        if ask.is_resource and ask.verb in VERBS and self._is_member(ask.identity, ask.namespace):
            return Decision(ALLOW, f"namespace {ask.namespace} belongs to a team of {ask.identity.user}")
        return Decision(NO_OPINION)  # leaves the decision to the other authorizers; DENY would end it

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        if not self._is_member(identity, namespace):
            return RuleList()
        return RuleList([{"verbs": list(VERBS), "apiGroups": ["*"], "resources": ["*"]}])

    def _is_member(self, identity: Identity, namespace: str) -> bool:
        obj = self._snapshot().get(NAMESPACES, namespace) if namespace else None
        team = labels_of(obj).get("team") if obj is not None else None
        return team is not None and f"team:{team}" in identity.groups
