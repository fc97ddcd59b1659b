"""Every inside of pykka that the runtime stands on: fails first when pykka changes."""

from __future__ import annotations

import importlib.metadata
import inspect
from typing import Any

import pykka
import pykka._envelope
import pykka.messages


def parameters(function: object) -> list[str]:
    """The names of a function's parameters."""
    assert callable(function)
    return list(inspect.signature(function).parameters)


def test_the_hooks_we_override_are_there_and_called() -> None:
    """DESIGN 2: pykka >=4.5,<5 still has and calls every hook and name the runtime uses."""
    version = importlib.metadata.version("pykka").split(".")
    assert (int(version[0]), int(version[1])) >= (4, 5)
    assert int(version[0]) < 5

    # Private names and generic classes: looked at, not used.
    actor: Any = pykka.Actor
    actor_ref: Any = pykka.ActorRef
    proxy: Any = pykka.ActorProxy
    call: Any = pykka.CallableProxy
    messages: Any = pykka.messages
    base_future: Any = pykka.Future
    hooks = {"_create_actor_inbox", "_create_future", "_start_actor_loop"}
    assert actor.__abstractmethods__ == hooks
    assert parameters(actor.__dict__["_create_actor_inbox"].__func__) == []
    assert parameters(actor.__dict__["_create_future"].__func__) == []
    assert parameters(actor._start_actor_loop) == ["self"]
    for name in ("_stop", "_actor_loop_teardown", "on_start", "on_stop", "stop"):
        assert parameters(getattr(actor, name)) == ["self"]
    failure = ["self", "exception_type", "exception_value", "traceback"]
    assert parameters(actor.on_failure) == parameters(actor._handle_failure) == failure
    assert parameters(actor.on_receive) == parameters(actor._handle_receive) == ["self", "message"]
    assert "_actor_ref" in inspect.getsource(actor.actor_ref.fget)
    # `stop` of an actor tells its ref, and a stop message reaches our `_stop`.
    assert "self.actor_ref.tell(messages._ActorStop())" in inspect.getsource(actor.stop)
    assert "return self._stop()" in inspect.getsource(actor._handle_receive)

    # Our constructors replace these; they must not come to do more.
    names = ("actor_urn", "actor_inbox", "actor_stopped", "_actor_ref")
    source = inspect.getsource(actor.__init__)
    assert all(f"self.{name} = " in source for name in names)
    assert source.count("        self.") == len(names) + source.count("            self.")
    future = inspect.getsource(base_future.__init__)
    assert future.count("self.") == 2
    assert "_get_hook" in future

    # The ref's attributes are slots of ours, set by pykka's own constructor.
    ref = inspect.getsource(actor_ref.__init__)
    for name in ("_actor_weakref", "actor_class", "actor_urn", "actor_inbox", "actor_stopped"):
        assert f"self.{name} = " in ref
    assert ref.count("self.") == 5
    for name in ("tell", "ask", "stop", "proxy", "is_alive", "__str__", "__repr__"):
        assert name in actor_ref.__dict__

    # A proxy goes through the ref alone.
    assert parameters(proxy.__init__) == ["self", "actor_ref", "attr_path"]
    assert "actor_ref._actor_weakref()" in inspect.getsource(proxy.__init__)
    assert "self.actor_ref.ask(message)" in inspect.getsource(proxy.__setattr__)
    assert "block=False" in inspect.getsource(call.__call__)

    assert pykka._envelope.Envelope.__slots__ == ["message", "reply_to"]
    assert messages._ActorStop() == ()
    assert issubclass(pykka.ActorDeadError, Exception)
    assert issubclass(pykka.Timeout, Exception)
