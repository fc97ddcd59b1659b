"""Packages that only some models need: loaded when such a model is made."""

from __future__ import annotations

import importlib
from types import ModuleType

from ...messages.errors import ConfigurationError


def load_extra(module: str, extra: str, subject: str) -> ModuleType:
    """Import a package that comes with an extra of this one.

    Args:
        module: What to import.
        extra: The extra that brings it.
        subject: Who needs it, for the error.

    Raises:
        ConfigurationError: ``MISSING_EXTRA``, saying how to install it; ``BROKEN_EXTRA``
            when it is there and cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == module.partition(".")[0]:
            raise ConfigurationError(
                f"{subject} needs the package {module}, which is not installed; install it with: "
                f'pip install "broodline[{extra}]"',
                code="MISSING_EXTRA",
                details={"package": module, "extra": extra},
            ) from None
        raise _broken(module, extra, subject, error) from error
    except ImportError as error:
        raise _broken(module, extra, subject, error) from error


def _broken(module: str, extra: str, subject: str, error: ImportError) -> ConfigurationError:
    return ConfigurationError(
        f"{subject} needs the package {module}, which cannot be imported ({error}); install it "
        f'again with: pip install --force-reinstall "broodline[{extra}]"',
        code="BROKEN_EXTRA",
        details={"package": module, "extra": extra},
    )
