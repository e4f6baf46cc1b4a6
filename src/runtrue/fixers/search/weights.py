"""Weights of the signs that an edit is right: `python -m benchmarks.confidence fit`."""

# Fitted to 109 edits: 19 of real, 27 of mutants, 63 of programs.

#: No chance is larger: the tests are all that speaks for an edit.
MOST = 0.97
INTERCEPT = 1.869
#: The mean, the standard deviation and the weight of each sign.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "before": (3.013, 1.674, -0.32),
    "cost": (0.108, 0.339, -0.732),
    "cut_off": (0.051, 0.219, -0.002),
    "named": (0.089, 0.284, 0.185),
    "rivals": (0.335, 0.659, -0.384),
    "size": (2.59, 1.309, -0.076),
    "suits": (0.101, 0.302, -0.843),
    "tests": (2.538, 2.113, 0.082),
    "tokens": (0.275, 0.447, 0.805),
}
#: From which estimate on such edits are right how often, in projects not fitted to.
STEPS = ((0.0, 0.33), (0.01, 0.37), (0.68, 0.79), (0.82, 0.81), (0.94, 0.93))
