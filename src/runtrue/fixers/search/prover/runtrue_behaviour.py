"""The behaviour of a program on inputs like those of its tests.

It runs inside the project's own Python. The calls that tests make into the project are recorded,
and all calls of the functions that candidates change, with copies of their arguments; so are those
of the examples in docstrings. Then they are made again, first as they were and then with some
arguments changed a little, by a seed.
"""

from __future__ import annotations  # any Python may be the project's

import asyncio
import copy
import dis
import doctest
import gc
import inspect
import itertools
import random
import re
import signal
import sys
import time
import types
import zlib
from dataclasses import dataclass
from typing import Any

_trial: Any = sys.modules["runtrue_trial"]
_watch: Any = sys.modules["runtrue_watch"]

#: Calls that are recorded: in all, of one function, and of one that a candidate changes.
_CALLS, _CALLS_OF_ONE, _CALLS_OF_CHANGED = 40, 6, 12
#: Seconds for one test, which usually makes its calls long before its end, and for all.
_RECORDING_ONE, _RECORDING_SECONDS = 0.25, 1.5
#: Seconds of processor time for one input and for all: the same on a busy machine.
_SECONDS, _IN_ALL = 0.05, 1.0
#: How many times longer they may wait.
_WAITING = 4
_LONGEST = 300
#: Before the mark of what a call left in its arguments, where it changed them; and how many values
#: are looked at for it.
_MARK, _MOST_FIELDS = "\0", 400
_PLAIN = (bool, int, float, str, bytes, list, tuple, dict, set)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


@dataclass
class _Call:
    """One call that a test made, with its arguments."""

    code: Any
    args: list[Any]
    more: dict[str, Any]
    function: Any = None
    #: The number of the test that made it; None for an example, and where arguments were changed.
    test: int | None = None

    def values(self) -> list[Any]:
        """All arguments."""
        return [*self.args, *self.more.values()]

    def copy(self) -> _Call:
        """Return the same call, with arguments of its own."""
        return _Call(self.code, *copy.deepcopy((self.args, self.more)), self.function, self.test)


def behave(session: Any, prover: Any) -> None:
    """Send the program's results for some inputs, a text for each. Leaves."""
    child = prover.trial.child
    request = child.request
    calls = _Recording(session, prover).calls
    _find_functions(calls)
    calls = [call for call in calls if call.function is not None]
    if not calls:
        child.leave({"end": "fresh", "detail": "no test calls anything that can be called again"})
    inputs = list(_inputs(calls, random.Random(request["seed"]), request["inputs"]))  # noqa: S311
    if prover.live is not None:
        prover.patch(child)
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, _trial._time_up)
    until = time.process_time() + _IN_ALL, time.monotonic() + _WAITING * _IN_ALL
    # Before they are made: a call may change its arguments.
    calls_made = [[_module(one), _written(one), one.test] for one in inputs]
    results = [_digest(one, until, child) for one in inputs]
    child.leave({"end": "behaved", "behaved": results, "calls": calls_made})


# -- the calls that tests make ------------------------------------------------------------------


class _Recording:
    """Runs the tests and records their calls into the project."""

    def __init__(self, session: Any, prover: Any) -> None:
        self.calls: list[_Call] = []
        self._scope = prover.scope
        self._of_one: dict[Any, int] = {}
        self._frames: list[Any] = []
        self._running: int | None = None
        self._tests = {
            prover.scope.file(str(getattr(item, "path", None) or item.fspath))
            for item in session.items
            if type(item).__name__ != "DoctestItem"
        }
        child = prover.trial.child
        recording = _watch.Stopwatch()
        #: The bodies of the functions that candidates change, by file.
        self._changed: dict[str, list[Any]] = child.request.get("functions", {})
        self._is_changed: dict[Any, bool] = {}
        if self._changed:
            self._run_examples()
        near = [at for at in child.request.get("near", ()) if at < len(session.items)]
        for index in dict.fromkeys([*near, *range(len(session.items))]):
            item = session.items[index]
            if index in child.plan["touching"]:
                continue
            left = _RECORDING_SECONDS - recording.seconds()
            if left < 0 or len(self.calls) >= _CALLS:
                break
            child.slot.begin(index, left + 1.0)
            self._running = index
            _trial.stop_after(min(left, _RECORDING_ONE))
            sys.setprofile(self._notice)
            try:
                # Each by itself, with fixtures of its own.
                prover.trial.run_one(item)
            except BaseException:  # noqa: S110 - only the calls count
                pass
            finally:
                sys.setprofile(None)
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _run_examples(self) -> None:
        """Run the examples in the docstrings of the functions that candidates change."""
        gc.unfreeze()
        for function in [one for one in gc.get_objects() if type(one) is types.FunctionType]:
            if not function.__doc__ or ">>>" not in function.__doc__:
                continue
            if not self._is_one_changed(function.__code__):
                continue
            names = dict(function.__globals__)
            try:
                _trial.stop_after(_RECORDING_ONE)
                for example in doctest.DocTestParser().get_examples(function.__doc__):
                    code = compile(example.source, "<doctest %s>" % function.__name__, "single")
                    sys.setprofile(self._notice)
                    exec(code, names)  # noqa: S102 - the project's own
                    sys.setprofile(None)
            except BaseException:  # noqa: S110 - only the calls count
                pass
            finally:
                sys.setprofile(None)
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _is_one_changed(self, code: Any) -> bool:
        """Return whether a candidate changes the body that this is the code of."""
        if code not in self._is_changed:
            bodies = self._changed.get(self._scope.file(code.co_filename) or "", ())
            lines = [n for _, n in dis.findlinestarts(code) if n and n > code.co_firstlineno]
            self._is_changed[code] = any(a <= n <= b for a, b in bodies for n in lines)
        return self._is_changed[code]

    def _notice(self, frame: Any, event: str, arg: Any) -> None:
        if event != "call" or frame.f_back is None or len(self.calls) >= _CALLS:
            return
        caller = frame.f_back.f_code.co_filename
        code = frame.f_code
        by_test = self._scope.file(caller) in self._tests or caller.startswith("<doctest ")
        is_changed = bool(self._changed) and self._is_one_changed(code)
        if not by_test and not is_changed:
            return
        file = self._scope.file(code.co_filename)
        if file is None or file in self._tests or code.co_name.startswith("<"):
            return
        name = code.co_name
        if (name.startswith("__") and name != "__call__") or self._is_resumed(frame):
            return
        if self._of_one.get(code, 0) >= (_CALLS_OF_CHANGED if is_changed else _CALLS_OF_ONE):
            return
        self._of_one[code] = self._of_one.get(code, 0) + 1
        try:
            args, more = copy.deepcopy(_arguments(frame))
        except Exception:  # what cannot be copied cannot be called again
            return
        self.calls.append(_Call(code, args, more, test=self._running))

    def _is_resumed(self, frame: Any) -> bool:
        kinds = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
        if not frame.f_code.co_flags & kinds:
            return False
        known = any(frame is one for one in self._frames)
        self._frames.append(frame)
        return known


def _names(code: Any) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return list(code.co_varnames[:count])


def _arguments(frame: Any) -> tuple[list[Any], dict[str, Any]]:
    code, values = frame.f_code, frame.f_locals
    names = _names(code)
    args = [values[name] for name in names[: code.co_argcount]]
    kept = code.co_argcount + code.co_kwonlyargcount
    more = {name: values[name] for name in names[code.co_argcount : kept]}
    if code.co_flags & inspect.CO_VARARGS:
        args += values[names[kept]]
        kept += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        more.update(values[names[kept]])
    return args, more


def _find_functions(calls: list[_Call]) -> None:
    """Find the functions that were called; None where several have the same code."""
    wanted: dict[int, list[Any]] = {id(call.code): [] for call in calls}
    gc.unfreeze()
    for thing in gc.get_objects():
        if type(thing) is types.FunctionType and id(thing.__code__) in wanted:
            wanted[id(thing.__code__)].append(thing)
    for call in calls:
        found = wanted[id(call.code)]
        call.function = found[0] if len(found) == 1 else None


# -- other inputs -------------------------------------------------------------------------------


def _inputs(calls: list[_Call], chance: random.Random, count: int) -> Any:
    """Yield the calls as they were, then with changes, each call in its turn."""
    made = 0
    for call in calls[:count]:
        yield call.copy()
        made += 1
    if not any(_can_change(value) for call in calls for value in call.values()):
        return
    for call in itertools.cycle(calls):
        if made >= count:
            return
        new = call.copy()
        new.test = None
        places: list[tuple[Any, Any]] = [
            (new.args, at) for at, value in enumerate(new.args) if _can_change(value)
        ]
        places += [(new.more, name) for name, value in new.more.items() if _can_change(value)]
        if not places:
            continue
        for holder, at in chance.sample(places, chance.choice([1, 1, 1, len(places)])):
            if chance.random() < 0.2:
                holder[at] = _borrowed(holder[at], at, call, calls, chance)
            for _ in range(chance.choice([1, 1, 2, 3])):
                holder[at] = _changed(holder[at], chance)
        made += 1
        yield new


def _borrowed(value: Any, at: Any, call: _Call, calls: list[_Call], chance: random.Random) -> Any:
    """Return the same argument of another call of the function."""
    others = [other for other in calls if other.code is call.code]
    other = chance.choice(others)
    holder: Any = other.args if isinstance(at, int) else other.more
    try:
        found = holder[at]
    except LookupError:
        return value
    return copy.deepcopy(found) if type(found) is type(value) else value


def _can_change(value: Any) -> bool:
    return type(value) in _PLAIN or bool(_fields(value))


def _fields(value: Any) -> list[str]:
    """Return the fields of an object with plain values, which can be changed."""
    if isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return []
    held = getattr(value, "__dict__", None)
    return [name for name in held if type(held[name]) in _PLAIN] if type(held) is dict else []


def _changed(value: Any, chance: random.Random, depth: int = 0) -> Any:
    kind = type(value)
    if kind is bool:
        return not value
    if kind is int:
        return chance.choice([value + 1, value - 1, 0, -value, value * 2 + 1, value // 2, 97])
    if kind is float:
        return chance.choice([value + 1.0, value - 0.5, 0.0, -value, value * 2, value / 3])
    if kind is str or kind is bytes:
        half = len(value) // 2
        options = [value[:0], value + value, value[1:], value[:half], value[::-1]]
        return chance.choice([*options, value.swapcase(), value[half:] + value[:half]])
    if kind is dict:
        return _changed_dict(value, chance, depth)
    if kind in (list, tuple, set):
        parts = sorted(value, key=repr) if kind is set else list(value)
        return kind(_changed_list(parts, chance, depth))
    fields = _fields(value) if depth < 4 else []
    if fields:
        name = chance.choice(fields)
        new = _changed(vars(value)[name], chance, depth + 1)
        object.__setattr__(value, name, new)  # even if frozen: it is a copy
    return value


def _changed_list(parts: list[Any], chance: random.Random, depth: int) -> list[Any]:
    if not parts:
        return parts
    at = chance.randrange(len(parts))
    other = chance.randrange(len(parts))
    how = chance.randrange(8)
    if how == 0:
        del parts[at]
    elif how == 1:
        parts.insert(other, copy.deepcopy(parts[at]))
    elif how == 2:
        parts[at], parts[other] = parts[other], parts[at]
    elif how == 3:
        parts.reverse()
    elif how == 4:
        parts += copy.deepcopy(parts)
    elif depth < 4:
        parts[at] = _changed(parts[at], chance, depth + 1)
    return parts


def _changed_dict(value: dict[Any, Any], chance: random.Random, depth: int) -> dict[Any, Any]:
    if not value:
        return value
    key = chance.choice(list(value))
    if chance.random() < 0.3 or depth >= 4:
        del value[key]
    else:
        value[key] = _changed(value[key], chance, depth + 1)
    return value


def _module(call: _Call) -> str:
    """Return the module to import a function from, if a test can simply call it."""
    function = call.function
    return function.__module__ if function.__qualname__ == function.__name__ else ""


def _written(call: _Call) -> str:
    """Return a call as a person would write it."""
    args = [show(value) for value in call.args]
    args += ["%s=%s" % (name, show(value)) for name, value in call.more.items()]
    return "%s(%s)" % (call.function.__qualname__, ", ".join(args))


# -- their results -------------------------------------------------------------------------


def _digest(call: _Call, until: tuple[float, float], child: Any) -> str:
    if time.process_time() > until[0] or time.monotonic() > until[1]:
        return "not tried"
    child.slot.begin(0, 2.0)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS, _SECONDS)
    signal.setitimer(signal.ITIMER_REAL, _WAITING * _SECONDS, _SECONDS)
    try:
        before = _state(call)
        result = call.function(*call.args, **call.more)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        if isinstance(result, types.GeneratorType):
            result = list(itertools.islice(result, 50))
        text = show(result)
        if result is None:  # then its effect on the arguments counts
            text = "None " + show([call.args, call.more])
        after = _state(call)
        return text if after == before else text + _MARK + after
    except _trial.TimeUp:
        return "does not end"
    except BaseException as error:
        return "raises " + type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _state(call: _Call) -> str:
    """Return a mark of what is in a call's arguments, private fields included."""
    try:
        text = _fields_of(call.values(), 0, [_MOST_FIELDS])
    except Exception:  # what cannot be shown says nothing
        return ""
    return "%08x" % zlib.crc32(text.encode("utf-8", "replace"))


def _fields_of(value: Any, depth: int, left: list[int]) -> str:
    left[0] -= 1
    held = getattr(value, "__dict__", None)
    if left[0] < 0 or depth > 3:
        return type(value).__name__
    if type(value) in (list, tuple):
        return "[%s]" % ", ".join([_fields_of(part, depth + 1, left) for part in value])
    if type(value) is dict:
        return "{%s}" % ", ".join(
            [show(k) + ": " + _fields_of(v, depth + 1, left) for k, v in value.items()]
        )
    if type(held) is dict and not isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return type(value).__name__ + _fields_of(held, depth + 1, left)
    return show(value, 3)


def show(value: Any, depth: int = 0) -> str:
    """Return a text that is the same for equal values in each process."""
    kind: Any = type(value)
    name: str = kind.__name__
    if depth > 5:
        return name
    if kind in (list, tuple):
        parts = [show(part, depth + 1) for part in value[:_LONGEST]]
        inner = ", ".join(parts) + ("," if kind is tuple and len(parts) == 1 else "")
        text = "[%s]" % inner if kind is list else "(%s)" % inner
    elif kind in (set, frozenset):
        text = ", ".join(sorted(show(part, depth + 1) for part in value))
        text = "{%s}" % text if kind is set and text else "%s(%s)" % (name, text)
    elif isinstance(value, dict):
        pairs = [show(k, depth + 1) + ": " + show(v, depth + 1) for k, v in value.items()]
        text = "{%s}" % ", ".join(pairs) if kind is dict else "%s(%s)" % (name, ", ".join(pairs))
    elif kind.__repr__ is object.__repr__:
        held = {k: v for k, v in getattr(value, "__dict__", {}).items() if k[:1] != "_"}
        text = "%s(%s)" % (name, show(held, depth + 1) if held else "")
    else:
        text = _ADDRESS.sub("0x", repr(value))
        text = text if kind in (int, str, float, bool, type(None)) else name + " " + text
    if len(text) <= _LONGEST:
        return text
    # Not Python's own hash, which differs between processes.
    rest = zlib.crc32(text.encode("utf-8", "replace"))
    return "%s… %d %08x" % (text[:_LONGEST], len(text), rest)
