"""The stores whose processes exchange gradients over MPI: `dist_sync` and its like.

`sync` is the store; `bucket` has the memory of its keys, `rows` those whose gradients are row-sparse; `plan` is what is
exchanged when, `header` what ranks compare before, `overlap` what is sent before that; `updates` is what each does with
what arrives, `partials` what they exchange meanwhile; `states` is how what each has of the optimizer's states becomes
one file, and `world` how they wait for each other.
"""
