"""Cell: a part of a network, with its parameters, its sub-Cells and its `construct`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from ..context import GRAPH_MODE, context
from ..dtype import DType
from ..ops.registry import records, traces
from ..parameter import Parameter
from ..tensor import Tensor, TensorSpec
from .hooks import HookHandle, Hooks, call_with_hooks
from .precision import cast_floats, compute_type, view_of
from .registration import Registered
from .state_dict import IncompatibleKeys, load_state, state_of


class Cell(Registered):
    """The base of every layer, loss and network.

    A subclass makes its parameters and sub-Cells in ``__init__`` and computes in ``construct``;
    calling the Cell runs it. Parameters and Cells that are set as attributes are registered under
    the attribute's name. A Cell starts in inference; ``set_train`` switches it and all below it.

    Parameters
    ----------
    auto_prefix : bool
        Whether the names of parameters of sub-Cells begin with the sub-Cell's name.
    flags : dict of str, optional
        Flags to begin with; see ``add_flags``.
    """

    training: bool
    requires_grad: bool
    hooks: Hooks
    written_params: frozenset[str] = frozenset()
    """Parameters that ``construct`` writes to, which ``to_float`` leaves as they are."""

    def __init__(self, auto_prefix: bool = True, flags: Mapping[str, Any] | None = None) -> None:
        super().__init__(auto_prefix)
        fields = self.__dict__
        fields["hooks"] = Hooks()
        fields["_has_bprop"] = hasattr(self, "bprop")
        fields["_compute_type"] = None
        fields["_recomputed"] = False
        fields["_given_inputs"] = None
        fields["_flags"] = {}
        fields["training"] = False
        fields["requires_grad"] = False
        if flags:
            self.add_flags(**flags)

    @property
    def cls_name(self) -> str:
        """The name of the Cell's class."""
        return type(self).__name__

    # running

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; every subclass that is called defines it."""
        raise AttributeError(
            f"For 'Cell', the method 'construct' is not defined in {type(self).__name__}."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the Cell: its hooks and `construct`; compiled as a whole in graph mode."""
        if context.mode == GRAPH_MODE and not traces:
            from ..compiler.jit import call_compiled

            if self.__dict__["_given_inputs"] is not None:
                self._check_inputs(args)
            return call_compiled(self, args, kwargs)
        return self.eager_call(*args, **kwargs)

    def eager_call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the Cell op by op, whatever the mode."""
        fields = self.__dict__
        run = self.construct
        if fields["_has_bprop"] and (records or traces):
            run = self._construct_with_bprop
        if fields["_compute_type"] is not None:
            run = self._construct_cast
        if fields["_recomputed"] and (records or traces):
            return self._call_recomputed(run, args, kwargs)
        if fields["hooks"]:
            return call_with_hooks(self, run, args, kwargs)
        return run(*args, **kwargs)

    def _call_recomputed(
        self, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        from ..autograd.recompute import recompute

        def block(*given: Any, **named: Any) -> Any:
            return call_with_hooks(self, run, given, named)

        return recompute(block, *args, **kwargs)

    def recompute(self, mode: bool = True, **options: Any) -> Self:
        """Let gradients compute what is in this Cell once more instead of keeping it.

        Parameters
        ----------
        mode : bool
            Whether to do so from now on.
        **options
            MindSpore's settings for several devices; kept for scripts, of no effect on one.
        """
        self.__dict__["_recomputed"] = bool(mode)
        self.hooks.version += 1  # what was compiled keeps other values
        return self

    def _construct_with_bprop(self, *args: Any, **kwargs: Any) -> Any:
        from ..autograd.custom import custom_bprop

        return custom_bprop(self, args, kwargs)

    def _construct_cast(self, *args: Any, **kwargs: Any) -> Any:
        dtype: DType = self.__dict__["_compute_type"]
        args, kwargs = cast_floats(args, dtype), cast_floats(kwargs, dtype)
        if self.__dict__["_has_bprop"] and (records or traces):
            return self._construct_with_bprop(*args, **kwargs)
        return view_of(self, dtype).construct(*args, **kwargs)

    def register_forward_pre_hook(
        self, hook_fn: Callable[..., Any], with_kwargs: bool = False
    ) -> HookHandle:
        """Call ``hook_fn(cell, args)`` before ``construct``; its result replaces the arguments."""
        return self.hooks.add("forward_pre", hook_fn, with_kwargs)

    def register_forward_hook(
        self, hook_fn: Callable[..., Any], with_kwargs: bool = False
    ) -> HookHandle:
        """Call ``hook_fn(cell, args, output)`` after ``construct``; its result is the output."""
        return self.hooks.add("forward", hook_fn, with_kwargs)

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call ``hook_fn(cell, grad_output)`` before the Cell's gradient is computed.

        Gradients come as tuples; a result that is not None replaces them.
        """
        return self.hooks.add("backward_pre", hook_fn)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call ``hook_fn(cell, grad_input, grad_output)`` after the Cell's gradient is computed.

        Gradients come as tuples; a result that is not None replaces ``grad_input``. The hook runs
        where a gradient flows back to an input of the Cell.
        """
        return self.hooks.add("backward", hook_fn)

    # modes

    def set_train(self, mode: bool = True) -> Self:
        """Switch this Cell and all below it to training (or, `mode=False`, to inference)."""
        for _, cell in self.cells_and_names():
            cell.__dict__["training"] = bool(mode)
        return self

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of this Cell and all below it.

        It is a note for scripts: gradients are asked for by ``grad`` and ``value_and_grad``, and
        parameters are frozen by their own ``requires_grad``.
        """
        for _, cell in self.cells_and_names():
            cell.__dict__["requires_grad"] = bool(requires_grad)
        return self

    def apply(self, fn: Callable[[Cell], Any]) -> Self:
        """Call `fn` with each Cell below this one, then with this one."""
        for child in self._cells.values():
            child.apply(fn)
        fn(self)
        return self

    def to_float(self, dst_type: Any) -> Self:
        """Let this Cell and all below it compute in another float type.

        Float tensors given to ``construct`` are cast to it, and so are the parameters while it
        runs; the parameters themselves stay as they are, and gradients have their types. The
        result has the type in which it was computed.

        Parameters
        ----------
        dst_type : DType
            ``float16``, ``bfloat16`` or ``float32``.

        Raises
        ------
        ValueError
            If it is another type.
        """
        dtype = compute_type(dst_type)
        for _, cell in self.cells_and_names():
            cell.__dict__["_compute_type"] = dtype
            cell.hooks.version += 1  # what was compiled computes in another type
        return self

    def cast_inputs(self, inputs: tuple[Any, ...], dst_type: Any) -> tuple[Any, ...]:
        """Return `inputs` with the float tensors among them cast."""
        return cast_floats(tuple(inputs), compute_type(dst_type))

    def cast_param(self, param: Parameter) -> Tensor:
        """Return a parameter in the type that ``to_float`` set, or as it is."""
        dtype: DType | None = self.__dict__["_compute_type"]
        return param if dtype is None else cast_floats(param, dtype)

    def add_flags(self, **flags: Any) -> Self:
        """Set flags, each also as an attribute of that name."""
        for name, value in flags.items():
            setattr(self, name, value)
            self._flags[name] = value
        return self

    def add_flags_recursive(self, **flags: Any) -> Self:
        """Set flags on this Cell and all below it."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The flags that were set."""
        return dict(self._flags)

    # compiling

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Say which arguments compiled calls will have: tensors, or specs with unknown sizes.

        Parameters
        ----------
        *inputs : Tensor, TensorSpec or number
            One for each argument of ``construct``; ``Tensor(shape=[None, 3], dtype=...)`` leaves
            a size open. Compiled calls with other shapes or dtypes are errors from then on.
        **kwargs
            The same by the arguments' names.

        Raises
        ------
        ValueError
            If both are given.
        """
        if inputs and kwargs:
            raise ValueError(f"{self.cls_name}: set_inputs takes arguments or keywords, not both.")
        self.__dict__["_given_inputs"] = inputs or tuple(kwargs.values()) or None

    def get_inputs(self) -> tuple[Any, ...] | None:
        """What ``set_inputs`` was given; None before."""
        return self.__dict__["_given_inputs"]

    def _check_inputs(self, args: tuple[Any, ...]) -> None:
        from ..compiler.arguments import check_signature

        given: tuple[Any, ...] = self.__dict__["_given_inputs"]
        specs = [item for item in given if isinstance(item, Tensor | TensorSpec)]
        check_signature(tuple(specs), args)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for such arguments, without running.

        Parameters
        ----------
        *args, **kwargs
            Arguments as of a call; without any, what ``set_inputs`` was given. Where a size is
            open the shapes are checked, and code is made when the first tensors come.

        Raises
        ------
        JitError
            If it cannot be compiled.
        """
        from ..compiler.jit import JitError, Jitted, kept_for
        from ..compiler.structure import flatten, unflatten
        from ..compiler.trace import abstract_eval
        from ..compiler.traced import TraceBreak

        given = args or self.get_inputs() or ()
        if any(isinstance(item, TensorSpec) for item in given):
            leaves, structure = flatten(given, lambda item: isinstance(item, Tensor | TensorSpec))

            def call(*tensors: Tensor) -> Any:
                filled: Any = unflatten(structure, tensors)
                return self.eager_call(*filled, **kwargs)

            avals: Any = [getattr(leaf, "aval", None) for leaf in leaves]
            try:
                abstract_eval(call, *avals)
            except TraceBreak as reason:
                raise JitError(str(reason)) from reason
            return
        compiled = kept_for(self, "graph mode", lambda: Jitted(self.eager_call))
        found = compiled.explain(*given, **kwargs)
        if found.reason is not None:
            raise JitError(f"{self.cls_name} cannot be compiled: {found.reason}")

    # state

    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """The parameters and persistent buffers by name; they are this Cell's own, no copies."""
        return {name: tensor for name, _, _, tensor in state_of(self, prefix)}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> IncompatibleKeys:
        """Write tensors into the parameters and buffers of the same names.

        Parameters
        ----------
        state_dict : dict of str to Tensor
            As ``state_dict`` gives it; arrays may stand for tensors.
        strict : bool
            Whether names on one side only are an error.

        Returns
        -------
        IncompatibleKeys
            ``missing_keys`` and ``unexpected_keys``, two lists of names.

        Raises
        ------
        RuntimeError
            If shapes differ, or names under `strict`; nothing is written then.
        """
        return load_state(self, state_dict, strict)

    # words

    def extend_repr(self) -> str:
        """What stands in the brackets of the Cell's repr."""
        return ""

    def __repr__(self) -> str:
        words, name = self.extend_repr(), type(self).__name__
        if not self._cells:
            return f"{name}<{words}>"
        parts = [words] if words else []
        parts += [f"({key}): {cell!r}" for key, cell in self._cells.items()]
        return f"{name}<" + "".join(f"\n{part}" for part in parts).replace("\n", "\n  ") + "\n  >"
