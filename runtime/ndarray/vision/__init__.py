"""Images and boxes: resizing, grids, regions of interest, box operators, single-shot detection."""
