"""The functions of flink-faker's expressions: each makes the text of one value.

Some compute it (numbers, options, patterns, times). Names, places and the like are chosen from a pool, which the
library Faker fills when a run is planned: workers need no library, and every engine chooses the same.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from engine.reading.faker.choosing import Chooser
from engine.reading.faker.expressions import Call, parts_of
from engine.reading.faker.patterns import text_of, tree_of
from engine.reading.faker.words import words_of

_POOL: Final = 500
_PLACEHOLDERS: Final = 100
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS: Final = 86_400_000
_UNITS_MS: Final = {
    "NANOSECONDS": 0,
    "MICROSECONDS": 0,
    "MILLISECONDS": 1,
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": _DAY_MS,
}
_PATTERN: Final = "regexify"
_HEX: Final = {"hash.md5": 32, "hash.sha1": 40, "hash.sha256": 64, "hash.sha512": 128}
# By DataFaker's name, the method of Faker. Only those that give one line of text.
_OF_LIBRARY: Final = {
    "address.buildingnumber": "building_number",
    "address.city": "city",
    "address.cityname": "city",
    "address.country": "country",
    "address.countrycode": "country_code",
    "address.latitude": "latitude",
    "address.longitude": "longitude",
    "address.postcode": "postcode",
    "address.state": "state",
    "address.stateabbr": "state_abbr",
    "address.streetaddress": "street_address",
    "address.streetname": "street_name",
    "address.timezone": "timezone",
    "address.zipcode": "postcode",
    "code.ean13": "ean13",
    "code.ean8": "ean8",
    "code.isbn10": "isbn10",
    "code.isbn13": "isbn13",
    "color.hex": "hex_color",
    "color.name": "color_name",
    "company.bs": "bs",
    "company.catchphrase": "catch_phrase",
    "company.name": "company",
    "company.profession": "job",
    "company.suffix": "company_suffix",
    "company.url": "url",
    "country.countrycode2": "country_code",
    "country.name": "country",
    "currency.code": "currency_code",
    "currency.name": "currency_name",
    "file.extension": "file_extension",
    "file.filename": "file_path",
    "file.mimetype": "mime_type",
    "finance.bic": "swift",
    "finance.creditcard": "credit_card_number",
    "finance.iban": "iban",
    "idnumber.ssnvalid": "ssn",
    "idnumber.valid": "ssn",
    "internet.domainname": "domain_name",
    "internet.domainword": "domain_word",
    "internet.emailaddress": "email",
    "internet.httpmethod": "http_method",
    "internet.image": "image_url",
    "internet.ipaddress": "ipv4",
    "internet.ipv4address": "ipv4",
    "internet.ipv6address": "ipv6",
    "internet.macaddress": "mac_address",
    "internet.password": "password",
    "internet.privateipv4address": "ipv4_private",
    "internet.publicipv4address": "ipv4_public",
    "internet.safeemailaddress": "safe_email",
    "internet.slug": "slug",
    "internet.url": "url",
    "internet.useragent": "user_agent",
    "internet.useragentany": "user_agent",
    "internet.username": "user_name",
    "job.title": "job",
    "lorem.paragraph": "paragraph",
    "lorem.sentence": "sentence",
    "lorem.word": "word",
    "name.firstname": "first_name",
    "name.fullname": "name",
    "name.lastname": "last_name",
    "name.name": "name",
    "name.namewithmiddle": "name",
    "name.prefix": "prefix",
    "name.suffix": "suffix",
    "name.title": "job",
    "name.username": "user_name",
    "phonenumber.cellphone": "phone_number",
    "phonenumber.phonenumber": "phone_number",
}


@dataclass(frozen=True)
class Pool:
    """Texts of which one is chosen. is_placeholder: nobody knows the function, so the texts are numbered names."""

    texts: tuple[str, ...]
    is_placeholder: bool = False


@dataclass(frozen=True)
class Pattern:
    """A pattern from which a text is chosen, as the tree of `engine.reading.faker.patterns`."""

    tree: tuple[Any, ...]


Made = str | Call | Pool | Pattern
"""A part of an expression that is ready to be sent to workers."""


def prepared(expression: str) -> tuple[Made, ...]:
    """The parts of an expression, with their pools and patterns. Raises ValueError with the reason."""
    return tuple(_prepared(part) for part in parts_of(expression))


def unknown_in(expression: str) -> list[str]:
    """The functions that nobody knows, as they were written. Raises ValueError."""
    parts = parts_of(expression)
    return [part.written for part in parts if isinstance(part, Call) and _is_unknown(part)]


def text(parts: tuple[Made, ...], choose: Chooser, now_ms: float) -> str:
    """The text of one value. now_ms: the time of the record. Raises ValueError for arguments that do not fit."""
    return "".join(_text(part, choose, now_ms) for part in parts)


def _is_unknown(call: Call) -> bool:
    is_known = any(call.name in names for names in (_FUNCTIONS, _OF_LIBRARY, _HEX, (_PATTERN,)))
    return not is_known and words_of(call.name) is None


def _prepared(part: str | Call) -> Made:
    if isinstance(part, str):
        return part
    if part.name == _PATTERN:
        return Pattern(tree_of(_argument(part, 0)))
    if part.name in _OF_LIBRARY:
        return Pool(_pool(_OF_LIBRARY[part.name]))
    if (words := words_of(part.name)) is not None:
        return Pool(words)
    if _is_unknown(part):
        what = part.written.rpartition(".")[2].replace("_", " ")
        return Pool(tuple(f"{what} {at}" for at in range(1, _PLACEHOLDERS + 1)), is_placeholder=True)
    # Arguments are read once, so that a wrong one is known before the run.
    _text(part, Chooser(), 0)
    return part


@cache
def _pool(method: str) -> tuple[str, ...]:
    from faker import Faker

    library = Faker("en_US")
    library.seed_instance(0)
    return tuple(str(getattr(library, method)()) for _ in range(_POOL))


def _text(part: Made, choose: Chooser, now_ms: float) -> str:
    match part:
        case str():
            return part
        case Pool():
            return choose.one_of(part.texts)
        case Pattern():
            return text_of(part.tree, choose)
        case Call(name=name) if name in _HEX:
            return "".join(choose.one_of("0123456789abcdef") for _ in range(_HEX[name]))
        case Call(name=name):
            return _FUNCTIONS[name](part, choose, now_ms)


def _argument(call: Call, at: int, default: str | None = None) -> str:
    if at < len(call.arguments):
        return call.arguments[at]
    if default is None:
        message = f"#{{{call.written}}} needs {at + 1} argument{'s' if at else ''}"
        raise ValueError(message)
    return default


def _number(call: Call, at: int, default: str | None = None) -> float:
    given = _argument(call, at, default)
    try:
        return float(given) if "." in given else int(given)
    except ValueError as error:
        message = f"#{{{call.written}}}: {given!r} is no number"
        raise ValueError(message) from error


def _number_between(call: Call, choose: Chooser, now_ms: float) -> str:
    return str(choose.between(int(_number(call, 0)), int(_number(call, 1))))


def _random_double(call: Call, choose: Chooser, now_ms: float) -> str:
    digits, low, high = int(_number(call, 0, "2")), _number(call, 1, "0"), _number(call, 2, "100")
    return f"{low + choose.share() * (high - low):.{min(max(digits, 0), 15)}f}"


def _digits(call: Call, choose: Chooser, now_ms: float) -> str:
    count = min(max(1, int(_number(call, 0, "1"))), 100)
    return "".join(choose.one_of(string.digits) for _ in range(count))


def _price(call: Call, choose: Chooser, now_ms: float) -> str:
    low, high = _number(call, 0, "0"), _number(call, 1, "100")
    return f"{low + choose.share() * (high - low):.2f}"


def _option(call: Call, choose: Chooser, now_ms: float) -> str:
    _argument(call, 0)
    return choose.one_of(call.arguments)


def _filled(call: Call, choose: Chooser, now_ms: float) -> str:
    """`#` becomes a digit, `?` a letter."""
    takes = {"bothify": "#?", "numerify": "#", "letterify": "?"}[call.name]
    letters = string.ascii_uppercase if _argument(call, 1, "false") == "true" else string.ascii_lowercase
    pools = {"#": string.digits, "?": letters}
    return "".join(choose.one_of(pools[char]) if char in takes else char for char in _argument(call, 0))


def _uuid(call: Call, choose: Chooser, now_ms: float) -> str:
    digits = "".join(choose.one_of("0123456789abcdef") for _ in range(30))
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-{choose.one_of('89ab')}{digits[15:18]}-{digits[18:30]}"


def _words(call: Call, choose: Chooser, now_ms: float) -> str:
    letters = choose.between(8, 40) if not call.arguments else min(int(_number(call, 0)), 1000)
    return "".join(choose.one_of(string.ascii_lowercase + string.digits) for _ in range(letters))


def _near(call: Call, choose: Chooser, now_ms: float) -> str:
    """`'15','SECONDS'`: at most 15 s away; `'15','5','SECONDS'`: at least 5 s. A pattern after the unit is ignored."""
    most, rest = _number(call, 0), call.arguments[1:]
    least = 0.0
    if rest and rest[0].lstrip("-").isdecimal():
        least, rest = _number(call, 1), rest[1:]
    unit = (rest[0] if rest else "").upper()
    if unit not in _UNITS_MS:
        message = f"#{{{call.written}}}: {unit or 'nothing'} is no unit; the units are {', '.join(_UNITS_MS)}"
        raise ValueError(message)
    away_ms = (least + choose.share() * (most - least)) * _UNITS_MS[unit]
    # DataFaker's past is before now, and its future after it.
    moment = _moment(now_ms - max(away_ms, 1) if call.name.endswith("past") else now_ms + max(away_ms, 1))
    return moment.partition(" ")[2] if call.name.startswith("time.") else moment


def _between_dates(call: Call, choose: Chooser, now_ms: float) -> str:
    try:
        low, high = (datetime.fromisoformat(_argument(call, at)).replace(tzinfo=UTC) for at in (0, 1))
    except ValueError as error:
        message = f"#{{{call.written}}} takes two times such as '2024-01-01 00:00:00': {error}"
        raise ValueError(message) from error
    begin_ms, end_ms = ((bound - _EPOCH) / timedelta(milliseconds=1) for bound in (low, high))
    return _moment(begin_ms + choose.share() * (end_ms - begin_ms))


def _birthday(call: Call, choose: Chooser, now_ms: float) -> str:
    low, high = _number(call, 0, "18"), _number(call, 1, "65")
    days = (low + choose.share() * (high - low)) * 365.2425
    return _moment((now_ms - days * _DAY_MS) // _DAY_MS * _DAY_MS)


def _moment(ms: float) -> str:
    moment = _EPOCH + timedelta(milliseconds=int(ms))
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"


_FUNCTIONS: Final[dict[str, Callable[[Call, Chooser, float], str]]] = {
    "bool.bool": lambda call, choose, now_ms: choose.one_of(("true", "false")),
    "bothify": _filled,
    "commerce.price": _price,
    "date.between": _between_dates,
    "date.birthday": _birthday,
    "date.future": _near,
    "date.past": _near,
    "internet.uuid": _uuid,
    "letterify": _filled,
    "lorem.characters": _words,
    "number.digit": _digits,
    "number.digits": _digits,
    "number.negative": lambda call, choose, now_ms: str(-choose.between(1, 1 << 31)),
    "number.numberbetween": _number_between,
    "number.positive": lambda call, choose, now_ms: str(choose.between(1, 1 << 31)),
    "number.randomdigit": lambda call, choose, now_ms: choose.one_of(string.digits),
    "number.randomdigitnotzero": lambda call, choose, now_ms: choose.one_of(string.digits[1:]),
    "number.randomdouble": _random_double,
    "number.randomnumber": lambda call, choose, now_ms: str(choose.between(0, 10 ** int(_number(call, 0, "9")))),
    "numerify": _filled,
    "options.option": _option,
    "time.future": _near,
    "time.past": _near,
}
