"""A home in which every page has something to show, and the paths of all of them."""

from __future__ import annotations

from runtrue.flow import Journal
from tests.cli.conftest import Machine, MakeProject, write
from tests.cli.plans import FILES, HAS_TWO, Plans
from tests.planner.api import Api
from tests.web.site import passed, waiting
from tests.web.test_hostile import hostile_run

HELLO = """
    description: Greets somebody
    inputs: {name: {type: string, default: Ada, description: Who is greeted}}
    nodes: [{id: say, type: shell, params: {command: "echo hello '${name}'"}}]
    outputs: {said: {source: "${say.stdout}"}}
"""
RECORDED = {"data": {"login": "octo", "blurb": "eight arms", "nr": 17}}


def record_runs(machine: Machine) -> str:
    """Record a pass, two questions and a hostile run; return the id of the latter."""
    machine.journal.parent.mkdir(mode=0o700, exist_ok=True)
    with Journal(machine.journal) as journal:
        passed(journal)
        waiting(journal, {"apply": True, "diff": ""})
        waiting(journal, {"why": "x"})
        return hostile_run(journal)


def fill(machine: Machine, make_project: MakeProject, api: Api) -> list[str]:
    """Return the paths of all pages, on which real plans, tasks and fixes can be seen."""
    run_id = record_runs(machine)
    fixed = make_project({"area.py": "def area(a, b):\n    return a + b\n", **_TESTS}, name="area")
    script = "sed -i 's/a + b/a * b/' area.py"
    fix = machine.runtrue("fix", fixed, "--agent", f'sh -c "{script}"', "--json").json["run_id"]
    plans = Plans(machine, make_project(FILES))
    plan_file = plans.file(plans.script("echo two > handler.py"), HAS_TWO)
    done = plans.use(plan_file).json["run_id"]
    assert plans.run("execute", "--json").code == 0
    queued = plans.use(plan_file).json["run_id"]
    url = api.on("POST /users", RECORDED, status=201)
    task = f"POST name=octo to {url} and extract username and ranking"
    doubtful = machine.runtrue("do", task, "--json").json["run_id"]
    write(machine.home, {"hello.yaml": HELLO})
    assert machine.runtrue("workflow", "save", "hello.yaml").code == 0
    greeted = machine.runtrue("run", "hello", "name=Grace", "--json").json["run_id"]
    (machine.home / "hello.yaml").write_text(
        (machine.home / "hello.yaml").read_text().replace("echo hello", "echo goodbye")
    )
    saved = machine.runtrue("workflow", "save", "hello.yaml", "--force")
    assert saved.code == 0, saved.said
    return [
        "/",
        "/runs",
        "/runs?text=nothing+is+called+so",
        *(f"/runs/{one}" for one in (run_id, fix, done, queued, doubtful, greeted)),
        f"/runs/{run_id}/events",
        "/workers",
        "/workflows",
        "/workflows/hello",
        "/workflows/hello?compare=1",
        "/workflows/hello/edit",
        "/memory",
        "/metrics",
        "/doctor",
        "/nothing",
    ]


_TESTS = {
    "test_area.py": """
        from area import area


        def test_area():
            assert area(2, 3) == 6


        def test_nothing():
            assert area(0, 3) == 0


        def test_square():
            assert area(2, 2) == 4
    """
}


#: Opens whatever can be opened on a page.
OPEN_ALL = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
