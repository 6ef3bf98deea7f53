"""Notification of event loops and threads, once per batch of changes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable

from simkit.meta.names import GroupResource

OnChange = Callable[[], None]
"""A callback in the writer's thread for possible news. It must return at once and must not write."""


class Notifier:
    """One callback. It is armed when a reader looks and fires once, so that a batch of writes calls it once."""

    __slots__ = ("armed", "news", "watchers")

    def __init__(self, news: OnChange) -> None:
        self.news, self.armed = news, True
        self.watchers: Counter[GroupResource] = Counter()

    def notify(self) -> None:
        """Call back, unless that was done since a reader last polled."""
        if self.armed:
            self.armed = False
            self.news()


class Notifiers:
    """The notifiers of a watch cache, by the resources that their watchers read."""

    def __init__(self) -> None:
        self._notifiers: dict[OnChange, Notifier] = {}
        self._by_resource: dict[GroupResource, tuple[Notifier, ...]] = {}
        self._lock = threading.Lock()

    def add(self, resource: GroupResource, news: OnChange) -> Notifier:
        """The notifier of a callback (equal callbacks share one), also for this resource."""
        with self._lock:
            notifier = self._notifiers.setdefault(news, Notifier(news))
            notifier.watchers[resource] += 1
            if notifier.watchers[resource] == 1:
                self._by_resource[resource] = (*self._by_resource.get(resource, ()), notifier)
        return notifier

    def remove(self, resource: GroupResource, notifier: Notifier) -> None:
        """Remove one watcher of the notifier on a resource."""
        with self._lock:
            notifier.watchers[resource] -= 1
            if notifier.watchers[resource]:
                return
            del notifier.watchers[resource]
            left = tuple(other for other in self._by_resource[resource] if other is not notifier)
            self._by_resource[resource] = left
            if not left:
                del self._by_resource[resource]
            if not notifier.watchers:
                del self._notifiers[notifier.news]

    def notify(self, resources: Iterable[GroupResource]) -> None:
        """Fire every notifier with a watcher on one of the resources."""
        for resource in resources:
            for notifier in self._by_resource.get(resource, ()):
                notifier.notify()
