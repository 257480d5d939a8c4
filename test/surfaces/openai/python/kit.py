"""Runs one client's checks against a gateway: each feature on each provider.

The job comes as JSON on stdin (address, token, providers, expected values). Each result goes out as one line of JSON.
"""

import json
import sys
import traceback
from dataclasses import dataclass
from typing import Any, Callable

IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
PARAMETERS = {
    "type": "object",
    "properties": {"port": {"type": "string"}},
    "required": ["port"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Looks up a port.", "parameters": PARAMETERS}}
    for name in ("get_tide", "get_wind")
]
BOTH_CALLS = [("get_tide", {"port": "Brest"}), ("get_wind", {"port": "Lorient"})]


@dataclass(frozen=True)
class Cell:
    """One feature on one provider."""

    job: dict[str, Any]
    provider: dict[str, Any]

    @property
    def base_url(self) -> str:
        return self.job["baseUrl"]

    @property
    def token(self) -> str:
        return self.job["token"]

    @property
    def model(self) -> str:
        return self.provider["name"]

    @property
    def limited(self) -> str:
        """An alias that admits one call."""
        return self.provider["limited"]

    @property
    def answer(self) -> str:
        return self.job["answer"]

    @property
    def stove(self) -> dict[str, Any]:
        return self.job["stove"]

    @property
    def vector(self) -> list[float]:
        return self.job["vector"]

    @property
    def used(self) -> int:
        return self.provider["used"]

    @property
    def used_streaming(self) -> int:
        return self.provider["usedStreaming"]


class VendorLacks(Exception):
    """The gateway answered 400 and named the field that the vendor does not have."""


Check = Callable[[Cell], None]


def equal(actual: Any, expected: Any) -> None:
    assert actual == expected, f"expected {expected!r}, got {actual!r}"


def raised(kind: type[BaseException], call: Callable[[], Any]) -> Any:
    """Calls and returns the exception, which must be of this kind."""
    try:
        result = call()
    except Exception as error:
        assert isinstance(error, kind), f"expected {kind.__name__}, got {type(error).__name__}: {error}"
        return error
    raise AssertionError(f"expected {kind.__name__}, got the answer {result!r}")


def run(features: dict[str, Check]) -> None:
    """Runs every check on every provider of the job on stdin."""
    job = json.load(sys.stdin)
    for provider in job["providers"]:
        for feature, check in features.items():
            result = outcome(check, Cell(job, provider))
            print(json.dumps({"provider": provider["name"], "feature": feature, **result}), flush=True)


def outcome(check: Check, cell: Cell) -> dict[str, str]:
    try:
        check(cell)
    except VendorLacks:
        return {"result": "none"}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in where if frame.filename == check.__code__.co_filename]
        line = own[-1] if own else "?"
        return {"result": "fail", "error": f"line {line}: {type(error).__name__}: {error}"[:1000]}
    return {"result": "yes"}
