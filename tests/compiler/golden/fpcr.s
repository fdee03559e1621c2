folds.1.sweep:
    mrs x22, FPCR
    msr FPCR, xzr
    bl folds.elements
    msr FPCR, x22
    ret
    bl folds.1.sweep.tensor
folds.3.sweep:
    mrs x22, FPCR
    msr FPCR, xzr
    bl folds.elements
    msr FPCR, x22
    ret
    bl folds.3.sweep.tensor
folds.5.sweep:
    mrs x22, FPCR
    msr FPCR, xzr
    bl folds.elements
    msr FPCR, x22
    ret
    bl folds.5.sweep.tensor
folds.7.sweep:
    mrs x22, FPCR
    msr FPCR, xzr
    bl folds.elements
    msr FPCR, x22
    ret
    bl folds.7.sweep.tensor
folds:
    mrs x23, FPCR
    msr FPCR, xzr
    bl folds.elements
    bl folds.0.host
    bl folds.1.sweep
    blr x24
    blr x8
    bl folds.1.sweep.fold
    bl folds.2.scalar
    msr FPCR, x23
    ret
    bl folds.3.sweep
    blr x24
    blr x8
    bl folds.3.sweep.fold
    bl folds.4.scalar
    msr FPCR, x23
    ret
    bl folds.5.sweep
    blr x24
    blr x8
    bl folds.5.sweep.fold
    bl folds.6.scalar
    msr FPCR, x23
    ret
    bl folds.7.sweep
    blr x24
    msr FPCR, x23
    ret
folds_host:
    mrs x19, FPCR
    msr FPCR, xzr
    bl folds_host.host
    msr FPCR, x19
    ret
