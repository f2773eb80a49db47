"""Training: its settings, the live curves, and how far it is."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ...nodes import changes as c
from ...nodes.spec import ParamSpec
from ..link import SessionLink
from ..session import messages as m
from ..state import EditorState, Training, sentences
from .curves import Plot
from .editors import Editor, editor
from .rows import column, figure, label, row

SETTINGS = (
    ParamSpec(
        "optimizer", "choice", "Adam", "How gradients change weights",
        choices=("SGD", "Momentum", "Adam"),
    ),
    ParamSpec("learning_rate", "float", 0.001, "Size of a step", minimum=0),
    ParamSpec(
        "schedule", "choice", "constant", "How the learning rate falls over the training",
        choices=("constant", "cosine"),
    ),
    ParamSpec("batch_size", "int", 32, "Examples a step", minimum=1),
    ParamSpec("epochs", "int", 10, "Passes over the training data", minimum=1),
    ParamSpec("weight_decay", "float", 0.0, "Pull of weights towards zero", minimum=0),
    ParamSpec("seed", "int", 0, "Makes the training repeatable", minimum=0),
)  # fmt: skip
ROWS = 4
"""Settings below each other before a second column begins."""


class TrainingPanel(QWidget):
    """Curves on the left, figures in the middle, settings on the right."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("training")
        self._state, self._link = state, link
        self.curves = LossCurves()
        self.curves.setMinimumWidth(120)
        self.figures = Figures()
        self.settings = SettingsForm(state)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(16)
        layout.addWidget(self.curves, 5)
        middle = QVBoxLayout()
        middle.setSpacing(10)
        middle.addWidget(self.figures)
        middle.addLayout(self._buttons())
        middle.addStretch(1)
        layout.addLayout(middle, 4)
        layout.addWidget(self.settings, 4)
        state.training_changed.connect(self._show)
        state.run_changed.connect(self._enable)
        state.document_replaced.connect(self._show)
        state.session_changed.connect(self._enable)
        self._show()

    def _buttons(self) -> QHBoxLayout:
        self.train = _button("Train", "train", "Train from fresh weights", self._train)
        self.train.setProperty("role", "primary")
        self.pause = _button("Pause", "pause-training", "Pause after this step", self._pause)
        self.stop = _button("Stop", "stop-training", "End after this step; weights stay",
                            self._stop)  # fmt: skip
        self.stop.setProperty("role", "stop")
        self.overfit = _button(
            "Overfit one batch", "overfit",
            "Train on one batch only: a sound model gets it right. The weights are put back.",
            self._overfit,
        )  # fmt: skip
        return row(self.train, self.pause, self.stop, None, self.overfit)

    # commands

    def _train(self) -> None:
        self._link.send(m.Train(save=self._state.weights_file))

    def _pause(self) -> None:
        paused = self._state.run.state == "training paused"
        self._link.send(m.ResumeTraining() if paused else m.PauseTraining())

    def _stop(self) -> None:
        self._link.send(m.StopTraining())

    def _overfit(self) -> None:
        self._link.send(m.OverfitOneBatch())

    # what is shown

    def _show(self, _: object = None) -> None:
        training = self._state.training
        self.curves.show_training(training)
        self.figures.show_training(training, self._state.run.state)
        self._enable()

    def _enable(self, _: object = None) -> None:
        state, ready = self._state.run.state, self._state.session.state == "ready"
        active = state in ("training", "training paused")
        self.train.setEnabled(ready and not active)
        self.overfit.setEnabled(ready and not active)
        self.pause.setEnabled(ready and active)
        self.pause.setText("Resume" if state == "training paused" else "Pause")
        self.stop.setEnabled(ready and active)
        self.figures.show_status(self._state.training, state)


def _button(text: str, name: str, tip: str, action: object) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName(name)
    button.setToolTip(tip)
    button.clicked.connect(action)
    return button


class LossCurves(QWidget):
    """Loss over steps, on the training batches and on the held-out part."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.train_text = label("", "legend-train")
        self.held_out_text = label("", "legend-held-out")
        self.plot = Plot("loss over steps")
        self.train = self.plot.add_curve("accent")
        self.held_out = self.plot.add_curve("control", dashed=True)
        head = row(label("loss", "small"), self.train_text, self.held_out_text, None, spacing=12)
        self.setLayout(column(head, self.plot, margin=0, spacing=4))

    def show_training(self, training: Training) -> None:
        """Draw the curves as far as they go."""
        self.plot.show_axes(bool(training.losses))
        self.train.setData(training.steps, training.losses)
        known = [e for e in training.epochs if e.held_out_loss is not None]
        self.held_out.setData([e.step for e in known], [e.held_out_loss for e in known])
        train = f"— train {figure(training.losses[-1], 3)}" if training.losses else ""
        self.train_text.setText(train)
        held = f"╌ held out {figure(known[-1].held_out_loss, 3)}" if known else ""
        self.held_out_text.setText(held)


class Figures(QWidget):
    """Held-out accuracy, epoch and step time in large type, and a progress bar."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.accuracy, self.epoch, self.step = (label("–", "display") for _ in range(3))
        names = ("held-out accuracy", "epoch", "step")
        columns = [
            column(label(name, "small"), value, margin=0, spacing=0)
            for name, value in zip(names, (self.accuracy, self.epoch, self.step), strict=True)
        ]
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.status = label("", "small", wrap=True)
        self.setLayout(
            column(row(*columns, None, spacing=24), self.bar, self.status, margin=0, spacing=8)
        )

    def show_training(self, training: Training, state: m.State) -> None:
        """Show the newest figures."""
        known = [e for e in training.epochs if e.held_out_accuracy is not None]
        best = known[-1].held_out_accuracy if known else None
        self.accuracy.setText("–" if best is None else f"{100 * best:.1f} %")
        progress = training.progress
        if progress is None:
            self.epoch.setText("–")
            self.step.setText("–")
            self.bar.setRange(0, 1)
            self.bar.setValue(0)
        else:
            self.epoch.setText(f"{progress.epoch} / {progress.epochs}")
            self.step.setText(f"{progress.milliseconds:.1f} ms")
            self.bar.setRange(0, max(1, progress.steps))
            done = training.finished is not None and not training.finished.stopped
            self.bar.setValue(progress.steps if done else progress.step)
        self.show_status(training, state)

    def show_status(self, training: Training, state: m.State) -> None:
        """Say in one line where the training is."""
        self.status.setText(_status(training, state))


def _status(training: Training, state: m.State) -> str:
    paused, progress = training.paused, training.progress
    if state == "training" and progress is not None:
        return f"step {progress.step:,} of {progress.steps:,} · {_left(progress.seconds_left)}"
    if paused is not None and state == "training paused":
        return paused.message or f"paused after step {paused.step:,}"
    if training.overfit is not None:
        return training.overfit.message
    if paused is not None and paused.message:
        return sentences(paused.message, paused.fix)
    if training.finished is not None:
        word = "stopped" if training.finished.stopped else "finished"
        return f"{word} after {training.finished.step:,} steps in {training.finished.seconds:.1f} s"
    return "The loss and the held-out accuracy appear here while the model trains."


def _left(seconds: float) -> str:
    if seconds >= 90:
        return f"{seconds / 60:.0f} min left"
    return f"{seconds:.0f} s left"


class SettingsForm(QScrollArea):
    """The document's training settings; every edit is one step of undo."""

    def __init__(self, state: EditorState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.editors: dict[str, Editor] = {}
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMaximumWidth(440)
        form = QWidget()
        grid = QGridLayout(form)
        grid.setContentsMargins(0, 0, 8, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(6)
        self.message = label("", "stop", wrap=True)
        self.message.hide()
        for at, spec in enumerate(SETTINGS):
            made = editor(spec)
            line, side = at % ROWS, 2 * (at // ROWS)
            made.setMinimumWidth(96 if spec.kind == "choice" else 64)
            made.edited.connect(lambda value, key=spec.name: self._set(key, value))
            made.refused.connect(self._refused)
            name = label(spec.name.replace("_", " "), "muted")
            name.setToolTip(spec.doc)
            grid.addWidget(name, line, side)
            grid.addWidget(made, line, side + 1)
            self.editors[spec.name] = made
        grid.addWidget(self.message, ROWS, 0, 1, 4)
        grid.setRowStretch(ROWS + 1, 1)
        self.setWidget(form)
        self.setMinimumWidth(form.minimumSizeHint().width())
        state.document_changed.connect(self._refresh)
        state.document_replaced.connect(self._refresh)
        self._refresh()

    def _refresh(self, _: object = None) -> None:
        training = self._state.document.training
        for name, made in self.editors.items():
            made.show_value(getattr(training, name))
        self.message.hide()

    def _set(self, name: str, value: object) -> None:
        training = msgspec.structs.replace(self._state.document.training, **{name: value})
        self._state.perform(c.SetTraining(training), f"Set {name.replace('_', ' ')}")

    def _refused(self, text: str) -> None:
        self.message.setText(text)
        self.message.show()
