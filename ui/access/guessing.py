"""Guesses of tokens are slowed down, for each address and in all, before a token is compared.

An address may try a few tokens at once, then one a second: more of its requests wait their turn, and those that would
wait too long are refused. Many addresses together wait too, up to a few seconds each, and are never refused. A token
that is right costs no turn and is remembered for its address, whose pages then never wait; a wrong one that is repeated
tells nothing new and costs no turn either, so that a tab with a revoked token keeps nobody out.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Final

# Tokens that an address may try at once; after them, one each second.
_FREE: Final = 5
_LONGEST_S: Final = 10.0
# The same for all addresses together.
_FREE_IN_ALL: Final = 50
_IN_ALL_EACH_S: Final = 10
_LONGEST_IN_ALL_S: Final = 5.0
_MOST_ADDRESSES: Final = 4096
_MOST_TOKENS: Final = 16


class TooManyGuesses(Exception):
    """An address has tried too many tokens."""


@dataclass
class _Tries:
    """Tries of tokens that have not been forgotten yet; a part of them is forgotten each second."""

    each_s: float
    count: float = 0.0
    at: float = 0.0
    # Hashes, which Python salts.
    right: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_TOKENS))
    wrong: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_TOKENS))

    def still(self, now: float) -> float:
        """How many are not forgotten."""
        self.count = max(0.0, self.count - (now - self.at) * self.each_s)
        self.at = now
        return self.count


class Guessing:
    """Looks tokens up, and slows down who guesses. person_of: the person with a token, or None."""

    def __init__(self, person_of: Callable[[str], str | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._person_of = person_of
        self._clock = clock
        self._addresses: OrderedDict[str, _Tries] = OrderedDict()
        self._in_all = _Tries(_IN_ALL_EACH_S)

    async def is_right(self, token: str, address: str) -> bool:
        """Whether it is the token of a person, told when it is the turn of the address. Raises TooManyGuesses."""
        if not token:
            return False
        tries = self._tries(_place(address))
        token_hash = hash(token)
        if token_hash in tries.wrong:
            return False
        if token_hash in tries.right:
            return self._person_of(token) is not None
        now = self._clock()
        wait_s = max(0.0, tries.still(now) + 1 - _FREE)
        if wait_s > _LONGEST_S:
            raise TooManyGuesses
        in_all_s = max(0.0, self._in_all.still(now) + 1 - _FREE_IN_ALL) / _IN_ALL_EACH_S
        # Counted before the wait: requests at the same time wait one after another.
        tries.count += 1
        self._in_all.count += 1 if in_all_s < _LONGEST_IN_ALL_S else 0
        if wait_s or in_all_s:
            await asyncio.sleep(max(wait_s, in_all_s))
        if self._person_of(token) is None:
            tries.wrong.append(token_hash)
            return False
        tries.right.append(token_hash)
        tries.count = max(0.0, tries.count - 1)
        self._in_all.count = max(0.0, self._in_all.count - 1)
        return True

    def _tries(self, place: str) -> _Tries:
        """What an address has tried; the one that has been silent for longest is forgotten first."""
        tries = self._addresses.setdefault(place, _Tries(1.0))
        self._addresses.move_to_end(place)
        if len(self._addresses) > _MOST_ADDRESSES:
            self._addresses.popitem(last=False)
        return tries


def _place(address: str) -> str:
    """An address; of IPv6 the network of 64 bits, all of which belongs to one host."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(IPv6Address(int(ip) >> 64 << 64)) if isinstance(ip, IPv6Address) else address
