"""The key of a provider, and the packages that only some models need."""

from __future__ import annotations

import copy
import pickle
import sys
import types

import pytest

from broodline.actors.models.credential import Credential, credential_of
from broodline.actors.models.extra import load_extra
from broodline.messages.errors import ConfigurationError

KEY = "opaque-key-0123456789"


def test_the_caller_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 8: a key that was handed over is used, else the one in the environment."""
    monkeypatch.setenv("SOME_KEY", "from-the-environment")
    assert credential_of(KEY, "SOME_KEY", "SomeModel").reveal() == KEY
    assert credential_of(None, "SOME_KEY", "SomeModel").reveal() == "from-the-environment"


@pytest.mark.parametrize("found", [None, ""])
def test_no_key_says_what_to_do(monkeypatch: pytest.MonkeyPatch, found: str | None) -> None:
    """core 12.5: without a key, or with an empty one, the code is MISSING_CREDENTIAL."""
    monkeypatch.delenv("SOME_KEY", raising=False)
    if found is not None:
        monkeypatch.setenv("SOME_KEY", found)
    with pytest.raises(
        ConfigurationError, match=r"SomeModel .* SOME_KEY, or pass api_key="
    ) as told:
        credential_of(None, "SOME_KEY", "SomeModel")
    assert told.value.code == "MISSING_CREDENTIAL"


@pytest.mark.parametrize(
    "key", ["sk-secret\n", "sk secret", "schlüssel", "sk-\x00", b"sk-secret", 5]
)
def test_a_key_that_no_header_takes(monkeypatch: pytest.MonkeyPatch, key: object) -> None:
    """core 12.5: a key that cannot be sent is INVALID_CREDENTIAL, and is not shown."""
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(ConfigurationError) as told:
        credential_of(key, "SOME_KEY", "SomeModel")
    assert told.value.code == "INVALID_CREDENTIAL"
    assert "secret" not in str(told.value.to_dict())


def test_a_key_is_never_shown() -> None:
    """DESIGN 8: neither repr nor str nor a format shows a key."""
    key = Credential(KEY)
    assert KEY not in f"{key} {key!r} {vars if hasattr(key, '__dict__') else ''}"


def test_a_key_is_never_written() -> None:
    """DESIGN 8: a credential refuses to be pickled or copied."""
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(Credential(KEY))
    with pytest.raises(TypeError, match="not written"):
        copy.deepcopy(Credential(KEY))


def test_scrubbing_takes_the_key_out_whatever_it_looks_like() -> None:
    """DESIGN 8: a key without a telling prefix is taken out of a text, each time."""
    said = Credential(KEY).scrub(f"wrong key {KEY}; you sent x-api-key: {KEY}")
    assert "opaque" not in said
    assert said.startswith("wrong key [redacted]")


def test_scrubbing_takes_a_masked_key_out() -> None:
    """DESIGN 8: a key that a provider shows in part is taken out too."""
    said = Credential(KEY).scrub("Incorrect API key provided: sk-proj-ab****************9xYz. See")
    assert said == "Incorrect API key provided: [redacted]. See"


def test_a_short_key_garbles_nothing() -> None:
    """DESIGN 8: a stand-in such as "any" is no secret and stays in words that contain it."""
    assert Credential("any").scrub("many words") == "many words"


def test_a_missing_package_says_how_to_install_it() -> None:
    """DESIGN 6: a model whose package is not installed names the extra."""
    with pytest.raises(ConfigurationError, match=r'pip install "broodline\[weather\]"') as told:
        load_extra("no_such_package_here", "weather", "WeatherModel")
    assert told.value.code == "MISSING_EXTRA"


@pytest.mark.parametrize("error", [ImportError("ABI"), ModuleNotFoundError("x", name="other")])
def test_a_broken_package_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, error: ImportError
) -> None:
    """DESIGN 8: a package that is there and fails to import says why."""

    class Finder:
        @staticmethod
        def find_spec(name: str, *_rest: object) -> types.ModuleType | None:
            if name == "broken_package_here":
                raise error
            return None

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(ConfigurationError, match="cannot be imported") as told:
        load_extra("broken_package_here", "weather", "WeatherModel")
    assert told.value.code == "BROKEN_EXTRA"
    assert told.value.__cause__ is error
