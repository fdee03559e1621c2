"""Pages in HTML about specs: `report.page_of` makes one of a spec, and `gallery` those of all of optgen's.

Each section of a page is one file with a function `section(topic)`; `report.SECTIONS` lists them in order. Markup is
made by the functions of `html.py` alone, so that every page is well-formed. Pages ask nothing of a network.
"""
