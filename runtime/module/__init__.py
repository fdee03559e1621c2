"""`mod`: networks as symbols, with their arrays, trained by an optimizer.

`executor_group` has a graph's executors, one for each context, and splits batches over them. `updates` is how gradients
get to the optimizer. `Module` is made of both. `base_module` has what follows from a module's methods: `fit`, `score`,
`predict`. Other modules are made of modules, or written in Python.
"""

from runtime.module.base_module import BaseModule
from runtime.module.bucketing_module import BucketingModule
from runtime.module.module import Module
from runtime.module.python_module import PythonLossModule, PythonModule
from runtime.module.sequential_module import SequentialModule

__all__ = ["BaseModule", "BucketingModule", "Module", "PythonLossModule", "PythonModule", "SequentialModule"]
