"""An LSTM learns to write like this project's design document, character by character.

Prints the perplexity of each epoch (between how many characters the network hesitates) and what it writes at the end.
The state is carried from one piece of text to the next and is cut off from the graph there (truncated backpropagation
through time).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn, rnn

DESIGN = Path(__file__).resolve().parents[2] / "docs" / "design.md"


class CharacterModel(gluon.HybridBlock):
    """Scores of the next character, for each of a sequence: (T, N) numbers of characters to (T, N, characters)."""

    def __init__(self, characters: int, hidden: int, layers: int) -> None:
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(characters, 32)
            self.lstm = rnn.LSTM(hidden, layers, dropout=0.2, input_size=32)
            self.decoder = nn.Dense(characters, flatten=False, in_units=hidden)
            self.dropout = nn.Dropout(0.2)

    def hybrid_forward(self, F: object, x: nd.NDArray, state: list[nd.NDArray]) -> tuple[nd.NDArray, list[nd.NDArray]]:
        y, state = self.lstm(self.embedding(x), state)
        return self.decoder(self.dropout(y)), state


def pieces(numbers: np.ndarray, batch_size: int, length: int) -> Iterator[tuple[nd.NDArray, nd.NDArray]]:
    """The text in `batch_size` columns, `length` characters at a time, and the characters that follow each."""
    rows = (len(numbers) - 1) // batch_size
    data, label = (numbers[s : s + rows * batch_size].reshape(batch_size, rows).T for s in (0, 1))
    for start in range(0, rows - 1, length):
        yield nd.array(data[start : start + length]), nd.array(label[start : start + length])


def write(net: CharacterModel, alphabet: str, begin: str, count: int, temperature: float) -> str:
    """Text that goes on after `begin`: each character drawn by its probability."""
    state = net.lstm.begin_state(1)
    text = begin
    scores, state = net(nd.array([[alphabet.index(c)] for c in begin]), state)
    for _ in range(count):
        drawn = int(nd.random.multinomial(nd.softmax(scores[-1] / temperature)).asscalar())
        text += alphabet[drawn]
        scores, state = net(nd.array([[drawn]]), state)
    return text


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--text", type=Path, default=DESIGN, help="a text to learn (default: docs/design.md)")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the text (default: 30)")
    parser.add_argument("--hidden", type=int, default=128, help="units of each layer (default: 128)")
    parser.add_argument("--layers", type=int, default=2, help="layers (default: 2)")
    args = parser.parse_args(words)

    mx.random.seed(0)
    text = args.text.read_text(encoding="utf-8")
    alphabet = "".join(sorted(set(text)))
    numbers = np.array([alphabet.index(c) for c in text])
    batch_size, length = 16, 32
    net = CharacterModel(len(alphabet), args.hidden, args.layers)
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    print(f"{len(text)} characters, {len(alphabet)} different ones")

    for epoch in range(1, args.epochs + 1):
        state = net.lstm.begin_state(batch_size)
        total = count = 0.0
        batches = list(pieces(numbers, batch_size, length))
        for data, label in tqdm(batches, f"epoch {epoch}/{args.epochs}", unit="piece", leave=False, disable=None):
            state = [s.detach() for s in state]
            with autograd.record():
                scores, state = net(data, state)
                loss = loss_of(scores.reshape((-1, len(alphabet))), label.reshape((-1,)))
            loss.backward()
            gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 5 * loss.size)
            trainer.step(loss.size)
            total += float(loss.sum().asscalar())
            count += loss.size
        print(f"epoch {epoch:3}  perplexity {math.exp(total / count):.2f}", flush=True)
    print(write(net, alphabet, "optgen ", 300, 0.7))


if __name__ == "__main__":
    main()
