"""Answers: what a person says to a plan, and what comes of it where it stands now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runtrue.documents import problem_of_pattern
from runtrue.errors import PlanError
from runtrue.loop import AMEND, Bounds, Why, is_yes
from runtrue.plan.amendment import Amendment, PlanCorrection, Undo, correction, is_no
from runtrue.plan.progress import StepState
from runtrue.plan.states import Phase
from runtrue.plan.strategy import Actor, Step, Strategy
from runtrue.plan.wanted import Wanted

if TYPE_CHECKING:
    from runtrue.plan.plan_status import Standing

#: Actors that read what people say.
_READERS = (Actor.AGENT, Actor.MODEL)
#: What people say to have a command run again as it is.
_AGAIN = ("again", "repeat", "retry")


def answer_text(result: Any) -> str:
    """Return what a person said, however it was given."""
    text = result.get("text") if isinstance(result, dict) else result
    return str(text or "").strip()


def answer_for(standing: Standing, text: str, allow: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what is recorded when a person says something to a plan.

    Raises PlanError where nothing can come of it, and for what cannot be meant.
    """
    run_id = standing.run.id
    must_not_be_over(standing)
    if not text.strip():
        raise PlanError(f"the guidance is empty; say what plan {run_id} is to do")
    _check_paths(allow)
    asked = standing.question.question if standing.question and standing.wanted else {}
    if standing.report.phase is Phase.STRATEGIZE:
        if standing.wanted is None:
            raise PlanError(f"plan {run_id} has no strategy yet; wait until it asks about one")
        if allow:
            raise PlanError(
                "--allow widens the bounds of a step, and there is no strategy yet; say in the "
                "guidance which files may be changed"
            )
        return _plain(text, allow)
    if asked.get("approve") == "edits":
        if allow:
            raise PlanError(
                f"--allow widens the bounds of a step, and all steps of plan {run_id} are done; "
                "say `yes`, or restore the files in the sandbox"
            )
        return _plain(text, allow)
    if is_no(text) and asked.get("approve") != "revision":
        return {AMEND: _no(standing)}
    if asked.get("why") == Why.UNSURE and not (is_yes(text) or text.strip().isdigit()):
        return {AMEND: replace(_no(standing), text=text.strip(), is_no=not _is_read(standing))}
    if "undone" in asked:
        return _instead(standing, text, allow)
    if standing.wanted is not None and standing.wanted.is_prompt:
        return _plain(text, allow)
    return {AMEND: _more(standing, text, allow)}


def _plain(text: str, allow: tuple[str, ...]) -> dict[str, Any]:
    return {"text": text.strip(), "allow": list(allow)}


def _check_paths(paths: tuple[str, ...]) -> None:
    for path in paths:
        if problem := problem_of_pattern(path):
            raise PlanError(f"--allow: {problem}")


def must_not_be_over(standing: Standing) -> None:
    """Raise PlanError for a plan to which nothing can be said any more."""
    run_id, state = standing.run.id, standing.report.state
    if standing.run.is_over:
        raise PlanError(
            f"plan {run_id} has ended ({state}), so it cannot take guidance; "
            f"`runtrue plan explain {run_id}` says why"
        )
    if standing.is_applying:
        raise PlanError(
            f"plan {run_id} is being applied; finish with `runtrue plan apply {run_id}`"
        )


def _strategy(standing: Standing) -> Strategy:
    return standing.plan.progress.strategy or Strategy()


def _latest_step(standing: Standing) -> Step:
    """The step that is being done, or else the last one that was."""
    progress = standing.plan.progress
    leaves = [step for step, _ in _strategy(standing).leaves()]
    busy = [step for step in leaves if progress.states.get(step.id) is StepState.PROCESSING]
    done = [step for step in leaves if progress.states.get(step.id) is StepState.DONE]
    found = busy or done[-1:]
    if not found:
        run_id = standing.run.id
        raise PlanError(
            f"no step of plan {run_id} is done, so there is nothing to undo; change one with "
            f"`runtrue plan correct STEP`, or end the plan with `runtrue plan cancel {run_id}`"
        )
    return found[0]


def _no(standing: Standing) -> Amendment:
    return Amendment(undo=Undo.STEP, step=_latest_step(standing).id, is_no=True)


def _is_read(standing: Standing) -> bool:
    """True if the latest step is done by someone who reads what people say."""
    return _latest_step(standing).actor in _READERS


def _instead(standing: Standing, text: str, allow: tuple[str, ...]) -> dict[str, Any]:
    """Return the answer about a step that was undone."""
    asked = standing.question.question if standing.question else {}
    step = _strategy(standing).step(asked["undone"])
    word = text.strip().lower()
    if step is None or step.actor in _READERS or word in _AGAIN or is_yes(word):
        if not allow:
            return _plain(text, allow)
        facts = PlanCorrection(allow=allow)
        amendment = correction(_strategy(standing), (), asked["undone"], facts)
        return {AMEND: replace(amendment, text=text.strip())}
    raise PlanError(
        f"step {step.id} is done by {step.actor}, which does not read guidance: give it "
        "another command "
        f"with `runtrue plan correct {step.id} --command COMMAND`, leave it out with `--skip "
        f"REASON`, or say `again` to repeat it unchanged"
    )


def _more(standing: Standing, text: str, allow: tuple[str, ...]) -> Amendment:
    """Return the amendment of guidance that nobody asked for: one more step, for those who read."""
    strategy = _strategy(standing)
    leaves = [step for step, _ in strategy.leaves()]
    agent = standing.plan.request.agent.command
    readers = [step.actor for step in leaves if step.actor in _READERS]
    if not readers and agent is None:
        run_id = standing.run.id
        raise PlanError(
            f"no step of plan {run_id} is done by an agent or a model, which could read that: "
            "change a step with `runtrue plan correct STEP --command COMMAND`, or "
            f"{_next(standing)}"
        )
    taken = {step.id for _, step in strategy.all_steps()}
    number = next(n for n in range(1, len(taken) + 2) if f"more{n}" not in taken)
    bounds = Bounds(paths=strategy.bounds.widened(allow).paths) if allow else Bounds()
    step = Step(
        id=f"more{number}",
        description=text.strip(),
        actor=readers[-1] if readers else Actor.AGENT,
        bounds=bounds,
    )
    return Amendment(text=text.strip(), added=(step,))


def _next(standing: Standing) -> str:
    """Return what else can be done to a plan that asks for no guidance."""
    run_id = standing.run.id
    undo = f"undo the last one with `runtrue plan answer {run_id} no`"
    match standing.wanted:
        case Wanted.BEGIN:
            return f"execute the plan with `runtrue plan execute {run_id}`"
        case Wanted.APPLY:
            return f"{undo}, or apply the plan with `runtrue plan apply {run_id}`"
    return undo


def correct_plan(standing: Standing, name: str, facts: PlanCorrection) -> dict[str, Any]:
    """Return the answer that corrects a step or a validation. Raises PlanError if it cannot."""
    must_not_be_over(standing)
    _check_paths((*facts.allow, *facts.paths))
    if standing.report.phase is Phase.STRATEGIZE:
        raise PlanError(f"plan {standing.run.id} has no strategy yet; say it with `plan answer`")
    validations = standing.plan.request.validations
    return {AMEND: correction(_strategy(standing), validations, name, facts)}


def roll_back(standing: Standing, *, to: str | None, before: str | None) -> dict[str, Any]:
    """Return the answer that undoes steps. Raises PlanError for a step that was not done."""
    must_not_be_over(standing)
    step_id = to if to is not None else before or ""
    strategy, run_id = _strategy(standing), standing.run.id
    step = strategy.step(step_id)
    if step is None:
        names = ", ".join(one.id for _, one in strategy.all_steps()) or "none yet"
        raise PlanError(f"there is no step {step_id!r} in plan {run_id}; steps: {names}")
    leaves = [one.id for one, _ in Strategy(steps=(step,)).leaves()]
    if not any(one in standing.plan.checkpoints for one in leaves):
        raise PlanError(f"step {step_id} was not done, so it has no checkpoint")
    how = Undo.AFTER if to is not None else Undo.STEP
    return {AMEND: Amendment(undo=how, step=step_id, is_rollback=True)}
