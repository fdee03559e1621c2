"""How states are stored in fewer bits than they are computed in: codes as straight lines of primitive operations.

As in `optgen.ir.math`, each function is one definition for the interpreter, the CPU and the GPU: functions of a
`Builder`, without table, branch or search, in float32 and int32, which are twice as many to a register as doubles.
"""
