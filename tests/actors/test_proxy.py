"""pykka's proxy in front of our actors: rows P1 to P17, and where we differ."""

from __future__ import annotations

import asyncio
from typing import Any

import pykka
import pytest
from pykka.messages import ProxyCall, ProxyGetAttr, ProxySetAttr

from broodline.actors.actor import EventLoopActor
from broodline.actors.reply import Reply
from broodline.actors.system import ActorSystem
from broodline.messages.errors import ActorDeadError, DeadlockError


class Leaf:
    """Traversable by attribute."""

    pykka_traversable = True

    def __init__(self) -> None:
        self.colour = "green"

    def shout(self) -> str:
        return self.colour.upper()

    async def whisper(self) -> str:
        await asyncio.sleep(0)
        return self.colour


@pykka.traversable
class Branch:
    """Traversable by decorator, with a traversable part."""

    def __init__(self) -> None:
        self.leaf = Leaf()
        self.length = 3


class Plain:
    """Not traversable."""

    def method(self) -> str:
        return "plain"


class Tree(EventLoopActor):
    """Everything a proxy can be pointed at."""

    kind = "oak"

    def __init__(self) -> None:
        super().__init__()
        self.height = 10
        self._secret = "rings"
        self.branch = Branch()
        self.marked = pykka.traversable(Plain())
        self.plain = Plain()
        self._in_future = self.actor_ref.proxy()
        self.grown: list[int] = []

    def grow(self, by: int, *, times: int = 1) -> int:
        self.height += by * times
        return self.height

    async def grow_slowly(self, by: int) -> int:
        await asyncio.sleep(0)
        return self.grow(by)

    def fall(self) -> None:
        raise RuntimeError("timber")

    @property
    def half(self) -> float:
        return self.height / 2

    def in_parts(self, left: int) -> None:
        self.grown.append(left)
        if left:
            self._in_future.in_parts(left - 1)

    def sprout(self) -> None:
        self.twig = "new"


async def test_a_method_call_returns_a_reply(system: ActorSystem) -> None:
    """DESIGN 2, pykka P1: calling a method through a proxy gives a Reply of its value."""
    proxy = Tree.start().proxy()
    reply = proxy.grow(2, times=3)
    assert isinstance(reply, Reply)
    assert await reply == 16


async def test_an_async_method_gives_the_awaited_result(system: ActorSystem) -> None:
    """DESIGN 2, pykka P2: the reply of an async method is what its coroutine returns."""
    assert await Tree.start().proxy().grow_slowly(5) == 15


def test_a_blocking_get_works_from_a_thread(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka P1: outside the loop .get() gives the values of calls and attributes."""
    proxy = Tree.start().proxy()
    assert proxy.grow(1).get() == 11
    assert proxy.grow_slowly(1).get(timeout=30) == 12
    assert proxy.height.get() == 12


async def test_attributes_and_properties_are_replies(system: ActorSystem) -> None:
    """DESIGN 2, pykka P3: reading attributes, class attributes and properties gives replies."""
    proxy = Tree.start().proxy()
    assert (await proxy.height, await proxy.kind, await proxy.half) == (10, "oak", 5)


def test_setting_an_attribute_blocks_until_it_is_set(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka P4: setting sets it, and raises what setting raised."""
    ref = Tree.start()
    proxy: Any = ref.proxy()
    proxy.height = 3
    assert ref.proxy().height.get() == 3
    with pytest.raises(AttributeError):
        proxy.half = 3


async def test_setting_an_attribute_on_the_loop_is_refused(system: ActorSystem) -> None:
    """DESIGN 2, pykka P4: it would block the loop; the message for it can be sent by hand."""
    ref = Tree.start()
    proxy: Any = ref.proxy()
    with pytest.raises(DeadlockError):
        proxy.height = 3
    await ref.ask(ProxySetAttr(attr_path=("height",), value=3), block=False)
    assert await ref.proxy().height == 3


async def test_defer_is_a_tell(system: ActorSystem) -> None:
    """DESIGN 2, pykka P5: defer returns None and its failure ends the actor."""
    ref = Tree.start()
    proxy = ref.proxy()
    assert proxy.grow.defer(1) is None
    assert await proxy.height == 11
    proxy.fall.defer()
    with pytest.raises(ActorDeadError):
        await proxy.height
    assert not ref.is_alive()


async def test_an_unknown_attribute_is_an_attribute_error(system: ActorSystem) -> None:
    """DESIGN 2, pykka P6: the proxy raises AttributeError at once."""
    with pytest.raises(AttributeError, match="no attribute 'fruit'"):
        _ = Tree.start().proxy().fruit


async def test_private_attributes_are_not_exposed(system: ActorSystem) -> None:
    """DESIGN 2, pykka P7: names with a leading underscore are not reachable."""
    with pytest.raises(AttributeError):
        _ = Tree.start().proxy()._secret


async def test_traversable_attributes_lead_on(system: ActorSystem) -> None:
    """DESIGN 2, pykka P8: marked by function, decorator or attribute, nested too, async too."""
    proxy = Tree.start().proxy()
    assert await proxy.marked.method() == "plain"
    assert await proxy.branch.length == 3
    assert await proxy.branch.leaf.colour == "green"
    assert await proxy.branch.leaf.shout() == "GREEN"
    assert await proxy.branch.leaf.whisper() == "green"


async def test_other_attributes_come_as_they_are(system: ActorSystem) -> None:
    """DESIGN 2, pykka P8: an attribute that is not traversable is returned itself."""
    assert isinstance(await Tree.start().proxy().plain, Plain)


def test_an_attribute_of_a_traversable_can_be_set(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka P9: setting works along a path of traversable attributes."""
    proxy = Tree.start().proxy()
    proxy.branch.leaf.colour = "red"
    assert proxy.branch.leaf.shout().get() == "RED"


async def test_a_proxy_of_a_stopped_actor_answers_with_its_death(system: ActorSystem) -> None:
    """DESIGN 2, pykka P11: calls through an old proxy fail through their replies."""
    ref = Tree.start()
    proxy = ref.proxy()
    await ref.stop(block=False)
    with pytest.raises(pykka.ActorDeadError):
        await proxy.grow(1)
    with pytest.raises(pykka.ActorDeadError):
        proxy.grow.defer(1)


async def test_proxies_compare_by_actor_and_path(system: ActorSystem) -> None:
    """DESIGN 2, pykka P12: equal actor and path make equal proxies with equal hashes."""
    ref = Tree.start()
    one, two, other = ref.proxy(), ref.proxy(), Tree.start().proxy()
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    assert one != "proxy"
    assert one.branch != one
    assert ref.actor_urn in repr(one)
    assert {"grow", "height", "branch"} <= set(dir(one))
    assert one.actor_ref is ref


async def test_a_proxy_to_itself_defers_work(system: ActorSystem) -> None:
    """DESIGN 2, pykka P13: work sent to oneself comes behind what is already waiting."""
    ref = Tree.start()
    proxy = ref.proxy()
    proxy.in_parts.defer(2)
    between = proxy.grow(1)
    assert await between == 11
    while len(grown := await proxy.grown) < 3:
        await asyncio.sleep(0)
    assert grown == [2, 1, 0]


async def test_a_public_proxy_to_itself_is_warned_about(
    system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2, pykka P13: a self-proxy under a public name is logged, as pykka does."""

    class Selfish(EventLoopActor):
        def __init__(self) -> None:
            super().__init__()
            self.me = self.actor_ref.proxy()

    Selfish.start().proxy()
    assert "is a proxy to itself" in caplog.text


async def test_attributes_made_later_are_found(system: ActorSystem) -> None:
    """DESIGN 2, pykka P14: an attribute that comes up while the actor runs is found."""
    proxy = Tree.start().proxy()
    await proxy.sprout()
    assert await proxy.twig == "new"


async def test_a_failing_call_is_raised_and_the_actor_lives(system: ActorSystem) -> None:
    """DESIGN 2, pykka P15: the exception of a call comes out of its reply; the actor goes on."""
    proxy = Tree.start().proxy()
    with pytest.raises(RuntimeError, match="timber"):
        await proxy.fall()
    assert await proxy.grow(1) == 11


async def test_proxy_messages_can_be_sent_without_a_proxy(system: ActorSystem) -> None:
    """DESIGN 2, pykka P16: pykka.messages work with ask and tell."""
    ref = Tree.start()
    ref.tell(ProxyCall(attr_path=("grow",), args=(1,), kwargs={}))
    call = ProxyCall(attr_path=("grow_slowly",), args=(1,), kwargs={})
    assert await ref.ask(call, block=False) == 12
    assert await ref.ask(ProxyGetAttr(attr_path=("height",)), block=False) == 12


async def test_typed_proxies_work(system: ActorSystem) -> None:
    """DESIGN 2, pykka P17: pykka.typing describes proxies of our actors."""
    from pykka.typing import ActorMemberMixin, proxy_field, proxy_method

    class TreeProxy(ActorMemberMixin, pykka.ActorProxy[Tree]):
        height = proxy_field(10)
        grow = proxy_method(Tree.grow)

    from typing import cast

    proxy = cast("TreeProxy", Tree.start().proxy())
    assert await proxy.grow(1) == 11
    assert await proxy.height == 11
