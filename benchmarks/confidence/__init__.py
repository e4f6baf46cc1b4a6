"""How sure is an edit that passes the tests? Collect edits that are known to be right or wrong, and
fit the weights of `src/runtrue/fixers/search/weights.py` to them.

    python -m benchmarks.confidence collect FILE --source programs|mutants|real [--every N]
    python -m benchmarks.confidence fit [FILE…] [--update] [--write]
"""
