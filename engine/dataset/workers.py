"""Rows computed by several workers, in order: threads, or processes of their own.

Workers live as long as the generator that uses them: they end when it is exhausted, closed,
collected, or fails.
"""

from __future__ import annotations

import itertools
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import config

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

CHUNK = 4
"""Tasks that a worker process gets at once, so that messages are few."""
PATIENCE = 2.0
"""Seconds that a worker process gets to end by itself."""


class RowError(RuntimeError):
    """A row that a user's function or a transform failed on, with what failed and where."""


class _Tasks:
    """Tasks pulled from an iterator; its error waits until what came before it is given."""

    def __init__(self, tasks: Iterable[Any]) -> None:
        self._tasks = iter(tasks)
        self.error: Exception | None = None

    def take(self, count: int) -> list[Any]:
        found: list[Any] = []
        try:
            for task in itertools.islice(self._tasks, count):
                found.append(task)
        except Exception as error:
            self.error, self._tasks = error, iter(())
        return found

    def raise_error(self) -> None:
        if self.error is not None:
            raise self.error


def in_threads(function: Callable[[Any], Any], tasks: Iterable[Any], workers: int) -> Iterator[Any]:
    """Yield ``function(task)`` of each task in order, computed by this many threads."""
    from concurrent.futures import ThreadPoolExecutor  # at the first use: imports stay light

    pool = ThreadPoolExecutor(workers, "cellwire-data")
    source, waiting = _Tasks(tasks), deque[Any]()
    try:
        waiting.extend(pool.submit(function, task) for task in source.take(2 * workers))
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(pool.submit(function, task) for task in source.take(1))
            yield result
        source.raise_error()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def ahead(rows: Callable[[], Iterator[Any]], size: int) -> Iterator[Any]:
    """Yield what ``rows()`` gives, up to `size` of it made ahead by a thread."""
    channel = _Channel(size)
    thread = threading.Thread(
        target=_fill, args=(channel, rows), name="cellwire-data-ahead", daemon=True
    )
    thread.start()
    try:
        while True:
            kind, value = channel.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        channel.close()
        thread.join()


class _Channel:
    """A bounded queue that its reader can close."""

    def __init__(self, size: int) -> None:
        self._items = deque[tuple[str, Any]]()
        self._size, self._closed = size, False
        self._changed = threading.Condition()

    def put(self, kind: str, value: Any) -> bool:
        """Add an item once there is room; False when the reader has closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._size)
            if not self._closed:
                self._items.append((kind, value))
            self._changed.notify_all()
            return not self._closed

    def get(self) -> tuple[str, Any]:
        with self._changed:
            self._changed.wait_for(lambda: self._items)
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _fill(channel: _Channel, rows: Callable[[], Iterator[Any]]) -> None:
    try:
        for row in rows():
            if not channel.put("row", row):
                return
    except BaseException as error:  # raised again by the thread that reads
        channel.put("error", error)
    else:
        channel.put("end", None)


class _Worker:
    """A process that computes chunks of tasks, at most one at a time."""

    def __init__(
        self, function: Callable[[Any], Any], number: int, others: Sequence[Any], what: str
    ) -> None:
        import multiprocessing  # at the first use: imports stay light

        method = config.get_multiprocessing_start_method()
        context = multiprocessing.get_context(method)
        self.connection, theirs = context.Pipe()
        # a forked process would keep its siblings' connections open, and they could not see us end
        inherited = [*others, self.connection] if method == "fork" else []
        self.what = what
        self.process: Any = context.Process(  # pyright: ignore[reportAttributeAccessIssue]
            target=_serve, args=(theirs, function, inherited), daemon=True,
            name=f"cellwire-data-{number}",
        )  # fmt: skip
        try:
            self.process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.connection.close()
            raise TypeError(
                f"{what}: worker processes are spawned here, and what they work on cannot be sent"
                f" to them: {error}. Define it at the top of a module, or use threads"
                " (python_multiprocessing=False)."
            ) from error
        finally:
            theirs.close()

    def send(self, chunk: list[Any]) -> None:
        try:
            self.connection.send(chunk)
        except (BrokenPipeError, ConnectionError) as error:
            raise self._ended() from error

    def receive(self) -> list[tuple[bool, Any, str]]:
        try:
            return self.connection.recv()
        except (EOFError, ConnectionError) as error:
            raise self._ended() from error

    def _ended(self) -> RowError:
        self.process.join(PATIENCE)
        return RowError(
            f"{self.what}: a worker process ended by itself (exit code {self.process.exitcode});"
            " it ran out of memory or crashed. Try num_parallel_workers=1 to see where."
        )

    def stop(self) -> None:
        self.connection.close()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def in_processes(
    function: Callable[[Any], Any], tasks: Iterable[Any], workers: int, what: str
) -> Iterator[Any]:
    """Yield ``function(task)`` of each task in order, computed by this many processes.

    Chunks go round the workers. Each has one at a time, so that neither side can wait to write
    while the other does.
    """
    source, team = _Tasks(tasks), list[_Worker]()
    busy = deque[_Worker]()
    try:
        for number in range(workers):
            chunk = source.take(CHUNK)
            if not chunk:
                break
            team.append(_Worker(function, number, [w.connection for w in team], what))
            team[-1].send(chunk)
            busy.append(team[-1])
        while busy:
            worker = busy.popleft()
            answers = worker.receive()
            chunk = source.take(CHUNK)
            if chunk:
                worker.send(chunk)
                busy.append(worker)
            for good, value, trace in answers:
                if not good:
                    value.add_note(f"In the worker process:\n{trace}")
                    raise value
                yield value
        source.raise_error()
    finally:
        for worker in team:
            worker.connection.close()  # all at once, then wait for each
        for worker in team:
            worker.stop()


def _serve(
    connection: Connection, function: Callable[[Any], Any], inherited: Sequence[Connection]
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    for other in inherited:
        other.close()
    while True:
        try:
            chunk = connection.recv()
        except EOFError:
            return
        try:
            connection.send(_answers(function, chunk))
        except (BrokenPipeError, ConnectionError):
            return


def _answers(function: Callable[[Any], Any], chunk: list[Any]) -> list[tuple[bool, Any, str]]:
    answers: list[tuple[bool, Any, str]] = []
    for task in chunk:
        try:
            answers.append((True, function(task), ""))
        except Exception as error:
            answers.append((False, _portable(error), traceback.format_exc()))
            break
    return answers


def _portable(error: Exception) -> Exception:
    """The error itself where it survives pickling, else its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RowError(f"{type(error).__name__}: {error}")
    return error
