"""Functions of texts and bytes."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.functions.function import BadCall, Function, Writing
from engine.functions.spark_text import literal, spark_sql
from engine.model.types import BIGINT, BOOLEAN, DATE, FLOATS, INTEGERS, STRING, Decimal, Type

_ONE: Final = "text string -> string"
_TEST: Final = "text string -> boolean"

TEXT_OF_BYTES: Final = "make_valid_utf8(CAST({0} AS STRING))"
"""The text of bytes; what is no UTF-8 is U+FFFD there, as in Java. Spark's CAST keeps it, and nothing can read that."""

# Digits of any script, or a string that Java parses as a DOUBLE, including surrounding blanks.
_BLANKS: Final = r"[\x00-\x20]*"
_DIGITS: Final = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_HEX: Final = r"0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
_DECIMAL: Final = rf"(\p{{Nd}}+|{_BLANKS}[+-]?(NaN|Infinity|({_DIGITS}|{_HEX})[fFdD]?){_BLANKS})"

_WORD: Final = (
    "aggregate(split(lower({0}), ''), struct('' AS t, FALSE AS w), "
    "(a, c) -> struct(concat(a.t, if(a.w, c, upper(c))) AS t, c rlike '[0-9A-Za-z]' AS w), a -> a.t)"
)
_PARTS: Final = "split({0}, '[.]')"
# With fewer than four parts the last part is the last byte: 127.1 is 127.0.0.1.
_ADDRESS: Final = (
    "CASE WHEN {0} rlike '^[0-9]{1,3}([.][0-9]{1,3}){0,3}$' AND forall(PARTS, __x -> CAST(__x AS INT) < 256) "
    "THEN aggregate(transform(PARTS, (__x, __i) -> shiftleft(CAST(__x AS BIGINT), if(__i = size(PARTS) - 1, 0, "
    "24 - 8 * __i))), CAST(0 AS BIGINT), (__a, __x) -> __a + __x) END"
).replace("PARTS", _PARTS)
_BYTES: Final = ", ".join(f"CAST(shiftright({{0}}, {bits}) & 255 AS STRING)" for bits in (24, 16, 8, 0))
_SPLIT: Final = "split({0}, concat('\\\\Q', {1}, '\\\\E'))"
# The first byte of the text in UTF-8, with its sign.
_ASCII: Final = (
    "CASE WHEN ascii({0}) < 128 THEN ascii({0}) "
    "ELSE CAST(conv(hex(substring(CAST({0} AS BINARY), 1, 1)), 16, 10) AS INT) - 256 END"
)


# Java's hash codes, as unsigned numbers of 32 bits. A text's is that of its UTF-16 units.
_BITS_32: Final = 0xFFFFFFFF
_HASH_OF_TEXT: Final = (
    "aggregate(regexp_extract_all(hex(encode({0}, 'UTF-16BE')), '(....)'), CAST(0 AS BIGINT), "
    f"(h, c) -> (h * 31 + CAST(conv(c, 16, 10) AS BIGINT)) & {_BITS_32})"
)
_SIGNED: Final = "CAST(if({0} > 2147483647, {0} - 4294967296, {0}) AS INT)"
_LONG_DIGITS: Final = 18


def _hash_code(writing: Writing, call: exp.Anonymous) -> str:
    """As the values of Flink's generated code have it: Integer, Long, Boolean, String, BigDecimal. Raises BadCall."""
    value = writing.write(call.expressions[0])
    match writing.type_of(value):
        case type_ if type_ == STRING:
            bits = spark_sql(_HASH_OF_TEXT, value)
        case type_ if type_ == BIGINT:
            bits = spark_sql(f"(({{0}} ^ shiftrightunsigned({{0}}, 32)) & {_BITS_32})", value)
        case type_ if type_ in INTEGERS:
            return spark_sql("CAST({} AS INT)", value)
        case type_ if type_ == BOOLEAN:
            return spark_sql("if({0}, 1231, 1237 + CAST({0} AS INT))", value)
        case type_ if type_ == DATE:
            return spark_sql("unix_date({})", value)
        case Decimal(precision, scale) if precision <= _LONG_DIGITS:
            digits = f"CAST({{0}} * {10**scale} AS BIGINT)"
            of_digits = f"((31 * shiftrightunsigned(abs({digits}), 32) + (abs({digits}) & {_BITS_32})) & {_BITS_32})"
            bits = spark_sql(f"((31 * CAST(sign({{0}}) AS BIGINT) * {of_digits} + {scale}) & {_BITS_32})", value)
        case type_:
            message = f"HASH_CODE of {type_.flink} is not computed here. Cast it to STRING, or take another column."
            raise BadCall(message, call)
    return spark_sql(_SIGNED, bits)


def _looks(name: str, what: str, pattern: str, example: str, numbers: tuple[Type, ...] = ()) -> Function:
    """Whether a whole string matches a pattern. For a number the type decides; in Flink a DECIMAL is neither."""

    def of_number(writing: Writing, call: exp.Anonymous) -> str | None:
        value = writing.write(call.expressions[0])
        if (type_ := writing.type_of(value)) == STRING:
            return None
        return spark_sql("({} IS NOT NULL)", value) if type_ in numbers else "FALSE"

    test = rf"coalesce({{0}} rlike r'^{pattern}\z', FALSE)"
    return Function(
        name, _TEST, f"Whether the text is {what}.", f"{name}('{example}')", "TRUE", test, of_number, null="FALSE"
    )


def _regexp_replace(writing: Writing, call: exp.Anonymous) -> str:
    """`$1` is plain text in Flink."""
    value, pattern, put_in = map(writing.write, call.expressions)
    if isinstance(instead := call.expressions[2].unnest(), exp.Literal):
        put_in = literal(instead.name.replace("\\", "\\\\").replace("$", "\\$"))
    else:
        put_in = spark_sql(r"replace(replace({}, '\\', '\\\\'), '$', '\\$')", put_in)
    return spark_sql("regexp_replace({})", [value, pattern, put_in])


def _hashed(bits: int, result: str) -> Function:
    name = f"SHA{bits}"
    sentence = f"The SHA-{bits} hash of a text, in hexadecimal digits."
    return Function(name, _ONE, sentence, f"LEFT({name}('abc'), 8)", result, f"sha2({{0}}, {bits})")


def _padded(name: str, side: str, result: str) -> Function:
    return Function(
        name,
        "text string, length int, pad string -> string",
        f"The text padded on the {side} or cut to a length.",
        f"{name}('ab', 5, 'xy')",
        result,
        spark=f"CASE WHEN {{1}} >= 0 AND {{2}} <> '' THEN {name.lower()}({{*}}) END",
    )


def _trimmed(name: str, where: str, sides: str, result: str) -> Function:
    return Function(
        name,
        "text string, characters string? -> string",
        f"The text without blanks, or other characters, {sides}.",
        f"{name}('xaxx', 'x')",
        result,
        spark="trim({0})" if where == "BOTH" else f"{name.lower()}({{0}})",
        fuller=f"trim({where} {{1}} FROM {{0}})",
    )


ROWS: Final = (
    Function("UPPER", _ONE, "The text in capital letters.", "UPPER('Flink')", "FLINK"),
    Function("LOWER", _ONE, "The text in small letters.", "LOWER('Flink')", "flink"),
    Function("INITCAP", _ONE, "Each word with a capital first letter.", "INITCAP('hello wORLD')", "Hello World", _WORD),
    Function("REVERSE", _ONE, "The text from its end to its beginning.", "REVERSE('abc')", "cba"),
    Function(
        *("CHAR_LENGTH", "text string -> int", "The number of characters.", "CHAR_LENGTH('Flink')", "5"),
        spark="char_length({0})",
        aliases=("CHARACTER_LENGTH",),
    ),
    Function("ASCII", "text string -> int", "The code of the first byte.", "ASCII('A')", "65", _ASCII),
    Function(
        *("HASH_CODE", "value any -> int", "A whole number that equal values share, to spread them."),
        *("MOD(HASH_CODE('hello'), 4)", "2"),
        spark=None,
        write=_hash_code,
    ),
    Function("CHR", "code bigint -> string", "The character of a code from 0 to 255.", "CHR(65)", "A", "chr({0})"),
    Function("CONCAT", "text any, text any* -> string", "The texts one after another.", "CONCAT('a', 'b', 'c')", "abc"),
    Function(
        *("CONCAT_WS", "separator string, text any, text any* -> string"),
        *("The texts with a separator between them; NULLs are left out.", "CONCAT_WS('-', 'a', 'b')", "a-b"),
    ),
    Function(
        *("SUBSTRING", "text string, start int, length int? -> string", "A part of the text; places count from 1."),
        *("SUBSTRING('Flink' FROM 2 FOR 3)", "lin", None),
        syntax="SUBSTRING(text FROM start FOR length)",
    ),
    Function(
        *("SUBSTR", "text string, start int, length int? -> string", "A part of the text; places count from 1."),
        *("SUBSTR('Flink', 2, 3)", "lin", "substr({*})"),
    ),
    Function(
        "LEFT", "text string, length int -> string", "The first characters.", "LEFT('Flink', 2)", "Fl", "left({*})"
    ),
    Function(
        "RIGHT", "text string, length int -> string", "The last characters.", "RIGHT('Flink', 2)", "nk", "right({*})"
    ),
    Function(
        *("POSITION", "part string, text string -> int", "Where a part begins in a text, from 1; 0 if it does not."),
        *("POSITION('in' IN 'Flink')", "3", None),
        syntax="POSITION(part IN text)",
    ),
    Function(
        *("INSTR", "text string, part string -> int", "Where a part begins in the text, from 1; 0 if it does not."),
        *("INSTR('Flink', 'in')", "3", "instr({0}, {1})"),
    ),
    Function(
        *(
            "LOCATE",
            "part string, text string, start int? -> int",
            "Where a part begins in the text, at or after start.",
        ),
        *("LOCATE('a', 'banana', 3)", "4", "locate({*})"),
    ),
    Function(
        *("OVERLAY", "text string, part string, start int, length int? -> string"),
        *("The text with a part put over it.", "OVERLAY('abcdef' PLACING 'XX' FROM 2 FOR 3)", "aXXef"),
        spark=None,
        syntax="OVERLAY(text PLACING part FROM start FOR length)",
    ),
    Function(
        *("TRIM", "text string, characters string? -> string", "The text without blanks, or other characters, around."),
        *("TRIM('  Flink ')", "Flink", None),
        syntax="TRIM(text)",
    ),
    _trimmed("LTRIM", "LEADING", "at its beginning", "axx"),
    _trimmed("RTRIM", "TRAILING", "at its end", "xa"),
    _trimmed("BTRIM", "BOTH", "on both sides", "a"),
    _padded("LPAD", "left", "xyxab"),
    _padded("RPAD", "right", "abxyx"),
    Function("REPEAT", "text string, times int -> string", "The text several times.", "REPEAT('ab', 3)", "ababab"),
    Function(
        *("REPLACE", "text string, part string, replacement string -> string", "The text with every part replaced."),
        *("REPLACE('banana', 'an', 'o')", "booa"),
    ),
    Function(
        *("TRANSLATE", "text string, from string, to string -> string"),
        *("The text with each character of from replaced by that of to.", "TRANSLATE('abc', 'ab', 'xy')", "xyc"),
        aliases=("TRANSLATE3",),
    ),
    Function(
        *("ELT", "number int, text string, text string* -> string", "The text with this number, from 1."),
        # Spark's ends the run if there is none.
        *("ELT(2, 'a', 'b')", "b", "get(array({+}), {0} - 1)"),
        bad=("ELT(3, 'a', 'b')", "NULL"),
    ),
    Function(
        *("PRINTF", "format string, value any* -> string", "The values in a format of Java's."),
        *("PRINTF('%s has %d', 'a', 2)", "a has 2"),
    ),
    Function(
        *("SPLIT", "text string, delimiter string -> array<string>", "The parts between delimiters."),
        *("SPLIT('a,b', ',')", "[a, b]"),
        spark=f"CASE WHEN {{0}} = '' THEN slice({_SPLIT}, 1, 0) ELSE {_SPLIT} END",
    ),
    Function(
        *(
            "SPLIT_INDEX",
            "text string, delimiter string, index int -> string",
            "One of the parts between delimiters, from 0.",
        ),
        *("SPLIT_INDEX('a,b,c', ',', 1)", "b"),
        spark=f"CASE WHEN {{2}} >= 0 AND {{0}} <> '' THEN try_element_at({_SPLIT}, {{2}} + 1) END",
        bad=("SPLIT_INDEX('a,b', ',', 9)", "NULL"),
    ),
    Function(
        *("STR_TO_MAP", "text string, between_entries string?, between_key_and_value string? -> map<string,string>"),
        *("The entries of a text such as a=1,b=2.", "STR_TO_MAP('a=1,b=2')", "{a=1, b=2}"),
        spark="str_to_map({0}, ',', '=')",
        fuller="str_to_map({*})",
    ),
    Function(
        *(
            "STARTSWITH",
            "text text, start text -> boolean",
            "Whether the text begins so.",
            "STARTSWITH('abc', 'ab')",
            "TRUE",
        )
    ),
    Function(
        "ENDSWITH", "text text, end text -> boolean", "Whether the text ends so.", "ENDSWITH('abc', 'ab')", "FALSE"
    ),
    _looks("IS_DIGIT", "digits", r"\p{Nd}+", "123", INTEGERS),
    _looks("IS_ALPHA", "letters", r"\p{L}+", "abc"),
    _looks("IS_DECIMAL", "a number", _DECIMAL, "1.5", (*INTEGERS, *FLOATS)),
    Function(
        *("REGEXP", "text string, pattern string -> boolean", "Whether a regular expression is found in the text."),
        *("REGEXP('banana', 'an+')", "TRUE", "({0} rlike {1})"),
    ),
    Function(
        *("REGEXP_COUNT", "text string, pattern string -> int", "How often a regular expression is found."),
        *("REGEXP_COUNT('banana', 'an')", "2"),
    ),
    Function(
        *("REGEXP_EXTRACT", "text string, pattern string, group int? -> string"),
        *(
            "What a regular expression finds, or a group of it.",
            "REGEXP_EXTRACT('a1b22', '([a-z])([0-9]{2})', 2)",
            "22",
        ),
        # Without a match Spark's is empty.
        spark="CASE WHEN {0} rlike {1} THEN regexp_extract({0}, {1}, 0) END",
        fuller="CASE WHEN {0} rlike {1} THEN regexp_extract({*}) END",
        bad=("REGEXP_EXTRACT('abc', '[0-9]')", "NULL"),
    ),
    Function(
        *("REGEXP_EXTRACT_ALL", "text string, pattern string, group int? -> array<string>"),
        *("All that a regular expression finds.", "REGEXP_EXTRACT_ALL('a1b22', '[a-z]([0-9]+)')", "[1, 22]"),
    ),
    Function(
        *("REGEXP_INSTR", "text string, pattern string -> int", "Where a regular expression is first found, from 1."),
        *("REGEXP_INSTR('banana', 'an')", "2"),
    ),
    Function(
        *("REGEXP_REPLACE", "text string, pattern string, replacement string -> string"),
        *(
            "The text with all that a regular expression finds replaced.",
            "REGEXP_REPLACE('a1b22', '[0-9]+', '#')",
            "a#b#",
        ),
        write=_regexp_replace,
    ),
    Function(
        *("REGEXP_SUBSTR", "text string, pattern string -> string", "What a regular expression first finds."),
        *("REGEXP_SUBSTR('a1b22', '[0-9]+')", "1"),
    ),
    Function("MD5", "text binary -> string", "The MD5 hash, in hexadecimal digits.", "LEFT(MD5('abc'), 8)", "90015098"),
    Function(
        "SHA1", "text binary -> string", "The SHA-1 hash, in hexadecimal digits.", "LEFT(SHA1('abc'), 8)", "a9993e36"
    ),
    _hashed(224, "23097d22"),
    _hashed(256, "ba7816bf"),
    _hashed(384, "cb00753f"),
    _hashed(512, "ddaf35a1"),
    Function(
        *("SHA2", "text binary, bits int -> string", "The SHA-2 hash of so many bits."),
        *("LEFT(SHA2('abc', 256), 8)", "ba7816bf"),
    ),
    Function("TO_BASE64", _ONE, "The text in base 64.", "TO_BASE64('abc')", "YWJj", "base64({0})"),
    Function(
        *("FROM_BASE64", _ONE, "The text of base 64.", "FROM_BASE64('YWJj')", "abc"),
        spark=TEXT_OF_BYTES.format("unbase64({0})"),
    ),
    Function(
        *("UNHEX", "text string -> binary", "The bytes of hexadecimal digits.", "DECODE(UNHEX('466C'), 'UTF-8')", "Fl"),
        bad=("UNHEX('xyz')", "NULL"),
    ),
    Function(
        *("ENCODE", "value string, charset string -> binary", "The bytes of a text in a character set."),
        *("DECODE(ENCODE('ab', 'UTF-8'), 'UTF-8')", "ab"),
    ),
    Function(
        *("DECODE", "value binary, charset string -> string", "The text of bytes in a character set."),
        *("DECODE(ENCODE('ab', 'UTF-8'), 'UTF-8')", "ab"),
    ),
    Function(
        *("PARSE_URL", "url string, part string, key string? -> string"),
        *("A part of an address, or a parameter of its query.", "PARSE_URL('http://a.org/b?c=1', 'QUERY', 'c')", "1"),
        bad=("PARSE_URL('http://a.org/b', 'QUERY')", "NULL"),
    ),
    Function("URL_ENCODE", _ONE, "The text as a part of an address.", "URL_ENCODE('a b&c')", "a+b%26c"),
    Function("URL_DECODE", _ONE, "The text of a part of an address.", "URL_DECODE('a+b%26c')", "a b&c"),
    Function(
        *(
            "INET_ATON",
            "address string -> bigint",
            "The number of an IPv4 address.",
            "INET_ATON('127.0.0.1')",
            "2130706433",
        ),
        spark=_ADDRESS,
        bad=("INET_ATON('127.0.0.256')", "NULL"),
    ),
    Function(
        *(
            "INET_NTOA",
            "number bigint -> string",
            "The IPv4 address of a number.",
            "INET_NTOA(2130706433)",
            "127.0.0.1",
        ),
        spark=f"CASE WHEN {{0}} BETWEEN 0 AND 4294967295 THEN concat_ws('.', {_BYTES}) END",
        bad=("INET_NTOA(-1)", "NULL"),
    ),
)
