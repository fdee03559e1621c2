"""AlexNet (Krizhevsky 2014)."""

from __future__ import annotations

from typing import Any

from runtime.gluon import nn
from runtime.gluon.model_zoo.classifier import Classifier, chain, model


class AlexNet(Classifier):
    """`classes`: how many the network tells apart."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = chain(
                nn.Conv2D(64, 11, strides=4, padding=2, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Conv2D(192, 5, padding=2, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Conv2D(384, 3, padding=1, activation="relu"),
                nn.Conv2D(256, 3, padding=1, activation="relu"),
                nn.Conv2D(256, 3, padding=1, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Flatten(),
                nn.Dense(4096, activation="relu"),
                nn.Dropout(0.5),
                nn.Dense(4096, activation="relu"),
                nn.Dropout(0.5),
            )
            self.output = nn.Dense(classes)


alexnet = model("alexnet", AlexNet, "AlexNet.")
