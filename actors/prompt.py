"""The prompt: sections, variables and runtime contexts, in layers.

The global layer and one layer a scope. What a scope sees is its own layer, its
ancestors' and the global one; of equal names the nearest counts, and the
shadowed provider is not even asked. Everything runs on the system's loop.

Source: spec core 11.1, DESIGN section 4.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from ..messages.errors import ConfigurationError, PromptError
from ..messages.plain import plain_text, quoted
from .assembly import Assembly, PromptAssembling, PromptContext, TextSource
from .blueprint import Blueprint, Layer
from .fragment import Fragment, check_fragment, told
from .hooks import Hooks
from .registration import Registration
from .rendering import Rendering, render_now
from .scope import Scope, register_in
from .stray import as_exception, is_stray, running_task
from .template import NAME

PERSONA = "deployment:persona"
"""The section that says who the agent is; at order 0."""

ASSEMBLE = "system-prompt/assemble"


class PromptRegistry:
    """What the prompts of one runtime are made of.

    Orders by custom: -100 what the harness is, 0 the persona, 100 to 199 guidance
    for tools.

    Args:
        hooks: Whose interceptors of ``system-prompt/assemble`` are asked.
    """

    __slots__ = ("_blueprints", "_count", "_global", "_hooks", "_scoped")

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._count = 0
        self._global: Layer = ()
        self._scoped: dict[Scope, Layer] = {}
        self._blueprints: dict[Scope | None, Blueprint] = {}

    def section(
        self,
        name: str,
        text: TextSource,
        *,
        order: float = 0,
        scope: Scope | None = None,
        complete: bool = False,
    ) -> Registration:
        """Add a section of the system text.

        Args:
            name: Unique in its layer; the same name in a nearer scope shadows it.
            text: A template (`template.py`), or a function that gives one at each
                step; None and blank text leave the section out.
            order: Ascending; equal ones keep the order of registration.
            scope: Whose layer it belongs to; None is global.
            complete: It is the whole system text. At most one may be in effect; the
                other sections are not asked then.

        Raises:
            ConfigurationError: If the name is taken in that layer, the scope is
                disposed, or an argument is of the wrong kind.
        """
        return self._add(
            Fragment("section", name, text, order=order, number=self._next(), complete=complete),
            scope,
        )

    def persona(self, text: TextSource, *, scope: Scope | None = None) -> Registration:
        """Say who the agents of a scope are: the section ``deployment:persona`` at order 0.

        An empty text is a persona too: it shadows one further out and says nothing.

        Raises:
            ConfigurationError: As `section`.
        """
        return self.section(PERSONA, text, scope=scope)

    def variable(
        self, name: str, provider: TextSource, *, scope: Scope | None = None
    ) -> Registration:
        """Add a variable that sections may use as ``{{name}}``.

        ``provider``, ``model`` and ``cwd`` are there already, behind all layers.

        Args:
            name: Of the form ``[a-z][a-z0-9_]*``.
            provider: The value, or a function that is asked only when a section uses
                the variable, once an assembly; None is "no value", an error only then.
            scope: Whose layer it belongs to; None is global.

        Raises:
            ConfigurationError: As `section`; also if the name has another form.
        """
        fragment = Fragment("variable", name, provider, number=self._next())
        check_fragment(fragment)
        if NAME.fullmatch(name) is None:
            raise ConfigurationError(
                f"{name!r} cannot be the name of a prompt variable; use a-z, 0-9 and _, beginning "
                "with a letter"
            )
        return self._add(fragment, scope)

    def context(
        self, name: str, provider: TextSource, *, order: float = 0, scope: Scope | None = None
    ) -> Registration:
        """Add a runtime context: a fact that the model is told whenever it changes.

        Its text is taken as it is, without placeholders. See `snapshot.py`.

        Args:
            name: Unique in its layer.
            provider: The text, or a function that gives it at each step; None and
                blank text are "nothing to say".
            order: Ascending; equal ones keep the order of registration.
            scope: Whose layer it belongs to; None is global.

        Raises:
            ConfigurationError: As `section`.
        """
        fragment = Fragment("context", name, provider, order=order, number=self._next())
        return self._add(fragment, scope)

    def suppress_contexts(
        self, scope: Scope, *, names: Sequence[str] | None = None
    ) -> Registration:
        """Hide runtime contexts from a scope and its descendants.

        Hidden are those of this layer and the ones further out; a nearer layer may
        add its own.

        Args:
            scope: Where they are hidden.
            names: Which; None is all.

        Raises:
            ConfigurationError: If `scope` is disposed, or `names` is no list of names.
        """
        chosen = None if names is None else _names(names)
        number = self._next()
        fragment = Fragment("suppression", f"#{number}", "", number=number, names=chosen)
        return self._add(fragment, scope)

    def assemble_now(self, context: PromptContext) -> Assembly | None:
        """The prompt, if it takes no waiting; else None: await `assemble` instead.

        A prompt of fixed texts is rendered once for all agents that share it, and
        comes back as the same object.

        Raises:
            PromptError: As `assemble`.
        """
        if self._hooks.interceptors(ASSEMBLE, context.scope):
            return None
        blueprint = self._blueprint(context.scope)
        known = blueprint.recall(context)
        if known is not None or blueprint.waits:
            return known
        assembly = render_now(blueprint, context)
        if assembly is not None:
            blueprint.remember(context, assembly)
        return assembly

    async def assemble(self, context: PromptContext) -> Assembly:
        """The prompt of one step.

        Raises:
            PromptError: If a section, variable, context or interceptor fails, a
                placeholder cannot be filled, or two complete sections are in effect;
                the text names the culprit, `__cause__` is its own error.
        """
        blueprint = self._blueprint(context.scope)
        assembly = blueprint.recall(context)
        if assembly is None:
            assembly = await Rendering(blueprint, context, may_wait=True).assembly()
            blueprint.remember(context, assembly)
        whole = assembly.system
        for interceptor in self._hooks.interceptors(ASSEMBLE, context.scope):
            assembly = await _intercepted(interceptor, PromptAssembling(context, assembly))
        system = whole if blueprint.complete else assembly.system or None
        return assembly if system is assembly.system else replace(assembly, system=system)

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _add(self, fragment: Fragment, scope: Scope | None) -> Registration:
        check_fragment(fragment)
        layer = self._global if scope is None else self._scoped.get(scope, ())
        for other in layer:
            if other.name == fragment.name and other.kind == fragment.kind:
                where = "the global layer" if scope is None else f"scope {scope.name!r}"
                raise ConfigurationError(
                    f"{fragment.subject} is registered already in {where}; dispose that "
                    "registration first, or shadow it from a nearer scope"
                )
        registration = register_in(scope, _Removal(self, fragment, scope))
        self._put(scope, (*layer, fragment))
        return registration

    def remove(self, fragment: Fragment, scope: Scope | None) -> None:
        """Take a fragment out of its layer; its registration does this."""
        layer = self._global if scope is None else self._scoped[scope]
        self._put(scope, tuple(other for other in layer if other is not fragment))

    def _put(self, scope: Scope | None, layer: Layer) -> None:
        if scope is None:
            self._global = layer
            return
        if layer:
            self._scoped[scope] = layer
            return
        self._scoped.pop(scope, None)
        self._blueprints.pop(scope, None)

    def _blueprint(self, scope: Scope | None) -> Blueprint:
        """What counts for `scope`; shared by all scopes with the same nearest layer."""
        layers: tuple[Layer, ...] = (self._global,)
        nearest: Scope | None = None
        if scope is not None and self._scoped:
            own = [one for one in scope.chain() if one in self._scoped]
            if own:
                nearest = own[0]
                layers = (*(self._scoped[one] for one in own), self._global)
        blueprint = self._blueprints.get(nearest)
        if blueprint is None or not _same(blueprint.layers, layers):
            blueprint = Blueprint(layers)
            self._blueprints[nearest] = blueprint
        return blueprint


def _names(names: object) -> tuple[str, ...]:
    given: object = names
    listed = tuple(cast("Sequence[object]", names)) if isinstance(names, list | tuple) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise ConfigurationError(
            f"names must be a list of the names of contexts, not {quoted(given)}; "
            "leave it out to hide them all"
        )
    return cast("tuple[str, ...]", listed)


class _Removal:
    """Undoes one registration; lighter than a partial, of which agents would hold many."""

    __slots__ = ("_fragment", "_registry", "_scope")

    def __init__(self, registry: PromptRegistry, fragment: Fragment, scope: Scope | None) -> None:
        self._registry = registry
        self._fragment = fragment
        self._scope = scope

    def __call__(self) -> None:
        self._registry.remove(self._fragment, self._scope)


def _same(one: tuple[Layer, ...], other: tuple[Layer, ...]) -> bool:
    # Compares the layers by identity: equal fragments are the same object.
    return one == other


async def _intercepted(interceptor: object, notice: PromptAssembling) -> Assembly:
    """What an interceptor makes of an assembly."""
    assert callable(interceptor)
    name = getattr(interceptor, "__qualname__", None) or type(interceptor).__qualname__
    try:
        answer: object = interceptor(notice)
        if inspect.isawaitable(answer):
            answer = await answer
    except BaseException as error:
        if not is_stray(error, running_task()):
            raise
        raise PromptError(
            f"{name}, an interceptor of {ASSEMBLE!r}, failed: {told(error)}; "
            "mend it or dispose its registration"
        ) from as_exception(error)
    if answer is None:
        return notice.assembly
    if not isinstance(answer, Assembly):
        raise PromptError(
            f"{name}, an interceptor of {ASSEMBLE!r}, gave a {type(answer).__name__}; it must "
            "return an Assembly, or None for no change"
        )
    return _sound(answer, f"what {name}, an interceptor of {ASSEMBLE!r}, gave")


def _sound(assembly: Assembly, subject: str) -> Assembly:
    """The assembly itself, once it is sure that a request can be made and logged of it."""
    try:
        if assembly.system is not None:
            plain_text(assembly.system, "system")
        for name, text in assembly.contexts:
            plain_text(name, "name of a context")
            plain_text(text, "text of a context")
    except (TypeError, ValueError) as error:
        raise PromptError(
            f"{subject} cannot be asked with ({told(error)}); its system must be text or None, its "
            "contexts pairs of texts"
        ) from error
    return assembly
