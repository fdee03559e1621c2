"""Products by code of our own: operands are packed into panels, then multiplied tile by tile of registers.

A panel is what one tile needs of an operand, in the order in which it is needed. The rows of op(a) are cut into panels
of `tile.rows`, the columns of op(b) into panels of `tile.columns`; both are filled up with zeros. A panel has one word
for each of its rows or columns and each index k of the sum; for bfloat16, a word of 32 bits has two consecutive k.

    tile            sizes of a tile, by element type and CPU; the loop over k that computes one
    packing         panels from an operand
    tasks           the tasks that threads share: to pack a panel, to compute a block of the result
    multiply        the call
"""
