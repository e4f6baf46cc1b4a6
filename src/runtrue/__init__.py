"""runtrue runs AI-written code and workflows in a sandbox, and hands over only what passes.

Start reading at `runtrue.code.loop.fix`, the loop behind `runtrue fix`. It calls the repair cycle,
`runtrue.loop.repair`, which records its steps on a run, `runtrue.flow.Run`. `docs/architecture.md`
lists the files of each journey in order.
"""

__version__ = "0.1.0"
