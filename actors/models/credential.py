"""The key of a provider: held where no log, error or repr can show it."""

from __future__ import annotations

import os
from typing import Never

from ...messages.errors import ConfigurationError
from .redaction import redact

MARK = "[redacted]"

_CUT = "…"  # stands where a text was cut

_TELLING = 8  # a shorter key is no secret worth garbling every text for: "none", "test"


class Credential:
    """One key.

    ::

        key = credential_of(None, "OPENAI_API_KEY", "OpenAIModel")
        client = AsyncOpenAI(api_key=key.reveal())
    """

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key

    def reveal(self) -> str:
        """The key itself, for the one client that needs it."""
        return self._key

    def scrub(self, text: str) -> str:
        """`text` without the key, and without whatever else looks like one.

        A text that was cut in the middle of the key ends in a part of it, which goes too.
        """
        if len(self._key) >= _TELLING:
            cut = [self._without_head(part) for part in text.replace(self._key, MARK).split(_CUT)]
            text = _CUT.join(cut)
        return redact(text)

    def _without_head(self, text: str) -> str:
        for length in range(len(self._key) - 1, _TELLING - 1, -1):
            if text.endswith(self._key[:length]):
                return text[:-length] + MARK
        return text

    def __repr__(self) -> str:
        return "Credential(...)"

    def __reduce__(self) -> Never:
        raise TypeError("a credential is not written anywhere: it cannot be pickled or copied")


def credential_of(given: object, variable: str, subject: str) -> Credential:
    """The key that was handed over, or the one in the environment.

    Args:
        given: What a caller passed as ``api_key``; None looks into the environment.
        variable: The environment's name for it.
        subject: Who needs it, for the error.

    Raises:
        ConfigurationError: ``MISSING_CREDENTIAL`` when there is none,
            ``INVALID_CREDENTIAL`` when it cannot be sent in a header. Neither shows it.
    """
    key = os.environ.get(variable) if given is None else given
    if key is None or key == "":
        raise ConfigurationError(
            f"{subject} needs a key: set the environment variable {variable}, or pass api_key=; "
            "for a server that wants none any text will do",
            code="MISSING_CREDENTIAL",
            details={"variable": variable},
        )
    if type(key) is not str or not (key.isascii() and key.isprintable() and " " not in key):
        where = f"the environment variable {variable}" if given is None else "api_key"
        raise ConfigurationError(
            f"the key that {subject} found in {where} cannot be sent: it must be text of visible "
            "ASCII characters without blanks or line ends",
            code="INVALID_CREDENTIAL",
            details={"variable": variable},
        )
    return Credential(key)
