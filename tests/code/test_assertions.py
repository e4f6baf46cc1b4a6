"""Whether a test asserts anything, in every language that has test frameworks of its own."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.checks import Language
from runtrue.code.assertions import asserts_something

PYTHON = """
import pytest, subprocess
from unittest.mock import Mock
from shared import check_all, checkout, helper

def _same(a, b):
    assert a == b

def _deeper(a):
    _same(a, 1)

def _nothing(a):
    return _nothing(a - 1) if a else a

def test_assert(): assert total([1]) == 1
def test_loop():
    for n in range(3):
        if n: assert n
def test_raises():
    with pytest.raises(ValueError): total(None)
def test_warns():
    with pytest.warns(UserWarning): total(1)
def test_fail():
    if total(1): pytest.fail("no")
def test_mock(): Mock().send.assert_called_once_with(1)
def test_helper(): _deeper(1)
def test_imported_helper(): check_all(1)
def test_numpy(): np.testing.assert_allclose(a, b)
def test_raise():
    if total(1): raise AssertionError
def test_false():
    try: total(None)
    except ValueError: return
    assert False
async def test_async(): assert await total(1)
@pytest.mark.parametrize("n", [1])
def test_parameters(n): assert n

def test_calls_only(): total([1])
def test_prints(): print(total([1]))
def test_true(): assert True
def test_one(): assert 1
def test_constants(): assert 1 + 1 == 2
def test_tuple(): assert (total([1]) == 2, "never looked at")
def test_text(): assert "some text"
def test_helper_of_nothing(): _nothing(1)
def test_helper_unknown(): helper(1)
def test_checks_out(): checkout(1)
def test_subprocess(): subprocess.check_output(["true"])
def test_mock_not_called(): Mock().send.assert_called_once_with
def test_mentions():
    "assert nothing"
    # assert nothing

class TestShop:
    def _right(self, n): self.assertEqual(n, 1)
    def test_method(self): assert self.n
    def test_unittest(self): self.assertEqual(1, total(1))
    def test_own(self): self._right(1)
    def test_empty(self): ...
    class TestInner:
        def test_method(self): pass

if True:
    class TestLate:
        def test_late(self): assert total(1)
"""

JAVASCRIPT = r"""
const assert = require('node:assert');
function same(a, b) { expect(a).toBe(b); }
const near = (a) => { same(a, 1); };
const close = async (a) => expect(a).toBe(1);
const odd = a => a % 2;
function nothing(a) { return nothing(a); }

describe('total', () => {
  it('adds { prices', () => { expect(total([1])).toBe(1); });
  test("says \"so\"", async () => { await expect(total()).rejects.toThrow(); });
  it('asserts', function () { assert.equal(total([1]), 1); });
  it('plain assert', () => assert(total([1])));
  it('should style', () => { total([1]).should.equal(1); });
  it('asks a server', () => request(app).get('/').expect(200));
  it('throws', () => { if (total([1])) { throw new Error('no'); } });
  it('helps', () => near(total([1])));
  it('helps briefly', async () => { await close(total([1])); });
  it.each([[1, 2], [3, 4]])('adds %i to %i', (a, b) => { expect(a).toBe(b); });
  test.each`a | b
    ${1} | ${2}`('table $a', ({ a, b }) => { expect(a).toBe(b); });
  it(`in a ${kind} template`, () => { expect(1).toBe(total()); });
  it.skip('skipped', () => { expect(total()).toBe(1); });
  it('a regular expression', () => { const q = /["'{(]/; expect(q).toBe(1); });

  it('does nothing', () => { total([1]); });
  it('is trivial', () => { expect(true).toBe(true); assert(true); assert.ok(1); });
  it('helps nothing', () => { nothing(1); odd(2); });
  it('talks of it', () => { log("expect(1).toBe(2)"); /* expect(1) */ // assert(2)
  });
  it.each([1])('each nothing %i', (a) => { total(a); });
  it('expected', () => { const expected = total(); });
});
describe('one', () => { it('twice', () => { expect(f()).toBe(1); }); });
describe('two', () => { it('twice', () => { f(); }); });
"""

GO = """
package shop
func same(t *testing.T, a int) { if a != 1 { t.Fatal("no") } }
func quiet(t *testing.T, a int) { t.Log(a) }
func TestError(t *testing.T) { if Total() != 1 { t.Error("no") } }
func TestErrorf(t *testing.T) { t.Run("a", func(t *testing.T) { t.Errorf("no {") }) }
func TestFail(t *testing.T) { t.FailNow() }
func TestRequire(t *testing.T) { require.Equal(t, 1, Total()) }
func TestHelper(t *testing.T) { same(t, Total()) }
func TestElsewhere(t *testing.T) { elsewhere(t, Total()) }
func TestSuite(t *testing.T) { suite.Run(t, new(Shop)) }
func TestQuiet(t *testing.T) { quiet(t, Total()) }
func TestNothing(t *testing.T) { Total(); fmt.Println(err.Error(), fmt.Errorf("t.Fatal(")) }
func TestComment(t *testing.T) { Total() // t.Fatal()
}
func TestRaw(t *testing.T) { Total(`t.Error("}")`) }
"""

RUST = """
fn same(a: i32) { assert_eq!(a, 1); }
#[cfg(test)]
mod tests {
    #[test]
    fn adds() { assert_eq!(total(&[1]), 1); }
    #[test]
    fn panics() { if total(&[]) > 0 { panic!("no {"); } }
    #[test]
    #[should_panic(expected = "nothing")]
    fn breaks() { total(&[]); }
    #[test]
    fn returns() -> Result<(), Box<dyn Error>> { total(&[1])?; Ok(()) }
    #[test]
    fn helps() { same(total(&[1])); }
    #[test]
    fn has_lifetimes() { let c = '{'; fn x<'a>(y: &'a str) {} assert!(c == total()); }
    #[test]
    fn nothing() { total(&[1]); }
    #[test]
    fn is_ok() -> Result<(), E> { total(&[1]); Ok(()) }
    #[test]
    fn trivial() { assert!(true); }
    #[test]
    fn mentions() { println!(r#"assert!("x") }"#); }
}
"""

JAVA = """
class TotalTest {
    @Test void adds() { assertEquals(1, total(1)); }
    @Test public void fluent() throws Exception { assertThat(total(1)).isEqualTo(1); }
    @Test void fails() { if (total(1) > 1) { fail("no {"); } }
    @Test void mocks() { verify(mock).send(); }
    @Test(expected = IllegalStateException.class) public void expects() { total(0); }
    @Test void keyword() { assert total(1) == 1; }
    @Test void web() { mvc.perform(get("/")).andExpect(status().isOk()); }
    @Test void helps() { same(total(1)); }
    private static <T> void same(T a) { assertEquals(1, a); }
    @ParameterizedTest @ValueSource(ints = {1, 2}) void many(int n) { assertTrue(n > total(1)); }
    @Test void nothing() { total(1); }
    @Test void trivial() { assertTrue(true); }
    @Test void mentions() { log("assertEquals(1)"); /* fail() */ }
    @Test void block() { log(\"\"\"
        assertEquals(") }
        \"\"\"); }
    class Inner { @Test void adds() { assertEquals(2, total(2)); } }
}
"""

CASES: list[tuple[Language, str, dict[str, bool | None]]] = [
    (
        Language.PYTHON,
        PYTHON,
        {
            **dict.fromkeys(
                [
                    "assert",
                    "loop",
                    "raises",
                    "warns",
                    "fail",
                    "mock",
                    "helper",
                    "imported_helper",
                    "numpy",
                    "raise",
                    "false",
                    "async",
                    "parameters[1]",
                    "parameters[a::b]",
                ],
                True,
            ),
            **dict.fromkeys(
                [
                    "calls_only",
                    "prints",
                    "true",
                    "one",
                    "constants",
                    "tuple",
                    "text",
                    "helper_of_nothing",
                    "helper_unknown",
                    "checks_out",
                    "subprocess",
                    "mock_not_called",
                    "mentions",
                ],
                False,
            ),
            "not_there": None,
        },
    ),
    (
        Language.PYTHON,
        PYTHON,
        {
            "TestShop::test_method": True,
            "TestShop::test_unittest": True,
            "TestShop::test_own": True,
            "TestShop::test_empty": False,
            "TestShop::TestInner::test_method": False,
            "TestLate::test_late": True,
            "TestShop::test_inherited": None,
            "shop.total": None,
        },
    ),
    (
        Language.JAVASCRIPT,
        JAVASCRIPT,
        {
            "total adds { prices": True,
            'total says "so"': True,
            "total asserts": True,
            "total plain assert": True,
            "total should style": True,
            "total asks a server": True,
            "total throws": True,
            "total helps": True,
            "total helps briefly": True,
            "total adds 3 to 4": True,
            "total table 1": True,
            "total in a small template": True,
            "total skipped": True,
            "total a regular expression": True,
            "total does nothing": False,
            "total is trivial": False,
            "total helps nothing": False,
            "total talks of it": False,
            "total each nothing 1": False,
            "total expected": False,
            # It cannot be told which of the two has run.
            "one twice": None,
            "not there": None,
        },
    ),
    (
        Language.GO,
        GO,
        {
            "TestError": True,
            "TestErrorf/a": True,
            "TestFail": True,
            "TestRequire": True,
            "TestHelper": True,
            "TestElsewhere": None,
            "TestSuite/TestOne": None,
            "TestQuiet": False,
            "TestNothing": False,
            "TestComment": False,
            "TestRaw": False,
            "TestNotThere": None,
        },
    ),
    (
        Language.RUST,
        RUST,
        {
            "tests::adds": True,
            "tests::panics": True,
            "tests::breaks": True,
            "tests::returns": True,
            "tests::helps": True,
            "tests::has_lifetimes": True,
            "tests::nothing": False,
            "tests::is_ok": False,
            "tests::trivial": False,
            "tests::mentions": False,
            "total (doc test)": None,
        },
    ),
    (
        Language.JAVA,
        JAVA,
        {
            "adds": True,
            "fluent": True,
            "fails": True,
            "mocks": True,
            "expects": True,
            "keyword": True,
            "web": True,
            "helps": True,
            "many(int)[1]": True,
            "TotalTest$Inner.adds": True,
            "nothing": False,
            "trivial": False,
            "mentions": False,
            "block": False,
            "a display name": None,
        },
    ),
]


@pytest.mark.parametrize(
    ("language", "text", "name", "expected"),
    [
        pytest.param(language, text, name, expected, id=f"{language}: {name}")
        for language, text, cases in CASES
        for name, expected in cases.items()
    ],
)
def test_a_test_that_can_fail_is_told_from_one_that_asserts_nothing(
    language: Language, text: str, name: str, expected: bool | None
) -> None:
    if language is Language.PYTHON and name[0].islower() and "." not in name:
        name = f"test_{name}"
    assert asserts_something(text, language, name) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('require("assert").strictEqual(total(1), 1)', True),
        ("require('node:assert').strict.equal(total(1), 1)", True),
        ("deepStrictEqual(total(1), 1)", True),
        ("notEqual(total(1), 1)", True),
        ('require("./total").total(1)', False),
        ("isEqual(total(1), 1)", False),
    ],
)
def test_the_assertions_of_node_are_known_however_they_are_come_by(
    body: str, expected: bool
) -> None:
    text = f"it('adds', () => {{ {body}; }});"
    assert asserts_something(text, Language.JAVASCRIPT, "adds") is expected


def test_typescript_is_read_as_javascript_is() -> None:
    text = "it('adds', (): void => { expect(total([1] as number[])).toBe(1); });"
    assert asserts_something(text, Language.TYPESCRIPT, "adds") is True


def test_a_line_finds_what_a_name_does_not() -> None:
    text = textwrap.dedent(
        """
        def make(n):
            def test_made():
                assert n
            return test_made

        test_one = make(1)
        """
    )
    assert asserts_something(text, Language.PYTHON, "test_one") is None
    assert asserts_something(text, Language.PYTHON, "test_one", 3) is True


def test_of_other_languages_nothing_can_be_told() -> None:
    assert asserts_something("assert 1", Language.OTHER, "test_one") is None


@pytest.mark.parametrize("text", ["def test_one(:", "\0", "def test_one():\n" + "(" * 5000])
def test_what_cannot_be_parsed_cannot_be_judged(text: str) -> None:
    assert asserts_something(text, Language.PYTHON, "test_one") is None


@pytest.mark.parametrize(
    "text",
    ["it('one', () => { expect(1)", "it.each([[1]('one', () => {})", "it(name, () => { })", "it()"],
)
def test_a_body_that_is_not_found_cannot_be_judged(text: str) -> None:
    assert asserts_something(text, Language.JAVASCRIPT, "one") is None


@given(
    st.sampled_from(list(Language)),
    st.text(st.sampled_from("it('a'){}\"`/*\\\n $test.each fn a func assert!")),
)
def test_no_text_breaks_it(language: Language, text: str) -> None:
    assert asserts_something(text, language, "a") in (True, False, None)
