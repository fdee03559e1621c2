lsl x8, x8, #2
mov w12, #1602224128
mov w13, #545259520
mov w14, #2122317824
fmov s1, w12
fmov s2, w13
and x8, x8, #0xffffffffffffffc0
fmov s3, w14
mov x10, xzr
add x11, x8, x0, lsl #2
add x8, x3, x11
add x11, x2, x11
ldr w12, [x11]
ldr w13, [x8, x10, lsl #2]
add x10, x10, #1
and w14, w12, #0x80000000
tst w12, #0x7f800000
csel w12, w14, w12, eq
and w14, w13, #0x80000000
tst w13, #0x7f800000
csel w13, w14, w13, eq
fmov s4, w13
fmul s5, s4, s1
fmul s6, s0, s4
fmul s5, s0, s5
fmov w13, s6
and w13, w13, #0x80000000
fabs s5, s5
fcmp s5, s2
fmov s5, w13
fcsel s5, s5, s6, mi
fmov s6, w12
fsub s5, s6, s5
fadd s4, s6, s4
fmov w12, s5
fmov w14, s4
and w13, w12, #0x80000000
tst w12, #0x7f800000
csel w12, w13, w12, eq
and w13, w14, #0x80000000
tst w14, #0x7f800000
csel w13, w13, w14, eq
fmov s4, w12
fmov s5, w13
fdiv s6, s4, s5
fabs s4, s4
fabs s5, s5
fmul s4, s4, s3
fcmp s4, s5
fmov w12, s6
and w12, w12, #0x80000000
fmov s4, w12
fcsel s4, s4, s6, mi
cmp x10, x9
str s4, [x11], #4
b.lt .LBB5_5
