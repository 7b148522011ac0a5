"""Where rows come from: one protocol, and memory, chunks, Dask and devices behind it."""
