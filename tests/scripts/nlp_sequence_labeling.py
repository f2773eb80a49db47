"""Mark the names in sentences: what MindSpore's tutorial ``nlp/sequence_labeling`` calls.

A linear-chain conditional random field written in ops: ``numpy.arange``, ``where`` and ``full``,
parts picked by tensors of indices, ``expand_dims``, ``swapaxes``, ``view``, ``logsumexp``, ``max``,
``argmax``, tuples that grow, Parameters of ``initializer(Uniform)``; ``Embedding`` with padding,
``LSTM`` with lengths, ``Dense`` by the name of an initializer, ``SGD`` with weight decay,
``value_and_grad`` of a Cell, and Viterbi decoding with slices by tensors.

References
----------
J. Lafferty, A. McCallum, F. Pereira, Conditional random fields, ICML 2001.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import cellwire as ms
import cellwire.numpy as mnp
import numpy as np
from cellwire import nn, ops
from cellwire.common.initializer import Uniform, initializer

TEXTS = [
    ("maria lopez met the old baker in new york", "B I O O O O O B I"),
    ("the baker left york", "O O O B"),
    ("in paris maria met john", "O B B O B"),
]
SENTENCES = [(words.split(), marks.split()) for words, marks in TEXTS]
TAGS = {"B": 0, "I": 1, "O": 2}


def path_score(emissions, tags, ends, mask, crf):
    """Score of the given tags: emissions T×N×K, tags and mask T×N, ends N; N numbers."""
    steps, batch = tags.shape
    rows = mnp.arange(batch)
    mask = mask.astype(emissions.dtype)
    score = crf.start[tags[0]]
    score += emissions[0, mnp.arange(batch), tags[0]]
    for i in range(1, steps):
        score += crf.between[tags[i - 1], tags[i]] * mask[i]
        score += emissions[i, rows, tags[i]] * mask[i]
    score += crf.end[tags[ends, rows]]
    return score


def log_partition(emissions, mask, crf):
    """Logarithm of the sum over all tag sequences of their exponential scores; N numbers."""
    score = crf.start + emissions[0]
    for i in range(1, emissions.shape[0]):
        longer = score.expand_dims(2) + crf.between + emissions[i].expand_dims(1)
        longer = ops.logsumexp(longer, axis=1)
        score = mnp.where(mask[i].expand_dims(1), longer, score)
    score += crf.end
    return ops.logsumexp(score, axis=1)


def viterbi(emissions, mask, crf):
    """Best score for each last tag, and for each step the best tag before each tag."""
    score = crf.start + emissions[0]
    history = ()
    for i in range(1, mask.shape[0]):
        longer = score.expand_dims(2) + crf.between + emissions[i].expand_dims(1)
        history += (longer.argmax(axis=1),)
        score = mnp.where(mask[i].expand_dims(1), longer.max(axis=1), score)
    score += crf.end
    return score, history


def best_tags(score, history, lengths):
    """Follow the history back from the best last tag of each sentence."""
    last = lengths - 1
    sequences = []
    for row in range(lengths.shape[0]):
        tags = [int(score[row].argmax(axis=0).asnumpy())]
        for before in reversed(history[: last[row]]):
            tags.append(int(before[row][tags[-1]].asnumpy()))
        tags.reverse()
        sequences.append(tags)
    return sequences


def mask_of(lengths, longest):
    """Ones where a sentence has words: T×N int64."""
    positions = mnp.arange(0, longest, 1, lengths.dtype)
    return (positions < lengths.view((*lengths.shape, 1))).astype(ms.int64).swapaxes(0, 1)


class Field(nn.Cell):
    """Conditional random field over N×T×K emissions: its loss, or its decoding without tags."""

    def __init__(self, tags, reduction="sum"):
        super().__init__()
        self.reduction = reduction
        self.start = ms.Parameter(initializer(Uniform(0.1), (tags,)), name="start")
        self.end = ms.Parameter(initializer(Uniform(0.1), (tags,)), name="end")
        self.between = ms.Parameter(initializer(Uniform(0.1), (tags, tags)), name="between")

    def construct(self, emissions, tags=None, lengths=None):
        batch, longest = emissions.shape[:2]
        emissions = emissions.swapaxes(0, 1)
        if lengths is None:
            lengths = mnp.full((batch,), longest, ms.int64)
        mask = mask_of(lengths, longest)
        if tags is None:
            return viterbi(emissions, mask, self)
        tags = tags.swapaxes(0, 1)
        given = path_score(emissions, tags, lengths - 1, mask, self)
        loss = log_partition(emissions, mask, self) - given
        if self.reduction == "none":
            return loss
        if self.reduction == "sum":
            return loss.sum()
        if self.reduction == "mean":
            return loss.mean()
        return loss.sum() / mask.astype(emissions.dtype).sum()


class Tagger(nn.Cell):
    """Word vectors, an LSTM in both directions, emissions, the random field."""

    def __init__(self, words, size, hidden, tags, padding=0):
        super().__init__()
        self.embedding = nn.Embedding(words, size, padding_idx=padding)
        self.lstm = nn.LSTM(size, hidden // 2, bidirectional=True, batch_first=True)
        self.emissions = nn.Dense(hidden, tags, "he_uniform")
        self.field = Field(tags)

    def construct(self, words, lengths, tags=None):
        states, _ = self.lstm(self.embedding(words), seq_length=lengths)
        return self.field(self.emissions(states), tags, lengths)


def padded(sentences, numbers):
    """Words, tags and lengths as int64 tensors; padding is word 0 with the tag O."""
    longest = max(len(words) for words, _ in sentences)
    words, tags = [], []
    for sentence, marks in sentences:
        words.append([numbers[word] for word in sentence] + [0] * (longest - len(sentence)))
        tags.append([TAGS[mark] for mark in marks] + [TAGS["O"]] * (longest - len(marks)))
    lengths = [len(sentence) for sentence, _ in sentences]
    return tuple(ms.Tensor(rows, ms.int64) for rows in (words, tags, lengths))


def check_against_all_sequences():
    """Loss and decoding agree with going through every sequence of tags."""
    field = Field(3, reduction="none")
    emissions = ms.Tensor(np.random.rand(2, 4, 3), ms.float32)
    tags = ms.Tensor([[0, 1, 2, 2], [2, 0, 2, 2]], ms.int64)
    lengths = ms.Tensor([4, 2], ms.int64)
    start, end, between = (part.asnumpy() for part in (field.start, field.end, field.between))
    loss = field(emissions, tags, lengths).asnumpy()
    decoded = best_tags(*field(emissions, None, lengths), lengths)
    for row, length in enumerate([4, 2]):
        emitted = emissions[row].asnumpy()
        scores = {
            sequence: start[sequence[0]]
            + end[sequence[-1]]
            + sum(emitted[i, tag] for i, tag in enumerate(sequence))
            + sum(between[pair] for pair in itertools.pairwise(sequence))
            for sequence in itertools.product(range(3), repeat=length)
        }
        given = scores[tuple(tags[row, :length].asnumpy().tolist())]
        assert abs(np.log(np.exp(list(scores.values())).sum()) - given - loss[row]) < 1e-4
        assert decoded[row] == list(max(scores, key=scores.get))
    field.reduction = "token_mean"
    assert abs(float(field(emissions, tags, lengths)) - loss.sum() / 6) < 1e-4


def main(folder: Path) -> None:
    check_against_all_sequences()
    numbers = {"<pad>": 0}
    for sentence, _ in SENTENCES:
        for word in sentence:
            numbers.setdefault(word, len(numbers))
    words, tags, lengths = padded(SENTENCES, numbers)
    assert (words.shape, tags.shape, lengths.shape) == ((3, 9), (3, 9), (3,))

    net = Tagger(len(numbers), 8, 16, len(TAGS))
    optimizer = nn.SGD(net.trainable_params(), learning_rate=0.1, weight_decay=1e-4)
    gradient = ms.value_and_grad(net, None, optimizer.parameters)

    def step(words, lengths, tags):
        loss, grads = gradient(words, lengths, tags)
        optimizer(grads)
        return loss

    losses = [float(step(words, lengths, tags)) for _ in range(40)]
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    assert losses[-1] < losses[0] / 5

    score, history = net(words, lengths)
    assert (score.shape, len(history)) == ((3, 3), 8)
    names = {number: mark for mark, number in TAGS.items()}
    told = [[names[tag] for tag in row] for row in best_tags(score, history, lengths)]
    print(told)
    assert told == [marks for _, marks in SENTENCES]
