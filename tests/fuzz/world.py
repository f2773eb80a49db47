"""The state that random programs read and change: what their code stands in."""

from __future__ import annotations

WORLD = """\
import functools, types
import numpy as np
import cellwire as cw
from cellwire import nn, ops, Tensor, Parameter

ALPHA, COUNT, FLAG, MODE, NOTHING = 0.5, 2, True, "p", None
LIST, TABLE, PAIR = [0.5, -0.25, 1.5], {"p": 0.5, "q": 2.0}, (0.5, (1.0, 2))
SETTING = types.SimpleNamespace(gain=0.5, depth=2, on=False, deep={"rate": [0.1, 0.2]})
LOG = []
BUF = Tensor(np.linspace(-1, 1, 4, dtype=np.float32))
EDGE = BUF[1:2]
STEPS = Parameter(Tensor(np.float32(0)), name="steps", requires_grad=False)
W = Parameter(Tensor(np.sin(np.arange(16, dtype=np.float32)).reshape(4, 4)), name="w")

def X(rows, seed, dtype=np.float32, shift=0.0):
    values = np.random.default_rng(seed).normal(size=(rows, 4)) + shift
    moved = np.cos(np.arange(rows * 4).reshape(rows, 4))
    unit = DISTURBED * (500 if dtype == 'float16' else 1)
    return Tensor((values * (1 + unit * moved)).astype(dtype))

def Y(seed, dtype=np.float32):
    return X(1, seed, dtype)[0]

def make_closure():
    beta, calls = 0.5, []
    def scaled(a):
        return a * beta + len(calls)
    def change(value):
        nonlocal beta
        beta = value
        calls.append(value)
    return scaled, change

scaled, change = make_closure()

def helper(a, factor=0.5, *, shift=0.25):
    return a * factor + shift

def plain_hook(cell, inputs, output):
    return output * 0.5 + ALPHA

def quiet_hook(cell, inputs, output):
    return None

def noisy_hook(cell, inputs, output):
    print("hook", type(cell).__name__, MODE)

def pre_hook(cell, inputs):
    return (inputs[0] + 0.125,)

class Holder:
    rate = 0.25
    def __init__(self, power):
        self.power = power
        self.table = {"k": 1.0}
    @property
    def doubled(self):
        return self.power * 2
    def __call__(self, a):
        return a * self.power + self.rate
    def apply(self, a):
        return a * self.doubled + self.table["k"]

HOLDER = Holder(0.5)
PARTIAL = functools.partial(helper, factor=0.75)
"""

WORLD_CELLS = """
@cw.jit
def jitted(a):
    return ops.tanh(a * ALPHA) + inner(a)

class Net(nn.Cell):
    shift = 0.25

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 4)
        self.layers = nn.CellList([nn.Dense(4, 4), nn.Tanh()])
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(p=0.5)
        self.scale, self.mode, self.rates = 0.5, "p", [0.5, 0.25]
        self.calls = 0
"""

WORLD_OBJECTS = """
net = Net()
net.set_train(False)
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
adam = nn.Adam([W], 0.01)

def forward(t):
    return ops.mean(ops.square(net(t) - ALPHA))

train_step = cw.value_and_grad(forward, None, net.trainable_params())
slope = cw.value_and_grad(lambda t: ops.sum(ops.tanh(t @ W)), None, [W])
"""
