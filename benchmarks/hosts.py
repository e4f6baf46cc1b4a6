"""Real coding agents driven offline: the gate holds each back once, and lets its repair go.

The agents are installed from their npm packages at run time; their model is a stand-in on the
loopback. Each is tried with the hook that `runtrue hooks install` writes, and with the plugin or
extension of this repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Row, Table, Target
from benchmarks.model_stand_in import model_stand_in
from benchmarks.user import PYTHON

ROOT = Path(__file__).parent.parent
CACHE = Path.home() / ".cache" / "runtrue-bench-hosts"
EXPECTED = "held back once, then let go"
SECONDS = 300

GOOD = (
    "def total(prices):\n    return sum(prices)\n\n\ndef count(prices):\n    return len(prices)\n"
)
WRONG = GOOD.replace("sum", "max")
BEFORE = GOOD.partition("\n\n\n")[0] + "\n"
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
TEST_COUNT = "\n\ndef test_count():\n    from shop import count\n\n    assert count([1, 2]) == 2\n"

CODEX_CONFIG = """model = "stand-in"
model_provider = "stand-in"
[model_providers.stand-in]
name = "stand-in"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[projects."{project}"]
trust_level = "trusted"
"""


@dataclass(frozen=True, slots=True)
class Host:
    """An agent: its package, how it is asked, and how it gets this repository's plugin."""

    name: str
    package: str
    command: tuple[str, ...]
    plugin: tuple[tuple[str, ...], ...]
    #: `{url}` is the stand-in's.
    environment: dict[str, str]

    @property
    def program(self) -> str:
        return self.command[0]


HOSTS = (
    Host(
        "claude-code",
        "@anthropic-ai/claude-code",
        ("claude", "-p", "check the shop", "--permission-mode", "acceptEdits"),
        (
            ("claude", "plugin", "marketplace", "add", str(ROOT)),
            ("claude", "plugin", "install", "runtrue@runtrue"),
        ),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    ),
    Host(
        "codex",
        "@openai/codex",
        (
            *("codex", "exec", "--dangerously-bypass-hook-trust"),
            *("--sandbox", "danger-full-access", "check the shop"),
        ),
        (
            ("codex", "plugin", "marketplace", "add", str(ROOT)),
            ("codex", "plugin", "add", "runtrue@runtrue"),
        ),
        {"OPENAI_API_KEY": "none"},
    ),
    Host(
        "gemini",
        "@google/gemini-cli",
        ("gemini", "-p", "check the shop", "--approval-mode", "auto_edit", "-m", "stand-in"),
        (("gemini", "extensions", "install", "--consent", str(ROOT / "plugins" / "gemini")),),
        {
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    ),
)


def run() -> Table:
    CACHE.mkdir(parents=True, exist_ok=True)
    packages = [host.package for host in HOSTS]
    npm = ["npm", "install", "--prefix", str(CACHE), "--no-audit", "--no-fund", *packages]
    subprocess.run(npm, check=True, capture_output=True)
    return Table(
        title="hosts: real coding agents, their model a stand-in on the loopback",
        unit="seconds",
        rows=tuple(row for host in HOSTS for row in _rows(host)),
        notes=(
            f"ratio: 1 where the agent was {EXPECTED}",
            "hook: `runtrue hooks install`; plugin: this repository, installed as the agent does",
        ),
    )


def _rows(host: Host) -> Iterator[Row]:
    for way in ("hook", "plugin"):
        with tempfile.TemporaryDirectory(prefix="rt-hosts-") as folder:
            seconds, is_right, version = _try(host, way, Path(folder))
        name = f"{host.name} {version}, {way}"
        yield Row(name, seconds, (seconds, seconds), EXPECTED, is_right, Target("≥", 1))


def _try(host: Host, way: str, folder: Path) -> tuple[float, float, str]:
    home, project = folder / "home", folder / "project"
    home.mkdir()
    environment = {
        "HOME": str(home),
        "PATH": os.pathsep.join(
            (str(CACHE / "node_modules" / ".bin"), str(PYTHON.parent), os.environ["PATH"])
        ),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }

    def call(*command: str) -> str:
        done = subprocess.run(
            command,
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise OSError(f"{' '.join(command)} exited with {done.returncode}: {done.stderr}")
        return done.stdout

    _make_project(project, call)
    with model_stand_in(str(project / "shop.py"), GOOD) as model:
        environment |= {key: text.format(url=model.url) for key, text in host.environment.items()}
        _configure(home, project, model.url)
        version = call(host.program, "--version").split()
        if way == "hook":
            call("runtrue", "hooks", "install", host.name)
        else:
            for command in host.plugin:
                call(*command)
        begun = time.monotonic()
        call(*host.command)
        seconds = time.monotonic() - begun
        status = json.loads(call("runtrue", "hooks", "status", "--json"))
        (seen,) = (one for one in status["hooks"] if one["host"] == host.name)
        is_right = (
            model.held_back == seen["blocked"] == 1
            and seen["fired"] == 2
            and (project / "shop.py").read_text() == GOOD
        )
    return seconds, float(is_right), next(word for word in version if word[:1].isdigit())


def _make_project(project: Path, call: Callable[..., str]) -> None:
    (project / "tests").mkdir(parents=True)
    file, test = project / "shop.py", project / "tests" / "test_shop.py"
    file.write_text(BEFORE)
    test.write_text(TEST)
    call("git", "init", "-q")
    call("git", "add", "-A")
    call("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")
    file.write_text(WRONG)
    test.write_text(TEST + TEST_COUNT)


def _configure(home: Path, project: Path, url: str) -> None:
    for folder in (".codex", ".gemini"):
        (home / folder).mkdir()
    (home / ".codex" / "config.toml").write_text(CODEX_CONFIG.format(url=url, project=project))
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
