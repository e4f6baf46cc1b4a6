"""Reports of every format say which of the project's lines ran, or nothing at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtrue.checks import Coverage
from runtrue.checks.coverage.report import read_report
from tests.checks.coverage.record import REPORTS, SHOP
from tests.checks.support import Project, lines_of

PYTHON = ("total.py", [3, 6, 8, 10, 13], [9, 14])
JAVASCRIPT = ("total.js", [2, 5, 8, 11], [6, 13])
#: For c8 a brace at the end is a line like any other; comments and empty lines are not.
C8 = ("total.js", [2, 5, 8, 9, 11, 14], [6, 7, 13])
READ = {
    "coveragepy.json": PYTHON,
    "cobertura.xml": PYTHON,
    "lcov.info": PYTHON,
    "coverage-final.json": JAVASCRIPT,
    "c8-final.json": C8,
    "c8-lcov.info": C8,
    "cover.out": ("money/total.go", [7, 10, 12, 13, 15], [8, 18]),
    "jacoco.xml": ("src/main/java/shop/Total.java", [6, 9, 10, 11], [3, 7, 15]),
}


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    project = Project(tmp_path / "shop")
    shutil.copytree(SHOP, project.root, dirs_exist_ok=True)
    return project


def read(project: Project, text: str | bytes, base: Path | None = None) -> Coverage | None:
    data = text.encode() if isinstance(text, str) else text
    file = project.scratch / "report"
    file.write_bytes(data.replace(b"{root}", str(project.root).encode()))
    return read_report(file, project.workplace, base)


def lines(coverage: Coverage | None) -> dict[str, tuple[list[int], list[int]]]:
    assert coverage is not None
    return lines_of(coverage)


@pytest.mark.parametrize("name", READ)
class TestRecorded:
    def test_its_lines_are_read(self, shop: Project, name: str) -> None:
        file, executed, missing = READ[name]
        found = read(shop, (REPORTS / name).read_bytes())
        assert lines(found) == {file: (executed, missing)}

    def test_a_byte_order_mark_is_no_part_of_it(self, shop: Project, name: str) -> None:
        found = read(shop, b"\xef\xbb\xbf" + (REPORTS / name).read_bytes())
        assert list(lines(found)) == [READ[name][0]]

    def test_files_that_are_not_the_projects_are_left_out(self, shop: Project, name: str) -> None:
        (shop.root / READ[name][0]).unlink()
        assert lines(read(shop, (REPORTS / name).read_bytes())) == {}

    def test_cut_off_anywhere_it_breaks_nothing(self, shop: Project, name: str) -> None:
        data = (REPORTS / name).read_bytes()
        for end in range(0, len(data) - 1, max(1, len(data) // 60)):
            found = read(shop, data[:end])
            assert found is None or set(found.files) <= {READ[name][0]}

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.data())
    def test_garbled_it_breaks_nothing(self, shop: Project, name: str, data: st.DataObject) -> None:
        report = bytearray((REPORTS / name).read_bytes())
        for _ in range(data.draw(st.integers(1, 8))):
            report[data.draw(st.integers(0, len(report) - 1))] = data.draw(st.integers(0, 255))
        found = read(shop, bytes(report))
        assert found is None or all(c.lines >= c.executed for c in found.files.values())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no report",
        "{}{",
        "[]",
        '{"meta": {}, "files": []}',
        '{"meta": {}, "files": {"total.py": {"executed_lines": ["1"], "missing_lines": []}}}',
        '{"total.js": {"path": "total.js", "statementMap": {"0": {}}, "s": {"0": 1}}}',
        '{"{root}/total.js": {"path": "{root}/total.js",'
        ' "statementMap": {"0": {"start": {"line": 1}}}, "s": {}}}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "SF:total.py\nDA:x,1\nend_of_record",
        "SF:total.py\nDA:1\nend_of_record",
        f"SF:total.py\nDA:1,{'9' * 5000}\nend_of_record",
        "SF:total.py\nDA:1,1",
        "<html></html>",
        "<coverage><class/></coverage>",
        "<coverage><class filename='total.py'/><line number='x' hits='1'/></coverage>",
        "<coverage clover='4'><file><class/><line num='1' count='1'/></file></coverage>",
        "<report><package/></report>",
        "mode: set\nnothing",
        "mode: set\nexample.org/shop/money/total.go:1,2 1 1",
    ],
    ids=range(21),
)
def test_what_is_no_report_says_nothing(shop: Project, text: str) -> None:
    assert read(shop, text) is None


class TestXml:
    @pytest.mark.parametrize(
        "declared",
        [
            '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">',
            '<!ENTITY a SYSTEM "file:///etc/passwd">',
            '<!ENTITY % a "ha">',
        ],
    )
    def test_a_report_that_declares_entities_is_refused(self, shop: Project, declared: str) -> None:
        body = "<coverage><sources><source>{root}</source></sources></coverage>"
        assert read(shop, body) is not None
        assert read(shop, f"<!DOCTYPE coverage [{declared}]>{body}") is None

    def test_a_dtd_that_is_only_named_is_not_fetched(self, shop: Project) -> None:
        name = (shop.scratch / "absent.dtd").as_uri()
        text = (REPORTS / "cobertura.xml").read_text()
        text = text.replace("<coverage ", f'<!DOCTYPE coverage SYSTEM "{name}"><coverage ', 1)
        assert lines(read(shop, text)) == {PYTHON[0]: PYTHON[1:]}


class TestPaths:
    @pytest.mark.parametrize(
        ("name", "file"),
        [
            ("total.py", "total.py"),
            ("./money/../total.py", "total.py"),
            ("{root}/total.py", "total.py"),
            ("../shop/total.py", "total.py"),
            ("../elsewhere/total.py", None),
            ("/etc/passwd", None),
            ("absent.py", None),
            (".venv/lib/it.py", None),
            ("node_modules/it/index.js", None),
            ("", None),
        ],
    )
    def test_only_the_projects_own_files_count(
        self, shop: Project, name: str, file: str | None
    ) -> None:
        for installed in (".venv/lib/it.py", "node_modules/it/index.js"):
            shop.write(installed, "x")
        found = read(shop, f"SF:{name}\nDA:1,1\nend_of_record\n")
        assert list(lines(found)) == ([file] if file else [])

    def test_they_are_seen_from_the_root_though_the_project_lies_below(
        self, tmp_path: Path
    ) -> None:
        project = Project(tmp_path / "many", inside="shop")
        project.write("total.py", "x\n")
        found = read(project, "SF:total.py\nDA:1,1\nend_of_record\n")
        assert lines(found) == {"shop/total.py": ([1], [])}

    def test_relative_ones_may_have_another_base(self, shop: Project) -> None:
        found = read(shop, "SF:total.go\nDA:1,1\nend_of_record\n", shop.root / "money")
        assert list(lines(found)) == ["money/total.go"]

    def test_through_a_link_it_is_the_same_file(self, shop: Project, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(shop.root)
        found = read(shop, f"SF:{tmp_path}/link/total.py\nDA:1,1\nend_of_record\n")
        assert list(lines(found)) == ["total.py"]

    def test_coberturas_sources_are_tried_in_turn(self, shop: Project) -> None:
        found = read(
            shop,
            """<coverage><sources><source>/nowhere</source><source>{root}/money</source></sources>
            <class filename="total.go"><line number="1" hits="1"/></class></coverage>""",
        )
        assert lines(found) == {"money/total.go": ([1], [])}

    def test_jacocos_packages_tell_files_of_one_name_apart(self, shop: Project) -> None:
        shop.write("src/main/java/other/Total.java", "package other;\n")
        found = read(
            shop,
            """<report><package name="other"><sourcefile name="Total.java">
            <line nr="1" ci="1" mi="0"/></sourcefile></package></report>""",
        )
        assert lines(found) == {"src/main/java/other/Total.java": ([1], [])}

    def test_go_modules_may_lie_within_one_another(self, shop: Project) -> None:
        shop.write("money/go.mod", "module example.org/money\n")
        found = read(shop, "mode: count\nexample.org/money/total.go:7.2,7.22 1 3\n")
        assert lines(found) == {"money/total.go": ([7], [])}


class TestGoBlocks:
    def test_a_block_beyond_the_end_of_the_file_takes_no_time(self, shop: Project) -> None:
        found = read(shop, "mode: set\nexample.org/shop/money/total.go:15.2,999999999999.1 1 1\n")
        assert lines(found) == {"money/total.go": ([15, 18], [])}

    def test_one_without_statements_does_not_count(self, shop: Project) -> None:
        found = read(shop, "mode: set\nexample.org/shop/money/total.go:7.2,7.22 0 0\n")
        assert lines(found) == {}

    def test_of_several_in_a_line_one_will_do(self, shop: Project) -> None:
        block = "example.org/shop/money/total.go:18.32,18.56 1"
        assert lines(read(shop, f"mode: set\n{block} 0\n{block} 1\n")) == {
            "money/total.go": ([18], [])
        }
