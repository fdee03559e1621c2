"""Pages in HTML about specs: `report` makes one of a spec, `gallery` a folder of all specs that come along.

Each section of a page is one file with a function `section(subject)`; `report.SECTIONS` lists them in order. Markup is
made by the functions of `html.py` alone, so that every page is well-formed. Pages ask nothing of a network.
"""
