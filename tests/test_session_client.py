"""The client notices how its process ends, whoever ends it, and leaves nothing behind."""

import gc
import os
import queue
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from cellwire.app.session import messages as m
from cellwire.app.session.client import Client, describe_exit
from cellwire.nodes import changes as c
from cellwire.nodes import items
from cellwire.nodes.document import Document
from cellwire.nodes.files import dumps, load

E = TypeVar("E")
FAILURES = (m.CommandFailed, m.SessionLost)
SECONDS = 60  # how long a test waits before it calls something lost


def small_net() -> Document:
    """The digits through three dense layers, with a training that goes on and on."""
    document = load(Path(__file__).parent / "drawings" / "small_net.cellwire")
    document.apply(c.SetTraining(items.Training(epochs=100_000)))
    return document


class Events:
    """What a client was told, in order, with a way to wait for it."""

    def __init__(self) -> None:
        self.seen: list[m.Event] = []
        self._arrived: queue.SimpleQueue[m.Event] = queue.SimpleQueue()

    def __call__(self, event: m.Event) -> None:
        self._arrived.put(event)

    def wait(self, kind: type[E]) -> E:
        """The next event of that kind; a failure that is not waited for fails the test."""
        while True:
            try:
                event = self._arrived.get(timeout=SECONDS)
            except queue.Empty:
                pytest.fail(f"no {kind.__name__} came after {self.seen[-5:]}")
            self.seen.append(event)
            if isinstance(event, kind):
                return event
            if kind not in FAILURES and isinstance(event, FAILURES):
                pytest.fail(f"{event} came instead of {kind.__name__}")


def left_over() -> tuple[int, int]:
    """How many threads and open files this process has."""
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    gc.collect()  # what earlier tests left to the collector is not held against this one
    threads, files = left_over()
    yield
    threads_now, files_now = left_over()
    assert threads_now <= threads
    assert files_now <= files


def python(code: str) -> tuple[str, ...]:
    """A process of our own making in the session's place."""
    return (sys.executable, "-c", code)


def test_a_session_starts_answers_and_closes() -> None:
    events = Events()
    with Client(events) as client:
        ready = events.wait(m.Ready)
        assert ready.pid == client.pid
        assert client.alive
        request = client.send(m.SetMode(True))
        assert events.wait(m.CommandDone) == m.CommandDone(request, "SetMode")
    assert not client.alive
    assert not any(isinstance(event, m.SessionLost) for event in events.seen)


def test_a_command_that_cannot_be_done_fails_by_its_number() -> None:
    events = Events()
    with Client(events) as client:
        request = client.send(m.Continue())
        failed = events.wait(m.CommandFailed)
        assert (failed.request, failed.command) == (request, "Continue")
        assert failed.message


def test_a_killed_session_is_reported_and_its_commands_fail() -> None:
    events = Events()
    client = Client(events, command=python("import time; time.sleep(60)"))
    client.start()
    request = client.send(m.Run())
    assert client.pid is not None
    os.kill(client.pid, signal.SIGKILL)
    failed = events.wait(m.CommandFailed)
    assert (failed.request, failed.command) == (request, "Run")
    lost = events.wait(m.SessionLost)
    assert lost.exit_code == -signal.SIGKILL
    assert "SIGKILL" in lost.message
    assert not client.alive
    later = client.send(m.Run())
    assert events.wait(m.CommandFailed).request == later
    client.close()


def test_the_last_words_of_a_session_that_crashes_are_kept() -> None:
    events = Events()
    with Client(events, command=python("raise SystemExit('no engine here')")):
        lost = events.wait(m.SessionLost)
    assert lost.exit_code == 1
    assert lost.last_words == "no engine here"


def test_a_session_that_talks_nonsense_is_ended() -> None:
    events = Events()
    with Client(events, command=python("print('Hello, this is no frame'); input()")):
        lost = events.wait(m.SessionLost)
    assert "no event" in lost.message


def test_a_session_restarts_under_the_same_client() -> None:
    events = Events()
    with Client(events) as client:
        first = events.wait(m.Ready).pid
        client.restart()
        assert events.wait(m.Ready).pid != first
    assert not any(isinstance(event, m.SessionLost) for event in events.seen)


def test_a_session_that_does_not_listen_is_killed_on_close() -> None:
    client = Client(Events(), command=python("import time; time.sleep(60)"))
    client.start()
    pid = client.pid
    client.close(patience=0.05)
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_send_does_not_wait_for_a_session_that_does_not_read() -> None:
    client = Client(Events(), command=python("import time; time.sleep(60)"))
    client.start()
    for _ in range(4):
        client.send(m.LoadDocument("x" * 100_000))
    assert client.alive, "the pipe is full, so a send that waits returns when the process is gone"
    client.kill()


def test_a_client_may_be_closed_by_the_event_that_it_tells() -> None:
    told: list[m.Event] = []
    closed = threading.Event()

    def receive(event: m.Event) -> None:
        told.append(event)
        client.close()
        closed.set()

    client = Client(receive)
    client.start()
    assert closed.wait(SECONDS)
    for thread in threading.enumerate():
        if thread.name.startswith("session"):
            thread.join(SECONDS)
    assert [type(event) for event in told] == [m.Ready]


def test_a_session_killed_in_its_work_comes_back_with_the_drawing() -> None:
    document = small_net()
    text = dumps(document)
    events = Events()
    with Client(events) as client:
        client.send(m.LoadDocument(text))
        client.send(m.Train())
        events.wait(m.TrainingProgress)
        assert client.pid is not None
        os.kill(client.pid, signal.SIGKILL)
        assert events.wait(m.SessionLost).exit_code == -signal.SIGKILL
        assert dumps(document) == text
        client.restart()
        client.send(m.LoadDocument(text))
        assert events.wait(m.DocumentLoaded).problems == ()
        client.send(m.Run())
        assert events.wait(m.RunFinished).loss


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_at_any_moment_is_reported_and_leaves_nothing(seed: int) -> None:
    events = Events()
    with Client(events) as client:
        client.send(m.LoadDocument(dumps(small_net())))
        client.send(m.Train())
        time.sleep(random.Random(seed).uniform(0.0, 1.5))
        assert client.pid is not None
        os.kill(client.pid, signal.SIGKILL)
        assert events.wait(m.SessionLost).exit_code == -signal.SIGKILL
    answered = [event.request for event in events.seen if hasattr(event, "request")]
    assert sorted(answered) == [1, 2]


def test_a_training_is_paused_and_stopped_between_its_steps() -> None:
    document = small_net()
    events = Events()
    with Client(events) as client:
        client.send(m.LoadDocument(dumps(document)))
        client.send(m.Train())
        events.wait(m.TrainingProgress)
        client.send(m.PauseTraining())
        step = events.wait(m.TrainingPaused).step
        client.send(m.ResumeTraining())
        events.wait(m.TrainingProgress)
        client.send(m.StopTraining())
        finished = events.wait(m.TrainingFinished)
        assert finished.stopped
        assert finished.step > step


def test_the_session_ends_when_its_editor_is_gone() -> None:
    events = Events()
    client = Client(events)
    client.start()
    events.wait(m.Ready)
    process = client._connection.process  # the pipe is cut as the end of the editor would cut it
    client._connection._outbox.put(None)
    assert process.wait(SECONDS) == 0
    events.wait(m.SessionLost)
    client.close()


def test_prints_of_user_code_do_not_disturb_the_events() -> None:
    code = (
        "import os, runpy, threading, time\n"
        "from cellwire.app.session import process\n"
        "commands, events = process.take_pipes()\n"
        "print('to standard output', flush=True)\n"
        "os.write(1, b'past Python')\n"
        "process.serve(commands, events)\n"
    )
    events = Events()
    with Client(events, command=python(code)) as client:
        events.wait(m.Ready)
        request = client.send(m.SetMode(False))
        assert events.wait(m.CommandDone).request == request


@pytest.mark.parametrize(("code", "words"), [(3, "exit code 3"), (-9, "SIGKILL"), (-200, "200")])
def test_an_exit_code_is_put_in_words(code: int, words: str) -> None:
    assert words in describe_exit(code)
