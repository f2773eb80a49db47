"""Tell kind reviews from unkind ones: what MindSpore's ``nlp/sentiment_analysis`` calls.

Reviews in a ``tar.gz`` and word vectors in a ``zip``, ``GeneratorDataset`` of words and labels,
``text.Vocab.from_list``, ``Lookup`` with an unknown token, ``PadEnd``, ``TypeCast``, ``split``,
``batch(drop_remainder=True)``; ``Embedding`` with a given table and padding, a ``LSTM`` of two
layers in both directions, ``Dense`` with ``HeUniform`` and ``Uniform``; ``BCEWithLogitsLoss``,
``Adam``, the best checkpoint by its validation loss, and sentences that are told by hand.
"""

from __future__ import annotations

import math
import re
import string
import tarfile
import zipfile
from pathlib import Path

import cellwire as ms
import cellwire.dataset as ds
import numpy as np
from cellwire import nn, ops
from cellwire.common.initializer import HeUniform, Uniform
from data import write_reviews, write_word_vectors

LENGTH = 14


class Reviews:
    """The reviews of one part of the archive, as words, with the label 1 for a kind one."""

    def __init__(self, path, part):
        self.rows = []
        dropped = str.maketrans("", "", string.punctuation)
        wanted = re.compile(rf"aclImdb/{part}/(pos|neg)/.*\.txt$")
        with tarfile.open(path) as archive:
            for member in archive:
                found = wanted.match(member.name)
                if found:
                    text = archive.extractfile(member).read().decode().rstrip("\r\n")
                    label = [1] if found.group(1) == "pos" else [0]
                    self.rows.append((text.translate(dropped).lower().split(), label))

    def __getitem__(self, index):
        return self.rows[index]

    def __len__(self):
        return len(self.rows)


def read_vectors(path):
    """The vocabulary of the file, and a vector for each word, unknown words and padding."""
    words, vectors = [], []
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as lines:
        for line in lines:
            word, numbers = line.decode("utf-8").split(maxsplit=1)
            words.append(word)
            vectors.append(np.array(numbers.split(), np.float32))
    size = len(vectors[0])
    vectors += [np.random.rand(size), np.zeros(size, np.float32)]
    vocab = ds.text.Vocab.from_list(words, special_tokens=["<unk>", "<pad>"], special_first=False)
    return vocab, np.array(vectors).astype(np.float32)


class Reader(nn.Cell):
    """Word vectors, an LSTM in both directions, one number from its last states."""

    def __init__(self, vectors, hidden, layers, bidirectional, padding):
        super().__init__()
        words, size = vectors.shape
        table = ms.Tensor(vectors)
        self.embedding = nn.Embedding(words, size, embedding_table=table, padding_idx=padding)
        self.rnn = nn.LSTM(
            size, hidden, num_layers=layers, bidirectional=bidirectional, batch_first=True
        )
        bound = Uniform(1 / math.sqrt(hidden * 2))
        self.fc = nn.Dense(hidden * 2, 1, weight_init=HeUniform(math.sqrt(5)), bias_init=bound)

    def construct(self, words):
        _, (hidden, _) = self.rnn(self.embedding(words))
        ends = ops.concat((hidden[-2, :, :], hidden[-1, :, :]), axis=1)
        return self.fc(ends)


def pipelines(path, vocab):
    """Rows of word numbers and float labels: training, validation and test."""
    words = [
        ds.text.Lookup(vocab, unknown_token="<unk>"),
        ds.transforms.PadEnd([LENGTH], pad_value=vocab.tokens_to_ids("<pad>")),
    ]
    parts = []
    for part in ("train", "test"):
        source = Reviews(path, part)
        rows = ds.GeneratorDataset(source, column_names=["text", "label"], shuffle=part == "train")
        rows = rows.map(operations=words, input_columns=["text"])
        rows = rows.map(operations=[ds.transforms.TypeCast(ms.float32)], input_columns=["label"])
        parts.append(rows)
    train, test = parts
    train, valid = train.split([0.7, 0.3])
    return (
        train.batch(14, drop_remainder=True),
        valid.batch(12, drop_remainder=True),
        test.batch(10),
    )


def share_right(scores, labels):
    """Share of the reviews whose rounded probability is their label."""
    told = np.around(ops.sigmoid(scores).asnumpy())
    right = (told == labels).astype(np.float32)
    return right.sum() / len(right)


def evaluate(net, dataset, loss_fn):
    """Mean loss and mean accuracy of the batches."""
    net.set_train(False)
    losses, shares = [], []
    for row in dataset.create_tuple_iterator():
        scores = net(row[0])
        losses.append(loss_fn(scores, row[1]).asnumpy())
        shares.append(share_right(scores, row[1]))
    assert len(losses) == dataset.get_dataset_size()
    return sum(losses) / len(losses), sum(shares) / len(shares)


def told(net, vocab, sentence):
    """Which kind of review a sentence is."""
    net.set_train(False)
    words = ms.Tensor(vocab.tokens_to_ids(sentence.lower().split()), ms.int32).expand_dims(0)
    probability = ops.sigmoid(net(words)).asnumpy()
    return {1: "Positive", 0: "Negative"}[int(np.round(probability).item())]


def main(folder: Path) -> None:
    vocab, vectors = read_vectors(write_word_vectors(folder))
    assert len(vocab.vocab()) == len(vectors)
    assert vocab.tokens_to_ids("great") == 4
    archive = write_reviews(folder, {"train": 80, "test": 20})
    train, valid, test = pipelines(archive, vocab)
    assert (train.get_dataset_size(), valid.get_dataset_size()) == (4, 2)

    padding = vocab.tokens_to_ids("<pad>")
    net = Reader(vectors, 16, 2, True, padding)
    loss_fn = nn.BCEWithLogitsLoss(reduction="mean")
    optimizer = nn.Adam(net.trainable_params(), learning_rate=0.02)

    def forward(words, label):
        return loss_fn(net(words), label)

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(words, label):
        loss, grads = gradient(words, label)
        optimizer(grads)
        return loss

    best, file = float("inf"), str(folder / "sentiment-analysis.ckpt")
    first, _ = evaluate(net, valid, loss_fn)
    for _ in range(6):
        net.set_train()
        total = 0
        for row in train.create_tuple_iterator():
            assert (row[0].shape, row[0].dtype) == ((14, LENGTH), ms.int32)
            assert (row[1].shape, row[1].dtype) == ((14, 1), ms.float32)
            total += step(*row).asnumpy()
        loss, share = evaluate(net, valid, loss_fn)
        print(f"loss {total / train.get_dataset_size():.3f}, validation {loss:.3f}, {share:.2f}")
        if loss < best:
            best = loss
            ms.save_checkpoint(net, file)
    assert best < first / 2

    again = Reader(vectors, 16, 2, True, padding)
    missing, _ = ms.load_param_into_net(again, ms.load_checkpoint(file))
    assert missing == []
    loss, share = evaluate(again, test, loss_fn)
    assert share > 0.9
    assert loss < 0.4
    assert told(again, vocab, "This film is terrible") == "Negative"
    assert told(again, vocab, "This film is great") == "Positive"
