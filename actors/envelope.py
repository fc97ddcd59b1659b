"""The request envelope: everything a model is asked but its history.

Source: spec core 1.9.
"""

from __future__ import annotations

from dataclasses import replace

from ..messages.payload import RequestHeader


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
