"""The stores whose processes exchange gradients over MPI: `dist_sync` and its like.

- `sync` is the store, `world` the ranks and their messages with time limits;
- `bucket` is the memory of dense keys, `rows` are the keys with row-sparse gradients;
- `plan` is what a flush of some keys exchanges, `agreement` what ranks compare before they exchange anything;
- `overlap` sends gradients while backward still computes others;
- `updates` is what a rank does with the gradients of its part of the keys, `partials` exchanges partial sums meanwhile;
- `state_files` joins the optimizer states of all ranks in one file.
"""
