"""Adam of a library in C, called by ctypes: Python without optgen.

usage: python plane.py adam/libadam.so
"""

import ctypes
import json
import math
import sys
from pathlib import Path

path = Path(sys.argv[1])
code = ctypes.CDLL(str(path.resolve()))
manifest = json.loads(path.with_name("adam.json").read_text())
(adam,) = manifest["specs"]
code.adam_error.restype = ctypes.c_char_p


class Hyper(ctypes.Structure):
    _fields_ = [(h["field"], ctypes.c_double) for h in adam["hyper"]]


TYPES = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64}


def fields(structure):
    return [(x["field"], TYPES.get(x["type"], ctypes.c_void_p)) for x in adam[structure]]


class Tensor(ctypes.Structure):
    _fields_ = fields("tensor")


class Options(ctypes.Structure):
    _fields_ = fields("options")


def must(status):
    if status:
        sys.exit(code.adam_error().decode())


w, b, grad_w, grad_b = ((ctypes.c_float * n)() for n in (2, 1, 2, 1))
shapes = [(ctypes.c_int64 * 1)(n) for n in (2, 1)]
arrays = ((w, grad_w, shapes[0]), (b, grad_b, shapes[1]))
tensors = (Tensor * 2)(*(Tensor(*map(ctypes.addressof, x), 1) for x in arrays))
hyper = Hyper(*(math.nan if h["default"] is None else h["default"] for h in adam["hyper"]))
hyper.lr = 0.05
context = ctypes.c_void_p()
options = Options(abi=adam["abi"])
for flag in adam["flags"]:
    setattr(options, flag["field"], flag["choices"].index(flag["default"]) if flag["choices"] else flag["default"])
must(code.adam_create(ctypes.byref(context), tensors, ctypes.c_int64(2), ctypes.byref(options), ctypes.byref(hyper)))
for step in range(500):
    if step == 400:
        hyper.lr = 0.005
    loss, grad_w[0], grad_w[1], grad_b[0] = 0.0, 0.0, 0.0, 0.0
    for k in range(16):
        x, y = k % 4 - 1.5, k // 4 - 1.5
        error = w[0] * x + w[1] * y + b[0] - (2 * x - 3 * y + 1)
        loss += error * error / 16
        grad_w[0] += error * x / 8
        grad_w[1] += error * y / 8
        grad_b[0] += error / 8
    must(code.adam_step(context, ctypes.byref(hyper)))
must(code.adam_destroy(context))
print(f"{w[0]:.3f} {w[1]:.3f} {b[0]:.3f}, loss {loss:.6f}")
