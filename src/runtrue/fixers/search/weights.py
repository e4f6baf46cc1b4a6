"""Weights of the signs that an edit is right: `python -m benchmarks.confidence fit`."""

# Fitted to 69 edits: 27 of real, 9 of mutants, 2 of without, 31 of programs,
# from the weights before.

#: No chance is larger: the tests are all that speaks for an edit.
MOST = 0.97
INTERCEPT = 2.19
#: The mean, the standard deviation and the weight of each sign.
WEIGHTS: dict[str, tuple[float, float, float]] = {
    "before": (3.013, 1.674, -0.168),
    "cost": (0.108, 0.339, -0.62),
    "cut_off": (0.051, 0.219, -0.081),
    "named": (0.089, 0.284, 0.41),
    "rivals": (0.335, 0.659, -0.323),
    "suits": (0.101, 0.302, -0.598),
    "tests": (2.538, 2.113, 0.203),
    "tokens": (0.275, 0.447, 0.564),
    "blind": (0.164, 0.37, -0.061),
    "breaks": (0.001, 0.003, -0.37),
    "failing": (0.642, 0.995, 0.048),
    "functions": (0.679, 0.938, 0.335),
    "guards": (1.638, 1.741, 0.404),
    "kept": (0.631, 0.34, 0.418),
    "moved": (0.141, 0.476, -1.472),
    "refused": (0.332, 0.725, -0.626),
    "share": (1.466, 1.487, 0.359),
    "witnesses": (1.226, 1.426, 0.324),
}
#: From which estimate on such edits are right how often, in projects not fitted to.
STEPS = ((0.0, 0.12), (0.37, 0.45), (0.899, 0.89))
#: The same of programs with few tests, which have weights of their own.
SMALL_INTERCEPT = 2.106
SMALL_WEIGHTS: dict[str, tuple[float, float, float]] = {
    "before": (3.013, 1.674, -0.209),
    "cost": (0.108, 0.339, -0.792),
    "cut_off": (0.051, 0.219, -0.062),
    "named": (0.089, 0.284, 0.193),
    "rivals": (0.335, 0.659, -0.286),
    "suits": (0.101, 0.302, -0.624),
    "tests": (2.538, 2.113, 0.208),
    "tokens": (0.275, 0.447, 0.614),
    "blind": (0.059, 0.235, -0.494),
    "breaks": (0.001, 0.003, -0.431),
    "kept": (0.538, 0.362, 0.728),
    "moved": (0.115, 0.375, -1.014),
    "one": (0.639, 0.48, -0.053),
    "refused": (0.488, 0.848, -0.446),
    "share": (1.63, 1.505, 0.296),
}
SMALL_STEPS = ((0.0, 0.33), (0.01, 0.37), (0.68, 0.79), (0.82, 0.81), (0.94, 0.89))
