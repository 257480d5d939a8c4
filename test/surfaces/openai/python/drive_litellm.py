"""LiteLLM's Python SDK, with the gateway as a server of OpenAI's format."""

import json

import litellm
from pydantic import BaseModel

import kit
from kit import Cell, equal, raised

litellm.suppress_debug_info = True


class Stove(BaseModel):
    kettle: bool
    pans: int


def complete(cell: Cell, content, **options):
    messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
    settings = {"model": cell.model, "api_base": cell.base_url, "api_key": cell.token, "max_retries": 0, **options}
    return litellm.completion(**{**settings, "model": f"openai/{settings['model']}"}, messages=messages)


def calls_of(message) -> list:
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]


def streamed(cell: Cell, content, **options):
    chunks = list(complete(cell, content, stream=True, **options))
    return litellm.stream_chunk_builder(chunks)


def text(cell: Cell) -> None:
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Tea or coffee?"},
        {"role": "user", "content": "all turns?"},
    ]
    answer = complete(cell, turns)
    equal([answer.choices[0].message.content, answer.choices[0].finish_reason], [cell.answer, "stop"])
    equal(answer.usage.total_tokens, cell.used)


def stream(cell: Cell) -> None:
    whole = streamed(cell, "What is on?")
    equal([whole.choices[0].message.content, whole.choices[0].finish_reason], [cell.answer, "stop"])


def usage(cell: Cell) -> None:
    chunks = complete(cell, "What is on?", stream=True, stream_options={"include_usage": True})
    counted = [chunk.usage.total_tokens for chunk in chunks if getattr(chunk, "usage", None) is not None]
    equal(counted, [cell.used_streaming])


def tools(cell: Cell) -> None:
    called = complete(cell, "the tide?", tools=kit.TOOLS)
    equal(calls_of(called.choices[0].message), kit.BOTH_CALLS[:1])
    equal(called.choices[0].finish_reason, "tool_calls")


def forced(cell: Cell) -> None:
    try:
        called = complete(cell, "the tide?", tools=kit.TOOLS, tool_choice="required")
    except litellm.BadRequestError as error:
        equal([error.code, error.param], ["unsupported_field", "tool_choice"])
        raise kit.VendorLacks from error
    equal(calls_of(called.choices[0].message), kit.BOTH_CALLS[:1])


def streamed_tools(cell: Cell) -> None:
    equal(calls_of(streamed(cell, "tide and wind?", tools=kit.TOOLS).choices[0].message), kit.BOTH_CALLS)


def tool_results(cell: Cell) -> None:
    """As LiteLLM's documentation does it: the message goes back as it came, the result names its tool."""
    turns = [{"role": "user", "content": "the tide?"}]
    called = complete(cell, turns, tools=kit.TOOLS).choices[0].message
    result = {"role": "tool", "tool_call_id": called.tool_calls[0].id, "name": "get_tide", "content": "14:10"}
    back = complete(cell, [*turns, called, result], tools=kit.TOOLS)
    equal(back.choices[0].message.content, cell.answer)


def schema(cell: Cell) -> None:
    answer = complete(cell, "the stove as JSON", response_format=Stove)
    equal(json.loads(answer.choices[0].message.content), cell.stove)


def json_mode(cell: Cell) -> None:
    answer = complete(cell, "the stove as JSON", response_format={"type": "json_object"})
    equal(json.loads(answer.choices[0].message.content), cell.stove)


def image(cell: Cell) -> None:
    parts = [{"type": "text", "text": "the picture?"}, {"type": "image_url", "image_url": {"url": kit.IMAGE}}]
    answer = complete(cell, [{"role": "user", "content": parts}])
    equal(answer.choices[0].message.content, cell.answer)


def hints(cell: Cell) -> None:
    marked = [{"type": "text", "text": "What is on?", "cache_control": {"type": "ephemeral"}}]
    answer = complete(
        cell,
        [{"role": "user", "content": marked}],
        tools=kit.TOOLS,
        parallel_tool_calls=False,
        reasoning_effort="low",
        user="u-1",
        # It knows the models of vendors, not the aliases of a gateway.
        allowed_openai_params=["reasoning_effort", "parallel_tool_calls", "user"],
    )
    equal(answer.choices[0].message.content, cell.answer)


def errors(cell: Cell) -> None:
    """LiteLLM's own types. Of some it keeps the code, of all the headers of the answer."""
    wrong = raised(litellm.BadRequestError, lambda: complete(cell, "x", temperature=9))
    equal([wrong.code, wrong.type, wrong.param], ["invalid_field", "invalid_request_error", "temperature"])
    denied = raised(litellm.AuthenticationError, lambda: complete(cell, "x", api_key="gw_live_nobody0Knows1It"))
    equal(code_of(denied), "token_invalid")
    absent = raised(litellm.NotFoundError, lambda: complete(cell, "x", model="none"))
    equal(code_of(absent), "alias_not_found")
    failed = raised(litellm.BadGatewayError, lambda: complete(cell, "fail here"))
    equal([failed.status_code, failed.litellm_response_headers["x-should-retry"]], [502, "true"])
    # What LiteLLM's fallbacks for long conversations wait for.
    long = raised(litellm.ContextWindowExceededError, lambda: complete(cell, "refuse this"))
    equal(long.litellm_response_headers["x-should-retry"], "false")


def code_of(error) -> str:
    return error.litellm_response_headers["x-error-code"]


def limited(cell: Cell) -> None:
    complete(cell, "What is on?", model=cell.limited)
    error = raised(litellm.RateLimitError, lambda: complete(cell, "What is on?", model=cell.limited))
    equal([code_of(error), error.body["code"], error.body["type"]], ["rate_limited", "rate_limited", "rate_limit_error"])
    equal(error.litellm_response_headers["retry-after"], "60")


def broken(cell: Cell) -> None:
    error = raised(litellm.exceptions.MidStreamFallbackError, lambda: streamed(cell, "break off"))
    assert "Provider call failed: " in str(error), str(error)


def embeddings(cell: Cell) -> None:
    settings = {"api_base": cell.base_url, "api_key": cell.token, "max_retries": 0, "encoding_format": "float"}
    try:
        answer = litellm.embedding(model=f"openai/{cell.model}", input=["one", "two"], **settings)
    except litellm.BadRequestError as error:
        equal(code_of(error), "unsupported_field")
        assert "Field 'input'" in str(error), str(error)
        raise kit.VendorLacks from error
    equal([entry["embedding"] for entry in answer.data], [cell.vector, cell.vector])


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
