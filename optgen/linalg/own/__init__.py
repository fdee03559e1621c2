"""Products by code of our own: operands are packed into panels, then multiplied tile by tile of registers.

The rows of op(a) and the columns of op(b), both called lines, are cut into panels of `tile.width` lines, and filled up
with zeros. A panel has one word for each index k of the sum and each line, in this order; for bfloat16, a word of 32
bits has two consecutive k. A tile takes rows from a part of a panel, and columns from several. Both operands are packed
in the same way, so the panels of x serve for both sides of x @ x^T.

    tile            sizes of a tile, by element type and CPU; the loop over k that computes one
    packing         panels from an operand
    finish          what follows a product: alpha times it, and beta times a matrix added
    tasks           the tasks that threads share: to pack a panel, to compute a block of the result
    multiply        the call
    tile_function   the function of a tile: what the next two share
    packed          products of matrices as they are with one in panels, for kernels to call
    gathered        products whose rows lie anywhere, and transposed copies: what convolutions consist of
"""
