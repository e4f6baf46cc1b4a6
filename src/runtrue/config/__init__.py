"""Configuration: `runtrue.toml`, or `[tool.runtrue]` in `pyproject.toml`, as typed data.

Every mistake is one sentence with file, line and key, and with what would have been right.
`sections` and `plans` say what can be set, and `load` reads it; `data` and `rules` are how anything
that people write is read and what is asked of it, whatever kind of file it is in.
"""

from runtrue.config.data import Keys, Problem, Source, read_data
from runtrue.config.isolation import IsolationConfig
from runtrue.config.load import load_config
from runtrue.config.plans import (
    PlansConfig,
    ProfileConfig,
    SandboxKind,
    Seconds,
    Validation,
    ValidationConfig,
    ValidationKind,
    fill_profile,
)
from runtrue.config.rules import (
    problem_of_pattern,
    problem_of_profile,
    problems_of_validation,
)
from runtrue.config.secrets import SecretsConfig, StoreKind
from runtrue.config.sections import (
    RUNGS,
    AgentConfig,
    CheckConfig,
    Config,
    EscalationConfig,
    FixersConfig,
    GateConfig,
    MemoryConfig,
    ModelConfig,
    RalphConfig,
    SandboxConfig,
    SearchConfig,
    SecurityConfig,
)
from runtrue.config.user import allowed_addresses
from runtrue.config.words import printable
from runtrue.config.workflows import WorkflowsConfig

__all__ = [
    "RUNGS",
    "AgentConfig",
    "CheckConfig",
    "Config",
    "EscalationConfig",
    "FixersConfig",
    "GateConfig",
    "IsolationConfig",
    "Keys",
    "MemoryConfig",
    "ModelConfig",
    "PlansConfig",
    "Problem",
    "ProfileConfig",
    "RalphConfig",
    "SandboxConfig",
    "SandboxKind",
    "SearchConfig",
    "Seconds",
    "SecretsConfig",
    "SecurityConfig",
    "Source",
    "StoreKind",
    "Validation",
    "ValidationConfig",
    "ValidationKind",
    "WorkflowsConfig",
    "allowed_addresses",
    "fill_profile",
    "load_config",
    "printable",
    "problem_of_pattern",
    "problem_of_profile",
    "problems_of_validation",
    "read_data",
]
