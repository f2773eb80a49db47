"""Initial values of weights, by how many inputs an output sums: Glorot's, He's and others."""

from __future__ import annotations

import math

import numpy as np

from .initial_values import Initializer, Shape, TruncatedNormal

CUT = 0.87962566103423978
"""Standard deviation of a normal distribution of deviation 1 that is cut at ±2."""


def fans(shape: Shape) -> tuple[int, int]:
    """How many inputs an output sums, and outputs an input reaches, of a weight `[out, in, ...]`.

    Parameters
    ----------
    shape : tuple of int
        The weight's shape, its spatial axes last.

    Returns
    -------
    tuple of int
        Inputs and outputs.

    Raises
    ------
    ValueError
        If the shape has fewer than two axes.
    """
    if len(shape) < 2:
        raise ValueError(f"this initializer needs a weight of two axes or more, not {list(shape)}.")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def gain_of(nonlinearity: str, slope: float = 0.0) -> float:
    """What weights are scaled up by, so that a nonlinearity after them keeps the variance.

    Raises
    ------
    ValueError
        If there is no such nonlinearity.
    """
    gains = {
        "linear": 1.0, "sigmoid": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0,
        "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1.0 + slope**2)),
    }  # fmt: skip
    if nonlinearity not in gains:
        raise ValueError(
            f"there is no nonlinearity {nonlinearity!r}; use one of {', '.join(gains)}."
        )
    return gains[nonlinearity]


class XavierUniform(Initializer):
    """Uniform within ``gain * sqrt(6 / (fan_in + fan_out))``.

    Parameters
    ----------
    gain : float
        What the values are multiplied by.

    References
    ----------
    Glorot and Bengio, Understanding the difficulty of training deep feedforward networks, 2010.
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        bound = self.gain * math.sqrt(6.0 / sum(fans(shape)))
        return stream.uniform(-bound, bound, shape)


class XavierNormal(Initializer):
    """Normal of standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Parameters
    ----------
    gain : float
        What the values are multiplied by.

    References
    ----------
    Glorot and Bengio, Understanding the difficulty of training deep feedforward networks, 2010.
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        return stream.normal(0.0, self.gain * math.sqrt(2.0 / sum(fans(shape))), shape)


class HeUniform(Initializer):
    """Uniform within ``gain * sqrt(3 / fan)``, the gain being that of what follows.

    Parameters
    ----------
    negative_slope : float
        The slope of the leaky ReLU that follows; 0 is ReLU, ``sqrt(5)`` the usual for layers.
    mode : {"fan_in", "fan_out"}
        Which side's size keeps its variance.
    nonlinearity : {"leaky_relu", "relu", "linear", "sigmoid", "tanh"}
        What follows.

    References
    ----------
    He et al., Delving Deep into Rectifiers, 2015.
    """

    def __init__(
        self,
        negative_slope: float = 0.0,
        mode: str = "fan_in",
        nonlinearity: str = "leaky_relu",
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            name = type(self).__name__
            raise ValueError(f"{name}: mode must be 'fan_in' or 'fan_out', it is {mode!r}.")
        self.gain = gain_of(nonlinearity, negative_slope)
        self.mode = mode

    def deviation(self, shape: Shape) -> float:
        """The standard deviation of the values."""
        return self.gain / math.sqrt(fans(shape)[self.mode == "fan_out"])

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        bound = math.sqrt(3.0) * self.deviation(shape)
        return stream.uniform(-bound, bound, shape)


class HeNormal(HeUniform):
    """Normal of standard deviation ``gain / sqrt(fan)``; see `HeUniform`.

    Parameters
    ----------
    negative_slope : float
        The slope of the leaky ReLU that follows.
    mode : {"fan_in", "fan_out"}
        Whether inputs that an output sums, or outputs that an input reaches, are counted.
    nonlinearity : str
        What follows, as ``"relu"`` or ``"leaky_relu"``.
    """

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        return stream.normal(0.0, self.deviation(shape), shape)


class VarianceScaling(Initializer):
    """Values of variance ``scale / fan``.

    Parameters
    ----------
    scale : float
        The variance times the fan.
    mode : {"fan_in", "fan_out", "fan_avg"}
        Inputs an output sums, outputs an input reaches, or the mean of both.
    distribution : {"truncated_normal", "untruncated_normal", "uniform"}
        The distribution; the truncated one is cut at two of the deviations it had uncut.

    Raises
    ------
    ValueError
        If the scale is not positive, or a name is another one.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
    ) -> None:
        if scale <= 0:
            raise ValueError(f"VarianceScaling: scale must be positive, it is {scale}.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                f"VarianceScaling: mode must be 'fan_in', 'fan_out' or 'fan_avg', not {mode!r}."
            )
        if distribution not in ("truncated_normal", "untruncated_normal", "uniform"):
            raise ValueError(
                "VarianceScaling: distribution must be 'truncated_normal', 'untruncated_normal' or"
                f" 'uniform', not {distribution!r}."
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        inputs, outputs = fans(shape)
        fan = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        deviation = math.sqrt(self.scale / max(fan, 1))
        if self.distribution == "uniform":
            bound = math.sqrt(3.0) * deviation
            return stream.uniform(-bound, bound, shape)
        if self.distribution == "untruncated_normal":
            return stream.normal(0.0, deviation, shape)
        return TruncatedNormal(deviation / CUT).draw(shape, stream)


class Orthogonal(Initializer):
    """Orthonormal rows (or columns, whichever are fewer) of the weight as a matrix, times `gain`.

    Parameters
    ----------
    gain : float
        What the values are multiplied by.

    References
    ----------
    Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in deep
    linear neural networks, 2013; the signs: Mezzadri, How to generate random matrices, 2007.
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        if len(shape) < 2:
            raise ValueError(f"Orthogonal needs a weight of two axes or more, not {list(shape)}.")
        rows, columns = shape[0], math.prod(shape[1:])
        matrix = stream.standard_normal((max(rows, columns), min(rows, columns)))
        basis, upper = np.linalg.qr(matrix)
        basis *= np.sign(np.diag(upper))
        return self.gain * (basis if rows >= columns else basis.T).reshape(shape)


class Sparse(Initializer):
    """Normal, but for a share of zeros in each column.

    Parameters
    ----------
    sparsity : float
        The share of zeros, 0 to 1.
    sigma : float
        The standard deviation of the others.
    """

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        if not 0 <= sparsity <= 1:
            raise ValueError(f"Sparse: sparsity must be in 0..1, it is {sparsity}.")
        self.sparsity, self.sigma = sparsity, sigma

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return drawn values."""
        if len(shape) != 2:
            raise ValueError(f"Sparse needs a weight of two axes, not {list(shape)}.")
        values = stream.normal(0.0, self.sigma, shape)
        zeros = math.ceil(self.sparsity * shape[0])
        for column in range(shape[1]):
            values[stream.permutation(shape[0])[:zeros], column] = 0
        return values


class Identity(Initializer):
    """Ones on the diagonal of a matrix, zeros elsewhere."""

    is_random = False

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return the matrix."""
        if len(shape) != 2:
            raise ValueError(f"Identity needs a weight of two axes, not {list(shape)}.")
        return np.eye(*shape)


class Dirac(Initializer):
    """A convolution's weight that passes its channels through.

    Parameters
    ----------
    groups : int
        The groups of the convolution; each passes its own channels.
    """

    is_random = False

    def __init__(self, groups: int = 1) -> None:
        if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
            raise ValueError(f"Dirac: groups must be a positive int, it is {groups!r}.")
        self.groups = groups

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return the weight."""
        if len(shape) not in (3, 4, 5) or shape[0] % self.groups:
            raise ValueError(
                f"Dirac needs a convolution's weight of three to five axes whose outputs are a"
                f" multiple of {self.groups}, not {list(shape)}."
            )
        values = np.zeros(shape)
        middle = tuple(size // 2 for size in shape[2:])
        outputs = shape[0] // self.groups
        for group in range(self.groups):
            for channel in range(min(outputs, shape[1])):
                values[(group * outputs + channel, channel, *middle)] = 1
        return values


class Bilinear(Initializer):
    """A transposed convolution's weight that enlarges images, with linear weights between pixels.

    References
    ----------
    Long, Shelhamer and Darrell, Fully Convolutional Networks for Semantic Segmentation, 2015.
    """

    is_random = False

    def draw(self, shape: Shape, stream: np.random.Generator) -> np.ndarray:
        """Return the weight."""
        if len(shape) != 4:
            raise ValueError(f"Bilinear needs a weight of four axes, not {list(shape)}.")
        sides = []
        for size in shape[2:]:
            factor = math.ceil(size / 2)
            centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
            sides.append(1 - np.abs(np.arange(size) / factor - centre))
        return np.array(np.broadcast_to(np.outer(*sides), shape))
