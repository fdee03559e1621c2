"""`nd.op`: the functions of `nd`, under another name that MXNet has for them. `nd` puts them here."""
