"""Amendments: what a person changes about a plan that waits, is complete, or is being executed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from runtrue.config import Validation
from runtrue.errors import PlanError
from runtrue.loop import Bounds, Mode
from runtrue.plan.strategy import Actor, Step, Strategy

#: What people say to have something undone.
_NO = ("n", "no", "nope", "undo", "reject", "rejected", "decline", "declined", "wrong")


def is_no(text: str) -> bool:
    """True if a person wants undone what was done."""
    return text.strip().lower().rstrip(".!") in _NO


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChange:
    """What is different about a step from now on; None where it stays as it is."""

    id: str
    command: str | None = None
    description: str | None = None
    #: The only paths that it may change.
    paths: tuple[str, ...] | None = None
    #: Paths that it may change as well.
    allow: tuple[str, ...] = ()
    #: Why it is not done at all.
    skip: str | None = None

    def changed(self, step: Step, around: Bounds) -> Step:
        """Return the step as it is to be; `around` are the bounds that hold for it now."""
        bounds = step.bounds
        if self.paths is not None:
            bounds = replace(bounds, paths=self.paths)
        if self.allow:
            bounds = replace(bounds, paths=bounds.within(around).widened(self.allow).paths)
        return replace(
            step,
            command=step.command if self.command is None else self.command,
            actor=step.actor if self.command is None else Actor.COMMAND,
            description=step.description if self.description is None else self.description,
            bounds=bounds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationChange:
    """What is different about a validation from now on; None where it stays as it is."""

    name: str
    command: str | None = None
    mode: Mode | None = None
    #: Why it does not block any more.
    waive: str | None = None

    def changed(self, validation: Validation) -> Validation:
        """Return the validation as it is to be. One that is waived is informational."""
        mode = Mode.INFORMATIONAL if self.waive is not None else self.mode
        return replace(
            validation,
            command=validation.command if self.command is None else self.command,
            mode=validation.mode if mode is None else mode,
        )


class Undo(StrEnum):
    """How much is undone of what was done."""

    NOTHING = "nothing"
    #: A step, and all after it.
    STEP = "step"
    #: Only what came after a step.
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """What a person changes about a plan, in one go."""

    #: What they said.
    text: str = ""
    undo: Undo = Undo.NOTHING
    #: The step that `undo` is about.
    step: str | None = None
    #: Whether they are asked what to do in its stead.
    is_no: bool = False
    #: Whether the plan waits for `plan execute` then.
    is_rollback: bool = False
    steps: tuple[StepChange, ...] = ()
    validations: tuple[ValidationChange, ...] = ()
    #: Steps to do after all others.
    added: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Amended:
    """An amendment as reports show it."""

    what: tuple[str, ...] = field(default=())
    text: str = ""


def described(amendment: Amendment) -> Amended:
    """Return what a person has changed, in words."""
    what = []
    if amendment.undo is Undo.STEP:
        what.append(f"step {amendment.step} and everything after it were undone")
    elif amendment.undo is Undo.AFTER:
        what.append(f"everything after step {amendment.step} was undone")
    for change in amendment.steps:
        facts = [f"skipped: {change.skip}"] if change.skip is not None else []
        facts += [f"command: {change.command}"] if change.command is not None else []
        facts += [f"description: {change.description}"] if change.description is not None else []
        facts += [f"may change only {', '.join(change.paths)}"] if change.paths is not None else []
        facts += [f"may change {', '.join(change.allow)} as well"] if change.allow else []
        what.append(f"step {change.id}: {'; '.join(facts)}")
    for one in amendment.validations:
        facts = [f"waived: {one.waive}"] if one.waive is not None else []
        facts += [f"command: {one.command}"] if one.command is not None else []
        facts += [str(one.mode)] if one.mode is not None else []
        what.append(f"validation {one.name}: {'; '.join(facts)}")
    what += [f"step {step.id} was added: {step.description}" for step in amendment.added]
    return Amended(what=tuple(what), text=amendment.text)


def correction(
    strategy: Strategy | None, validations: tuple[Validation, ...], name: str, facts: PlanCorrection
) -> Amendment:
    """Return the amendment that corrects the step, or else the validation, of that name.

    Raises PlanError for a name that is neither, and for facts that it cannot have.
    """
    step = strategy.step(name) if strategy else None
    if step is not None:
        return _step_correction(step, facts)
    if not any(validation.name == name for validation in validations):
        steps = [one.id for _, one in strategy.all_steps()] if strategy else []
        raise PlanError(
            f"there is no step and no validation {name!r}; steps: {', '.join(steps) or 'none yet'};"
            f" validations: {', '.join(one.name for one in validations)}"
        )
    if facts.description is not None or facts.paths or facts.allow or facts.skip is not None:
        raise PlanError(
            f"{name} is a validation: it can have another --command or --mode, or be waived "
            "with --waive REASON"
        )
    if facts.command is None and facts.mode is None and facts.waive is None:
        raise PlanError(f"say what changes about {name}: --command, --mode or --waive REASON")
    change = ValidationChange(
        name=name, command=facts.command, mode=facts.mode, waive=_reason(facts.waive, "--waive")
    )
    return Amendment(validations=(change,))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCorrection:
    """What a person said is different about a step or a validation."""

    command: str | None = None
    description: str | None = None
    paths: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    skip: str | None = None
    mode: Mode | None = None
    waive: str | None = None


def _step_correction(step: Step, facts: PlanCorrection) -> Amendment:
    if facts.mode is not None or facts.waive is not None:
        raise PlanError(f"{step.id} is a step: --mode and --waive are for validations")
    if step.steps and facts.command is not None:
        raise PlanError(f"{step.id} has steps of its own, and cannot run a command itself")
    change = StepChange(
        id=step.id,
        command=facts.command,
        description=facts.description,
        paths=facts.paths or None,
        allow=facts.allow,
        skip=_reason(facts.skip, "--skip"),
    )
    if change == StepChange(id=step.id):
        raise PlanError(
            f"say what changes about {step.id}: --command, --description, --only PATH, "
            "--allow PATH or --skip REASON"
        )
    return Amendment(undo=Undo.STEP, step=step.id, steps=(change,))


def _reason(reason: str | None, option: str) -> str | None:
    if reason is not None and not reason.strip():
        raise PlanError(f"{option} needs the reason, which is recorded with the plan")
    return reason.strip() if reason is not None else None
