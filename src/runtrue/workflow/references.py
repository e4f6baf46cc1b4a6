"""References: the `${fetch.items[0].name}` of a template, read from text and looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from runtrue.documents import Pointer
from runtrue.workflow.path_syntax import (
    LARGEST_INDEX,
    Every,
    PathStep,
    PathSyntaxError,
    read_name,
    read_steps,
    skip_blanks,
    spell_step,
)
from runtrue.workflow.paths import Missing, Path, missing
from runtrue.workflow.secrets import EnvironmentName, SecretText

Store = Mapping[str, Any]

#: The root of references to environment variables.
ENVIRONMENT = "env"
#: No honest template comes near this; without a bound, one could exhaust the stack.
DEEPEST_REFERENCE = 10


class TemplateSyntaxError(PathSyntaxError):
    """A string is no template. `pointer` leads to it; `position` is the offending character."""

    def __init__(self, problem: str, text: str, position: int, pointer: Pointer) -> None:
        super().__init__(problem, text, position)
        self.pointer = pointer


class Unresolved(Exception):
    """A reference names a value that is not in the store; `missing` says how far it exists."""

    def __init__(self, reference: Reference, missing: Missing) -> None:
        super().__init__(f"{reference}: {missing.sentence(_spell)}")
        self.reference = reference
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Reference:
    """One `${…}`: `text` is what is between the braces, `steps` what follows the root.

    A step is a reference itself where an index is one. `pointer` and `position` say where the
    reference is in the value that the template was made of.
    """

    text: str
    root: str
    steps: tuple[PathStep | Reference, ...]
    pointer: Pointer
    position: int

    def __str__(self) -> str:
        return f"${{{self.text}}}"

    @property
    def path(self) -> Path | None:
        """The path that follows the root, or None if an index is a reference."""
        steps = tuple(step for step in self.steps if not isinstance(step, Reference))
        return Path(steps) if len(steps) == len(self.steps) else None

    @property
    def secret(self) -> bool:
        """True if it names an environment variable."""
        return self.root == ENVIRONMENT

    def resolve(self, store: Store) -> Any:
        """Return the value in the store, or the marker of a secret. Raises Unresolved."""
        if self.secret:
            return SecretText((EnvironmentName(str(self.steps[0])),))
        found = self._located(store).find(store)
        if isinstance(found, Missing):
            raise Unresolved(self, found)
        return found

    def _located(self, store: Store) -> Path:
        steps: list[PathStep] = [self.root]
        for step in self.steps:
            value = step.resolve(store) if isinstance(step, Reference) else step
            if not (_fits(value) or isinstance(value, Every)):
                self._refuse(steps, value, store)
            steps.append(value)
        return Path(tuple(steps))

    def _refuse(self, steps: list[PathStep], value: Any, store: Store) -> NoReturn:
        within = Path(tuple(steps)).find(store)
        if isinstance(within, Missing):
            raise Unresolved(self, within)
        path = Path((*steps, msgspec.json.encode(value).decode()))
        raise Unresolved(self, missing(path, len(steps), within))


def _fits(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= LARGEST_INDEX
    return isinstance(value, str)


def _spell(path: Path) -> str:
    if not path.steps:
        return "the store"
    root, *steps = path.steps
    return f"{root}{''.join(map(spell_step, steps))}"


# -- reading ------------------------------------------------------------------------------------


def read_references(text: str, pointer: Pointer) -> tuple[list[Reference], list[str | Reference]]:
    """Return the references of a string, nested ones too, and its parts.

    Raises TemplateSyntaxError.
    """
    reader = _ReferenceReader(text, pointer)
    parts: list[str | Reference] = []
    literal = ""
    at = 0
    while (dollar := text.find("${", at)) >= 0:
        if dollar > at and text[dollar - 1] == "$":
            literal += text[at : dollar - 1] + "${"
            at = dollar + 2
            continue
        reference, end = reader.read(dollar)
        parts += [literal + text[at:dollar], reference]
        literal, at = "", end
    parts.append(literal + text[at:])
    return reader.references, [part for part in parts if part != ""]


class _ReferenceReader:
    """Reads the references of a string, and lists them in the order in which they begin."""

    def __init__(self, text: str, pointer: Pointer) -> None:
        self.text = text
        self.pointer = pointer
        self.references: list[Reference] = []
        self._depth = 0

    def read(self, dollar: int) -> tuple[Reference, int]:
        try:
            return self._reference(self.text, dollar)
        except PathSyntaxError as error:
            problem = f"{error.problem}; write $${{ for a literal ${{"
            raise TemplateSyntaxError(problem, self.text, error.position, self.pointer) from None

    def _reference(self, text: str, dollar: int) -> tuple[Reference, int]:
        rank = len(self.references)
        self._depth += 1
        if self._depth > DEEPEST_REFERENCE:
            problem = f"references cannot be nested deeper than {DEEPEST_REFERENCE} levels"
            raise PathSyntaxError(problem, text, dollar)
        begin = skip_blanks(text, dollar + 2)
        if text.startswith("$", begin):
            raise PathSyntaxError("a reference begins with a name, without '$.'", text, begin)
        root, at = read_name(text, begin)
        steps, end = read_steps(text, at, self._reference)
        close = skip_blanks(text, end)
        if not text.startswith("}", close):
            raise self._unclosed(dollar, end, close)
        reference = Reference(text[begin:end], root, tuple(steps), self.pointer, dollar)
        if reference.secret:
            self._check_secret(reference)
        self.references.insert(rank, reference)
        self._depth -= 1
        return reference, close + 1

    def _unclosed(self, dollar: int, end: int, close: int) -> PathSyntaxError:
        if close == len(self.text):
            return PathSyntaxError("this ${ is never closed", self.text, dollar)
        if close > end:
            problem = "a blank cannot be here; quote a name that has one: ['odd key']"
            return PathSyntaxError(problem, self.text, end)
        return PathSyntaxError(f"{self.text[end]!r} cannot be in a reference", self.text, end)

    def _check_secret(self, reference: Reference) -> None:
        match reference.steps:
            case (str(name),) if name:
                problem = "a secret cannot be an index" if self._depth > 1 else None
            case _:
                problem = "'env' is followed by the name of one variable, as in ${env.API_KEY}"
        if problem:
            raise PathSyntaxError(problem, self.text, reference.position)
