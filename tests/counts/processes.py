"""What new processes take until they have imported a package, and until their first step: modules and files.

The kernels are in the cache, where a first step finds them. What `import torch` imports is not counted. That an
optimizer of PyTorch's own imports 800 modules more when it is made is why other modules are counted here.
"""

from __future__ import annotations

import json
import subprocess
import sys

ROWS = {
    "": {
        "import optgen": "import optgen",
        "and a first step of adam": """
import numpy as np
step = optgen.load("adam").bind([np.ones(3, np.float32)], [np.ones(3, np.float32)])
step()""",
    },
    "import torch": {
        "import optgen.torch": "import optgen.torch",
        "and a first step of torch.AdamW": """
p = torch.nn.Parameter(torch.ones(3))
p.grad = torch.ones(3)
optimizer = optgen.torch.AdamW([p])
optimizer.step()""",
        "and what a loop calls": """
optimizer.zero_grad()
optimizer.load_state_dict(optimizer.state_dict())
optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})""",
    },
    "import numpy": {
        "import runtime": "import runtime as mx",
        "and a first step of a Trainer": """
net = mx.gluon.nn.Dense(2)
net.initialize()
trainer = mx.gluon.Trainer(net.collect_params(), "adam")
with mx.autograd.record():
    y = net(mx.nd.ones((4, 3)))
y.backward()
trainer.step(4)""",
    },
}
"""What is run in each process, in order: what comes before, and the rows. Each row counts what was added since then."""

SCRIPT = """
import sys
sys.path[:] = {path!r}
names, opened, found = set(), [], {{}}

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])

sys.addaudithook(note)
exec({before!r})
names, first = set(sys.modules), len(opened)
for name, code in {rows!r}.items():
    exec(code)
    files = [x for x in opened[first:] if not x.endswith((".py", ".pyc")) and not x.startswith(("/proc/", "/sys/"))]
    new = [x.partition(".")[0] for x in sys.modules.keys() - names]
    own = sum(x in ("optgen", "runtime") for x in new)
    found[name] = {{"own modules": own, "others": len(new) - own, "files": len(files)}}
import json
print(json.dumps([found, any(x.endswith(".tmp") for x in opened)]))
"""


def counted(before: str, rows: dict[str, str]) -> dict[str, dict[str, int]]:
    """The counts of a process. It starts without `site`, whose modules differ between machines."""
    code = SCRIPT.format(path=sys.path, before=before, rows=rows)
    for _ in range(2):  # if the first one writes into the cache, the second one counts
        output = subprocess.run([sys.executable, "-S", "-c", code], check=True, capture_output=True, text=True).stdout
        found, has_written = json.loads(output)
        if not has_written:
            break
    return found


if __name__ == "__main__":
    print(json.dumps({name: counts for item in ROWS.items() for name, counts in counted(*item).items()}))
