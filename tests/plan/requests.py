"""What the tests of actors and strategists need: requests, tasks and strategies."""

from __future__ import annotations

from typing import Any

from runtrue.config import AgentConfig
from runtrue.loop import PROFILES, Limits
from runtrue.plan.plan import PlanRequest, Validation
from runtrue.plan.seams import StepTask
from runtrue.plan.strategy import Actor, Step, Strategy


def make_request(**settings: Any) -> PlanRequest:
    usual: dict[str, Any] = {
        "project": "project",
        "instruction": "Make total() right",
        "source": None,
        "strategy": None,
        "strategist": None,
        "validations": (Validation(name="tests", command="python -m pytest"),),
        "profile": PROFILES["supervised"],
        "profile_name": "supervised",
        "validation_retry_limit": None,
        "sandbox": None,
        "order": ("tool", "model", "agent"),
        "agent": AgentConfig(timeout=60),
        "model": None,
        "autofix": {},
        "safe": (),
        "judges": (),
        "pass_environment": (),
        "limits": Limits(),
    }
    return PlanRequest(**{**usual, **settings})


def make_step(**settings: Any) -> Step:
    usual: dict[str, Any] = {"id": "s1", "description": "Mend total()", "actor": Actor.AGENT}
    return Step(**{**usual, **settings})


def make_step_task(step: Step, **settings: Any) -> StepTask:
    usual: dict[str, Any] = {
        "step": step,
        "bounds": step.bounds,
        "instruction": "Make total() right",
        "strategy": Strategy(steps=(step,)),
    }
    return StepTask(**{**usual, **settings})
