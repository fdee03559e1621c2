"""Pages in HTML about specs: `report.page_of` makes one of a spec, and `gallery` those of all of optgen's.

Each section of a page is one file with a function `section(topic)`; `report.SECTIONS` lists them in order. Markup is
made by the functions of `html.py` alone, so that every page is well-formed. `svg.py` draws figures, and `traits.py` has
what the filters of the gallery ask. Pages ask nothing of a network.
"""
