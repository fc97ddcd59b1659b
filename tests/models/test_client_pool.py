"""One client a loop: shared while used, closed when let go of."""

from __future__ import annotations

import asyncio

from broodline.actors.models.client_pool import ClientPool


class Client:
    closed = False

    async def close(self) -> None:
        assert not self.closed
        self.closed = True


def pool_of(made: list[Client]) -> ClientPool[Client]:
    def make() -> Client:
        made.append(Client())
        return made[-1]

    return ClientPool(make, Client.close)


async def test_a_client_is_made_once_and_kept() -> None:
    """DESIGN 7: streams of one loop share a client, also one after the other."""
    made: list[Client] = []
    pool = pool_of(made)
    async with pool.use() as first, pool.use() as second:
        assert first is second
    async with pool.use() as third:
        assert third is first
    assert [client.closed for client in made] == [False]
    await pool.aclose()
    assert [client.closed for client in made] == [True]


async def test_what_is_used_is_closed_by_its_last_user() -> None:
    """DESIGN 2: letting go never closes a client under a stream, and closes it once."""
    made: list[Client] = []
    pool = pool_of(made)
    async with pool.use() as old:
        async with pool.use():
            await pool.aclose()
            await pool.aclose()
        assert not old.closed
        async with pool.use() as new:
            assert new is not old
        assert not old.closed
    assert (old.closed, new.closed) == (True, False)
    await pool.aclose()
    assert new.closed


async def test_a_failing_stream_gives_its_client_back() -> None:
    """DESIGN 2: an error inside the block counts as the end of the use."""
    made: list[Client] = []
    pool = pool_of(made)
    try:
        async with pool.use():
            await pool.aclose()
            raise KeyError
    except KeyError:
        pass
    assert made[0].closed


def test_each_loop_has_its_own_client() -> None:
    """DESIGN 2: several runtimes in one process, each with a loop, may share a model."""
    made: list[Client] = []
    pool = pool_of(made)

    async def one_life() -> None:
        async with pool.use():
            pass
        await pool.aclose()

    asyncio.run(one_life())
    asyncio.run(one_life())
    assert [client.closed for client in made] == [True, True]


async def test_a_cancelled_wait_does_not_cut_a_closing_short() -> None:
    """DESIGN 2: who is cancelled while the client closes leaves a closing that goes on."""
    begun, gate, ends = asyncio.Event(), asyncio.Event(), list[str]()

    async def close(_client: Client) -> None:
        begun.set()
        await gate.wait()
        ends.append("closed")

    pool = ClientPool(Client, close)

    async def last_use() -> None:
        async with pool.use():
            await pool.aclose()

    user = asyncio.create_task(last_use())
    await begun.wait()
    user.cancel()
    await asyncio.wait({user})
    assert (user.cancelled(), ends) == (True, [])
    gate.set()
    await pool.aclose()
    assert ends == ["closed"]


async def test_letting_go_of_nothing() -> None:
    """DESIGN 2: a pool that was never used has nothing to close."""
    made: list[Client] = []
    await pool_of(made).aclose()
    assert made == []
