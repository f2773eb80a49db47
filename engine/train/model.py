"""Model: a network with its loss, optimizer and metrics; trains, evaluates and predicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..amp import auto_mixed_precision, build_train_network
from ..nn.cell import Cell
from ..nn.optim import Optimizer
from ..nn.wrap import WithEvalCell
from ..tensor import Tensor
from .callback.base import CallbackParams, Callbacks, RunContext
from .metrics import Loss, get_metrics

OPTIONS = {"loss_scale_manager", "keep_batchnorm_fp32"}


class Model:
    """A network with everything that training and evaluation need.

    Parameters
    ----------
    network : Cell
        The network; without `loss_fn` it gives the loss itself.
    loss_fn : Cell, optional
        The loss, of the network's output and the labels.
    optimizer : Optimizer, optional
        Updates the network's parameters; without it `network` is a whole training step.
    metrics : dict of Metric, or set of str, optional
        What ``eval`` computes, by name.
    eval_network : Cell, optional
        What is evaluated instead; by default the network with its loss.
    eval_indexes : list of int, optional
        Where in what `eval_network` gives the loss, the predictions and the labels stand.
    amp_level : {"O0", "O1", "O2", "O3", "auto"}
        How the network computes; see ``amp.auto_mixed_precision``.
    boost_level : {"O0", "O1", "O2"}
        Taken for MindSpore's scripts.
    **kwargs
        ``loss_scale_manager`` and ``keep_batchnorm_fp32``, as ``amp.build_train_network`` takes
        them.

    Raises
    ------
    TypeError
        If `network` is no Cell, or `optimizer` no Optimizer.
    ValueError
        If metrics cannot be computed, or an option is not known.
    """

    def __init__(
        self,
        network: Cell,
        loss_fn: Cell | None = None,
        optimizer: Optimizer | None = None,
        metrics: Any = None,
        eval_network: Cell | None = None,
        eval_indexes: Sequence[int] | None = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        **kwargs: Any,
    ) -> None:
        if not isinstance(network, Cell):
            raise TypeError(f"Model: network must be a Cell, not {type(network).__name__}.")
        if optimizer is not None and not isinstance(optimizer, Optimizer):
            raise TypeError(f"Model: optimizer must be an nn.Optimizer, not {optimizer!r}.")
        unknown = kwargs.keys() - OPTIONS
        if unknown:
            raise ValueError(f"Model has no option {sorted(unknown)[0]!r}.")
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._metrics = get_metrics(metrics)
        self._train_network = self._make_train_network(amp_level, kwargs)
        self._eval_network = eval_network
        self._indexes = self._checked_indexes(eval_indexes)
        if eval_network is None and loss_fn is not None:
            casts = amp_level in ("O2", "O3", "auto")
            self._eval_network = WithEvalCell(network, loss_fn, casts)
            self._indexes = [0, 1, 2]
        if self._metrics and self._eval_network is None:
            raise ValueError("Model: metrics need a loss_fn or an eval_network.")

    def _make_train_network(self, level: str, options: dict[str, Any]) -> Cell:
        if self._optimizer is None:
            return auto_mixed_precision(self._network, level)
        return build_train_network(self._network, self._optimizer, self._loss_fn, level, **options)

    @staticmethod
    def _checked_indexes(indexes: Sequence[int] | None) -> list[int] | None:
        if indexes is None:
            return None
        found = list(indexes)
        if len(found) != 3 or not all(isinstance(index, int) for index in found):
            raise ValueError(f"Model: eval_indexes are three ints, not {indexes!r}.")
        return found

    @property
    def train_network(self) -> Cell:
        """What one call of is a training step."""
        return self._train_network

    @property
    def predict_network(self) -> Cell:
        """The network."""
        return self._network

    @property
    def eval_network(self) -> Cell | None:
        """What is evaluated."""
        return self._eval_network

    # training

    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Train the network.

        Parameters
        ----------
        epoch : int
            How many times the dataset is passed, counted from 0 with `initial_epoch`.
        train_dataset : Dataset, or iterable of rows
            Rows of the network's arguments, with a `loss_fn` data and labels.
        callbacks : Callback or list of Callback, optional
            What is told of epochs and steps.
        dataset_sink_mode : bool
            Taken for MindSpore's scripts: data is where the steps run. It makes `sink_size` count.
        sink_size : int
            With `dataset_sink_mode`, how many steps an epoch has; -1: as many as the dataset.
        initial_epoch : int
            The epoch to begin with.

        Raises
        ------
        ValueError
            If a number does not fit, or rows do not.
        """
        self._fit(epoch, train_dataset, None, 1, callbacks, _size(dataset_sink_mode, sink_size),
                  initial_epoch, bool(dataset_sink_mode))  # fmt: skip

    def fit(
        self,
        epoch: int,
        train_dataset: Any,
        valid_dataset: Any = None,
        valid_frequency: int | Sequence[int] = 1,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Train the network and evaluate it in between.

        Parameters
        ----------
        epoch : int
            How many times the dataset is passed, counted from 0 with `initial_epoch`.
        train_dataset, valid_dataset : Dataset, or iterable of rows
            What is trained on and what is evaluated.
        valid_frequency : int or list of int
            Epochs between two evaluations, or the epochs (from 1) after which there is one.
        callbacks : Callback or list of Callback, optional
            What is told of epochs and steps.
        dataset_sink_mode, valid_dataset_sink_mode : bool
            Taken for MindSpore's scripts.
        sink_size : int
            With `dataset_sink_mode`, how many steps an epoch has.
        initial_epoch : int
            The epoch to begin with.

        Raises
        ------
        ValueError
            If a number does not fit, or there are no metrics to evaluate.
        """
        if valid_dataset is not None and not self._metrics:
            raise ValueError("Model.fit evaluates metrics; give them to Model(metrics=...).")
        self._fit(epoch, train_dataset, valid_dataset, valid_frequency, callbacks,
                  _size(dataset_sink_mode, sink_size), initial_epoch,
                  bool(dataset_sink_mode))  # fmt: skip

    def _fit(
        self, epoch: int, data: Any, valid: Any, frequency: Any, callbacks: Any, size: int,
        first: int, sinks: bool,
    ) -> None:  # fmt: skip
        if not isinstance(epoch, int) or epoch <= 0 or not 0 <= first < epoch:
            raise ValueError(
                f"Model: epoch must be a positive int, it is {epoch!r}, and initial_epoch from 0"
                f" on and below it, it is {first!r}."
            )
        if isinstance(frequency, int) and frequency < 1:
            raise ValueError(f"Model: valid_frequency must be 1 or more, it is {frequency}.")
        told = Callbacks(callbacks)
        args = self._told("train", told, data, valid)
        args.epoch_num, args.dataset_sink_mode, args.cur_step_num = epoch, sinks, 0
        args.batch_num = size if size > 0 else _length(data)
        context = RunContext(args)
        self._train_network.set_train(True)
        with told.entered():
            told.tell("on_train_begin", context)
            rows = _Rows(data)
            for number in range(first + 1, epoch + 1):
                args.cur_epoch_num = number
                self._train_epoch(rows, size, args, context, told)
                if valid is not None and _is_due(number, frequency):
                    args.eval_results = self._evaluate(valid, told, args)
                    self._train_network.set_train(True)
                told.tell("on_train_epoch_end", context)
                args.eval_results = None
                if context.get_stop_requested():
                    break
            told.tell("on_train_end", context)

    def _train_epoch(
        self, rows: _Rows, size: int, args: CallbackParams, context: RunContext, told: Callbacks
    ) -> None:
        told.tell("on_train_epoch_begin", context)
        steps = 0
        for row in rows.take(size):
            args.train_dataset_element = row
            args.cur_step_num += 1
            steps += 1
            self._require_two(row)
            told.tell("on_train_step_begin", context)
            args.net_outputs = self._train_network(*row)
            told.tell("on_train_step_end", context)
            if context.get_stop_requested():
                break
        if steps == 0:
            raise ValueError("Model: the dataset has no rows to train on.")
        args.batch_num = args.batch_num or steps

    def _require_two(self, row: list[Any]) -> None:
        if self._loss_fn is not None and len(row) != 2:
            raise ValueError(
                f"Model: with a loss_fn rows are data and labels, these have {len(row)} columns;"
                " let the network compute the loss, or project the dataset."
            )

    # evaluation

    def eval(
        self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False
    ) -> dict[str, Any]:
        """Evaluate the metrics.

        Parameters
        ----------
        valid_dataset : Dataset, or iterable of rows
            What is evaluated.
        callbacks : Callback or list of Callback, optional
            What is told of batches.
        dataset_sink_mode : bool
            Taken for MindSpore's scripts.

        Returns
        -------
        dict of str
            The metrics' values by name.

        Raises
        ------
        ValueError
            If there are no metrics.
        """
        if not self._metrics:
            raise ValueError("Model.eval computes metrics; give them to Model(metrics=...).")
        told = Callbacks(callbacks)
        with told.entered():
            return self._evaluate(
                valid_dataset, told, self._told("eval", told, None, valid_dataset)
            )

    def _evaluate(self, data: Any, told: Callbacks, outer: CallbackParams) -> dict[str, Any]:
        assert self._eval_network is not None
        args = CallbackParams(outer)
        args.mode, args.network, args.cur_step_num = "eval", self._network, 0
        args.eval_network = self._eval_network
        args.batch_num = _length(data)
        args.cur_epoch_num = outer.cur_epoch_num or 1
        context = RunContext(args)
        for metric in self._metrics.values():
            metric.clear()
        self._eval_network.set_train(False)
        told.tell("on_eval_begin", context)
        told.tell("on_eval_epoch_begin", context)
        for row in _Rows(data).take(-1):
            args.cur_step_num += 1
            told.tell("on_eval_step_begin", context)
            args.net_outputs = self._eval_network(*row)
            self._update_metrics(args.net_outputs)
            told.tell("on_eval_step_end", context)
            if context.get_stop_requested():
                break
        results = {name: metric.eval() for name, metric in self._metrics.items()}
        args.metrics = args.eval_results = results
        told.tell("on_eval_epoch_end", context)
        told.tell("on_eval_end", context)
        return results

    def _update_metrics(self, outputs: Any) -> None:
        given = outputs if isinstance(outputs, tuple | list) else (outputs,)
        for metric in self._metrics.values():
            if self._indexes is None or metric.indexes is not None:
                metric.update(*given)
            elif isinstance(metric, Loss):
                metric.update(given[self._indexes[0]])
            else:
                metric.update(given[self._indexes[1]], given[self._indexes[2]])

    # prediction

    def predict(self, *predict_data: Any, backend: str | None = None) -> Any:
        """Return what the network gives, in inference.

        Parameters
        ----------
        *predict_data : Tensor
            The network's arguments.
        backend : str, optional
            Taken for MindSpore's scripts.

        Returns
        -------
        Tensor or tuple of Tensor
            What the network gives.
        """
        self._network.set_train(False)
        return self._network(*predict_data)

    def build(
        self,
        train_dataset: Any = None,
        valid_dataset: Any = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Make what can be made before a training: the parameters' first values.

        Parameters
        ----------
        train_dataset, valid_dataset : Dataset, optional
            What will be trained on and evaluated.
        sink_size, epoch, sink_mode : int, int and bool
            Taken for MindSpore's scripts.
        """
        for network in (self._train_network, self._eval_network):
            if network is not None:
                for param in network.get_parameters():
                    param.data  # noqa: B018 - reading it makes it

    def _told(self, mode: str, told: Callbacks, data: Any, valid: Any) -> CallbackParams:
        args = CallbackParams()
        args.mode, args.network, args.train_network = mode, self._network, self._train_network
        args.eval_network, args.loss_fn = self._eval_network, self._loss_fn
        args.optimizer = self._optimizer
        args.parallel_mode, args.device_number = "stand_alone", 1
        args.train_dataset, args.valid_dataset = data, valid
        args.list_callback = told.items
        args.metrics = self._metrics
        args.cur_epoch_num = args.cur_step_num = 0
        return args


class _Rows:
    """The rows of a dataset, passed again and again."""

    def __init__(self, data: Any) -> None:
        if not isinstance(data, Iterable):
            raise TypeError(f"Model: a dataset can be iterated, {type(data).__name__} cannot.")
        self.data: Any = data
        self._open: Iterator[Any] | None = None

    def take(self, size: int) -> Iterator[list[Any]]:
        """The rows of one pass; with a size, so many rows over the ends of passes."""
        if size <= 0:
            yield from map(_row, iter(self.data))
            return
        for _ in range(size):
            row = next(self._open, None) if self._open is not None else None
            if row is None:
                self._open = iter(self.data)
                row = next(self._open, None)
            if row is None:
                return
            yield _row(row)


def _row(row: Any) -> list[Any]:
    values = row.values() if isinstance(row, dict) else row
    if isinstance(values, Tensor):
        return [values]
    return list(values)


def _length(data: Any) -> int:
    size = getattr(data, "get_dataset_size", None)
    if size is not None:
        return int(size())
    return len(data) if hasattr(data, "__len__") else 0


def _size(sinks: bool, sink_size: int) -> int:
    if not isinstance(sink_size, int) or sink_size == 0 or sink_size < -1:
        raise ValueError(f"Model: sink_size must be -1 or a positive int, not {sink_size!r}.")
    return sink_size if sinks else -1


def _is_due(epoch: int, frequency: int | Sequence[int]) -> bool:
    if isinstance(frequency, int):
        return epoch % frequency == 0
    return epoch in list(frequency)
