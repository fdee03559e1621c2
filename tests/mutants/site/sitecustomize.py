"""Has programs that tests start note the code that they run; see tests/mutants/touched.py."""

import os

if "TOUCHED" in os.environ and "PYTEST_CURRENT_TEST" in os.environ:
    from tests.mutants.touched import begin_program

    begin_program()
