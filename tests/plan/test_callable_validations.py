"""A callable says whether the candidate is valid; whatever else it does is its own fault."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtrue.loop import TIMEOUT, Fault, Finding, Location, Mode, Outcome, Verdict, Workplace
from runtrue.plan import callable_program
from runtrue.plan.plan import Validation, ValidationKind
from runtrue.plan.validation_callable import CallableCheck, place_in
from tests.plan.validating import Bench
from tests.sandbox.support import write_files

SEEN = (
    "def seen(path):\n"
    "    files = sorted(file.name for file in path.iterdir())\n"
    "    return {'passed': False, 'message': 'seen', 'data': {'files': files}}\n"
)


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """A project that is a part of a larger repository."""
    project, scratch = tmp_path / "repository" / "shop", tmp_path / "scratch"
    project.mkdir(parents=True)
    scratch.mkdir()
    return Workplace(
        directory=project,
        root=project.parent,
        scratch=scratch,
        environment={"PATH": os.environ["PATH"]},
    )


def call(
    workplace: Workplace, body: str = "", *, name: str = "rules:judge", timeout: float = 60.0
) -> Verdict:
    """What comes of calling a function with that body, or another one."""
    if body:
        text = f"import os\n\n\ndef judge(path):\n    {body}\n"
        write_files(workplace.directory, {"rules.py": text})
    check = CallableCheck(name="rules", callable=name, timeout=timeout)
    return asyncio.run(check.run(workplace))


def broken(verdict: Verdict, fault: Fault = Fault.CHECK) -> Finding:
    """The one finding about a function that could not be asked."""
    assert not verdict.passed
    (finding,) = verdict.findings
    assert (finding.fault, finding.source) == (fault, "rules")
    assert finding.location == Location(symbol="rules")
    assert finding.attempted
    return finding


# -- what it says ---------------------------------------------------------------------------------


def test_what_it_returns_is_the_verdict(workplace: Workplace) -> None:
    verdict = call(workplace, "print('hello'); return {'passed': True, 'message': 'fine'}")
    assert (verdict.passed, verdict.findings) == (True, ())
    assert (verdict.check, verdict.mode) == ("rules", Mode.REQUIRED)
    assert verdict.cases == {"rules": Outcome.PASSED}
    assert verdict.output == "fine\nhello"


def test_its_message_and_data_are_the_finding_and_the_place_is_in_the_data(
    workplace: Workplace,
) -> None:
    data = "{'paths': [path / 'a.py', 'b.py'], 'lines': [3, 4], 'expected': [1], 'actual': None}"
    verdict = call(workplace, f"return {{'passed': False, 'message': 'no', 'data': {data}}}")
    assert verdict.cases == {"rules": Outcome.FAILED}
    (finding,) = verdict.findings
    assert (finding.message, finding.fault) == ("no", Fault.CANDIDATE)
    assert finding.location == Location(file="shop/a.py", line=3, symbol="rules")
    assert finding.data == {
        "paths": [str(workplace.directory / "a.py"), "b.py"],
        "lines": [3, 4],
        "expected": [1],
        "actual": None,
    }


def test_an_object_with_the_attributes_will_do(workplace: Workplace) -> None:
    verdict = call(
        workplace,
        "return type('Result', (), {'passed': False, 'message': 'no', 'data': {'a': (1, 2)}})()",
    )
    (finding,) = verdict.findings
    assert (finding.message, finding.data) == ("no", {"a": [1, 2]})


def test_one_that_says_nothing_is_quoted_as_that(workplace: Workplace) -> None:
    (finding,) = call(workplace, "return {'passed': False}").findings
    assert finding.message == "rules:judge did not pass and does not say why"


def test_it_is_given_the_directory_with_its_variables(workplace: Workplace) -> None:
    write_files(workplace.directory, {"part/rules.py": SEEN})
    check = CallableCheck(name="v", callable="rules:seen", directory="part", env={"A": "1"})
    (finding,) = asyncio.run(check.run(workplace)).findings
    assert finding.data == {"files": ["rules.py"]}
    assert check.command == "rules:seen"


# -- what is its own fault ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "category", "message"),
    [
        ("return None", "wrong_result", "it is a NoneType; a validation returns `passed`"),
        ("return [True]", "wrong_result", "it is a list"),
        ("return {'passed': 'yes'}", "wrong_result", "`passed` is a str"),
        ("return {'passed': True, 'message': 1}", "wrong_result", "`message` is an int"),
        ("return {'passed': True, 'data': [1]}", "wrong_result", "`data` is a list"),
        ("return {'passed': True, 'data': {'a': {1}}}", "wrong_result", "is not JSON"),
        ("return {'passed': True, 'data': {'a': float('nan')}}", "wrong_result", "not JSON"),
        ("return {'passed': True, 'message': '\\udc80'}", "wrong_result", "not JSON"),
        ("return {'passed': True, 'data': {'a': 'b' * 2**20}}", "wrong_result", "more than 1 MB"),
        ("raise ValueError('a\\udc80')", "ValueError", "it raised ValueError: a?"),
        ("raise AssertionError", "AssertionError", "it raised AssertionError"),
        ("import nothing_of_the_kind", "ModuleNotFoundError", "No module named"),
        ("raise SystemExit(0)", "SystemExit", "it raised SystemExit: 0"),
        ("os._exit(0)", "died", "its process ended with exit code 0 before it answered"),
        ("os.kill(os.getpid(), 9)", "died", "was killed by signal 9"),
    ],
)
def test_what_is_no_answer_is_the_checks_fault(
    workplace: Workplace, body: str, category: str, message: str
) -> None:
    finding = broken(call(workplace, body))
    assert finding.category == category
    assert message in finding.message
    assert finding.message.startswith("rules:judge: ")


def test_where_it_broke_is_in_the_sample(workplace: Workplace) -> None:
    finding = broken(call(workplace, "return path / 0"))
    assert finding.sample is not None
    assert "rules.py" in finding.sample
    assert "line 5, in judge" in finding.sample


def test_a_network_that_fails_is_the_environments_fault_and_may_pass(workplace: Workplace) -> None:
    finding = broken(call(workplace, "raise ConnectionRefusedError(111, 'no')"), Fault.ENVIRONMENT)
    assert finding.transient


def test_data_that_is_too_deep_is_refused(workplace: Workplace) -> None:
    body = "d = {}\n    for _ in range(200): d = {'d': d}\n    return {'passed': True, 'data': d}"
    assert "nested more than 100 levels deep" in broken(call(workplace, body)).message


def test_half_of_an_answer_is_none(workplace: Workplace) -> None:
    body = (
        "import sys\n    frame = sys._getframe()\n"
        "    while 'place' not in frame.f_locals: frame = frame.f_back\n"
        "    frame.f_locals['place'].write_text('{\"passed\": true')\n    os._exit(0)"
    )
    finding = broken(call(workplace, body))
    assert "cannot be stored as JSON" in finding.message


def test_one_that_does_not_end_is_stopped_with_all_it_started(workplace: Workplace) -> None:
    body = "os.spawnlp(os.P_WAIT, 'sleep', 'sleep', '61')"
    finding = broken(call(workplace, body, timeout=0.5))
    assert finding.category == TIMEOUT


def test_threads_that_it_leaves_running_are_not_waited_for(workplace: Workplace) -> None:
    body = "import threading\n    threading.Thread(target=threading.Event().wait).start()\n"
    assert call(workplace, f"{body}    return {{'passed': True}}").passed


@pytest.mark.parametrize(
    ("name", "message", "available"),
    [
        ("no_such_module:judge", "there is no module 'no_such_module'", ()),
        ("rules.inner:judge", "there is no module 'rules.inner'", ()),
        ("rules:jugde", "the module 'rules' has no function 'jugde'", ("judge",)),
        ("rules:os", "rules:os is a module, not a function", ()),
        ("no_such_entry", "there is no entry point 'no_such_entry' in the group", ()),
    ],
)
def test_one_that_is_not_there_is_named_with_what_there_is(
    workplace: Workplace, name: str, message: str, available: tuple[str, ...]
) -> None:
    finding = broken(call(workplace, "return {'passed': True}", name=name))
    assert finding.category == "not_runnable"
    assert message in finding.message
    assert set(finding.available) >= set(available)


def test_a_directory_that_is_not_there_is_the_checks_fault(workplace: Workplace) -> None:
    check = CallableCheck(name="rules", callable="rules:judge", directory="gone")
    finding = broken(asyncio.run(check.run(workplace)))
    assert "cannot be called in gone: No such file or directory" in finding.message


# -- where it is found ----------------------------------------------------------------------------


def install(site: Path, *, answer: str = "{'passed': False, 'message': 'installed'}") -> None:
    """A distribution with two entry points, as an installer leaves it."""
    write_files(
        site,
        {
            "acme_rules.py": f"def judge(path):\n    return {answer}\n",
            "acme-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n",
            "acme-1.0.dist-info/entry_points.txt": (
                f"[{callable_program.GROUP}]\n"
                "acme = acme_rules:judge\nbroken = acme_rules:nothing\n"
            ),
        },
    )


def test_it_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    bench = Bench(tmp_path, {"a.py": ""})
    validation = Validation(name="acme", kind=ValidationKind.CALLABLE, callable="acme")
    finding = bench.finding(validation)
    assert (finding.message, finding.fault) == ("installed", Fault.CANDIDATE)
    other = Validation(name="acme", kind=ValidationKind.CALLABLE, callable="acne")
    assert bench.finding(other).available == ("acme", "broken")
    third = Validation(name="acme", kind=ValidationKind.CALLABLE, callable="broken")
    assert bench.finding(third).fault is Fault.CHECK


def test_no_candidate_can_stand_in_for_what_judges_it(tmp_path: Path, workplace: Workplace) -> None:
    install(tmp_path / "site")
    workplace.environment["PYTHONPATH"] = str(tmp_path / "site")
    install(workplace.directory, answer="{'passed': True}")
    write_files(workplace.directory, {"json.py": "raise SystemExit(0)", "sitecustomize.py": "1/0"})
    assert [f.message for f in call(workplace, name="acme").findings] == ["installed"]


def test_what_it_imports_when_it_is_called_is_the_candidates(
    tmp_path: Path, workplace: Workplace
) -> None:
    answer = "{'passed': False, 'message': __import__('tax').RATE}"
    install(tmp_path / "site", answer=answer)
    sources = workplace.directory / "src"
    write_files(workplace.directory, {"src/tax.py": "RATE = 'the candidate'"})
    workplace.environment["PYTHONPATH"] = os.pathsep.join([str(sources), str(tmp_path / "site")])
    assert [f.message for f in call(workplace, name="acme").findings] == ["the candidate"]


def test_a_module_of_the_projects_own_is_found_before_others(workplace: Workplace) -> None:
    write_files(workplace.directory, {"colorsys.py": SEEN})
    (finding,) = call(workplace, name="colorsys:seen").findings
    assert finding.data == {"files": ["colorsys.py"]}


# -- whatever it returns --------------------------------------------------------------------------

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]))
    | st.binary()
    | st.sets(st.integers())
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=8,
)
_RETURNED = _VALUES | st.fixed_dictionaries(
    {},
    optional={
        "passed": st.booleans() | _LEAVES,
        "message": st.text() | _LEAVES,
        "data": st.dictionaries(st.text(), _VALUES) | _VALUES,
    },
)


@given(_RETURNED, st.booleans())
def test_whatever_it_returns_is_an_answer_or_told_to_be_none(value: Any, is_object: bool) -> None:
    if is_object and isinstance(value, dict):
        value = SimpleNamespace(**{str(key): inner for key, inner in value.items()})
    try:
        encoded = callable_program.encode(callable_program.result_of(value))
    except callable_program.Trouble:
        return
    answer = json.loads(encoded)
    given_ = value if isinstance(value, dict) else vars(value)
    assert answer["passed"] is given_["passed"]
    assert answer["message"] == (given_.get("message") or "")


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_RETURNED)
def test_whatever_it_returns_there_is_a_verdict_that_can_be_recorded(
    workplace: Workplace, value: Any
) -> None:
    (workplace.directory / "value").write_bytes(pickle.dumps(value))
    verdict = call(workplace, "import pickle; return pickle.loads((path / 'value').read_bytes())")
    assert verdict.passed is not bool(verdict.findings)
    assert all(f.fault in (Fault.CANDIDATE, Fault.CHECK) for f in verdict.findings)
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.fixed_dictionaries({}, optional={"paths": _JSON, "lines": _JSON}))
def test_the_place_is_read_from_any_data(data: dict[str, Any]) -> None:
    root = Path(sys.prefix)
    workplace = Workplace(directory=root, root=root, scratch=root, environment={})
    place = place_in(data, workplace, symbol="rules")
    assert place.symbol == "rules"
    assert place.line is None or (place.line > 0 and place.file is not None)
