Feature: Fix, then revalidate
  When a required validation fails, the actor is told why, fixes it within the bounds of the
  strategy, and the validation is run again: as often as the limit says. Then the strategy is
  revised, or a person is asked. What nobody helps with fails, and its sandbox is kept.

  Background:
    Given a shop whose totals leave out the tax
    And the required validation "total"

  Scenario: A required validation fails, the actor fixes it, and it is applied
    Given an actor that edits
      | file       | last line               |
      | handler.py | return net + RATE       |
      | handler.py | return net + net * RATE |
    When the plan is executed
    Then the plan is complete
    And "total" was fixed in 1 attempt
    And each attempt has its message, data, diagnosis, diff and files
    But the last line of "handler.py" is still "return net"
    When the plan is applied
    Then the plan is applied
    And the last line of "handler.py" is "return net + net * RATE"

  Scenario: Every fix is counted until the validation passes
    Given an actor that edits
      | file       | last line               |
      | handler.py | return net + RATE       |
      | handler.py | return net * RATE       |
      | handler.py | return RATE + RATE      |
      | handler.py | return net + net * RATE |
    When the plan is executed
    Then the plan is complete
    And "total" was fixed in 3 attempts
    And the fixes came to "failed, failed, passed"

  Scenario: After the limit, a person is asked, and what they say opens a fresh budget
    Given the setting validation_retry_limit = 1
    And an actor that edits
      | file       | last line               |
      | handler.py | return net + RATE       |
      | handler.py | return net * RATE       |
      | handler.py | return net + net * RATE |
    When the plan is executed
    Then it waits for a person
    And the fixes came to "failed"
    When a person says "tax is a part of the net"
    Then the plan is complete
    And the fixes came to "failed, passed"

  Scenario: The limit of a plan stands over that of its profile
    Given the setting automation_profile.validation_retry_limit = 3
    And the setting validation_retry_limit = 2
    And an actor that edits
      | file       | last line          |
      | handler.py | return net + RATE  |
      | handler.py | return net * RATE  |
      | handler.py | return RATE + RATE |
      | handler.py | return RATE        |
    When the plan is executed
    Then it waits for a person
    And "total" was fixed in 2 attempts

  Scenario: A fix that needs another file has the strategy revised
    Given the last line of "model.py" is "RATE = 0.5"
    And a strategy that changes "handler.py" only
    And the setting automation_profile.auto_strategy_revision = true
    And an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
      | model.py   | RATE = 0.1              |
    When the plan is executed
    Then the plan is complete
    And the strategy was revised 1 time
    And the fixes came to "out_of_bounds"
    When the plan is applied
    Then the last line of "model.py" is "RATE = 0.1"

  Scenario: Without automatic revision, a person says which other file may be changed
    Given the last line of "model.py" is "RATE = 0.5"
    And a strategy that changes "handler.py" only
    And an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
      | model.py   | RATE = 0.1              |
    When the plan is executed
    Then it waits for a person
    And it is told that "model.py" was needed
    When a person says "yes"
    Then the plan is complete
    And the strategy was revised 1 time

  Scenario: Nobody is there to answer, and the plan fails with its sandbox kept
    Given the setting answer_within = 0
    And the setting validation_retry_limit = 1
    And an actor that edits
      | file       | last line         |
      | handler.py | return net + RATE |
      | handler.py | return net * RATE |
    When the plan is executed
    Then the plan is failed
    And the command ends with 1
    And the sandbox is kept, and its path is shown
    And the last line of "handler.py" is still "return net"

  Scenario: A plan that is cancelled keeps its sandbox
    Given the setting validation_retry_limit = 1
    And an actor that edits
      | file       | last line         |
      | handler.py | return net + RATE |
      | handler.py | return net * RATE |
    When the plan is executed
    Then it waits for a person
    When the plan is cancelled
    Then the plan is cancelled
    And the sandbox is kept, and its path is shown

  Scenario: An informational validation that fails is recorded, and starts no fix
    Given the informational validation "names"
    And an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
    When the plan is executed
    Then the plan is complete
    And "names" has failed
    And "names" was fixed in 0 attempts

  Scenario: A fix for one validation that breaks another is counted, and not accepted
    Given the required validation "rate"
    And an actor that edits
      | file       | last line               |
      | handler.py | return net + RATE       |
      | model.py   | RATE = 10               |
      | handler.py | return net + net * RATE |
    When the plan is executed
    Then the plan is complete
    And the fixes came to "broke_another, passed"
    When the plan is applied
    Then the last line of "model.py" is "RATE = 0.1"

  Scenario: A person says no, and the step is undone instead of repeated
    Given an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
    When the plan is executed
    Then the plan is complete
    When a person says "no"
    Then it waits for a person
    And the last line of "handler.py" in the sandbox is "return net"
    When the step "s1" is corrected to run the actor again
    Then the plan is complete

  Scenario: A wrong validation is corrected by a person
    Given the required validation "nothing"
    And an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
    When the plan is executed
    Then it waits for a person
    When a person corrects "nothing" with --command "python -B check_rate.py"
    Then the plan is complete

  Scenario: A person waives a validation, and the reason is recorded
    Given the required validation "names"
    And the setting validation_retry_limit = 0
    And an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
    When the plan is executed
    Then it waits for a person
    When a person corrects "names" with --waive "agreed on with Ada"
    Then the plan is complete
    And the reason "agreed on with Ada" is recorded for "names"

  Scenario: Rolled back to its checkpoint, a plan waits to be executed again
    Given an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
    When the plan is executed
    And the plan is rolled back to before "s1"
    Then the plan is queued
    And the last line of "handler.py" in the sandbox is "return net"

  Scenario: The user and the plan changed the same line, and the result goes to a branch
    Given an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
    When the plan is executed
    And the user changes the last line of "handler.py" to "return net + 1"
    And the plan is applied
    Then the plan is complete
    And the command ends with 1
    And it shows "return net + 1"
    And it shows "return net + net * RATE"
    And it shows "--branch NAME"
    And the last line of "handler.py" is "return net + 1"
    When the plan is applied to the new branch "with-tax"
    Then the plan is applied
    And the last line of "handler.py" is "return net + 1"

  Scenario: What fails together with the user's own changes keeps the plan complete
    Given an actor that edits
      | file       | last line               |
      | handler.py | return net + net * RATE |
    When the plan is executed
    And the user changes the last line of "model.py" to "RATE = 0.2"
    And the plan is applied
    Then the plan is complete
    And it shows "total fails together with what you changed in the meantime"
    And the last line of "handler.py" is still "return net"
    When the user changes the last line of "model.py" to "RATE = 0.1"
    And the plan is applied
    Then the plan is applied
