"""Specs that come with optgen, as what is analyzed."""

from __future__ import annotations

from typing import Any

from optgen import api
from optgen.analysis.subject import Subject, subject_of


def subject(name: str, **values: Any) -> Subject:
    """A spec by name, or a chain, with arguments."""
    return subject_of(api.load(name).spec, values)
