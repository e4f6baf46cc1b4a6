"""Configuration: `runtrue.toml`, or `[tool.runtrue]` in `pyproject.toml`, as typed data.

Every mistake is one sentence with file, line and key, and with what would have been right.
`sections` and `plans` define what can be set, `rules` what no type can express, `load` reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtrue._lazy import lazy_exports

if TYPE_CHECKING:
    from runtrue.config.grants import grants_of
    from runtrue.config.load import FoundConfig, find_config, load_config
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
    from runtrue.config.rules import problem_of_profile, problems_of_validation
    from runtrue.config.sections import (
        RUNGS,
        AgentConfig,
        CheckConfig,
        Config,
        EscalationConfig,
        FixersConfig,
        GateConfig,
        IsolationConfig,
        MemoryConfig,
        ModelConfig,
        RalphConfig,
        SandboxConfig,
        SearchConfig,
        SecretsConfig,
        SecurityConfig,
        WorkflowsConfig,
        is_route,
    )
    from runtrue.config.user import (
        McpLimits,
        UserConfig,
        UserDatabase,
        allowed_addresses,
        allowed_files,
        mcp_limits,
        users_database,
        users_shared_files,
    )

__all__ = lazy_exports(__name__)
