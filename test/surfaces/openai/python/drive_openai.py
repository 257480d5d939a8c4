"""OpenAI's Python SDK."""

import json

import openai
from pydantic import BaseModel

import kit
from kit import Cell, equal, raised

INVALID = {"temperature": 9}


class Port(BaseModel):
    port: str


class Stove(BaseModel):
    kettle: bool
    pans: int


def client(cell: Cell, **options) -> openai.OpenAI:
    return openai.OpenAI(**{"base_url": cell.base_url, "api_key": cell.token, "max_retries": 0, **options})


def ask(content) -> list:
    return [{"role": "user", "content": content}]


def calls_of(message) -> list:
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]


def text(cell: Cell) -> None:
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Tea or coffee?"},
        {"role": "user", "content": "all turns?"},
    ]
    whole = client(cell).chat.completions.create(model=cell.model, messages=turns)
    equal(whole.choices[0].message.content, cell.answer)
    equal(whole.choices[0].finish_reason, "stop")
    equal(whole.usage.total_tokens, cell.used)
    assert whole._request_id


def stream(cell: Cell) -> None:
    with client(cell).chat.completions.stream(model=cell.model, messages=ask("What is on?")) as events:
        final = events.get_final_completion()
    equal(final.choices[0].message.content, cell.answer)
    equal(final.choices[0].finish_reason, "stop")


def usage(cell: Cell) -> None:
    chunks = client(cell).chat.completions.create(
        model=cell.model, messages=ask("What is on?"), stream=True, stream_options={"include_usage": True}
    )
    counted = [chunk.usage.total_tokens for chunk in chunks if chunk.usage is not None]
    equal(counted, [cell.used_streaming])


def tools(cell: Cell) -> None:
    called = client(cell).chat.completions.create(model=cell.model, messages=ask("the tide?"), tools=kit.TOOLS)
    equal(calls_of(called.choices[0].message), kit.BOTH_CALLS[:1])
    equal(called.choices[0].finish_reason, "tool_calls")


def forced(cell: Cell) -> None:
    completions = client(cell).chat.completions
    try:
        called = completions.create(
            model=cell.model, messages=ask("the tide?"), tools=kit.TOOLS, tool_choice="required"
        )
    except openai.BadRequestError as error:
        equal([error.code, error.param], ["unsupported_field", "tool_choice"])
        raise kit.VendorLacks from error
    equal(calls_of(called.choices[0].message), kit.BOTH_CALLS[:1])


def streamed_tools(cell: Cell) -> None:
    completions = client(cell).chat.completions
    with completions.stream(model=cell.model, messages=ask("tide and wind?"), tools=kit.TOOLS) as events:
        final = events.get_final_completion()
    equal(calls_of(final.choices[0].message), kit.BOTH_CALLS)
    equal(final.choices[0].finish_reason, "tool_calls")


def tool_results(cell: Cell) -> None:
    """The message goes back as it came, from a whole answer and from the helper for streams, which parses arguments."""
    completions = client(cell).chat.completions
    turns = ask("the tide?")
    whole = completions.create(model=cell.model, messages=turns, tools=kit.TOOLS).choices[0].message
    parsing = [openai.pydantic_function_tool(Port, name="get_tide")]
    with completions.stream(model=cell.model, messages=turns, tools=parsing) as events:
        streamed = events.get_final_completion().choices[0].message
    equal(streamed.tool_calls[0].function.parsed_arguments, Port(port="Brest"))
    for called in (whole, streamed):
        result = {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": "14:10"}
        back = completions.create(model=cell.model, messages=[*turns, called, result], tools=kit.TOOLS)
        equal(back.choices[0].message.content, cell.answer)


def schema(cell: Cell) -> None:
    """By the helper that makes the schema and parses the answer; the parsed message goes back in the next turn."""
    completions = client(cell).chat.completions
    turns = ask("the stove as JSON")
    said = completions.parse(model=cell.model, messages=turns, response_format=Stove).choices[0].message
    equal(said.parsed, Stove(**cell.stove))
    back = completions.create(model=cell.model, messages=[*turns, said, *ask("What is on?")])
    equal(back.choices[0].message.content, cell.answer)


def json_mode(cell: Cell) -> None:
    answer = client(cell).chat.completions.create(
        model=cell.model, messages=ask("the stove as JSON"), response_format={"type": "json_object"}
    )
    equal(json.loads(answer.choices[0].message.content), cell.stove)


def image(cell: Cell) -> None:
    parts = [{"type": "text", "text": "the picture?"}, {"type": "image_url", "image_url": {"url": kit.IMAGE}}]
    answer = client(cell).chat.completions.create(model=cell.model, messages=ask(parts))
    equal(answer.choices[0].message.content, cell.answer)


def hints(cell: Cell) -> None:
    marked = [{"type": "text", "text": "What is on?", "cache_control": {"type": "ephemeral"}}]
    answer = client(cell).chat.completions.create(
        model=cell.model,
        messages=ask(marked),
        tools=kit.TOOLS,
        parallel_tool_calls=False,
        reasoning_effort="low",
        user="u-1",
    )
    equal(answer.choices[0].message.content, cell.answer)


def errors(cell: Cell) -> None:
    """Typed errors with code, type and member; what cannot work is asked once, what may pass again."""
    completions = client(cell, max_retries=1).chat.completions
    wrong = raised(
        openai.BadRequestError, lambda: completions.create(model=cell.model, messages=ask("x"), **INVALID)
    )
    equal([wrong.code, wrong.type, wrong.param], ["invalid_field", "invalid_request_error", "temperature"])
    stranger = client(cell, api_key="gw_live_nobody0Knows1It").chat.completions
    denied = raised(openai.AuthenticationError, lambda: stranger.create(model=cell.model, messages=ask("x")))
    equal([denied.code, denied.type], ["token_invalid", "authentication_error"])
    absent = raised(openai.NotFoundError, lambda: completions.create(model="none", messages=ask("x")))
    equal([absent.code, absent.type], ["alias_not_found", "not_found_error"])
    refused = raised(
        openai.InternalServerError, lambda: completions.create(model=cell.model, messages=ask("refuse this"))
    )
    equal([refused.status_code, sent_again(refused)], [502, 0])
    failed = raised(
        openai.InternalServerError, lambda: completions.create(model=cell.model, messages=ask("fail here"))
    )
    equal([failed.status_code, sent_again(failed)], [502, 1])
    assert all(error.request_id for error in (wrong, denied, absent, refused, failed))


def sent_again(error: openai.APIStatusError) -> int:
    return int(error.request.headers["x-stainless-retry-count"])


def limited(cell: Cell) -> None:
    completions = client(cell).chat.completions
    completions.create(model=cell.limited, messages=ask("What is on?"))
    error = raised(
        openai.RateLimitError, lambda: completions.create(model=cell.limited, messages=ask("What is on?"))
    )
    equal([error.code, error.type], ["rate_limited", "rate_limit_error"])
    equal(error.response.headers["retry-after"], "60")
    body = error.response.json()
    equal([body["scope"], body["retry_after"]], ["minute", 60])


def broken(cell: Cell) -> None:
    pieces = []

    def read() -> None:
        chunks = client(cell).chat.completions.create(model=cell.model, messages=ask("break off"), stream=True)
        pieces.extend(chunk.choices[0].delta.content for chunk in chunks if chunk.choices)

    error = raised(openai.APIError, read)
    assert not isinstance(error, openai.APIStatusError), "the error came before the stream"
    equal([error.code, error.type], ["provider_failed", "server_error"])
    assert error.message.startswith("Provider call failed: "), error.message


def embeddings(cell: Cell) -> None:
    try:
        answer = client(cell).embeddings.create(model=cell.model, input=["one", "two"])
    except openai.BadRequestError as error:
        equal([error.code, error.param], ["unsupported_field", "input"])
        raise kit.VendorLacks from error
    equal([entry.embedding for entry in answer.data], [cell.vector, cell.vector])


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
