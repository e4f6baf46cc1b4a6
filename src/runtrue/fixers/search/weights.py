"""Weights of the signs that an edit is right: `python -m benchmarks.confidence fit`."""

# Fitted to 69 edits: 27 of real, 9 of mutants, 2 of without, 31 of programs, from the weights before.

#: No chance is larger: the tests are all that speaks for an edit.
MOST = 0.97
INTERCEPT = 2.27
#: The mean, the standard deviation and the weight of each sign.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "before": (3.013, 1.674, -0.104),
    "blind": (0.059, 0.235, -0.191),
    "breaks": (0.001, 0.003, -0.443),
    "cost": (0.108, 0.339, -0.66),
    "cut_off": (0.051, 0.219, -0.104),
    "kept": (0.538, 0.362, 0.673),
    "moved": (0.115, 0.375, -1.284),
    "named": (0.089, 0.284, 0.465),
    "one": (0.639, 0.48, -0.08),
    "refused": (0.488, 0.848, -0.617),
    "rivals": (0.335, 0.659, -0.238),
    "share": (1.63, 1.505, 0.379),
    "suits": (0.101, 0.302, -0.542),
    "tests": (2.538, 2.113, 0.202),
    "tokens": (0.275, 0.447, 0.475),
    "failing": (0.642, 0.995, 0.119),
    "functions": (0.679, 0.938, 0.301),
    "guards": (1.638, 1.741, 0.508),
    "witnesses": (1.226, 1.426, 0.493),
}
#: From which estimate on such edits are right how often, in projects not fitted to.
STEPS = ((0.0, 0.17), (0.26, 0.45), (0.78, 0.45), (0.936, 0.89))
#: The same in programs with few tests.
SMALL_STEPS = ((0.0, 0.33), (0.01, 0.37), (0.68, 0.79), (0.82, 0.81), (0.94, 0.89))
