"""A model: a program that reads a prompt and prints the answer."""

from __future__ import annotations

import subprocess

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

from runtrue.models import Endpoint, Provider


class ScriptProvider(Provider):
    """`RUNTRUE_MODEL=script:PROGRAM` asks that program."""

    def __init__(self) -> None:
        super().__init__(key="SCRIPT_KEY", needs_key=False)

    def connect(self, endpoint: Endpoint) -> Model:
        """Return a model that runs the program for each question."""

        async def ask(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            prompt = "\n".join(str(getattr(part, "content", "")) for part in messages[-1].parts)
            done = subprocess.run(  # noqa: ASYNC221 - it is quick
                [endpoint.model], input=prompt, capture_output=True, text=True, check=True
            )
            if info.output_tools:  # the answer is data, which the tool takes
                return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, done.stdout)])
            return ModelResponse(parts=[TextPart(done.stdout)])

        return FunctionModel(ask, model_name=endpoint.model)
