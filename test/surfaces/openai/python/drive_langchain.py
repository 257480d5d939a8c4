"""langchain-openai."""

import openai
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

import kit
from kit import Cell, equal, raised


class Stove(BaseModel):
    kettle: bool
    pans: int


def chat(cell: Cell, **options) -> ChatOpenAI:
    settings = {"model": cell.model, "base_url": cell.base_url, "api_key": cell.token, "max_retries": 0}
    return ChatOpenAI(**{**settings, **options})


def calls_of(message) -> list:
    return [(call["name"], call["args"]) for call in message.tool_calls]


def joined(pieces):
    whole = None
    for piece in pieces:
        whole = piece if whole is None else whole + piece
    return whole


def text(cell: Cell) -> None:
    turns = [
        SystemMessage("Be brief."),
        HumanMessage("Hello"),
        AIMessage("Tea or coffee?"),
        HumanMessage("all turns?"),
    ]
    answer = chat(cell).invoke(turns)
    equal([answer.text, answer.response_metadata["finish_reason"]], [cell.answer, "stop"])
    equal(answer.usage_metadata["total_tokens"], cell.used)


def stream(cell: Cell) -> None:
    whole = joined(chat(cell).stream("What is on?"))
    equal([whole.text, whole.response_metadata["finish_reason"]], [cell.answer, "stop"])


def usage(cell: Cell) -> None:
    whole = joined(chat(cell, stream_usage=True).stream("What is on?"))
    equal(whole.usage_metadata["total_tokens"], cell.used_streaming)


def tools(cell: Cell) -> None:
    called = chat(cell).bind_tools(kit.TOOLS).invoke("the tide?")
    equal(calls_of(called), kit.BOTH_CALLS[:1])
    equal(called.response_metadata["finish_reason"], "tool_calls")


def forced(cell: Cell) -> None:
    try:
        called = chat(cell).bind_tools(kit.TOOLS, tool_choice="required").invoke("the tide?")
    except openai.BadRequestError as error:
        equal([error.code, error.param], ["unsupported_field", "tool_choice"])
        raise kit.VendorLacks from error
    equal(calls_of(called), kit.BOTH_CALLS[:1])


def streamed_tools(cell: Cell) -> None:
    equal(calls_of(joined(chat(cell).bind_tools(kit.TOOLS).stream("tide and wind?"))), kit.BOTH_CALLS)


def tool_results(cell: Cell) -> None:
    bound = chat(cell).bind_tools(kit.TOOLS)
    called = bound.invoke("the tide?")
    result = ToolMessage("14:10", tool_call_id=called.tool_calls[0]["id"])
    equal(bound.invoke([HumanMessage("the tide?"), called, result]).text, cell.answer)


def schema(cell: Cell) -> None:
    for method in ("json_schema", "function_calling"):
        structured = chat(cell).with_structured_output(Stove, method=method)
        equal(structured.invoke("the stove as JSON"), Stove(**cell.stove))


def json_mode(cell: Cell) -> None:
    structured = chat(cell).with_structured_output(Stove, method="json_mode")
    equal(structured.invoke("the stove as JSON"), Stove(**cell.stove))


def image(cell: Cell) -> None:
    parts = [{"type": "text", "text": "the picture?"}, {"type": "image_url", "image_url": {"url": kit.IMAGE}}]
    equal(chat(cell).invoke([HumanMessage(parts)]).text, cell.answer)


def hints(cell: Cell) -> None:
    marked = [{"type": "text", "text": "What is on?", "cache_control": {"type": "ephemeral"}}]
    hinted = chat(cell, reasoning_effort="low", model_kwargs={"user": "u-1"})
    bound = hinted.bind_tools(kit.TOOLS, parallel_tool_calls=False)
    equal(bound.invoke([HumanMessage(marked)]).text, cell.answer)


def errors(cell: Cell) -> None:
    again = {"max_retries": 1}
    wrong = raised(openai.BadRequestError, lambda: chat(cell, temperature=9, **again).invoke("x"))
    equal([wrong.code, wrong.type, wrong.param], ["invalid_field", "invalid_request_error", "temperature"])
    stranger = chat(cell, api_key="gw_live_nobody0Knows1It", **again)
    denied = raised(openai.AuthenticationError, lambda: stranger.invoke("x"))
    equal([denied.code, denied.type], ["token_invalid", "authentication_error"])
    absent = raised(openai.NotFoundError, lambda: chat(cell, model="none", **again).invoke("x"))
    equal([absent.code, absent.type], ["alias_not_found", "not_found_error"])
    refused = raised(openai.InternalServerError, lambda: chat(cell, **again).invoke("refuse this"))
    equal([refused.status_code, sent_again(refused)], [502, 0])
    failed = raised(openai.InternalServerError, lambda: chat(cell, **again).invoke("fail here"))
    equal([failed.status_code, sent_again(failed)], [502, 1])


def sent_again(error: openai.APIStatusError) -> int:
    return int(error.request.headers["x-stainless-retry-count"])


def limited(cell: Cell) -> None:
    once = chat(cell, model=cell.limited)
    once.invoke("What is on?")
    error = raised(openai.RateLimitError, lambda: once.invoke("What is on?"))
    equal([error.code, error.type, error.response.headers["retry-after"]], ["rate_limited", "rate_limit_error", "60"])


def broken(cell: Cell) -> None:
    error = raised(openai.APIError, lambda: joined(chat(cell).stream("break off")))
    assert not isinstance(error, openai.APIStatusError), "the error came before the stream"
    equal([error.code, error.type], ["provider_failed", "server_error"])


def embeddings(cell: Cell) -> None:
    embedder = OpenAIEmbeddings(
        model=cell.model,
        base_url=cell.base_url,
        api_key=cell.token,
        max_retries=0,
        # By default it sends tokens of OpenAI's own models, which no other vendor understands.
        check_embedding_ctx_length=False,
    )
    try:
        vectors = embedder.embed_documents(["one", "two"])
    except openai.BadRequestError as error:
        equal([error.code, error.param], ["unsupported_field", "input"])
        raise kit.VendorLacks from error
    equal(vectors, [cell.vector, cell.vector])


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
