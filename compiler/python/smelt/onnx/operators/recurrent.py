"""RNN, GRU and LSTM, a step of time after the other."""

from __future__ import annotations

from ...builder.sizes import is_known
from .. import scalars
from ..refusal import Refusal
from ..rows import row

ACTIVATIONS = {
    "Tanh": lambda b, x, alpha, beta: b.point("tanh", x),
    "Sigmoid": lambda b, x, alpha, beta: b.point("sigmoid", x),
    "Relu": lambda b, x, alpha, beta: b.point("max", x, 0.0),
    "Affine": lambda b, x, alpha, beta: b.add(b.mul(x, alpha), beta),
    "LeakyRelu": lambda b, x, alpha, beta: b.select(b.point("lt", x, 0), b.mul(x, alpha), x),
    "Elu": lambda b, x, alpha, beta: scalars.elu(b, x, alpha),
    "HardSigmoid": lambda b, x, alpha, beta: b.point("max", b.point("min", b.add(b.mul(x, alpha), beta), 1.0), 0.0),
    "Softsign": lambda b, x, alpha, beta: b.div(x, b.add(b.point("abs", x), 1.0)),
    "Softplus": lambda b, x, alpha, beta: scalars.softplus(b, x),
}
DEFAULTS = {"LeakyRelu": (0.01, 0.0), "Elu": (1.0, 0.0), "HardSigmoid": (0.2, 0.5), "Affine": (1.0, 0.0)}


class Layer:
    """One direction: its weights, and x as [time, batch, input]."""

    def __init__(self, n, gates, index, names):
        self.n, self.b, self.gates, self.index = n, n.b, gates, index
        b = n.b
        self.hidden = n.attribute("hidden_size") or n.shape(2)[-1]

        def part(operand):
            return b.squeeze(b.slice(n.x(operand), 0, index, 1), 0) if n.has(operand) else None

        self.w, self.r = part(1), part(2)
        bias = part(3)
        width = gates * self.hidden
        self.wb = b.slice(bias, 0, 0, width) if bias is not None else None
        self.rb = b.slice(bias, 0, width, width) if bias is not None else None
        self.functions = [self._function(names, i) for i in range(len(names))]

    def _function(self, names, i):
        given = self.n.attribute("activations") or []
        each = len(names)
        name = given[self.index * each + i] if given else names[i]
        name = name.decode() if isinstance(name, bytes) else name
        if name not in ACTIVATIONS:
            raise Refusal(f"the activation {name}")
        default = DEFAULTS.get(name, (0.0, 0.0))
        place = self.index * each + i
        values = [self.n.attribute(key) for key in ("activation_alpha", "activation_beta")]
        alpha, beta = (v[place] if v and place < len(v) else d for v, d in zip(values, default))
        clip = self.n.attribute("clip") if self.n.given("clip") else None

        def function(x):
            if clip:
                x = self.b.point("max", self.b.point("min", x, float(clip)), -float(clip))
            return ACTIVATIONS[name](self.b, x, alpha, beta)

        return function

    def gate(self, x, i):
        return self.b.slice(x, -1, i * self.hidden, self.hidden)

    def times(self, x, weights, bias=None):
        product = self.b.matmul("bi,gi->bg", x, weights)
        return product if bias is None else self.b.add(product, bias)


def rnn_step(layer, x, state):
    b = layer.b
    (h,) = state
    (f,) = layer.functions
    return (f(b.add(layer.times(x, layer.w, layer.wb), layer.times(h, layer.r, layer.rb))),)


def gru_step(layer, x, state):
    b = layer.b
    (h,) = state
    f, g = layer.functions
    size = layer.hidden
    wx = layer.times(x, layer.w, layer.wb)
    rh = layer.times(h, layer.r, layer.rb)
    z = f(b.add(layer.gate(wx, 0), layer.gate(rh, 0)))
    r = f(b.add(layer.gate(wx, 1), layer.gate(rh, 1)))
    if layer.n.attribute("linear_before_reset", 0):
        inner = b.mul(r, layer.gate(rh, 2))
    else:
        last = b.slice(layer.r, 0, 2 * size, size)
        bias = None if layer.rb is None else b.slice(layer.rb, 0, 2 * size, size)
        inner = layer.times(b.mul(r, h), last, bias)
    candidate = g(b.add(layer.gate(wx, 2), inner))
    return (b.add(b.mul(b.sub(1.0, z), candidate), b.mul(z, h)),)


def lstm_step(layer, x, state):
    b = layer.b
    h, c = state
    f, g, last = layer.functions
    total = b.add(layer.times(x, layer.w, layer.wb), layer.times(h, layer.r, layer.rb))
    i, o, forget, new = (layer.gate(total, k) for k in range(4))
    peep = None
    if layer.n.has(7):
        peep = b.squeeze(b.slice(layer.n.x(7), 0, layer.index, 1), 0)

    def seen(gate, k, cell):
        return gate if peep is None else b.add(gate, b.mul(b.slice(peep, 0, k * layer.hidden, layer.hidden), cell))

    i, forget = f(seen(i, 0, c)), f(seen(forget, 2, c))
    forget = b.sub(1.0, i) if layer.n.attribute("input_forget", 0) else forget
    c = b.add(b.mul(forget, c), b.mul(i, g(new)))
    return b.mul(f(seen(o, 1, c)), last(c)), c


# Steps, gates, the usual activations, how many states, and where their initial values are.
KINDS = {
    "RNN": (rnn_step, 1, ["Tanh"], [5]),
    "GRU": (gru_step, 3, ["Sigmoid", "Tanh"], [5]),
    "LSTM": (lstm_step, 4, ["Sigmoid", "Tanh", "Tanh"], [5, 6]),
}


@row(*KINDS)
def recurrent(n, x):
    b = n.b
    step, gates, names, initial = KINDS[n.node.op_type]
    by_batch = n.attribute("layout", 0)
    n.refuse_unless(by_batch in (0, 1), f"layout {by_batch}, expected 0 or 1")
    x = b.transpose(x, (1, 0, 2)) if by_batch else x
    n.refuse_unless(is_known(x.shape[0]), f"{x.shape[0]} steps of time, known only when it runs")
    direction = n.attribute("direction", "forward")
    found = []
    for index in range(2 if direction == "bidirectional" else 1):
        backwards = direction == "reverse" or index == 1
        layer = Layer(n, gates, index, names)
        found.append(run(n, layer, step, x, [start(n, layer, x, i, by_batch) for i in initial], backwards))
    ys = b.concat([b.unsqueeze(rows, 1) for rows, _ in found], 1)
    states = [b.concat([b.unsqueeze(each[i], 0) for _, each in found], 0) for i in range(len(initial))]
    if by_batch:
        return [b.transpose(ys, (2, 0, 1, 3))] + [b.transpose(s, (1, 0, 2)) for s in states]
    return [ys] + states


def start(n, layer, x, operand, by_batch):
    b = n.b
    if not n.has(operand):
        return b.constant(0.0, "f32", (x.shape[1], layer.hidden))
    given = n.x(operand)
    axis = 1 if by_batch else 0
    return b.squeeze(b.slice(given, axis, layer.index, 1), axis)


def run(n, layer, step, x, state, backwards):
    """All results, and the last state; rows that are over keep theirs."""
    b = n.b
    lengths = n.x(4) if n.has(4) else None
    count = x.shape[0]
    rows = [None] * count
    state = tuple(state)
    for t in reversed(range(count)) if backwards else range(count):
        new = step(layer, b.squeeze(b.slice(x, 0, t, 1), 0), state)
        shown = new[0]
        if lengths is not None:
            is_on = b.unsqueeze(b.point("gt", lengths, t), 1)
            shown = b.select(is_on, shown, 0.0)
            new = tuple(b.select(is_on, a, old) for a, old in zip(new, state))
        state = new
        rows[t] = b.unsqueeze(shown, 0)
    return b.concat(rows, 0), state
