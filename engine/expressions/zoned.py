"""Expressions in a time zone other than UTC: what depends on the zone is told Spark, whose session is in UTC.

    CAST(t AS STRING)          CAST(convert_timezone('UTC', 'Asia/Tokyo', CAST(t AS TIMESTAMP_NTZ)) AS STRING)
    hour(t)                    hour(convert_timezone('UTC', 'Asia/Tokyo', CAST(t AS TIMESTAMP_NTZ)))
    date_trunc('DAY', t)       t + (date_trunc('DAY', its local time) - its local time)
    CAST(n AS TIMESTAMP)       CAST(convert_timezone('Asia/Tokyo', 'UTC', n) AS TIMESTAMP)

t: a TIMESTAMP_LTZ, n: a TIMESTAMP. Where a TIMESTAMP or a DATE meets an instant, it becomes one. Intervals are added to
instants in UTC, and differences are taken there, as in Flink. unix_millis and the like stay those of UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from sqlglot import exp

from engine.expressions.calls import Variables
from engine.expressions.inference import Inference
from engine.expressions.parsing import SPARK, UNREADABLE, mapped, tree_if_readable
from engine.expressions.untyped import UnresolvedColumn, Untyped
from engine.functions.function import names
from engine.functions.spark_text import SparkText
from engine.model.schema import Schema
from engine.model.types import DATE, STRING, Array, Map, Time, Timestamp, Type
from engine.model.zones import Zone

_OF_LOCAL: Final = names(
    """
    year quarter month day dayofmonth dayofweek dayofyear weekday weekofyear hour minute second extract date_part
    datepart date_format trunc date_trunc last_day next_day monthname dayname to_date date add_months months_between
    date_add date_sub datediff date_diff dateadd unix_date to_char to_varchar concat concat_ws string length substring
    left right upper lower trim
    """
)
"""Functions that look at what clocks show."""
_ALIKE: Final = names("coalesce ifnull nvl nvl2 nullif if greatest least array")
_PARSED: Final = names("to_timestamp try_to_timestamp")
_MADE: Final = names("make_timestamp make_timestamp_ltz try_make_timestamp try_make_timestamp_ltz")
_SECONDS: Final = names("unix_timestamp to_unix_timestamp")
_COMPARED: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_EACH: Final = "each"
_PATTERN: Final = "yyyy-MM-dd HH:mm:ss"


@lru_cache(maxsize=8192)
def in_zone(text: str, schema: Schema, zone: Zone) -> str:
    """The expression over these columns in a zone; an unreadable one, or one that no zone changes, stays as it is."""
    try:
        tree = tree_if_readable(text)
        if tree is None:
            return text
        noted = _Noted(schema)
        noted.type(tree, {})
    except (*UNREADABLE, Untyped, UnresolvedColumn):
        return text
    zoned = _Zoned(zone, noted.types)
    rewritten = zoned.of(tree)
    return SparkText(rewritten.sql(dialect=SPARK), leaf=rewritten) if zoned.is_changed else text


def is_typed(text: str, schema: Schema) -> bool:
    """Whether the types of an expression over these columns are known."""
    try:
        tree = tree_if_readable(text)
        if tree is not None:
            Inference(schema).type(tree, {})
    except (*UNREADABLE, Untyped, UnresolvedColumn):
        return False
    return tree is not None


class _Noted(Inference):
    """Notes the type of each part."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self.types: dict[int, Type] = {}

    def type(self, node: exp.Expr, variables: Variables) -> Type:
        type_ = super().type(node, variables)
        self.types[id(node)] = type_
        return type_


class _Zoned:
    """Writes the parts of an expression anew. types: by identity of a part."""

    def __init__(self, zone: Zone, types: Mapping[int, Type]) -> None:
        self._zone = zone
        self._types = dict(types)
        self._depth = 0
        self.is_changed = False
        # Instants that were made of a local time, which does not have to be computed from them.
        self._locals: dict[int, tuple[exp.Expr, exp.Expr]] = {}

    def of(self, node: exp.Expr) -> exp.Expr:
        """A part in the zone, of the same type."""
        match node:
            case exp.Cast():
                return self._cast(node)
            case exp.Anonymous():
                return self._call(node)
            case exp.Extract():
                return mapped(node, lambda part: self._local(part) if part is node.expression else self.of(part))
            case exp.DPipe():
                return mapped(node, self._local)
            case exp.Between() | exp.In() | exp.Case() | exp.If():
                return mapped(node, self._alike(node))
            case _ if isinstance(node, _COMPARED):
                return mapped(node, self._alike(node))
        return mapped(node, self.of)

    def _type(self, node: exp.Expr) -> Type | None:
        return self._types.get(id(node))

    def _is_instant(self, node: exp.Expr) -> bool:
        type_ = self._type(node)
        return type_ is not None and type_.is_instant

    def _alike(self, node: exp.Expr) -> Callable[[exp.Expr], exp.Expr]:
        """Makes instants of the moments that are compared with one, or are results beside one."""
        tests = [branch for branch in node.args.get("ifs") or ([node] if isinstance(node, exp.If) else [])]
        subject = node.this if isinstance(node, exp.Case) else None
        results = [branch.args["true"] for branch in tests] + [node.args.get("default"), node.args.get("false")]
        sides = [outcome for outcome in results if outcome is not None]
        if not tests:
            sides = [part for part in node.iter_expressions() if self._type(part) is not None]
        becomes = any(map(self._is_instant, sides))
        mine = {id(side) for side in sides}

        def change(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.If) and part is not node and isinstance(node, exp.Case):
                return mapped(part, change)
            return self._instant(part) if becomes and id(part) in mine and part is not subject else self.of(part)

        return change

    def _call(self, node: exp.Anonymous) -> exp.Expr:
        name, given = str(node.this).lower(), node.expressions
        if name == "date_trunc" and len(given) == 2 and self._is_instant(given[1]):
            # The offset stays that of the instant, as in Flink: a day that is cut off may begin at 23 or 1 o'clock.
            moment, local = self.of(given[1]), self._local(given[1])
            cut = exp.Anonymous(this=name, expressions=[self.of(given[0]), local])
            by = exp.Sub(this=_cast(cut, _LOCAL), expression=local.copy())
            return exp.Paren(this=exp.Add(this=moment, expression=exp.Paren(this=by)))
        if name in _OF_LOCAL:
            call = mapped(node, self._local)
            return self._as_instant(_cast(call, _LOCAL)) if self._is_instant(node) else call
        if name == "unix_seconds" and given:
            if self._is_read(given[0]):
                return exp.Anonymous(this=name, expressions=[self._read(given[0])])
            # EXTRACT(EPOCH FROM t), which Flink takes of what clocks show.
            return mapped(node, self._local)
        if name in _ALIKE and any(map(self._is_instant, given)):
            return mapped(node, self._instant)
        if name == "from_unixtime" and given:
            seconds = mapped(exp.Anonymous(this="timestamp_seconds", expressions=given[:1]), self.of)
            pattern = [self.of(argument) for argument in given[1:]] or [exp.Literal.string(_PATTERN)]
            return exp.Anonymous(this="date_format", expressions=[self._as_local(seconds), *pattern])
        if name in _PARSED and self._is_instant(node) and not _has_zone(given):
            return self._as_instant(_cast(mapped(node, self.of), _LOCAL))
        if name in _MADE:
            return self._as_instant(_cast(mapped(node, self.of), _LOCAL))
        if name in _SECONDS and given and self._type(given[0]) == STRING and not _has_zone(given):
            parsed = mapped(exp.Anonymous(this="to_timestamp", expressions=given), self.of)
            return exp.Anonymous(this="unix_seconds", expressions=[self._later(_cast(parsed, _LOCAL))])
        return mapped(node, self.of)

    def _cast(self, node: exp.Cast) -> exp.Expr:
        is_text = isinstance(node.this, exp.Literal) and node.this.is_string
        target, given = self._type(node), STRING if is_text else self._type(node.this)
        if target is None or given is None:
            return mapped(node, self.of)
        if target.is_nested:
            return self._cast_within(node, given, target)
        if target.is_instant and not given.is_instant and (given.is_time or given == STRING):
            as_local = node.copy()
            as_local.set("this", self.of(node.this))
            as_local.set("to", _LOCAL.copy())
            return self._as_instant(as_local)
        is_local = isinstance(target, Time) or (isinstance(target, Timestamp) and not target.is_zoned)
        if given.is_instant and (target in (STRING, DATE) or is_local):
            local_cast = node.copy()
            local_cast.set("this", self._local(node.this))
            return local_cast
        return mapped(node, self.of)

    def _cast_within(self, node: exp.Cast, given: Type, target: Type) -> exp.Expr:
        """The cast of an array or a map, value by value if instants are in it. Rows are written field by field."""
        pairs = tuple(zip(given.parts, target.parts, strict=False))
        is_same = type(given) is type(target) and isinstance(target, Array | Map)
        if not is_same or not (given.has_instants or target.has_instants):
            return mapped(node, self.of)
        whole = self.of(node.this)
        calls = ("transform",) if isinstance(target, Array) else ("transform_keys", "transform_values")
        names_ = [f"{_EACH}{self._depth}{place}" for place in range(len(pairs))]
        self._depth += 1
        for place, (call, (part, wanted)) in enumerate(zip(calls, pairs, strict=True)):
            value = exp.to_identifier(names_[place])
            inner = type(node)(this=value, to=node.to.expressions[place].copy())
            self._types |= {id(value): part, id(inner): wanted}
            body = exp.Lambda(this=self._cast(inner), expressions=[exp.to_identifier(name) for name in names_])
            whole = exp.Anonymous(this=call, expressions=[whole, body])
        self._depth -= 1
        return whole

    def _is_read(self, node: exp.Expr) -> bool:
        """Whether an instant is a text that was read, as in UNIX_TIMESTAMP."""
        bare = node.unnest()
        inner = bare.this.unnest() if isinstance(bare, exp.Cast) else bare
        is_call = isinstance(inner, exp.Anonymous) and str(inner.this).lower() in _PARSED
        return self._is_instant(node) and (is_call or (inner is not bare and self._type(inner) == STRING))

    def _read(self, node: exp.Expr) -> exp.Expr:
        rewritten = self.of(node)
        entry = self._locals.get(id(rewritten))
        return rewritten if entry is None else self._later(entry[1])

    def _later(self, local: exp.Expr) -> exp.Expr:
        """A local time as an instant, the later one of two: as SimpleDateFormat reads it."""
        self.is_changed = True
        day = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))
        shown = self._converted(self._zone.name, "UTC", exp.Add(this=local.copy(), expression=day.copy()))
        later = exp.Sub(this=shown, expression=day)
        is_same = exp.EQ(this=self._converted("UTC", self._zone.name, later.copy()), expression=local.copy())
        return exp.Case(ifs=[exp.If(this=is_same, true=_cast(later, _INSTANT))], default=self._as_instant(local))

    def _local(self, node: exp.Expr) -> exp.Expr:
        """An instant as the local time, any other value as it is."""
        return self._as_local(self.of(node)) if self._is_instant(node) else self.of(node)

    def _instant(self, node: exp.Expr) -> exp.Expr:
        """A TIMESTAMP, DATE or text as an instant, an instant as it is."""
        type_ = self._type(node)
        if type_ is None or type_.is_instant or not (type_.is_time or type_ == STRING):
            return self.of(node)
        return self._as_instant(_cast(self.of(node), _LOCAL))

    def _as_local(self, instant: exp.Expr) -> exp.Expr:
        self.is_changed = True
        entry = self._locals.get(id(instant))
        if entry is not None:
            return entry[1]
        return self._converted("UTC", self._zone.name, _cast(instant, _LOCAL))

    def _as_instant(self, local: exp.Expr) -> exp.Expr:
        self.is_changed = True
        instant = _cast(self._converted(self._zone.name, "UTC", local), _INSTANT)
        self._locals[id(instant)] = instant, local
        return instant

    def _converted(self, given: str, wanted: str, value: exp.Expr) -> exp.Expr:
        zones = [exp.Literal.string(given), exp.Literal.string(wanted)]
        return exp.Anonymous(this="convert_timezone", expressions=[*zones, value])


def _cast(node: exp.Expr, to: exp.DataType) -> exp.Expr:
    return exp.Cast(this=node, to=to.copy())


def may_depend(text: str) -> bool:
    """Whether an expression whose parts have no known types may look at what clocks show."""
    try:
        tree = tree_if_readable(text)
    except UNREADABLE:
        return False
    calls = () if tree is None else tree.find_all(exp.Anonymous, exp.Cast, exp.Extract)
    return any(not isinstance(call, exp.Anonymous) or str(call.this).lower() in _OF_LOCAL for call in calls)


def _has_zone(given: list[exp.Expr]) -> bool:
    """Whether a text is read by a pattern with a zone."""
    pattern = given[1] if len(given) > 1 else None
    return isinstance(pattern, exp.Literal) and bool(set("".join(pattern.name.split("'")[::2])) & set("XxZVzO"))


_LOCAL: Final = exp.DataType.build("TIMESTAMP_NTZ", dialect="spark")
_INSTANT: Final = exp.DataType.build("TIMESTAMP", dialect="spark")
