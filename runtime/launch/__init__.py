"""The launcher of training with servers: `python -m runtime.launch -n 4 -s 2 train.py`.

It starts a script once for each worker, and the servers of the kvstore 'dist_async' that they push gradients to. A
script that is started without it is rank 0 of 1; scripts for 'dist_sync' are started by `mpiexec`.
"""
