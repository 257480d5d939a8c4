"""Pydantic AI with its OpenAI provider."""

import base64

from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    Embedder,
    ModelHTTPError,
    ModelRequest,
    ModelResponse,
    NativeOutput,
    PromptedOutput,
    TextPart,
    UserPromptPart,
    exceptions,
)
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.providers.openai import OpenAIProvider
from openai import AsyncOpenAI

import kit
from kit import Cell, equal, raised


class Stove(BaseModel):
    kettle: bool
    pans: int


def provider(cell: Cell, token: str | None = None, max_retries: int = 0) -> OpenAIProvider:
    client = AsyncOpenAI(base_url=cell.base_url, api_key=token or cell.token, max_retries=max_retries)
    return OpenAIProvider(openai_client=client)


def agent(cell: Cell, model: str | None = None, token: str | None = None, max_retries: int = 0, **options) -> Agent:
    return Agent(OpenAIChatModel(model or cell.model, provider=provider(cell, token, max_retries)), **options)


def with_tools(cell: Cell, **options) -> tuple[Agent, list]:
    """An agent with both tools, and the list of calls that they get."""
    one = agent(cell, **options)
    called = []

    @one.tool_plain
    def get_tide(port: str) -> str:
        called.append(("get_tide", {"port": port}))
        return "14:10"

    @one.tool_plain
    def get_wind(port: str) -> str:
        called.append(("get_wind", {"port": port}))
        return "west"

    return one, called


def text(cell: Cell) -> None:
    history = [
        ModelRequest(parts=[UserPromptPart("Hello")]),
        ModelResponse(parts=[TextPart("Tea or coffee?")]),
    ]
    result = agent(cell, instructions="Be brief.").run_sync("all turns?", message_history=history)
    equal([result.output, result.response.finish_reason], [cell.answer, "stop"])
    equal(result.usage.total_tokens, cell.used)


def stream(cell: Cell) -> None:
    streamed = agent(cell).run_stream_sync("What is on?")
    equal("".join(streamed.stream_text(delta=True, debounce_by=None)), cell.answer)
    equal(streamed.response.finish_reason, "stop")


def usage(cell: Cell) -> None:
    streamed = agent(cell).run_stream_sync("What is on?")
    equal(streamed.get_output(), cell.answer)
    equal(streamed.usage.total_tokens, cell.used_streaming)


def tools(cell: Cell) -> None:
    one, called = with_tools(cell)
    one.run_sync("the tide?")
    equal(called, kit.BOTH_CALLS[:1])


def forced(cell: Cell) -> None:
    """With a class alone, the output is the arguments of a tool that the model has to call."""
    try:
        result = agent(cell, output_type=Stove).run_sync("the stove as JSON")
    except ModelHTTPError as error:
        equal(told(error)[1::2], ["unsupported_field", "tool_choice"])
        raise kit.VendorLacks from error
    equal(result.output, Stove(**cell.stove))


def streamed_tools(cell: Cell) -> None:
    one, called = with_tools(cell)
    one.run_stream_sync("tide and wind?").get_output()
    equal(sorted(called), kit.BOTH_CALLS)


def tool_results(cell: Cell) -> None:
    one, _ = with_tools(cell)
    equal(one.run_sync("the tide?").output, cell.answer)


def schema(cell: Cell) -> None:
    native = agent(cell, output_type=NativeOutput(Stove))
    equal(native.run_sync("the stove as JSON").output, Stove(**cell.stove))


def json_mode(cell: Cell) -> None:
    prompted = agent(cell, output_type=PromptedOutput(Stove))
    equal(prompted.run_sync("the stove as JSON").output, Stove(**cell.stove))


def image(cell: Cell) -> None:
    data = base64.b64decode(kit.IMAGE.split(",")[1])
    picture = BinaryContent(data, media_type="image/png")
    equal(agent(cell).run_sync(["the picture?", picture]).output, cell.answer)


def hints(cell: Cell) -> None:
    settings = OpenAIChatModelSettings(
        openai_user="u-1", openai_reasoning_effort="low", parallel_tool_calls=False, openai_prompt_cache_key="k-1"
    )
    one, _ = with_tools(cell, model_settings=settings)
    equal(one.run_sync("What is on?").output, cell.answer)


def errors(cell: Cell) -> None:
    again = {"max_retries": 1}
    settings = {"model_settings": {"temperature": 9}}
    wrong = raised(exceptions.ModelRequestRejectedError, lambda: agent(cell, **again).run_sync("x", **settings))
    equal(told(wrong), [400, "invalid_field", "invalid_request_error", "temperature"])
    stranger = agent(cell, token="gw_live_nobody0Knows1It", **again)
    denied = raised(exceptions.ModelAuthenticationError, lambda: stranger.run_sync("x"))
    equal(told(denied)[:3], [401, "token_invalid", "authentication_error"])
    absent = raised(exceptions.ModelNotFoundError, lambda: agent(cell, model="none", **again).run_sync("x"))
    equal(told(absent)[:3], [404, "alias_not_found", "not_found_error"])
    refused = raised_by(lambda: agent(cell, **again).run_sync("refuse this"))
    equal([refused.status_code, sent_again(refused)], [502, 0])
    failed = raised_by(lambda: agent(cell, **again).run_sync("fail here"))
    equal([failed.status_code, sent_again(failed)], [502, 1])


def raised_by(call) -> ModelHTTPError:
    """The type depends on the provider's own code."""
    try:
        call()
    except ModelHTTPError as error:
        return error
    raise AssertionError("expected ModelHTTPError")


def told(error: ModelHTTPError) -> list:
    return [error.status_code, *(error.body[key] for key in ("code", "type", "param"))]


def sent_again(error: ModelHTTPError) -> int:
    return int(error.__cause__.request.headers["x-stainless-retry-count"])


def limited(cell: Cell) -> None:
    once = agent(cell, model=cell.limited)
    once.run_sync("What is on?")
    error = raised(exceptions.ModelRateLimitError, lambda: once.run_sync("What is on?"))
    equal(told(error)[:3], [429, "rate_limited", "rate_limit_error"])
    equal(error.__cause__.response.headers["retry-after"], "60")


def broken(cell: Cell) -> None:
    error = raised(exceptions.ModelServerError, lambda: agent(cell).run_stream_sync("break off").get_output())
    equal(told(error)[1:3], ["provider_failed", "server_error"])


def embeddings(cell: Cell) -> None:
    embedder = Embedder(OpenAIEmbeddingModel(cell.model, provider=provider(cell)))
    try:
        result = embedder.embed_documents_sync(["one", "two"])
    except ModelHTTPError as error:
        equal(told(error)[::3], [400, "input"])
        equal(told(error)[1], "unsupported_field")
        raise kit.VendorLacks from error
    equal([list(vector) for vector in result.embeddings], [cell.vector, cell.vector])


if __name__ == "__main__":
    kit.run(
        {
            "text": text,
            "stream": stream,
            "usage": usage,
            "tools": tools,
            "forced": forced,
            "streamedTools": streamed_tools,
            "toolResults": tool_results,
            "schema": schema,
            "json": json_mode,
            "image": image,
            "hints": hints,
            "errors": errors,
            "limited": limited,
            "broken": broken,
            "embeddings": embeddings,
        }
    )
