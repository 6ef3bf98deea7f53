"""Runs one task for each cluster on Dask, and gives out the results as they come.

Dask brings the workers: threads, processes, or a scheduler that runs elsewhere. A task that fails gives its error as
its result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError, StatusError

AHEAD: Final = 4
"""Tasks under way for each worker: more would only wait, with their results, in memory."""

Task = Callable[[], Any]


def run(tasks: Sequence[tuple[str, Task]], scheduler: str, workers: int | None) -> Iterator[tuple[str, Any]]:
    """The name and the result of each task as soon as it is there; the result of one that failed is its error.

    Parameters
    ----------
    scheduler
        ``processes``, ``threads``, ``synchronous`` (here and one after the other, without Dask), or the address of a
        Dask scheduler, such as ``tcp://10.0.0.5:8786``.
    workers
        The number of processes or threads; by default one for each core.

    Raises
    ------
    SimkitError
        Where Dask is missing, or no scheduler answers at the address.
    """
    if scheduler == "synchronous":
        for name, task in tasks:
            yield name, _tried(task)
        return
    with _client(scheduler, workers) as client:
        yield from _spread(client, tasks)


def _spread(client: Any, tasks: Sequence[tuple[str, Task]]) -> Iterator[tuple[str, Any]]:
    distributed: Any = import_module("distributed")
    names: dict[Any, str] = {}
    waiting = iter(tasks)

    def submit() -> Any:
        for name, task in waiting:
            future = client.submit(_tried, task, pure=False)
            names[future] = name
            return future
        return None

    room = AHEAD * max(1, sum(client.nthreads().values()))
    first = [future for _ in range(min(room, len(tasks))) if (future := submit()) is not None]
    done = distributed.as_completed(first)
    for future in done:
        found = future.exception() if future.status == "error" else future.result()
        yield names.pop(future), found
        following = submit()
        if following is not None:
            done.add(following)


def _tried(task: Task) -> Any:
    """The result of a task, or the error that says why there is none: a cluster that cannot be read is an answer."""
    try:
        return task()
    except (SimkitError, StatusError, OSError) as error:
        return error


@contextmanager
def _client(scheduler: str, workers: int | None) -> Iterator[Any]:
    try:
        dask: Any = import_module("dask")
        distributed: Any = import_module("distributed")
    except ModuleNotFoundError as error:
        raise SimkitError(f"a fleet needs {error.name}: {install_hint('fleet')}") from error
    if scheduler not in ("threads", "processes"):
        try:
            with distributed.Client(scheduler, timeout="3s") as client:
                yield client
        except (OSError, ValueError) as error:
            raise SimkitError(f"no Dask scheduler answers at {scheduler!r}: {error}") from error
        return
    count, separate = workers or os.cpu_count() or 1, scheduler == "processes"
    quiet = {"distributed.logging.distributed": "error", "distributed.worker.daemon": False}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=count if separate else 1,
            threads_per_worker=1 if separate else count,
            processes=separate,
            dashboard_address="127.0.0.1:0",  # None is port 8787 of all addresses, which a second fleet finds taken
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
