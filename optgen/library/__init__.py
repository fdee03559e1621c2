"""Libraries in C of one spec or several, for programs that are not Python: `optgen build adam mine.opt --name mylib`.

    c_text      how names, texts and numbers are written in C
    cpus        the CPUs that kernels are made for, several in one library
    systems     the systems: names of files, and the commands that make libraries
    gpus        the GPUs that a library is for, and the code that they run
    stages      updates of several kernels, with loops between them
    specs       the specs of a library, and the variants of each that are built
    kernels     their kernels as object code
    conditions  the flags that follow from parameters, as C
    header      the header: typed structures and functions
    rust        the same as a module of Rust
    tables      the tables of what was built
    source      the source: what all libraries share, tables, and the functions of the header
    files       what is written, and compiled where there is a C compiler

The source of a library is one C file. It begins with what all of them share: `system.c`, the pool of
`optgen/threads/pool.c`, and the C files of this folder in the order of `source.FILES`. What depends on the device is in
`threads.c` and `cpu.c`, or in `driver.c`, `cuda.c` and `launches.c`; `tables.c` says what that has to be.
"""
