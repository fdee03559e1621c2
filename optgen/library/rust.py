"""A module of Rust for a library: its structures, and contexts that are freed when they go out of scope."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from optgen.library.c_text import choice_name, field, rust_name
from optgen.library.header import abi, hyper_fields, option_defaults, option_fields, tensor_fields
from optgen.library.specs import LibrarySpec
from optgen.model import Flag

_TYPES = {
    "void *": "*mut c_void",
    "const void *": "*const c_void",
    "const int64_t *": "*const i64",
    "const int32_t *": "*const i32",
    "const uint8_t *": "*const u8",
    "int64_t": "i64",
    "double": "f64",
    "uint32_t": "u32",
    "int32_t": "i32",
    "uint64_t": "u64",
    "optgen_parallel_for": "Option<ParallelFor>",
}
_TAKEN = "Error Option String Result Default Drop Send Dtype Task ParallelFor Self CStr Ok Err Some None Vec Box"


def module(library: str, specs: Sequence[LibrarySpec]) -> str:
    """The text of `LIBRARY.rs`."""
    return "\n".join([_SHARED.replace("LIBRARY", library), *map(_of_spec, specs), ""])


_SHARED = """\
//! The library LIBRARY, made by optgen, for Rust 1.82 and later: `rustc -L FOLDER -l static=LIBRARY`, or in a build
//! script `cargo::rustc-link-search=FOLDER` and `cargo::rustc-link-lib=static=LIBRARY`.
#![allow(dead_code, non_snake_case)]

use std::ffi::{c_char, c_void, CStr};
use std::fmt;

/// The elements of tensors, gradients and inputs. 16-bit floats are `u16` with their bits.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    Float32,
    Float64,
    Float16,
    Bfloat16,
}

/// Part `part` of `parts` of a step's work.
pub type Task = unsafe extern "C" fn(step: *const c_void, part: i64, parts: i64);
/// Runs a task for every part of as many parts as it likes, on any threads, and returns when all are done.
pub type ParallelFor = unsafe extern "C" fn(pool: *mut c_void, task: Task, step: *const c_void, elements: i64);

/// What functions of the library say, as `optgen_status` in the header.
pub const BAD_ABI: i32 = 1;
pub const BAD_CPU: i32 = 2;
pub const BAD_ARGUMENT: i32 = 3;
pub const BAD_SHAPE: i32 = 4;
pub const BAD_HYPER: i32 = 5;
pub const BAD_PHASE: i32 = 6;
pub const OVERLAP: i32 = 7;
pub const NOT_BUILT: i32 = 8;
pub const NO_CONTEXT: i32 = 9;
pub const NO_MEMORY: i32 = 10;
pub const BAD_FILE: i32 = 11;
pub const NO_GPU: i32 = 12;
pub const CUDA_ERROR: i32 = 13;
pub const NO_FACTORIZATION: i32 = 14;

/// An error: its status, and what was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub status: i32,
    pub text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

unsafe extern "C" {
    fn LIBRARY_error() -> *const c_char;
    fn LIBRARY_cpu() -> *const c_char;
}

/// The CPU whose kernels are taken here, of those that the library was built for.
pub fn cpu() -> Option<&'static str> {
    let name = unsafe { LIBRARY_cpu() };
    if name.is_null() {
        return None;
    }
    unsafe { CStr::from_ptr(name) }.to_str().ok()
}

fn count_of(given: usize, tensors: usize) -> Result<(), Error> {
    if given == tensors {
        return Ok(());
    }
    Err(Error { status: BAD_ARGUMENT, text: format!("{given} given for {tensors} tensors") })
}

fn checked(status: i32) -> Result<(), Error> {
    if status == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(LIBRARY_error()) };
    Err(Error { status, text: text.to_string_lossy().into_owned() })
}
"""


def _of_spec(m: LibrarySpec) -> str:
    """The structures and the context of a spec."""
    name = camel(m.prefix)
    parts = [
        _structure(
            f"A parameter and its gradient of {m.spec.name}, in C order without gaps.",
            f"{name}Tensor",
            tensor_fields(m),
        ),
        _structure(f"The hyper-parameters of a step of {m.spec.name}. NaN: unset.", f"{name}Hyper", hyper_fields(m)),
        _structure(f"What a context of {m.spec.name} is made with.", f"{name}Options", option_fields(m)),
        *_constants(m),
        _default(f"{name}Hyper", [(field(n), _real(x)) for n, x in m.hyper_defaults.items()]),
        _default(f"{name}Options", list(_options(m))),
        _context(m, name),
    ]
    return "\n".join(parts)


def camel(prefix: str) -> str:
    """`AdamWithLookahead` of `adam_with_lookahead`; no name that the module has already."""
    name = "".join(word.capitalize() for word in prefix.split("_"))
    return f"{name}Spec" if name in _TAKEN.split() else name


def _structure(about: str, name: str, fields: Iterator[tuple[str, str, str]]) -> str:
    lines = []
    for c_type, c_name, doc in fields:
        lines += [f"    /// {' '.join(doc.split())}"] if doc else []
        own = "Dtype" if c_name == "dtype" else _TYPES[c_type]
        lines.append(f"    pub {rust_name(c_name)}: {own},")
    return "\n".join(
        [f"/// {about}", "#[repr(C)]", "#[derive(Clone, Copy, Debug)]", f"pub struct {name} {{", *lines, "}\n"]
    )


def _constants(m: LibrarySpec) -> Iterator[str]:
    def of(flag: Flag) -> Iterator[str]:
        for k in range(len(flag.choices)):
            yield f"pub const {m.prefix.upper()}_{choice_name(flag, k)}: i32 = {k};"

    for flag in m.chosen_flags:
        if flag.choices:
            yield "\n".join([f"/// {flag.name} of the options.", *of(flag), ""])


def _options(m: LibrarySpec) -> Iterator[tuple[str, str]]:
    """The fields of options and their defaults."""
    set_here = dict(option_defaults(m))
    for c_type, c_name, _ in option_fields(m):
        if c_name == "abi":
            yield c_name, f"{abi(m):#x}"
        elif c_name == "dtype":
            yield c_name, f"Dtype::{m.dtypes[0].capitalize()}"
        elif c_type == "optgen_parallel_for":
            yield c_name, "None"
        else:
            null = "std::ptr::null()" if c_type.startswith("const") else "std::ptr::null_mut()"
            yield c_name, null if c_type.endswith("*") else set_here.get(c_name, "0")


def _real(x: float | None) -> str:
    if x is None or math.isnan(x):
        return "f64::NAN"
    if math.isinf(x):
        return "f64::INFINITY" if x > 0 else "f64::NEG_INFINITY"
    return f"{float(x)!r}"


def _default(name: str, values: Sequence[tuple[str, str]]) -> str:
    fields = [f"            {rust_name(n)}: {x}," for n, x in values]
    return "\n".join(
        [
            f"impl Default for {name} {{",
            "    fn default() -> Self {",
            f"        {name} {{",
            *fields,
            "        }",
            "    }",
            "}\n",
        ]
    )


def _context(m: LibrarySpec, name: str) -> str:
    """The functions of the library, and a type that calls them."""
    p = m.prefix
    steps = [f"step_{phase}" if phase else "step" for phase in m.phases]
    own, hyper, status = "context: *mut c_void", f"hyper: *const {name}Hyper", "-> i32;"
    made_with = f"tensors: *const {name}Tensor, n: i64, options: *const {name}Options, {hyper}"
    state = "i: i64, name: *const c_char, data: *mut *mut c_void, bytes: *mut i64"
    declared = [
        f"fn {p}_create(context: *mut *mut c_void, {made_with}) {status}",
        f"fn {p}_memory_bytes(bytes: *mut i64, {made_with}) {status}",
        *(f"fn {p}_{step}({own}, {hyper}) {status}" for step in steps),
        *(f"fn {p}_{step}_each({own}, {hyper}) {status}" for step in steps),
        f"fn {p}_counts({own}) -> *mut i64;",
        f"fn {p}_state({own}, {state}) {status}",
        f"fn {p}_set_gradients({own}, grads: *const *const c_void) {status}",
        f"fn {p}_save({own}, path: *const c_char) {status}",
        f"fn {p}_load({own}, path: *const c_char) {status}",
        f"fn {p}_destroy({own}) {status}",
    ]
    if not m.on_gpu:
        rows = "i: i64, values: *const c_void, rows: *const i64, count: i64"
        declared.append(f"fn {p}_set_rows({own}, {rows}) {status}")
    if m.spec.evaluate:
        declared.append(f"fn {p}_evaluate({own}, {hyper}, out: *const *mut c_void) {status}")
    lines = ['unsafe extern "C" {', *(f"    {line}" for line in declared), "}\n", *_CONTEXT.splitlines()]
    for step, phase in zip(steps, m.phases, strict=True):
        about = f"The phase {phase} of a step." if phase else "A step: updates all tensors."
        lines += [
            "",
            f"    /// {about} After an error nothing has changed.",
            f"    pub fn {step}(&mut self, hyper: &NAMEHyper) -> Result<(), Error> {{",
            f"        checked(unsafe {{ PREFIX_{step}(self.address, hyper) }})",
            "    }",
            "",
            "    /// The same, with hyper-parameters for each tensor.",
            f"    pub fn {step}_each(&mut self, hypers: &[NAMEHyper]) -> Result<(), Error> {{",
            "        count_of(hypers.len(), self.tensors)?;",
            f"        checked(unsafe {{ PREFIX_{step}_each(self.address, hypers.as_ptr()) }})",
            "    }",
        ]
    lines += _EVALUATE.splitlines() if m.spec.evaluate else []
    lines += ["}\n", *_DROP.splitlines()]
    text = "\n".join(lines).replace("OWN", _ON_GPU if m.on_gpu else _ON_CPU)
    return text.replace("NAME", name).replace("PREFIX", p) + "\n"


_CONTEXT = """\
/// Tensors, and the states that they have. For one thread at a time.
pub struct NAME {
    address: *mut c_void,
    tensors: usize,
}

unsafe impl Send for NAME {}

impl NAME {
    /// Makes states for tensors.
    ///
    /// # Safety
    /// What tensors and options point to must be there, and not be borrowed, whenever a function of the context is
    /// called, on whatever thread that is. Memory of states in the options is the context's alone.
    pub unsafe fn new(tensors: &[NAMETensor], options: &NAMEOptions, hyper: &NAMEHyper) -> Result<NAME, Error> {
        let (mut address, n) = (std::ptr::null_mut(), tensors.len() as i64);
        checked(unsafe { PREFIX_create(&mut address, tensors.as_ptr(), n, options, hyper) })?;
        Ok(NAME { address, tensors: tensors.len() })
    }

    /// How many bytes `memory` of the options must have: it follows from shapes alone.
    ///
    /// # Safety
    /// The shapes must be there.
    pub unsafe fn memory_bytes(
        tensors: &[NAMETensor],
        options: &NAMEOptions,
        hyper: &NAMEHyper,
    ) -> Result<usize, Error> {
        let (mut bytes, n) = (0, tensors.len() as i64);
        checked(unsafe { PREFIX_memory_bytes(&mut bytes, tensors.as_ptr(), n, options, hyper) })?;
        Ok(bytes as usize)
    }

    /// The updates that each tensor has had, from 0 to 2^53, which may be changed.
    pub fn counts(&mut self) -> &mut [i64] {
        unsafe { std::slice::from_raw_parts_mut(PREFIX_counts(self.address), self.tensors) }
    }

    /// Has the next steps read other gradients, one for each tensor.
    ///
    /// # Safety
    /// As for `new`.
    pub unsafe fn set_gradients(&mut self, grads: &[*const c_void]) -> Result<(), Error> {
        count_of(grads.len(), self.tensors)?;
        checked(unsafe { PREFIX_set_gradients(self.address, grads.as_ptr()) })
    }

OWN

    /// Writes counts and states to a file (safetensors), which is replaced when it is complete.
    pub fn save(&mut self, path: &CStr) -> Result<(), Error> {
        checked(unsafe { PREFIX_save(self.address, path.as_ptr()) })
    }

    /// Reads them. After an error nothing has changed.
    pub fn load(&mut self, path: &CStr) -> Result<(), Error> {
        checked(unsafe { PREFIX_load(self.address, path.as_ptr()) })
    }
"""
_ON_CPU = """\
    /// Has the next steps read a gradient of some rows of tensor i, which `row_sparse` of the options has named. The
    /// numbers of rows ascend.
    ///
    /// # Safety
    /// As for `new`, of the numbers too.
    pub unsafe fn set_rows(&mut self, i: usize, values: *const c_void, rows: &[i64]) -> Result<(), Error> {
        checked(unsafe { PREFIX_set_rows(self.address, i as i64, values, rows.as_ptr(), rows.len() as i64) })
    }

    /// The bytes of a state of tensor i, which may be changed.
    pub fn state(&mut self, i: usize, name: &CStr) -> Result<&mut [u8], Error> {
        let (mut data, mut bytes) = (std::ptr::null_mut(), 0);
        checked(unsafe { PREFIX_state(self.address, i as i64, name.as_ptr(), &mut data, &mut bytes) })?;
        Ok(unsafe { std::slice::from_raw_parts_mut(data as *mut u8, bytes as usize) })
    }"""
_ON_GPU = """\
    /// The address of a state of tensor i, and its bytes.
    pub fn state(&mut self, i: usize, name: &CStr) -> Result<(*mut c_void, usize), Error> {
        let (mut data, mut bytes) = (std::ptr::null_mut(), 0);
        checked(unsafe { PREFIX_state(self.address, i as i64, name.as_ptr(), &mut data, &mut bytes) })?;
        Ok((data, bytes as usize))
    }"""
_EVALUATE = """
    /// Writes the weights to evaluate with, one for each tensor.
    ///
    /// # Safety
    /// There must be memory of the tensors' sizes, which is nothing else's.
    pub unsafe fn evaluate(&mut self, hyper: &NAMEHyper, out: &[*mut c_void]) -> Result<(), Error> {
        count_of(out.len(), self.tensors)?;
        checked(unsafe { PREFIX_evaluate(self.address, hyper, out.as_ptr()) })
    }
"""
_DROP = """\
impl Drop for NAME {
    fn drop(&mut self) {
        unsafe { PREFIX_destroy(self.address) };
    }
}
"""
