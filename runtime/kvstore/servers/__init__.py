"""The stores 'dist_async' and its like: the values are on servers, which update them whenever a worker pushes.

Each shard of the keys is held by two server processes, the primary and its replica, so that either may die.

Servers:
- `service` starts, watches and replaces the server processes;
- `server` is such a process, `shard` what it holds;
- `state_transfer` brings a new server to the state of the primary while workers go on;
- `pulled_weights` keeps the weights that each worker last pulled, for optimizers that compensate for delays.

Workers:
- `client` is the store, `membership` its place among the other workers;
- `connection` finds the primaries and sends requests;
- `worker_optimizer` is the worker's optimizer, of which the servers have a copy;
- `shard_assignment` decides which shard has which part of a key, `pull_results` writes what was pulled.

Both: `messages` is the format of requests and answers, `resharding` joins the states of all shards and cuts them again.
`create` makes the store of a process, `ray_setup` imports Ray and connects to it.
"""
