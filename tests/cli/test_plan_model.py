"""`runtrue plan` with a model that stands in on loopback: strategy, step, fix and revision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, MakeProject
from tests.models.openai_server import Call, OpenAIServer, openai_server

__all__ = ["openai_server"]

FILES = {
    "handler.py": "from model import RATE\n\n\ndef total(x):\n    return x\n",
    "model.py": "RATE = 0.5\n",
    "test_handler.py": """
        from handler import total
        def test_tax(): assert total(100) == 110
    """,
}
INSTRUCTION = "Totals must include the tax of ten percent"


def strategy(*paths: str) -> Call:
    step = {
        "id": "tax",
        "description": "add the tax to the total",
        "actor": "model",
        "bounds": {"paths": list(paths)},
    }
    return Call({"description": "the tax is added", "steps": [step]})


def edits(path: str, old: str, new: str, **said: Any) -> Call:
    return Call({"edits": [{"path": path, "old": old, "new": new}], **said})


STEP = edits("handler.py", "return x", "return x + x * RATE", description="added the tax")
SAID = {"root_cause": "the rate is wrong", "fix_strategy": "set the rate", "confidence": 0.9}
OUTSIDE = edits("model.py", "0.5", "0.1", **SAID)
AGAIN = edits("model.py", "0.5", "0.1", description="set the rate")


@pytest.fixture
def project(make_project: MakeProject) -> Path:
    return make_project(FILES)


def test_strategy_diagnosis_fix_and_revision_come_from_the_model(
    machine: Machine, project: Path, openai_server: OpenAIServer
) -> None:
    revised = strategy("handler.py", "model.py")
    openai_server.script(strategy("handler.py"), STEP, OUTSIDE, revised, AGAIN)
    done = machine.runtrue(
        "plan",
        "use",
        INSTRUCTION,
        "--profile",
        "trusted",
        "--json",
        cwd=project,
        env=openai_server.environment,
    )
    assert done.code == 0, done.said
    report = done.json
    assert (report["state"], report["status"]) == ("complete", "passed")
    metadata = report["plan"]["metadata"]
    assert metadata["validation_attempts"] == {"pytest": 1}
    (entry,) = metadata["validation_fix_history"]
    assert entry["diagnosis"] == "the rate is wrong"
    assert entry["outside"] == ["model.py"]
    assert metadata["strategy_revisions"] == 1
    used = metadata["usage"]
    assert (used["requests"], used["input_tokens"], used["output_tokens"]) == (5, 50, 25)
    assert used["cost"] > 0
    assert "add the tax to the total" in openai_server.requests[1].prompt
    assert "total(100) == 110" in openai_server.requests[2].prompt
    assert "model.py" in openai_server.requests[3].prompt
    assert (project / "model.py").read_text() == "RATE = 0.5\n"

    applied = machine.runtrue("plan", "apply", "--json", cwd=project)
    assert applied.code == 0, applied.said
    assert (project / "model.py").read_text() == "RATE = 0.1\n"


def test_a_budget_that_runs_out_ends_the_plan_and_keeps_everything(
    machine: Machine, project: Path, openai_server: OpenAIServer
) -> None:
    openai_server.script(strategy("handler.py"), STEP, OUTSIDE)
    (project / "plan.yaml").write_text(
        f"instruction: {INSTRUCTION}\nautomation_profile: trusted\nmax_cost: 0.0002\n"
    )
    done = machine.runtrue(
        "plan", "new", "plan.yaml", "--json", cwd=project, env=openai_server.environment
    )
    assert done.code == 1, done.said
    report = done.json
    assert (report["state"], report["why"]) == ("failed", "budget")
    assert report["plan"]["metadata"]["usage"]["cost"] >= 0.0002
    sandbox = Path(report["sandbox"])
    assert "x + x * RATE" in (sandbox / "handler.py").read_text()
    assert report["sandbox"] in machine.runtrue("plan", "status", cwd=project).said
