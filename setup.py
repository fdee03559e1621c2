"""What pyproject.toml cannot say: the packages are found, and specs/ and the reference of the spec language are shipped
in optgen/specs and optgen/docs."""

from pathlib import Path

from setuptools import find_packages, setup

SPECS = sorted({spec.parent for spec in Path("specs").rglob("*.opt")})

setup(
    packages=[
        *find_packages(include=["optgen", "optgen.*", "runtime", "runtime.*"]),
        *(".".join(("optgen", *folder.parts)) for folder in SPECS),
        "optgen.docs",
    ],
    package_dir={"optgen.specs": "specs", "optgen.docs": "docs"},
)
