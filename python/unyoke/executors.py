"""Executors for systems that have none. Dask, Parsl, mpi4py, loky and executorlib have their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from . import frames

__all__ = ["RayExecutor"]


class RayExecutor(Executor):
    """Calls functions as Ray tasks. Cancelling a future cancels its task.

    `options` are those of `ray.remote`, such as `num_cpus=2`. If a worker dies, Ray calls the function
    again on another one, by default at most three times (`max_retries`); a function whose workers all
    die has failed.
    """

    def __init__(self, max_workers: int | None = None, **options: Any) -> None:
        self._ray = frames.needed("ray")
        if not self._ray.is_initialized():
            self._ray.init()
        cpus = int(self._ray.cluster_resources().get("CPU", 1))
        self._max_workers = max_workers or max(1, cpus)
        self._options = options
        self._references: dict[Future[Any], Any] = {}
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._closed:
            raise RuntimeError("the executor was shut down")
        reference = self._ray.remote(fn).options(**self._options).remote(*args, **kwargs)
        future: Future[Any] = _RayFuture(self._ray, reference)
        future.set_running_or_notify_cancel()
        with self._lock:
            self._references[future] = reference
        reference.future().add_done_callback(lambda done: self._settle(future, done))
        return future

    def _settle(self, future: Future[Any], done: Future[Any]) -> None:
        with self._lock:
            self._references.pop(future, None)
        error: Any = done.exception()
        if error is None:
            future.set_result(done.result())
            return
        if self._is_lost(error):
            error.unyoke_lost = True
        future.set_exception(error)

    def _is_lost(self, error: Any) -> bool:
        """Whether it was cancelled, or something is wrong with the cluster: neither says anything of the
        design. A cancelled task that had begun ends with an error that is of both kinds."""
        found = self._ray.exceptions
        failures = (found.RayTaskError, found.WorkerCrashedError, found.OutOfMemoryError)
        is_failure = isinstance(error, failures) and not isinstance(error, found.TaskCancelledError)
        return isinstance(error, found.RayError) and not is_failure

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed = True
        with self._lock:
            waiting = dict(self._references)
        if cancel_futures:
            for future in waiting:
                future.cancel()
        if wait and waiting:
            self._ray.wait(list(waiting.values()), num_returns=len(waiting))


class _RayFuture(Future[Any]):
    """A future whose task is cancelled with it."""

    def __init__(self, ray: Any, reference: Any) -> None:
        super().__init__()
        self._ray, self._reference = ray, reference

    def cancel(self) -> bool:
        if not self.done():
            self._ray.cancel(self._reference)
        # It is not cancelled before Ray says so; then it ends with an exception.
        return False
