"""What agents live in: an actor system with sessions, tools, prompts and models."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from .agents import AgentRegistry
from .envelope import EnvelopeCache
from .hooks import Hooks
from .models.protocol import Model
from .models.registry import ModelRegistry
from .models.retry import RetryPolicy
from .prompt import PromptRegistry
from .recovery import StoreRecovery
from .sessions import SessionRegistry
from .settings import AgentSettings
from .silence import SilenceWatch
from .store import Store
from .system import ActorSystem
from .tools.registry import ToolRegistry


class AgentHost(ActorSystem):
    """An `ActorSystem` that agents live in; ``Runtime`` adds delegation.

    Args:
        store: Where the logs are kept.
        settings: The bounds agents run under.
        retry: How failed requests to the default model are met; None is the normal policy.
        default_model: Asked by agents that name none of their own.
        seams: What `ActorSystem` takes.

    Attributes:
        hooks: Observers and interceptors, by event.
        tools: What agents can call.
        prompts: What agents are told.
        models: Who answers, by provider name.
        sessions: The live sessions.
        store: The kept ones.
        agents: The live agents.
        settings: As given.
        envelopes: The parts of requests that many agents share.
        recovery: Watches for stores that failed to answer again.
        silence: Watches the requests that wait for their model.
        default_model: As given.
    """

    def __init__(
        self,
        *,
        store: Store,
        settings: AgentSettings,
        retry: RetryPolicy | None,
        default_model: Model | None,
        **seams: Any,
    ) -> None:
        super().__init__(**seams)
        self.logger = logging.getLogger("broodline")
        self.settings = settings
        self.default_model = default_model
        self.store = store
        self.hooks = Hooks(spawn=self.spawn)
        self.tools = ToolRegistry(self.hooks)
        self.prompts = PromptRegistry(self.hooks)
        self.models = ModelRegistry()
        self.sessions = SessionRegistry(
            self.hooks,
            clock=self.clock,
            store=store,
            new_id=partial(self.ids.new, "session"),
            spawn=self.spawn,
            check_invariants=settings.check_invariants,
        )
        self.agents = AgentRegistry(self)
        self.envelopes = EnvelopeCache()
        self.recovery = StoreRecovery(self)
        self.silence = SilenceWatch(self, settings.request_timeout)
        if default_model is not None:
            self.models.register(default_model, retry=retry)

    def _agent_count(self) -> int:
        return len(self.agents)

    async def _close(self) -> None:
        self.silence.close()
