"""References become variables of the shell, written so that a value can never be syntax."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtrue.workflow.nodes.shell_text import CommandText, with_variables


@dataclass(frozen=True)
class Ref:
    """A reference; in the tables below, `§` stands for one."""

    name: str


VALUE = Ref("value")


def parts(template: str, reference: Ref = VALUE) -> Sequence[str | Ref]:
    first, *others = template.split("§")
    found: list[str | Ref] = [first]
    for text in others:
        found += [reference, text]
    return found


def placed(template: str) -> CommandText[Ref]:
    return with_variables(parts(template))


# -- what is written ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "written"),
    [
        ("echo §", 'echo "$V"'),
        ("echo a§b", 'echo a"$V"b'),
        ('echo "a §!"', 'echo "a ${V}!"'),
        ("echo 'a §'", """echo 'a '"$V"''"""),
        ('echo "$(ls §)"', 'echo "$(ls "$V")"'),
        ('echo "$(ls "§")"', 'echo "$(ls "${V}")"'),
        ("echo $((§ + 1))", "echo $((${V} + 1))"),
        ("cat <<E\n'§'\nE\necho §", "cat <<E\n'${V}'\nE\necho \"$V\""),
        ('echo "${X:-§}" ${X:-§}', 'echo "${X:-${V}}" ${X:-"$V"}'),
        ('echo "${X%§}"', 'echo "${X%"$V"}"'),
        ("echo `ls §`", 'echo $( ls "$V"\n)'),
        ("echo `ls` §", 'echo `ls` "$V"'),
    ],
)
def test_the_quotes_around_a_reference_decide_what_is_written(template: str, written: str) -> None:
    result = placed(template)
    assert result.text == written.replace("V", "RUNTRUE_VALUE_1")
    assert result.names == {VALUE: "RUNTRUE_VALUE_1"}
    assert not result.problems


def test_the_same_reference_is_the_same_variable() -> None:
    a, b = Ref("a"), Ref("b")
    result = with_variables(["x ", a, " ", b, " ", Ref("a")])
    assert result.text == 'x "$RUNTRUE_VALUE_1" "$RUNTRUE_VALUE_2" "$RUNTRUE_VALUE_1"'
    assert result.names == {a: "RUNTRUE_VALUE_1", b: "RUNTRUE_VALUE_2"}


def test_a_comment_needs_no_value() -> None:
    result = placed("# it's §, \"really\nls # § and `")
    assert result.text == "# it's , \"really\nls #  and `"
    assert result.names == {}


@pytest.mark.parametrize(
    "template",
    [
        *("echo $((§ + 1))", "echo $((  (2 * §) ))", "echo $(( ${X:-§} ))", 'echo "$((§))"'),
        *("((§ > 2)) && ls", "for ((i=0; i<§; i++)); do ls; done", "echo $[§ + 1]"),
        *("echo ${X:§}", "echo ${X[§]}", "echo ${X[Y[1]+§]:-2}", "cat <<E\n$((§))\nE"),
        *("[[ § -eq 1 ]]", '[[ -n x && "§ + 1" -gt 2 ]]', "[[ 1 -lt '§' ]]"),
    ],
)
def test_what_the_shell_computes_with_must_be_a_number(template: str) -> None:
    assert placed(template).numbers == {VALUE}


@pytest.mark.parametrize(
    "template",
    [
        *("echo §", "echo $((1)) §", 'echo "$((1))§"', "echo $(( $(wc -l < §) + 1 ))"),
        *("echo ${X[1]:-§}", "[ § -eq 1 ]", "[[ § == 1 && 2 -eq 3 ]]", "( (ls §) )"),
    ],
)
def test_what_it_does_not_compute_with_can_be_anything(template: str) -> None:
    assert placed(template).numbers == set()


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("cat <<'E'\n§\nE", "use stdin"),
        ('cat <<-"E"\n\tfoo\n\t§\n\tE', "use stdin"),
        ("cat <<\\E\n§\nE", "use stdin"),
        ("cat <<§\nx\nE", "delimiter"),
        ("echo \\§", "backslash"),
        ('echo "\\§"', "backslash"),
        ("cat <<E\n\\§\nE", "backslash"),
        ("echo $'§'", "double quotes"),
        ("echo $'\\§'", "backslash"),
        ("echo $§", "a $"),
        ('echo "$§"', "a $"),
        ("echo ${§}", "name"),
        ("echo ${A§}", "name"),
    ],
)
def test_where_nothing_can_be_written_that_is_a_problem(template: str, why: str) -> None:
    ((reference, problem),) = placed(template).problems
    assert reference == VALUE
    assert why in problem


@pytest.mark.parametrize(
    "template",
    [
        *(
            "echo $$§",
            "echo '\\§'",
            "echo \\\\§",
            'echo "\\$§"',
            "echo $'it\\'s' §",
            "cat <<<'x'\nls §",
        ),
        "cat <<E\n'\nE\ncat <<'F'\n'\nF\nls §",
    ],
)
def test_what_only_looks_like_one_is_none(template: str) -> None:
    assert not placed(template).problems


def test_a_command_holds_no_nul() -> None:
    with pytest.raises(ValueError, match="NUL"):
        with_variables(["echo \0"])


@given(st.text(alphabet="§'\"`$(){}[]\\#;&|<>-:= \n\tacsein1E", max_size=40))
def test_every_reference_is_accounted_for_however_broken_the_command(template: str) -> None:
    result = placed(template)
    assert "\0" not in result.text
    if VALUE in result.names:
        assert "RUNTRUE_VALUE_1" in result.text


# -- what a shell makes of it -------------------------------------------------------------------

#: Each line shows its arguments, which must be what is beside it, where `§` is the exact value.
SHOWN: list[tuple[str, list[str]]] = [
    ("show §", ["§"]),
    ("show a§b §", ["a§b", "§"]),
    ('show "§" "a § b" "a"§"b"', ["§", "a § b", "a§b"]),
    ("show '§' 'a § b' 'a'§'b'", ["§", "a § b", "a§b"]),
    ("show \\\n§", ["§"]),
    ("show \"\\\"§\\\"\" \\'§\\' 'a\"§\"'", ['"§"', "'§'", 'a"§"']),
    ("show a#§ \"#§\" '#'§ $#§", ["a#§", "#§", "#§", "0§"]),
    ("show \"it's §\" '\"'§ 'it'\\''s §'", ["it's §", '"§', "it's §"]),
    # Within command substitutions. The dot keeps the newlines that these drop.
    ('show "$(printf %s. §)" "$(printf %s. "§")"', ["§.", "§."]),
    ("show \"$(printf %s. '§')\" \"$(printf %s. 'it'\\''s §')\"", ["§.", "it's §."]),
    ('show "a $(printf %s "b $(printf %s. "§")")"', ["a b §."]),
    ('show "$( (printf %s. §) )" "$( { printf %s. §; } )"', ["§.", "§."]),
    ('show "$(printf %s. §; : # it\'s ) "\n)"', ["§."]),
    ('show "$(case § in §) printf %s. §;; esac)"', ["§."]),
    ('show "$(case x in y) :;; z) :;; *) printf %s. §;; esac)" §', ["§.", "§"]),
    ('show "$(if :; then case § in *) printf %s. §;; esac; fi)" §', ["§.", "§"]),
    ('show "$(case x in (y) ls;; x|z) if :; then case § in *) printf %s. §;; esac; fi;; esac)" §',
     ["§.", "§"]),
    ('show "`printf %s. §`" "`printf %s. \'§\'`"', ["§.", "§."]),
    ('show "`printf %s. \\"§\\"`" "`printf %s. "§"`"', ["§.", "§."]),
    ('show "`printf %s \\"\\`printf %s. \'§\'\\`\\"`"', ["§."]),
    ("show \"`printf %s. § # it's`\" \"`printf %s '\\\\\\\\n§.'`\"", ["§.", "\\\\n§."]),
    # Here-documents.
    ('show "$(cat <<E\n§.\nE\n)" §', ["§.", "§"]),
    ('show "$(cat <<-E\n\t\'a" §.\n\tE\n)" \'§\'', ["'a\" §.", "§"]),
    ('show "$(cat <<E\n\\$§ \\\\§ `printf %s. "§"` $(printf %s. §)\nE\n)"', ["$§ \\§ §. §."]),
    ('show "$(cat <<E\n$(cat <<F\n§.\nF\n)\nE\n)"', ["§."]),
    ('show "$(cat <<E - 3<<F\n§.\nE\nit\'s §\nF\n)" "§"', ["§.", "§"]),
    ("cat <<'E' >/dev/null\nit's \" ` $(\nE\nshow §", ["§"]),
    ("cat <<E >/dev/null\na\\\nE\nit's\nE\nshow §", ["§"]),
    # Within ${…}.
    ('show "${NONE:-§}" "${NONE-a § b}" "${NONE:-"§"}"', ["§", "a § b", "§"]),
    ("show ${NONE:-§} ${NONE:-'§'} ${NONE:-a\"§\"b}", ["§", "§", "a§b"]),
    ("show \"${NONE:-'§'}\" \"${NONE:-it's §}\" §", ["'§'", "it's §", "§"]),
    ('show "${#} ${NONE:-${NONE:-§}}" ${NONE:-$(printf %s x)}§', ["0 §", "x§"]),
    ("x=z§; show \"${x#z}\" \"${x%§}\" \"${x%'§'}\" ${x%§} \"$x\"", ["§", "z", "z", "z", "z§"]),
    # Among the other things that commands are made of.
    ("v=§; show \"$v\"; v='§' w=\"§\"; show \"$v$w\"", ["§", "§§"]),
    ("for v in § 'x§'; do show \"$v\"; done", ["§", "x§"]),
    ("case § in '§') show §;; esac", ["§"]),
    ('if [ § = "§" ]; then (show §); fi', ["§"]),
    ('f() { show "$1"; }; f §; { f "§"; } | cat', ["§", "§"]),
    ('show "$((1 + 2))§" $((2*(1+1)))§', ["3§", "4§"]),
    ("(( : \"it's)\"; : ')' ) && show §)", ["§"]),
    (": \\\n# it's\nshow §", ["§"]),
    ("# it's a comment with § and \" and `\nshow §", ["§"]),
]  # fmt: skip
SCRIPT = "show() { printf '%s\\0' \"$@\"; }\n" + "\n".join(line for line, _ in SHOWN)

HOSTILE = [
    *("", " ", "a b", "\n", "a\nb\n\n", "\t", "'", '"', "''", '"; touch x; "', "'; touch x; '"),
    *("$(touch x)", "`touch x`", "${IFS}", "$x", "$$", "\\", "\\\\", "a\\", "\\n", "!", "!!"),
    *(
        "*",
        "?",
        "[a-z]*",
        "~",
        "~root",
        "-n",
        "--help",
        "-",
        "{a,b}",
        "#",
        "; touch x",
        "& touch x",
    ),
    *("| touch x", "> x", "< x", "<<E\nE\n", "E", "E\n", "F", "(", ")", "}", "esac", ";;", "a=b"),
    *("é", "日本語", "🎉", "\u2028", "\r\n", "\x01\x7f", "%s%n", "A" * 2_000),
]


#: Of these, `/bin/sh` is one or the other on most machines.
SHELLS = {
    os.path.realpath(found): shell
    for shell in (["bash", "--posix"], ["dash"], ["/bin/sh"])
    if (found := shutil.which(shell[0]))
}.values()


def shown(shell: list[str], script: CommandText[Ref], value: str, directory: Path) -> list[str]:
    variables = dict.fromkeys(script.names.values(), value)
    ended = subprocess.run(
        [*shell, "-c", script.text],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **variables},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ended.stderr.decode() == ""
    assert ended.returncode == 0
    return ended.stdout.decode().split("\0")[:-1]


def expected(value: str) -> list[str]:
    return [argument.replace("§", value) for _, arguments in SHOWN for argument in arguments]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: ascii(value)[:20])
def test_a_program_gets_the_exact_value_wherever_it_stands(
    value: str, shell: list[str], tmp_path: Path
) -> None:
    assert shown(shell, placed(SCRIPT), value, tmp_path) == expected(value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    value=st.text(st.sampled_from("'\"`$(){}[]\\!*?~#;&|<>\n\t =-%xE1é"))
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)
def test_any_value_arrives_as_it_is(shell: list[str], tmp_path: Path, value: str) -> None:
    assert shown(shell, placed(SCRIPT), value, tmp_path) == expected(value)
    assert list(tmp_path.iterdir()) == []


def in_backquotes(word: str) -> str:
    escaped = re.sub(r'([\\\\`$"])', r"\\\1", word)
    return f'"`printf %s. {escaped}`"'


def in_here_document(word: str) -> str:
    delimiter = f"E{len(word)}"
    return f'"$(cat <<{delimiter}\nit\'s $(printf %s. {word})\n{delimiter}\n)"'


#: Ways to write a word around another one, and what becomes of its value.
AROUND: list[tuple[Callable[[str], str], str]] = [
    (lambda word: f'"$(printf %s. {word})"', "§."),
    (lambda word: f'"$(case {word} in *) printf %s. {word};; esac)"', "§."),
    (lambda word: f"${{NONE:-{word}}}", "§"),
    (lambda word: f'"${{NONE:-it\'s $(printf %s. {word})}}"', "it's §."),
    (lambda word: f'"$(x=z{word}; printf %s. "${{x#z}}"${{x%{word}}})"', "§z."),
    (lambda word: f"'a  b'{word}\\'\"\"", "a  b§'"),
    (in_backquotes, "§."),
    (in_here_document, "it's §."),
]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    word=st.sampled_from(["§", '"§"', "'§'", '"${NONE:-§}"']),
    around=st.lists(st.sampled_from(AROUND), max_size=4),
    value=st.sampled_from(HOSTILE),
)
def test_quotes_nest_in_any_way(
    shell: list[str],
    tmp_path: Path,
    word: str,
    around: list[tuple[Callable[[str], str], str]],
    value: str,
) -> None:
    becomes = value
    for wrap, shape in around:
        word, becomes = wrap(word), shape.replace("§", becomes)
    script = placed(f"show() {{ printf '%s\\0' \"$@\"; }}\nshow {word} §")
    assert shown(shell, script, value, tmp_path) == [becomes, value]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("line", "arguments"), SHOWN)
def test_each_line_is_right_by_itself(line: str, arguments: list[str], tmp_path: Path) -> None:
    """A quote that one line left open would otherwise be closed by another one."""
    script = placed("show() { printf '%s\\0' \"$@\"; }\n" + line)
    value = 'it\'s a "*"'
    assert shown(["/bin/sh"], script, value, tmp_path) == [
        argument.replace("§", value) for argument in arguments
    ]
