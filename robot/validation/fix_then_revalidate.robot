*** Settings ***
Documentation       A required validation fails, the actor fixes it, and it is validated again.
Library             features.shop.Shop
Test Setup          Validation    total
Test Teardown       Close
Test Timeout        2 minutes


*** Test Cases ***
A Required Validation Fails And The Actor Fixes It
    Actor Edits
    ...    handler.py: return net + RATE
    ...    handler.py: return net + net * RATE
    Execute
    The State Is    complete
    The Attempts Are    total    1
    The Last Line Is    handler.py    return net
    Runtrue    plan    apply
    The State Is    applied
    The Last Line Is    handler.py    return net + net * RATE

What The Actor Cannot Fix Is Put To A Person
    Setting    validation_retry_limit    1
    Actor Edits
    ...    handler.py: return net + RATE
    ...    handler.py: return net * RATE
    ...    handler.py: return net + net * RATE
    Execute
    The State Is    waiting
    The Attempts Are    total    1
    Prompt    tax is a part of the net
    The State Is    complete
    The Attempts Are    total    2
    Runtrue    plan    apply
    The State Is    applied
    The Last Line Is    handler.py    return net + net * RATE


A Person Says No And The Step Is Undone
    Actor Edits
    ...    handler.py: return net + net * RATE
    Execute
    The State Is    complete
    Prompt    no
    The State Is    waiting
    ${line} =    Last Line Of    handler.py    sandbox
    Should Be Equal    ${line}    return net
    Correct    s1    --skip    not wanted
    Correct    total    --waive    the totals stay without tax
    The State Is    complete


*** Keywords ***
The State Is
    [Arguments]    ${wanted}
    ${state} =    State
    Should Be Equal    ${state}    ${wanted}

The Attempts Are
    [Arguments]    ${validation}    ${wanted}
    ${count} =    Attempts Of    ${validation}
    Should Be Equal As Integers    ${count}    ${wanted}

The Last Line Is
    [Arguments]    ${file}    ${wanted}
    ${line} =    Last Line Of    ${file}
    Should Be Equal    ${line}    ${wanted}
