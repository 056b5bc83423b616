"""Guesses of tokens: a few at once, then one a second; who has the right token is let in meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ui.access import guessing
from ui.access.guessing import Guessing, TooManyGuesses
from ui.access.login import Door
from ui.access.serving import Serving

TOKEN = "a0b1c2d3e4f5a0b1c2d3e4f5"
HELD = Serving(is_shared=True, people={TOKEN: "Ada"})


class Clock:
    """A clock that only waiting moves on; each request has its own, as all begin at once."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(guessing.asyncio, "sleep", made.sleep)
    return made


def told(work: Callable[[], Awaitable[bool]]) -> bool | None:
    """The answer; None if it is refused."""

    async def ask() -> bool:
        return await work()

    try:
        return asyncio.run(ask())
    except TooManyGuesses:
        return None


def test_guesses_of_one_address_wait_for_one_another(clock: Clock) -> None:
    slow = Guessing(HELD.person_of, clock)
    answers = [told(lambda at=at: slow.is_right(f"guess {at}", "192.0.2.1")) for at in range(100)]  # type: ignore[misc]
    assert answers == [False] * 15 + [None] * 85
    assert clock.waited == [float(second) for second in range(1, 11)]
    assert told(lambda: slow.is_right(TOKEN, "192.0.2.2")) is True
    assert len(clock.waited) == 10
    clock.now = 1.0
    assert told(lambda: slow.is_right("guess 100", "192.0.2.1")) is False
    assert told(lambda: slow.is_right("guess 101", "192.0.2.1")) is None
    clock.now = 20.0
    assert told(lambda: slow.is_right(TOKEN, "192.0.2.1")) is True
    assert len(clock.waited) == 11


def test_who_has_been_let_in_at_an_address_never_waits_there(clock: Clock) -> None:
    slow = Guessing(HELD.person_of, clock)
    assert told(lambda: slow.is_right(TOKEN, "192.0.2.1")) is True
    for at in range(100):
        told(lambda at=at: slow.is_right(f"guess {at}", "192.0.2.1"))  # type: ignore[misc]
    clock.waited.clear()
    assert [told(lambda: slow.is_right(TOKEN, "192.0.2.1")) for _ in range(50)] == [True] * 50
    assert clock.waited == []


def test_a_wrong_token_that_is_repeated_keeps_nobody_out(clock: Clock) -> None:
    slow = Guessing(HELD.person_of, clock)
    assert [told(lambda: slow.is_right("revoked", "192.0.2.1")) for _ in range(100)] == [False] * 100
    assert told(lambda: slow.is_right(TOKEN, "192.0.2.1")) is True
    assert clock.waited == []


def test_many_addresses_are_slowed_together_and_nobody_is_refused(clock: Clock) -> None:
    slow = Guessing(HELD.person_of, clock)
    answers = [told(lambda at=at: slow.is_right("guess", f"192.0.{at // 256}.{at % 256}")) for at in range(5000)]  # type: ignore[misc]
    assert set(answers) == {False}
    assert len(clock.waited) == 5000 - 50
    assert max(clock.waited) == 5.0
    assert len(slow._addresses) == guessing._MOST_ADDRESSES
    assert told(lambda: slow.is_right(TOKEN, "198.51.100.1")) is True
    assert clock.waited[-1] <= 5.0


def test_a_network_of_64_bits_is_one_address(clock: Clock) -> None:
    slow = Guessing(HELD.person_of, clock)
    answers = [told(lambda at=at: slow.is_right(f"guess {at}", f"2001:db8::{at:x}")) for at in range(30)]  # type: ignore[misc]
    assert answers[15:] == [None] * 15
    assert told(lambda: slow.is_right("guess", "2001:db8:0:1::1")) is False


@pytest.mark.parametrize(
    ("kind", "method", "path", "name", "value", "status"),
    [
        ("http", "GET", "/", "cookie", "changelog-studio=GUESS", 429),
        ("http", "POST", "/rows/clicks", "authorization", "Bearer GUESS", 429),
        ("http", "POST", "/", "", "GUESS", 429),
        ("websocket", "GET", "/", "cookie", "changelog-studio=GUESS", None),
    ],
)
@pytest.mark.usefixtures("clock")
def test_wherever_a_token_is_sent_its_guesses_are_slowed(
    kind: str, method: str, path: str, name: str, value: str, status: int | None
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"status": 200})

    door = Door(app, HELD)
    answers: list[Any] = []

    async def send(message: Any) -> None:
        answers.append(message)

    def sent(token: str, host: str = "192.0.2.1") -> Any:
        said = value.replace("GUESS", token)
        headers = [(name.encode(), said.encode())] if name else []
        scope = {"type": kind, "method": method, "path": path, "headers": headers, "client": (host, 50000)}

        async def receive() -> Any:
            return {"type": "http.request", "body": f"token={said}".encode()}

        answers.clear()
        asyncio.run(door(scope, receive, send))
        return answers[0]

    first = [sent(f"guess{at}") for at in range(40)]
    assert first[-1].get("status") == status
    assert first[0].get("status") == (401 if status else None)
    if status:
        assert b"Too many wrong tokens were sent from your address" in answers[1]["body"]
    assert sent(TOKEN, "192.0.2.2").get("status") in (200, 303)
