"""The request envelope: everything a model is asked but its history.

Source: spec core 1.9.
"""

from __future__ import annotations

from dataclasses import replace

from ..messages.content import Text
from ..messages.lossless import FrozenDict
from ..messages.options import AgentOptions
from ..messages.payload import CallConfig, HeaderLogged, RequestHeader, ToolSchema
from .snapshot import Contexts, snapshot_source

CEILING_DEFAULTED = FrozenDict({"maxTokens": True})
"""The mark of an envelope whose ceiling is the model's own. Source: spec core 12.1."""


def canonical(header: RequestHeader) -> RequestHeader:
    """The one form of an envelope: an empty system text and tool list are None.

    Returns `header` itself when it is canonical already.
    """
    if header.system != "" and header.tools != () and header.adapter_defaults != {}:
        return header
    return replace(
        header,
        system=header.system or None,
        tools=header.tools or None,
        adapter_defaults=header.adapter_defaults or None,
    )


def same_envelope(one: RequestHeader | None, other: RequestHeader | None) -> bool:
    """Whether two canonical envelopes ask the same; shared parts cost nothing to compare."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    return (
        (one.tools is other.tools or one.tools == other.tools)
        and (one.system is other.system or one.system == other.system)
        and (one.config is other.config or one.config == other.config)
        and one.adapter_defaults == other.adapter_defaults
    )


class EnvelopeCache:
    """Request parts that many agents have in common, as one object each.

    Thousands of children ask the same model the same way; sharing the parts keeps
    them small and makes "unchanged" a comparison by identity.
    """

    __slots__ = ("_configs", "_filled", "_first", "_header", "_snapshot", "_sources")

    def __init__(self) -> None:
        self._configs: dict[AgentOptions, CallConfig] = {}
        self._filled: tuple[CallConfig, CallConfig] | None = None
        self._sources: dict[tuple[str, str], FrozenDict] = {}
        self._header: RequestHeader | None = None
        self._first: HeaderLogged | None = None
        self._snapshot: tuple[Contexts, tuple[Text], FrozenDict] | None = None

    def config(self, options: AgentOptions) -> CallConfig:
        """What an agent with these options asks with; a missing name is empty."""
        key = AgentOptions(
            options.provider, options.model, options.max_tokens, options.reasoning_effort
        )
        config = self._configs.get(key)
        if config is None:
            config = self._configs[key] = CallConfig(
                options.provider or "",
                options.model or "",
                options.reasoning_effort,
                max_tokens=options.max_tokens,
            )
        return config

    def with_ceiling(self, config: CallConfig, max_tokens: int) -> CallConfig:
        """`config` with the ceiling that its model has by itself."""
        last = self._filled
        if last is None or last[0] is not config or last[1].max_tokens != max_tokens:
            last = self._filled = (config, replace(config, max_tokens=max_tokens))
        return last[1]

    def source(self, config: CallConfig) -> FrozenDict:
        """The source of a message from that model."""
        key = (config.provider, config.model)
        source = self._sources.get(key)
        if source is None:
            source = self._sources[key] = FrozenDict(
                {"kind": "model", "provider": config.provider, "model": config.model}
            )
        return source

    def header(
        self,
        config: CallConfig,
        system: str | None,
        tools: tuple[ToolSchema, ...] | None,
        defaults: FrozenDict | None = None,
    ) -> RequestHeader:
        """The canonical envelope of these parts; the last one again if they are the same."""
        last = self._header
        if (
            last is not None
            and last.config is config
            and last.system is system
            and last.tools is tools
            and last.adapter_defaults is defaults
        ):
            return last
        self._header = RequestHeader(config, system, tools, defaults)
        return self._header

    def snapshot(self, contexts: Contexts, text: str) -> tuple[tuple[Text], FrozenDict]:
        """Content and source of a context snapshot that says `text`."""
        last = self._snapshot
        if last is None or last[0] is not contexts or last[1][0].text != text:
            last = self._snapshot = (contexts, (Text(text),), snapshot_source(contexts))
        return last[1], last[2]

    def first(self, header: RequestHeader) -> HeaderLogged:
        """What a fresh session logs of its first envelope."""
        last = self._first
        if last is None or last.header is not header:
            last = self._first = HeaderLogged(header, "initial")
        return last
