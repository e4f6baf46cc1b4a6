"""What the features say about plans."""

from __future__ import annotations

from behave import given, then, when
from behave.runner import Context


def equal(found: object, wanted: object, context: Context) -> None:
    assert found == wanted, f"{found!r}, not {wanted!r}; {context.shop.output}"


@given("a shop whose totals leave out the tax")
def a_shop(context: Context) -> None:
    equal(context.shop.last_line_of("handler.py"), "return net", context)


@given('the {mode} validation "{name}"')
def a_validation(context: Context, mode: str, name: str) -> None:
    context.shop.validation(name, mode)


@given("an actor that edits")
def an_actor(context: Context) -> None:
    context.shop.actor_edits(*(f"{row['file']}: {row['last line']}" for row in context.table))


@given('the last line of "{file}" is "{line}"')
def a_line(context: Context, file: str, line: str) -> None:
    context.shop.last_line_is(file, line)


@given('a strategy that changes "{file}" only')
def a_strategy(context: Context, file: str) -> None:
    context.shop.only_file(file)


@given("the setting {key} = {value}")
def a_setting(context: Context, key: str, value: str) -> None:
    context.shop.setting(key, value)


@when("the plan is executed")
def is_executed(context: Context) -> None:
    context.shop.execute()


@when("the plan is applied")
def is_applied(context: Context) -> None:
    context.shop.runtrue("plan", "apply")


@when('the plan is applied to the new branch "{branch}"')
def is_applied_to(context: Context, branch: str) -> None:
    context.shop.runtrue("plan", "apply", "--branch", branch)


@when('the user changes the last line of "{file}" to "{line}"')
def is_changed(context: Context, file: str, line: str) -> None:
    context.shop.user_changes(file, line)


@when("the plan is cancelled")
def is_cancelled(context: Context) -> None:
    context.shop.runtrue("plan", "cancel", context.shop.plan_id())


@when('a person says "{guidance}"')
def is_told(context: Context, guidance: str) -> None:
    context.shop.prompt(guidance)


@when('the step "{step}" is corrected to run the actor again')
def is_corrected(context: Context, step: str) -> None:
    context.shop.correct(step, "--command", context.shop.actor_command())


@when('a person corrects "{name}" with {option} "{value}"')
def is_corrected_with(context: Context, name: str, option: str, value: str) -> None:
    context.shop.correct(name, option, value)


@when('the plan is rolled back to before "{step}"')
def is_rolled_back(context: Context, step: str) -> None:
    context.shop.runtrue("plan", "rollback", "--before", step)


@then('the reason "{reason}" is recorded for "{name}"')
def is_waived(context: Context, reason: str, name: str) -> None:
    equal(context.shop.status()["plan"]["waived"], {name: reason}, context)


@then('the last line of "{file}" in the sandbox is "{line}"')
def line_in_sandbox(context: Context, file: str, line: str) -> None:
    equal(context.shop.last_line_of(file, "sandbox"), line, context)


@then("the plan is {state}")
def has_state(context: Context, state: str) -> None:
    equal(context.shop.state(), state, context)


@then("it waits for a person")
def waits(context: Context) -> None:
    equal((context.shop.code, context.shop.state()), (3, "waiting"), context)


@then("the command ends with {code:d}")
def ends_with(context: Context, code: int) -> None:
    equal(context.shop.code, code, context)


@then('"{name}" was fixed in {count:d} attempts')
@then('"{name}" was fixed in {count:d} attempt')
def was_fixed(context: Context, name: str, count: int) -> None:
    equal(context.shop.attempts_of(name), count, context)


@then('the fixes came to "{results}"')
def came_to(context: Context, results: str) -> None:
    equal(", ".join(context.shop.results()), results, context)


@then("each attempt has its message, data, diagnosis, diff and files")
def is_recorded(context: Context) -> None:
    for entry in context.shop.fix_history():
        missing = [
            key
            for key in ("message", "data", "diagnosis", "diff", "files", "fixer", "validation")
            if not entry[key]
        ]
        equal(missing, [], context)


@then("the strategy was revised {count:d} time")
def was_revised(context: Context, count: int) -> None:
    equal(context.shop.revisions(), count, context)


@then('it is told that "{file}" was needed')
def was_needed(context: Context, file: str) -> None:
    assert file in context.shop.output, context.shop.output


@then('it shows "{text}"')
def is_shown(context: Context, text: str) -> None:
    assert text in context.shop.output, context.shop.output


@then('"{name}" has failed')
def has_failed(context: Context, name: str) -> None:
    equal(context.shop.verdict_on(name)["passed"], False, context)


@then("the sandbox is kept, and its path is shown")
def is_kept(context: Context) -> None:
    line = context.shop.last_line_of("handler.py", "sandbox")
    assert line.startswith("return net "), line
    assert str(context.shop.sandbox()) in context.shop.output, context.shop.output


@then('the last line of "{file}" is still "{line}"')
@then('the last line of "{file}" is "{line}"')
def line_is(context: Context, file: str, line: str) -> None:
    equal(context.shop.last_line_of(file), line, context)
