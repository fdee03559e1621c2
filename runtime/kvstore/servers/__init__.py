"""The stores 'dist_async' and its like: values are on servers, which update them whenever a worker pushes.

Every shard of the keys is held by two processes, the primary and its replica, so that either may die. `shard` is what
they hold, `server` the process, `adoption` how a new one gets all there is, `service` makes and replaces them. Of a
worker, `client` is the store and `member` its place among the others; `link` finds the servers. `create` brings the two
together, `start` is the way into Ray.

`messages` says what travels, `placing` which shard has what, `delivery` where values go, `gather` how shards become a
file; `mirror` is a worker's optimizer, and `backups` what one that compensates for delays needs of each worker.
"""
