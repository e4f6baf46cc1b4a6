"""Consent: which effects of a plan somebody has agreed to, and who.

What the task itself names is agreed to by the task. Everything else that a machine planned is put
to a person before it happens; `--yes` agrees to all of it beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from runtrue.config import allowed_files
from runtrue.planner.built_in import is_own_code, names_tool
from runtrue.planner.named import NamedByTask, names_workflow
from runtrue.workflow import (
    PATHS,
    Effect,
    EffectKind,
    EffectReport,
    FileAccess,
    RefusedFile,
    Surroundings,
    locate,
)

BY_TASK, BY_PERSON, BY_OPTION = "task", "person", "yes"


@dataclass(frozen=True, kw_only=True)
class Consent:
    """What one run may do: what its task names, and what a person agreed to."""

    task: NamedByTask
    surroundings: Surroundings
    files: FileAccess
    #: Effects that a person agreed to, by their identity.
    agreed: frozenset[tuple[str, ...]] = frozenset()
    #: All effects are agreed to.
    everything: bool = False
    allowed: tuple[Path, ...] = field(default_factory=allowed_files)

    @classmethod
    def of(
        cls,
        task: str,
        surroundings: Surroundings,
        agreed: Iterable[Effect] = (),
        *,
        everything: bool = False,
    ) -> Consent:
        """Return what a task and the effects that a person agreed to allow."""
        directory, environment = surroundings.registry.directory, surroundings.environment
        return cls(
            task=NamedByTask(task, lambda word: locate(word, directory, environment)),
            surroundings=surroundings,
            # What --yes allows is not named by that.
            files=FileAccess.of(replace(surroundings, agrees=False)),
            agreed=frozenset(effect.identity for effect in agreed),
            everything=everything,
        )

    def objections(self, effects: Iterable[Effect]) -> tuple[Effect, ...]:
        """Return those effects of a node about to run that nobody has agreed to, each once."""
        return self._missing(effects, early=False)

    def first_objections(self, effects: Iterable[Effect]) -> tuple[Effect, ...]:
        """Return those that nobody has agreed to before anything runs.

        What only reads, and where is not known yet, is decided when it is known.
        """
        return self._missing(effects, early=True)

    def report(self, effects: Iterable[Effect]) -> tuple[EffectReport, ...]:
        """Describe effects, with who agreed to each."""
        found = tuple(effects)
        missing = self._missing(found, early=False, by_option=False)
        return tuple(EffectReport.of(one, self._who(one, missing)) for one in found)

    def _who(self, effect: Effect, missing: tuple[Effect, ...]) -> str | None:
        if effect.identity in self.agreed:
            return BY_PERSON
        if effect.identity not in {one.identity for one in missing}:
            return BY_TASK
        return BY_OPTION if self.everything else None

    def _missing(
        self, effects: Iterable[Effect], *, early: bool, by_option: bool = True
    ) -> tuple[Effect, ...]:
        if self.everything and by_option:
            return ()
        missing: dict[tuple[str, ...], Effect] = {}
        secrets = []
        nodes = set()
        for effect in effects:
            if effect.identity in self.agreed:
                continue
            if effect.kind is EffectKind.SECRET:
                secrets.append(effect)
            elif not self._is_named(effect, early=early):
                missing[effect.identity] = effect
                nodes.add(effect.node)
        for effect in secrets:
            if not self._is_secret_named(
                effect, early=early, is_node_agreed=effect.node not in nodes
            ):
                missing[effect.identity] = effect
        return tuple(missing.values())

    def _is_named(self, effect: Effect, *, early: bool) -> bool:
        if not effect.known:
            return early and effect.reads
        if effect.kind in PATHS:
            return self._is_path_named(effect)
        if effect.within and names_workflow(self.task.text, effect.within):
            # A person's own workflow, which the task says to run.
            return True
        match effect.kind:
            case EffectKind.REQUEST if effect.detail:
                return False
            case EffectKind.REQUEST if effect.via:
                # An API that a person added, whose document says where this goes.
                return effect.reads or self._is_tool_named(effect.via, effect)
            case EffectKind.REQUEST if effect.reads:
                return self.task.host(effect.origin)
            case EffectKind.REQUEST:
                return self.task.request(effect.method, effect.target)
            case EffectKind.COMMAND:
                # What it reads is known before, or comes from the run.
                given = effect.values if early else ()
                return not effect.detail and self.task.command(effect.target, given)
            case EffectKind.CODE:
                return is_own_code(effect.target) or self.task.code(effect.target)
            case EffectKind.TOOL:
                return effect.reads or self._is_tool_named(effect.target, effect)
            case EffectKind.MODEL:
                return self.task.value(effect.target)
        return False

    def _is_tool_named(self, name: str, effect: Effect) -> bool:
        node = self.surroundings.registry.node(name)
        if node is None or not names_tool(self.task.text, node.interface):
            return False
        return all(map(self.task.value, effect.values))

    def _is_path_named(self, effect: Effect) -> bool:
        path = Path(effect.target)
        try:
            self.files.resolve(path)
        except RefusedFile as refused:
            # What nobody may agree to is refused when the run gets there.
            return not refused.can_be_allowed
        if effect.kind is not EffectKind.WRITE:
            return True
        return any(path.is_relative_to(one) for one in self.allowed) or self.task.written_file(path)

    def _is_secret_named(self, effect: Effect, *, early: bool, is_node_agreed: bool) -> bool:
        if effect.within and names_workflow(self.task.text, effect.within):
            return True
        if effect.via and is_node_agreed:
            # The secret that the API was added with, sent where it belongs.
            return True
        if not self.task.value(effect.target):
            return False
        if not effect.known:
            return early
        return self.task.host(effect.origin) if effect.origin else is_node_agreed
