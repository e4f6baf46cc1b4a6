"""Memory: repairs that have been verified, by host and operation, to be used before any guess."""

from runtrue.memory.memory import Memory, Repair
from runtrue.memory.scope import ANY, Scope, scope_of

__all__ = ["ANY", "Memory", "Repair", "Scope", "scope_of"]
