"""What pyproject.toml cannot say: the packages are found, and specs/ is shipped beside them as optgen/specs."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["optgen", "optgen.*", "runtime", "runtime.*"]), "optgen.specs"],
    package_dir={"optgen.specs": "specs"},
)
