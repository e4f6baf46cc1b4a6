"""Benchmarks of what runtrue promises to be cheap. Run them with `scripts/bench NAME…`."""
