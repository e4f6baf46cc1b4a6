"""Learning: which values a run hides, and where the session of one that goes on lies."""

from __future__ import annotations

from pathlib import Path

from runtrue.code.request import plan_fix
from runtrue.code.sessions import session_ref
from runtrue.config import find_config, load_config
from runtrue.loop import History
from runtrue.sandbox import secret_variables

CONFIG = """
[sandbox]
env = ["LET_THROUGH", "HOME", "NOT_SET"]
[fixers.agent]
env = ["FOR_THE_AGENT"]
[checks.tests]
command = "true"
env = { SET_HERE = "herring", LANG = "de_DE.UTF-8", LET_THROUGH = "cod and chips" }
"""


def test_what_is_let_through_set_or_secret_by_name_is_hidden_and_what_all_see_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "runtrue.toml").write_text(CONFIG)
    request = plan_fix(tmp_path, find_config(tmp_path).written)
    environment = {
        "LET_THROUGH": "swordfish",
        "FOR_THE_AGENT": "mackerel",
        "MODEL_KEY": "trout",
        "HOME": "/home/ann",
        "EDITOR": "ed",
    }
    names = (*request.pass_environment, *request.agent.env)
    assert secret_variables(environment, names, [check.env for check in request.checks]) == (
        {"MODEL_KEY": "trout"},
        {"LET_THROUGH": "swordfish", "FOR_THE_AGENT": "mackerel"},
        {"SET_HERE": "herring", "LET_THROUGH": "cod and chips"},
    )


def test_a_run_that_has_written_no_session_names_none(tmp_path: Path) -> None:
    (tmp_path / "runtrue.toml").write_text(CONFIG)
    assert session_ref(plan_fix(tmp_path, load_config(tmp_path)), History()) is None
