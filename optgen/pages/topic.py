"""The topic of a page, which every section of it is given; and a section."""

from __future__ import annotations

from dataclasses import dataclass

from optgen import specfiles
from optgen.model import Optimizer
from optgen.pages.html import Markup, tag


@dataclass(frozen=True)
class Machine:
    """What limits steps on the machine that made a page: bytes of memory and operations of products in a second, both
    measured with `threads` threads."""

    memory: float
    products: float
    threads: int


@dataclass(frozen=True)
class Topic:
    """A spec, by the name or path that `optgen.load` finds it by.

    Without a `machine`, nothing on the page depends on where it is made.
    """

    optimizer: Optimizer
    name: str
    machine: Machine | None = None

    @property
    def family(self) -> str:
        """The folder of its spec, `matrix` of `matrix/muon`; empty for a spec of none."""
        return self.name.rpartition("/")[0] if self.is_shipped else ""

    @property
    def is_shipped(self) -> bool:
        """Whether it is a spec that comes with optgen, by its name."""
        return specfiles.ships(self.name)


@dataclass(frozen=True)
class PageSection:
    """A part of a page; `slug` is its anchor."""

    slug: str
    title: str
    body: Markup

    def markup(self) -> Markup:
        return tag("section", tag("h2", self.title), self.body, id=self.slug)
