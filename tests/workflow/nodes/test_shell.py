"""The shell node: what a command is given, what comes back, and how it fails."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.process import MARK
from runtrue.workflow.node import Pointer
from runtrue.workflow.nodes.shell import ShellNode
from runtrue.workflow.templates import compile_template
from tests.test_process import processes_with
from tests.workflow.nodes import support

NODE = ShellNode()


def run(here: Path, command: str, store: dict[str, Any] | None = None, **params: Any) -> Any:
    return support.run(NODE, {"command": command, **params}, support.make_context(here), store)


def fail(
    here: Path, command: str, store: dict[str, Any] | None = None, **params: Any
) -> NodeFailed:
    return support.fail(NODE, {"command": command, **params}, support.make_context(here), store)


def problems(**params: Any) -> list[tuple[Pointer, str]]:
    return list(NODE.check(params))


# -- the interface ------------------------------------------------------------------------------


def test_what_it_takes_and_gives() -> None:
    interface = NODE.interface
    assert interface.type == "shell"
    assert interface.required == ("command",)
    assert {name: schema.get("default") for name, schema in interface.params.items()} == {
        **{"command": None, "stdin": None, "cwd": None, "env": None},
        **{"timeout": 30, "ignore_errors": False, "strip_newline": True, "raw": False},
        "max_bytes": 10_485_760,
    }
    assert {name: output.type for name, output in interface.outputs.items()} == {
        **{"stdout": "string", "stderr": "string", "exit_code": "integer or null"},
        **{"stdout_is_binary": "boolean", "stderr_is_binary": "boolean", "error": "string"},
    }
    assert all(schema.get("description") for schema in interface.params.values())
    assert NODE.has_side_effect({"command": "ls"})


# -- what a command gives -----------------------------------------------------------------------


def test_a_command_gives_its_outputs_and_its_exit_code(tmp_path: Path) -> None:
    assert run(tmp_path, "echo out; echo err >&2") == {
        **{"stdout": "out", "stderr": "err\n", "exit_code": 0},
        **{"stdout_is_binary": False, "stderr_is_binary": False},
    }


def test_newlines_at_the_end_of_stdout_are_kept_on_request(tmp_path: Path) -> None:
    assert run(tmp_path, r"printf ' a\nb \n\n'")["stdout"] == " a\nb "
    assert run(tmp_path, r"printf ' a\nb \n\n'", strip_newline=False)["stdout"] == " a\nb \n\n"


def test_what_is_no_text_comes_in_base64(tmp_path: Path) -> None:
    outputs = run(tmp_path, r"printf '\377\n'; printf 'é\376' >&2")
    assert base64.b64decode(outputs["stdout"]) == b"\xff\n"
    assert base64.b64decode(outputs["stderr"]) == "é".encode() + b"\xfe"
    assert (outputs["stdout_is_binary"], outputs["stderr_is_binary"]) == (True, True)


# -- what a command is given --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("a\n'b", "a\n'b"),
        ("", ""),
        (None, ""),
        (True, "true"),
        (0, "0"),
        (1.5, "1.5"),
        ({"a": ["é", None]}, '{"a":["é",null]}'),
        ([], "[]"),
    ],
)
def test_stdin_is_text_as_it_is_and_anything_else_as_json(
    given: Any, read: str, tmp_path: Path
) -> None:
    assert run(tmp_path, "cat", strip_newline=False, stdin=given)["stdout"] == read
    referred = run(tmp_path, "cat", {"x": given}, strip_newline=False, stdin="${x}")
    assert referred["stdout"] == read


def test_stdin_takes_what_is_too_large_for_a_command(tmp_path: Path) -> None:
    assert run(tmp_path, "wc -c", stdin="x" * 5_000_000)["stdout"].strip() == "5000000"


def test_cwd_is_relative_to_the_directory_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "a b" / "c").mkdir(parents=True)
    assert run(tmp_path, "pwd -P")["stdout"] == str(tmp_path.resolve())
    assert run(tmp_path, "pwd -P", cwd="a b/c")["stdout"] == str((tmp_path / "a b" / "c").resolve())
    context = support.make_context(tmp_path, {"HOME": str(tmp_path)})
    outputs = support.run(NODE, {"command": "pwd -P", "cwd": "~/a b/c"}, context)
    assert outputs["stdout"] == str((tmp_path / "a b" / "c").resolve())


def test_a_command_runs_only_where_files_may_be_reached(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    failed = fail(tmp_path / "work", "touch x", cwd="..")
    assert (failed.category, failed.fault) == ("refused_file", "human")
    assert not (tmp_path / "x").exists()


def test_a_missing_cwd_fails_with_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    failed = fail(tmp_path, "touch x", cwd="outputs")
    assert (failed.category, failed.fault) == ("directory_not_found", "candidate")
    assert failed.available == ("output",)
    assert str(tmp_path / "outputs") in failed.outputs["error"]


def test_env_is_added_to_what_every_command_may_see_of_the_environment(tmp_path: Path) -> None:
    given = {"TZ": "a", "B": "b", "MY_TOKEN": "secret", "RUNTRUE_VALUE_7": "another's"}
    context = support.make_context(tmp_path, given)
    params = {
        "command": 'printf "%s|" "$TZ" "$B" "$C" "$D" "$E" "$MY_TOKEN$RUNTRUE_VALUE_7"',
        "env": {"B": "${b}", "C": 2, "D": True, "E": 0.5},
    }
    outputs = support.run(NODE, params, context, {"b": "$(x) 'y'"})
    assert outputs["stdout"] == "a|$(x) 'y'|2|true|0.5||"


def test_what_it_starts_bears_the_mark_of_its_run(tmp_path: Path) -> None:
    for run_id, marked in (("r1", "r1"), ("", "")):
        context = support.make_context(tmp_path, run_id=run_id)
        outputs = support.run(NODE, {"command": f'echo "${MARK}"'}, context)
        assert outputs["stdout"] == marked


# -- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        *("", "a b", "it's", '"', "$(touch x)", "`touch x`", "; touch x", "a\nb", "*", "-n"),
        *("--help", "日本", "!", "\\", "$HOME", "x' 'y", "| touch x #"),
    ],
)
def test_a_program_gets_exactly_the_value(value: str, tmp_path: Path) -> None:
    program = tmp_path / "show.py"
    program.write_text("import json, sys\nprint(json.dumps(sys.argv[1:]))")
    command = f'{sys.executable} -S show.py ${{v}} "${{v}}!" \'<${{v}}>\' "$(printf %s. ${{v}})"'
    outputs = run(tmp_path, command, {"v": value})
    assert json.loads(outputs["stdout"]) == [value, f"{value}!", f"<{value}>", f"{value}."]
    assert [path.name for path in tmp_path.iterdir()] == ["show.py"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(5, "5"), (True, "true"), (None, "null"), ({"a": ["b c"]}, '{"a":["b c"]}')],
)
def test_what_is_no_text_is_given_as_json(value: Any, text: str, tmp_path: Path) -> None:
    assert run(tmp_path, "printf %s ${v.w}", {"v": {"w": value}})["stdout"] == text


def test_a_secret_is_a_variable_too(tmp_path: Path) -> None:
    context = support.make_context(tmp_path, {"TOKEN": "$(touch x) 't"})
    params = {"command": "printf '%s|' ${env.TOKEN} 'Bearer ${env.TOKEN}'"}
    assert support.run(NODE, params, context)["stdout"] == "$(touch x) 't|Bearer $(touch x) 't|"
    templates = {"command": compile_template(params["command"])}
    assert "touch" not in repr(NODE.resolve(templates, {}))


STORE = {
    "since_tag": "v1.0; touch x",
    "user": {"name": 'O\'Brien "$(touch x)"'},
    "output_dir": "out put",
    "x": {"stdout": '["a b","it\'s"]'},
    "n": 4,
}


@pytest.mark.parametrize(
    ("command", "stdout"),
    [
        ("provided='${since_tag}'\necho \"$provided\"", "v1.0; touch x"),
        ('echo "Hello, ${user.name}!"', 'Hello, O\'Brien "$(touch x)"!'),
        (
            "mkdir -p \"${output_dir}/images\" && for u in $(echo '${x.stdout}' | tr -d ' '); "
            'do echo "$u"; done; ls -d "${output_dir}"/*',
            '["ab","it\'s"]\nout put/images',
        ),
        ("printf '%s' '${x.stdout}' | wc -c", "14"),
        ("[ -n '${since_tag}' ] && echo yes || echo no", "yes"),
        ("case '${n}' in 4) echo four;; *) echo other;; esac", "four"),
        ("echo $(( ${n} * 2 ))", "8"),
        ("echo 'a' >> '${output_dir}.txt' && cat '${output_dir}.txt'", "a"),
        ('echo "$${NOBODYS:-none}" # ${since_tag}', "none"),
        ("cat <<EOF\nDear ${user.name},\nEOF", 'Dear O\'Brien "$(touch x)",'),
        ("echo ${since_tag}; echo ${since_tag}", "v1.0; touch x\nv1.0; touch x"),
    ],
)
def test_commands_mean_what_their_authors_meant(command: str, stdout: str, tmp_path: Path) -> None:
    outputs = run(tmp_path, command, STORE)
    assert outputs["stdout"].strip() == stdout
    assert not (tmp_path / "x").exists()


def test_raw_puts_the_values_into_the_text(tmp_path: Path) -> None:
    command = "echo ${v}; ${w}"
    assert run(tmp_path, command, {"v": "a   b", "w": "echo c"}, raw=True)["stdout"] == "a b\nc"
    assert run(tmp_path, "${w}", {"w": "echo c | tr c d"}, raw=True)["stdout"] == "d"
    assert run(tmp_path, "echo ${v}", {"v": "a   b"}, raw=False)["stdout"] == "a   b"


@pytest.mark.parametrize(("value", "sum_"), [("4", "5"), (4, "5"), (-4, "-3"), (" 4\n", "5")])
def test_a_number_can_be_computed_with(value: Any, sum_: str, tmp_path: Path) -> None:
    assert run(tmp_path, "echo $((1 + ${v}))", {"v": value})["stdout"] == sum_


@pytest.mark.parametrize("value", ["x", "a[$(touch x)]", "1+1", "", True, None, [1], "0x1f y"])
def test_nothing_else_can_be_computed_with(value: Any, tmp_path: Path) -> None:
    failed = fail(tmp_path, "echo $(( 1 + ${v} ))", {"v": value})
    assert (failed.category, failed.attempted) == ("not_a_number", ("${v}",))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"command": "echo ${v}"}, "the value of ${v} is 200,000 characters long"),
        ({"command": "ls", "env": {"V": "${v}"}}, "the variable V is 200,000 characters long"),
        ({"command": "echo ${v}", "raw": True}, "the command is 200,005 characters long"),
        ({"command": "echo \0"}, "the command holds a NUL character"),
        ({"command": "echo ${nul}"}, "the value of ${nul} holds a NUL character"),
        ({"command": "echo ${nul}", "raw": True}, "the command holds a NUL character"),
        ({"command": "ls", "env": {"V": "${nul}"}}, "the variable V holds a NUL character"),
        ({"command": "ls", "env": {"A=B": "c"}}, "the variable 'A=B' has a name"),
        (
            {"command": "ls", "env": {f"V{n}": "x" * 120_000 for n in range(60)}},
            "all that the command is given is too large together",
        ),
    ],
)
def test_what_the_system_does_not_take_is_told_before(
    params: dict[str, Any], why: str, tmp_path: Path
) -> None:
    store = {"v": "x" * 200_000, "nul": "a\0b"}
    failed = support.fail(NODE, params, support.make_context(tmp_path), store)
    assert isinstance(failed, RuntimeValidationError)
    assert failed.message.startswith(why)
    assert "stdin" in failed.message


def test_the_longest_value_that_is_taken_arrives(tmp_path: Path) -> None:
    assert (
        run(tmp_path, "printf %s ${v} | wc -c", {"v": "x" * 131_000})["stdout"].strip() == "131000"
    )


# -- what is wrong without running it -----------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "pointer", "why"),
    [
        ({"command": "cat <<'E'\n${a.b}\nE"}, ("command",), "${a.b}: nothing is filled in"),
        ({"command": "echo \\${a}"}, ("command",), "${a}: there is a backslash"),
        ({"command": "${a}"}, ("command",), "the command is nothing but ${a}"),
        ({"command": "ls \0"}, ("command",), "a command cannot hold a NUL"),
        ({"command": "ls ${a}", "raw": "${b}"}, ("raw",), "is not a place for a reference"),
        ({"command": "ls", "env": {"A=": "x"}}, ("env", "A="), "'A=' is not a name"),
    ],
)
def test_problems_are_found_without_running(
    params: dict[str, Any], pointer: Pointer, why: str
) -> None:
    ((where, message),) = problems(**params)
    assert where == pointer
    assert message.startswith(why)


def test_a_sound_command_has_no_problems() -> None:
    assert problems(command="echo ${a} '${b.c}' \"${d}\"", env={"A": "${a}"}, raw=False) == []
    assert problems(command="${a}", raw=True) == []
    assert problems(command="echo ${", raw=False) == []  # told by whoever reads templates
    assert problems(command="${env.TOOL} --version") == []


def test_a_misplaced_reference_never_runs(tmp_path: Path) -> None:
    failed = fail(tmp_path, "touch x; cat <<'E'\n${v}\nE", {"v": "1"})
    assert isinstance(failed, RuntimeValidationError)
    assert not (tmp_path / "x").exists()


# -- failing ------------------------------------------------------------------------------------


def test_an_exit_code_is_a_failure_with_all_that_was_printed(tmp_path: Path) -> None:
    failed = fail(tmp_path, "echo out; echo first >&2; echo 'no such thing' >&2; exit 2")
    assert (failed.category, failed.fault) == ("exit_code", "candidate")
    assert failed.message == "exited with code 2: no such thing"
    assert failed.data == {"exit_code": 2}
    assert failed.sample == "first\nno such thing\n"
    assert failed.outputs == {
        **{"stdout": "out", "stderr": "first\nno such thing\n", "exit_code": 2},
        **{"stdout_is_binary": False, "stderr_is_binary": False, "error": failed.message},
    }
    assert fail(tmp_path, "exit 3").message == "exited with code 3"


@pytest.mark.parametrize("code", [1, 127, 200])
def test_errors_are_ignored_on_request(code: int, tmp_path: Path) -> None:
    outputs = run(tmp_path, f"echo out; exit {code}", ignore_errors=True)
    assert (outputs["stdout"], outputs["exit_code"]) == ("out", code)
    assert "error" not in outputs


@pytest.mark.parametrize(("command", "code"), [("no-such-program-tmp_path", 127), ("./plain", 126)])
def test_a_missing_program_is_the_environments_fault(
    command: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("x")
    failed = fail(tmp_path, command)
    assert (failed.category, failed.fault) == ("command_not_found", "environment")
    assert failed.data == {"exit_code": code}


@pytest.mark.parametrize(
    ("number", "message"), [(9, "was killed by SIGKILL"), (40, "was killed by signal 40")]
)
def test_a_signal_is_named(number: int, message: str, tmp_path: Path) -> None:
    failed = fail(tmp_path, f"kill -{number} $$")
    assert (failed.category, failed.data) == ("exit_code", {"exit_code": -number})
    assert failed.message == message


def test_a_timeout_ends_all_that_was_started(tmp_path: Path) -> None:
    command = "sleep 600 & echo 1 >>up; echo said; setsid sleep 600 & echo 2 >>up; wait"
    timeout = 0.5
    while True:
        failed = fail(tmp_path, command, timeout=timeout, env={"MINE": str(tmp_path)})
        assert (failed.category, failed.fault) == ("timeout", "environment")
        assert failed.message == f"did not finish within {timeout:g} seconds"
        assert failed.outputs["exit_code"] is None
        up = tmp_path / "up"
        if up.exists() and up.read_text().endswith("2\n"):
            break
        timeout *= 2
    assert failed.outputs["stdout"] == "said"
    assert not list(processes_with(f"MINE={tmp_path}"))


@pytest.mark.parametrize(("redirect", "stream"), [("", "stdout"), (" >&2", "stderr")])
def test_an_output_that_had_to_be_cut_is_a_failure(
    redirect: str, stream: str, tmp_path: Path
) -> None:
    failed = fail(
        tmp_path, f"head -c 11000000 /dev/zero | tr '\\0' x{redirect}", ignore_errors=True
    )
    assert (failed.category, failed.data) == ("output_limit", {"exit_code": 0})
    assert failed.message == (
        f"printed more than 10485760 bytes to {stream}, of which the first and the last 32 kB are "
        "kept; raise max_bytes to accept it, or let it write to a file"
    )
    assert failed.sample == "x" * 2_000
    assert len(failed.outputs[stream]) < 100_000
    assert "10934464 bytes left out" in failed.outputs[stream]


def test_all_of_a_large_output_is_kept(tmp_path: Path) -> None:
    outputs = run(tmp_path, "head -c 10000000 /dev/zero | tr '\\0' x")
    assert outputs["stdout"] == "x" * 10_000_000


@pytest.mark.parametrize(("limit", "is_kept"), [(11, True), (10, False), (9, False)])
def test_a_larger_output_is_accepted_where_max_bytes_says_so(
    limit: int, is_kept: bool, tmp_path: Path
) -> None:
    command = "printf 12345678901"
    if is_kept:
        assert run(tmp_path, command, max_bytes=limit)["stdout"] == "12345678901"
    else:
        assert fail(tmp_path, command, max_bytes=limit).category == "output_limit"


def test_a_directory_that_cannot_be_entered_is_the_environments_fault(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    context = support.make_context(gone)
    gone.rmdir()
    failed = support.fail(NODE, {"command": "ls"}, context)
    assert (failed.category, failed.fault) == ("cannot_start", "environment")
