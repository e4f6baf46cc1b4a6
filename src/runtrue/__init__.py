"""runtrue runs what a generator made before anyone relies on it, and repairs it until it runs true.

Start reading at `runtrue.code.fix` (the journey behind `runtrue fix`), which configures the
repair cycle of `runtrue.loop.cycle`, which is a flow of `runtrue.flow`.
"""

__version__ = "0.1.0"
