"""The `llm` node: a question to a language model, through `runtrue.models`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from msgspec import Meta

from runtrue.config import load_config
from runtrue.models import ModelError, model_name, open_model
from runtrue.workflow.context import Context
from runtrue.workflow.effect import Effect, EffectKind
from runtrue.workflow.fill import is_known
from runtrue.workflow.node import Pointer, Result, WorkflowNode, failure


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmParams:
    """A question, and how it is to be answered."""

    prompt: Annotated[str, Meta(description="The question.")]
    system: Annotated[str | None, Meta(description="The role that the model plays.")] = None
    model: Annotated[
        str | None, Meta(description="`provider:name`; RUNTRUE_MODEL or [model] by default.")
    ] = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    schema: Annotated[
        dict[str, Any] | None, Meta(description="A JSON Schema that the answer must fit.")
    ] = None
    timeout: Annotated[float, Meta(gt=0, description="Seconds.")] = 120.0


@dataclass(frozen=True, slots=True)
class LlmOutputs:
    """The answer."""

    response: Annotated[Any, Meta(description="Text, or data with `schema`.")]
    llm_usage: Annotated[dict[str, Any], Meta(description="Tokens, requests, cost, model.")]
    error: Annotated[str | None, Meta(description="Why there is no answer.")] = None


class LlmNode(WorkflowNode[LlmParams]):
    """Ask a language model. With `schema` the answer is data that fits it, else text."""

    type = "llm"
    Params = LlmParams
    Outputs = LlmOutputs
    verbatim = frozenset({"schema"})
    purpose = frozenset({"prompt", "system", "model", "schema"})

    def check(self, params: Mapping[str, Any]) -> Iterable[tuple[Pointer, str]]:
        """Refuse a schema that is none."""
        schema = params.get("schema")
        if isinstance(schema, dict):
            from jsonschema import Draft202012Validator, SchemaError

            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as error:
                yield ("schema", *error.absolute_path), f"is no JSON Schema: {error.message}"

    def has_side_effect(self, params: Mapping[str, Any]) -> bool:
        """False: asking again costs money and changes nothing."""
        return False

    def effects(self, params: Mapping[str, Any]) -> Iterable[Effect]:
        """Yield the model, if it is another than the configured one."""
        model = params.get("model")
        if model is not None:
            yield Effect(kind=EffectKind.MODEL, target=str(model), known=is_known(model))

    async def run(self, params: LlmParams, context: Context) -> Result:
        """Ask."""
        config = load_config(context.directory).model
        name = params.model or model_name(context.environment, config.name)
        try:
            model = open_model(name, context.environment, config=config)
            answer = await model.ask(
                params.prompt,
                system=params.system,
                schema=params.schema,
                temperature=params.temperature,
                max_tokens=params.max_tokens,
                timeout=params.timeout,
            )
        except ModelError as error:
            raise failure(
                str(error), error.category, fault=error.fault, transient=error.transient
            ) from error
        response = answer.text if params.schema is None else answer.data
        return Result({"response": response, "llm_usage": asdict(answer.usage)})
