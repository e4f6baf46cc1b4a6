"""Tasks with a real local model: done rightly by each planner alone, and by both together.

Optional: `RUNTRUE_LOCAL_MODEL` names a GGUF file, which llama.cpp serves in this process
(`pip install xllamacpp`). `RUNTRUE_TASKS` chooses tasks by their kind or a part of their text:
a small model takes about a minute for each.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import tasks
from benchmarks.measure import Row, Table
from runtrue.models import Model, open_model
from runtrue.planner.built_in import BuiltInGenerator
from runtrue.planner.fallback import FallbackGenerator
from runtrue.planner.model import ModelWorkflowGenerator
from runtrue.planner.seams import WorkflowGenerator


def run() -> Table:
    file = Path(os.environ.get("RUNTRUE_LOCAL_MODEL", ""))
    if not file.is_file():
        raise FileNotFoundError("RUNTRUE_LOCAL_MODEL does not name a GGUF file")
    with serve_model(file) as model:
        planners: dict[str, Callable[[], WorkflowGenerator]] = {
            "without a model": BuiltInGenerator,
            f"{file.name} alone": lambda: ModelWorkflowGenerator(model),
            "together": lambda: FallbackGenerator(
                ModelWorkflowGenerator(model), memory=None, environment=os.environ
            ),
        }
        rows = []
        for name, planner in planners.items():
            right, wrong, refused = tasks.count(planner)["all"]
            share = 100 * right / max(1, right + wrong + refused)
            rows.append(Row(f"{name} ({wrong} wrong)", share, (share, share), "all tasks"))
    return Table("tasks with a local model", "% right", tuple(rows))


@contextmanager
def serve_model(file: Path) -> Iterator[Model]:
    """Serve a GGUF file by llama.cpp until the block ends."""
    try:
        xllamacpp = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise FileNotFoundError("xllamacpp is missing: pip install xllamacpp") from error
    params = xllamacpp.CommonParams()
    params.model.path, params.port = str(file), 0
    params.n_ctx, params.n_parallel, params.n_predict, params.verbosity = 8192, 1, 512, 0
    server = xllamacpp.Server(params)
    environment = {"OPENAI_BASE_URL": f"{server.listening_address}/v1"}
    yield open_model("openai:local", environment, format_retries=1)
    del server
