"""What pyproject.toml cannot say: the packages are found, and specs/, the reference of the spec language and the stored
baselines of races are shipped in optgen/specs, optgen/docs and optgen/benchmarks/races."""

from pathlib import Path

from setuptools import find_packages, setup

SPECS = sorted({spec.parent for spec in Path("specs").rglob("*.opt")})

setup(
    packages=[
        *find_packages(include=["optgen", "optgen.*", "runtime", "runtime.*"]),
        *(".".join(("optgen", *folder.parts)) for folder in SPECS),
        "optgen.docs",
        "optgen.benchmarks.races",
    ],
    package_dir={
        "optgen.specs": "specs",
        "optgen.docs": "docs",
        "optgen.benchmarks.races": "benchmarks/races",
    },
)
