"""Helpers of tests: random arrays, comparisons, checks of symbols, of random generators and of optimizers.

`from runtime.test_utils import *` brings the modules and classes along that it does in MXNet, which tests count on:
`np`, `npt` (`numpy.testing`), `rnd` (NumPy's random numbers), `mx`, `os`, `sys`, `time` and others of Python's.
"""

# ruff: noqa: F401 (this file gathers names)
from __future__ import annotations

import bz2
import errno
import gzip
import json
import logging
import numbers
import os
import platform
import struct
import sys
import time
import traceback
import zipfile
from collections import OrderedDict
from contextlib import contextmanager

import numpy as np
from numpy import random as rnd
from numpy import testing as npt

import runtime as mx
from runtime.context import Context, current_context
from runtime.ndarray import array
from runtime.runtime import Features
from runtime.symbol import Symbol
from runtime.test_utils.blocks import check_gluon_hybridize_consistency
from runtime.test_utils.compare import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    compare_ndarray_tuple,
    compare_optimizer,
    default_atols,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    get_atol,
    get_etol,
    get_rtol,
    get_tolerance,
    get_tols,
    same,
    same_array,
)
from runtime.test_utils.consistency import check_consistency
from runtime.test_utils.data import (
    DummyIter,
    download_model,
    get_bz2_data,
    get_cifar10,
    get_mnist,
    get_mnist_iterator,
    get_mnist_pkl,
    get_mnist_ubyte,
    get_zip_data,
)
from runtime.test_utils.generate import (
    assign_each,
    assign_each2,
    collapse_sum_like,
    create_2d_tensor,
    create_sparse_array,
    create_sparse_array_zd,
    create_vector,
    default_dtype,
    np_reduce,
    rand_coord_2d,
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    rand_sparse_ndarray,
    random_arrays,
    random_sample,
    random_uniform_arrays,
    shuffle_csr_column_indices,
)
from runtime.test_utils.matrices import (
    get_identity_mat,
    get_identity_mat_batch,
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
)
from runtime.test_utils.numeric import check_numeric_gradient, numeric_grad
from runtime.test_utils.settings import (
    default_context,
    discard_stderr,
    download,
    environment,
    has_tvm_ops,
    is_aarch64_run,
    is_cd_run,
    is_op_runnable,
    list_gpus,
    retry,
    set_default_context,
)
from runtime.test_utils.statistics import (
    chi_square_check,
    gen_buckets_probs_with_ppf,
    mean_check,
    var_check,
    verify_generator,
)
from runtime.test_utils.symbols import (
    check_speed,
    check_symbolic_backward,
    check_symbolic_forward,
    same_symbol_structure,
    simple_forward,
)
from runtime.util import getenv, setenv, use_np
