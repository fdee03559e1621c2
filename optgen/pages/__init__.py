"""Pages in HTML about specs: `report` makes one of a spec, and `gallery` those of all specs that come along.

Each section of a page is one file with a function `section(topic)`; `report.SECTIONS` lists them in order. Markup is
made by the functions of `html.py` alone, so that every page is well-formed. Pages ask nothing of a network.
"""

from optgen.pages.report import measured, report
from optgen.pages.topic import Machine, Topic

__all__ = ["Machine", "Topic", "measured", "report"]
