madd x21, x12, x21, x20
mov x22, xzr
ldr w23, [x21]
ldr w24, [x3, x22, lsl #2]
fmov s7, w11
fmov s17, w13
add x22, x22, #1
and w25, w23, #0x80000000
tst w23, #0x7f800000
csel w23, w25, w23, eq
and w25, w24, #0x80000000
tst w24, #0x7f800000
csel w24, w25, w24, eq
fmov s6, w24
fmul s7, s6, s7
fmul s16, s0, s6
fmul s7, s0, s7
fmov w24, s16
and w24, w24, #0x80000000
fabs s7, s7
fcmp s7, s17
fmov s7, w24
fmov s17, w14
fcsel s7, s7, s16, mi
fmov s16, w23
fsub s7, s16, s7
fadd s6, s16, s6
fmov w23, s7
fmov w25, s6
and w24, w23, #0x80000000
tst w23, #0x7f800000
csel w23, w24, w23, eq
and w24, w25, #0x80000000
tst w25, #0x7f800000
csel w24, w24, w25, eq
fmov s6, w23
fmov s7, w24
fdiv s16, s6, s7
fabs s6, s6
fabs s7, s7
fmul s6, s6, s17
fcmp s6, s7
fmov w23, s16
and w23, w23, #0x80000000
fmov s6, w23
fcsel s6, s6, s16, mi
cmp x22, x17
str s6, [x21], #4
b.lt .LBB5_22
