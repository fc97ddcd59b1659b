"""Tools made of typed functions."""

# Bodies, hooks and cases are written as lambdas, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from broodline.actors.hooks import Hooks
from broodline.actors.tools import Tool, ToolContext, ToolOutcome, ToolRegistry, run_call
from broodline.actors.tools.decorator import tool
from broodline.messages.content import Text, ToolCall
from broodline.messages.errors import ConfigurationError
from broodline.messages.payload import ErrorInfo

Shown = Callable[[ToolOutcome], str]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(description="Name and number.")
    zip: int | None = None

    @field_validator("street")
    @classmethod
    def _no_digits_only(cls, value: str) -> str:
        if value.isdigit():
            raise ValueError("a street has a name")
        return value


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Options(TypedDict, total=False):
    depth: int
    names: list[str]


class Node(BaseModel):
    children: list[Node] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


class Fish(BaseModel):
    depth: float


def make(annotation: Any, default: Any = ...) -> Tool:
    """A tool with one parameter ``x`` of that type; it returns what it got."""

    def probe(x: Any) -> Any:
        probe.got = x  # type: ignore[attr-defined]

    probe.__annotations__ = {"x": annotation}
    if default is not ...:
        probe.__defaults__ = (default,)
    return tool(probe)


def schema_of(annotation: Any, default: Any = ...) -> Any:
    return make(annotation, default).parameters["properties"]["x"]


async def run(made: Tool, arguments: str = "{}") -> ToolOutcome:
    registry = ToolRegistry(Hooks())
    registry.register(made)
    return await run_call(ToolCall("c1", made.name, arguments), registry=registry)


def test_name_description_and_parameters() -> None:
    """DESIGN 9: name, docstring and signature make the tool; required ones have no default."""

    @tool
    def search(query: str, limit: int = 3) -> list[str]:
        """Search the library.

        All of it.

        Args:
            query: What to look for,
                in plain words.
            limit (int): At most so many.

        Returns:
            Titles.
        """
        return [query] * limit

    assert isinstance(search, Tool)
    assert search.name == "search"
    assert search.description == "Search the library.\n\nAll of it."
    assert search.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, in plain words."},
            "limit": {"type": "integer", "description": "At most so many.", "default": 3},
        },
        "required": ["query"],
    }
    assert search.output_schema == {"type": "array", "items": {"type": "string"}}
    assert search.plain is True
    assert search("a", limit=2) == ["a", "a"]


async def test_arguments_of_the_decorator() -> None:
    """DESIGN 9: everything can be told to the decorator instead."""

    @tool(
        name="other-name",
        description="Told.",
        concurrency_safe=True,
        timeout=3.5,
        render=lambda value: f"<{value}>",
    )
    async def probe(text: str) -> str:
        """Not told."""
        return text

    assert (probe.name, probe.description) == ("other-name", "Told.")
    assert (probe.concurrency_safe, probe.timeout, probe.plain) == (True, 3.5, False)
    assert (await run(probe, '{"text":"x"}')).content == (Text("<x>"),)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (list, {"type": "array", "items": {}}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (Optional[str], {"oneOf": [{"type": "string"}, {"type": "null"}]}),  # noqa: UP045
        (int | None, {"oneOf": [{"type": "integer"}, {"type": "null"}]}),
        (Union[int, str], {"oneOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
        (int | float, {"type": "number"}),
        (Any | None, {}),
        (Literal["a"], {"type": "string", "const": "a"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Annotated[str, Field(description="d")], {"type": "string", "description": "d"}),
        (
            Literal["a", 1],
            {"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]},
        ),
        (
            Point,
            {
                "type": "object",
                "properties": {
                    "x": {"type": "integer"},
                    "y": {"type": "number", "default": 0.5},
                },
                "required": ["x"],
            },
        ),
        (
            Options,
            {
                "type": "object",
                "properties": {
                    "depth": {"type": "integer"},
                    "names": {"type": "array", "items": {"type": "string"}},
                },
            },
        ),
        (
            list[Address],
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "description": "Where somebody lives.",
                    "properties": {
                        "street": {"type": "string", "description": "Name and number."},
                        "zip": {
                            "oneOf": [{"type": "integer"}, {"type": "null"}],
                            "default": None,
                        },
                    },
                    "required": ["street"],
                },
            },
        ),
    ],
)
def test_types_become_schemas(annotation: Any, schema: Any) -> None:
    """core 10.4: types are written in the words of the subset, references in place."""
    assert schema_of(annotation) == schema


def test_a_dict_of_one_type_is_described() -> None:
    """core 10.4: the subset cannot type free keys: pydantic checks them, the description tells."""
    assert schema_of(dict[str, int]) == {
        "type": "object",
        "description": 'Every value must be valid against {"type":"integer"}.',
    }


def test_tagged_unions_are_alternatives() -> None:
    """core 10.4: models told apart by a Literal are branches of oneOf."""
    branches = schema_of(Cat | Dog)["oneOf"]
    assert [branch["properties"]["kind"]["const"] for branch in branches] == ["cat", "dog"]
    assert schema_of(Annotated[Cat | Dog, Field(discriminator="kind")]) == schema_of(Cat | Dog)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Annotated[int, Field(ge=1)], "'minimum' is not in the JSON-schema subset"),
        (Annotated[str, Field(max_length=3)], "'maxLength'"),
        (Annotated[str, Field(pattern="x")], "'pattern'"),
        (set[str], "'uniqueItems'"),
        (tuple[int, str], "subset"),
        (datetime.date, "'format'"),
        (bytes, "'format'"),
        (Node, "'Node' contains itself"),
        (Cat | Fish, "overlap"),
        (Union[Literal["a"], str], "overlap"),  # noqa: UP007
        (object(), "has no JSON schema"),
        (Callable[[], int], "has no JSON schema"),
    ],
)
def test_types_outside_the_subset_are_refused(annotation: Any, text: str) -> None:
    """core 10.4: what the subset cannot say is refused at decoration, naming the parameter."""
    with pytest.raises(ConfigurationError, match="tool probe: parameter 'x'") as caught:
        make(annotation)
    assert text in caught.value.message


def test_signatures_that_are_no_tools() -> None:
    """DESIGN 9: stars, slashes, missing annotations and methods are refused, with a way out."""

    def stars(*args: int) -> None: ...
    def double(**options: int) -> None: ...
    def slash(a: int, /) -> None: ...
    def bare(a, b: int) -> None: ...  # type: ignore[no-untyped-def]
    def method(self, a: int) -> None: ...  # type: ignore[no-untyped-def]
    def generator(a: int) -> Any:
        yield a

    cases: list[tuple[Any, str]] = [
        (stars, r"parameter \*args has no schema"),
        (double, r"parameter \*\*options has no schema"),
        (slash, "parameter 'a' is positional-only"),
        (bare, "parameter 'a' has no annotation"),
        (method, r"is a method.*tool\(thing.method\)"),
        (generator, "is a generator"),
        (lambda: 1, "has no name"),
        (Address, "takes a function"),
        (3, "takes a function"),
        (classmethod(bare), "classmethod"),
        (make(str), "is a tool already"),
    ]
    for function, text in cases:
        with pytest.raises(ConfigurationError, match=text):
            tool(function)


def test_unknown_annotations_are_refused() -> None:
    """DESIGN 9: an annotation that names nothing is refused when the tool is made."""

    def probe(x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ConfigurationError, match=r"annotations cannot be read.*Nowhere"):
        tool(probe)


async def test_methods_and_staticmethods() -> None:
    """DESIGN 9: a bound method makes a tool, and so does a static one in its class."""

    class Library:
        def __init__(self, name: str) -> None:
            self.name = name

        def find(self, title: str) -> str:
            """Find a book."""
            return f"{self.name}: {title}"

        @tool
        @staticmethod
        def count(title: str) -> int:
            """Count copies."""
            return len(title)

        @staticmethod
        @tool
        def size() -> int:
            """Count all."""
            return 3

    find = tool(Library("A").find)
    assert (await run(find, '{"title":"x"}')).value == "A: x"
    assert (await run(Library.count, '{"title":"abc"}')).value == 3
    assert (await run(Library.size)).value == 3


async def test_local_types_are_found() -> None:
    """DESIGN 9: string annotations may name types of the function around the tool."""

    class Local(BaseModel):
        n: int

    @tool
    async def one(x: Local) -> int:
        return x.n

    @tool(name="two")
    async def other(x: Local) -> int:
        return x.n

    for made in (one, other):
        assert (await run(made, '{"x":{"n":2}}')).value == 2


async def test_the_context_is_injected() -> None:
    """DESIGN 9: a parameter annotated ToolContext is no part of the schema."""

    @tool
    async def probe(context: ToolContext, text: str) -> str:
        return f"{context.call_id} {context.arguments['text']} {text}"

    assert probe.parameters["properties"].keys() == {"text"}
    assert (await run(probe, '{"text":"x"}')).value == "c1 x x"


async def test_arguments_arrive_as_their_types() -> None:
    """DESIGN 9: models, dataclasses, enums and containers are made of the arguments."""
    got: list[Any] = []

    @tool
    async def probe(
        a: Address,
        p: Point,
        c: Colour,
        n: int,
        f: float,
        items: list[int],
        o: Options,
        m: Any,
    ) -> None:
        got.extend([a, p, c, n, f, items, o, m])
        items.append(3)
        m["k"].append(1)

    outcome = await run(
        probe,
        '{"a":{"street":"Elm 1"},"p":{"x":1},"c":"blue","n":2.0,"f":3,"items":[1],'
        '"o":{"names":["q"]},"m":{"k":[]},"extra":1}',
    )
    assert outcome.content == (Text("null"),)
    assert got[:5] == [Address(street="Elm 1"), Point(1), Colour.BLUE, 2, 3.0]
    assert [type(value) for value in got[3:]] == [int, float, list, dict, dict]
    assert got[5:] == [[1, 3], {"names": ["q"]}, {"k": [1]}]


async def test_defaults_are_the_functions_own() -> None:
    """core 10.2: defaults are not put into the arguments; the function has them."""
    seen: list[Any] = []

    @tool
    async def probe(
        context: ToolContext, a: int = 3, b: Colour = Colour.RED, c: Any = object
    ) -> int:
        seen.append((context.arguments, b))
        return a

    assert (await run(probe)).value == 3
    assert seen == [({}, Colour.RED)]
    properties = probe.parameters["properties"]
    assert [properties[name].get("default") for name in "abc"] == [3, "red", None]


async def test_what_types_refuse_is_invalid_arguments(shown: Shown) -> None:
    """core 10.2: what pydantic refuses beyond the schema is INVALID_ARGS too, all of it."""

    @tool
    async def probe(a: Address, counts: dict[str, int]) -> None: ...

    outcome = await run(probe, '{"a":{"street":"12"},"counts":{"x":"many","y":1.5}}')
    assert outcome.error == ErrorInfo("ToolError", "INVALID_ARGS")
    assert "arguments.a.street: Value error, a street has a name" in shown(outcome)
    assert "arguments.counts.x: " in shown(outcome)
    assert "arguments.counts.y: " in shown(outcome)


@pytest.mark.parametrize(
    ("value", "dumped"),
    [
        (Address(street="Elm"), {"street": "Elm", "zip": None}),
        ([Point(1), {"p": Point(2, 1.5)}], [{"x": 1, "y": 0.5}, {"p": {"x": 2, "y": 1.5}}]),
        (Colour.RED, "red"),
        (Level.HIGH, 2),
        ({"c": [Colour.BLUE]}, {"c": ["blue"]}),
        (None, None),
    ],
)
async def test_returned_models_become_json(value: Any, dumped: Any) -> None:
    """DESIGN 9: models, dataclasses and enum members in a returned value are dumped."""

    @tool
    async def probe() -> Any:
        return value

    assert (await run(probe)).value == dumped


@pytest.mark.parametrize("value", [{1}, (1,), object(), float("nan"), b"x", {1: 2}])
async def test_other_returned_values_are_invalid(value: Any) -> None:
    """core 18.9 #212: what is no lossless JSON is not made one silently."""

    @tool
    async def probe() -> Any:
        return value

    outcome = await run(probe)
    assert outcome.error == ErrorInfo("ToolError", "INVALID_TOOL_OUTPUT")


async def test_a_cycle_is_invalid_output() -> None:
    """core 18.9 #212: a returned value that contains itself ends in a result, not a crash."""
    loop: list[Any] = [Point(1)]
    loop.append(loop)

    @tool
    async def probe() -> Any:
        return loop

    assert (await run(probe)).error == ErrorInfo("ToolError", "INVALID_TOOL_OUTPUT")


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (None, {"type": "null"}),
        (Any, None),
        (tuple[int, str], None),
        (datetime.date, None),
        (Node, None),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
    ],
)
def test_the_return_annotation_is_the_output_schema(annotation: Any, schema: Any) -> None:
    """core 10.1: a return type the subset can say is the output schema, else any JSON is."""

    def probe() -> Any: ...

    probe.__annotations__ = {"return": annotation}
    assert tool(probe).output_schema == schema


async def test_a_wrong_return_type_is_invalid_output(shown: Shown) -> None:
    """core 10.2: a function that does not keep its annotation fails its call."""

    @tool
    def probe() -> str:
        return 3  # type: ignore[return-value]

    outcome = await run(probe)
    assert outcome.error == ErrorInfo("ToolError", "INVALID_TOOL_OUTPUT")
    assert "must be of type string, not integer" in shown(outcome)


def test_a_tool_without_a_function_is_not_called() -> None:
    """DESIGN 9: only a decorated function can be called like one."""

    async def execute(arguments: Mapping[str, Any], context: ToolContext) -> None: ...

    with pytest.raises(ConfigurationError, match="not made by @tool"):
        Tool("raw", "", {"type": "object"}, execute)()


class Pair(NamedTuple):
    left: int
    right: str


def pair() -> Pair:
    return Pair(1, "a")


def bounds() -> tuple[int, int]:
    return 1, 2


def moment() -> datetime.datetime | None:
    return datetime.datetime(2020, 1, 2)


def files() -> list[PurePosixPath]:
    return [PurePosixPath("/a"), PurePosixPath("/b")]


def price() -> Decimal:
    return Decimal("1.50")


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (pair, [1, "a"]),
        (bounds, [1, 2]),
        (moment, "2020-01-02T00:00:00"),
        (files, ["/a", "/b"]),
        (price, "1.50"),
    ],
)
async def test_what_the_annotation_names_becomes_json(
    registry: ToolRegistry, function: Callable[..., Any], value: Any
) -> None:
    """core 10.2: a type that JSON lacks is written where the return annotation names it."""
    registry.register(tool(function))
    outcome = await run_call(ToolCall("c", function.__name__, ""), registry=registry)
    assert outcome.value == value


@dataclasses.dataclass
class Holder:
    held: Any


@pytest.mark.parametrize("value", [(1, 2), datetime.date(2020, 1, 2), {1}, b"x", Holder(object())])
async def test_what_no_annotation_names_is_refused(registry: ToolRegistry, value: Any) -> None:
    """core #212: a value that is no lossless JSON and that nobody announced is INVALID."""

    @tool
    def give() -> Any:
        return value

    registry.register(give)
    outcome = await run_call(ToolCall("c", "give", ""), registry=registry)
    assert outcome.error == ErrorInfo("ToolError", "INVALID_TOOL_OUTPUT")


def test_a_field_is_no_default() -> None:
    """core 10.1: Field(...) as a default would reach the function itself; the error says so."""

    def search(limit: int = Field(3, description="How many.")) -> int:
        return limit

    with pytest.raises(ConfigurationError, match=r"'limit' has a Field.*Annotated"):
        tool(search)


async def test_the_context_may_be_optional(registry: ToolRegistry) -> None:
    """DESIGN 9: a context that is None in calls by hand is still injected by the runtime."""

    @tool
    def who(context: ToolContext | None = None) -> str:
        return "nobody" if context is None else context.call_id

    assert who.parameters["properties"] == {}
    assert who() == "nobody"
    registry.register(who)
    assert (await run_call(ToolCall("c", "who", ""), registry=registry)).value == "c"


def test_a_function_that_says_nothing_is_described_by_its_name() -> None:
    """DESIGN 9: without a docstring the description is the name in words; given ones stand."""

    def _word_count(passage: str) -> int:
        return len(passage.split())

    assert tool(_word_count).description == "Word count."
    assert tool(description="")(_word_count).description == ""
