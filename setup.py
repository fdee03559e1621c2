"""What pyproject.toml cannot say: the packages are found, and specs/ and the reference of the spec language are shipped
in optgen/specs and optgen/docs."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["optgen", "optgen.*", "runtime", "runtime.*"]), "optgen.specs", "optgen.docs"],
    package_dir={"optgen.specs": "specs", "optgen.docs": "docs"},
)
