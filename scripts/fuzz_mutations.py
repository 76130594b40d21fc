"""Mutations of small text files, word by word, and of any bytes: seeded, and without a fuzzer."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_WORDS = re.compile(rb'"(?:[^"\\]|\\.)*"|[-+.\w]+|\s+|.', re.DOTALL)

EXTREMES = (
    *(b"0", b"-0.0", b"-1", b"1e308", b"1e309", b"-1e309", b"1e-400", b"0.1e", b"NaN", b"Infinity"),
    *(b"nan", b"inf", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809"),
    *(b"1" * 400, b"9" * 5000, b"true", b"false", b"null", b'""', b"{}", b"[]", b"[[[[[[", b"}]"),
    *(
        b'"\\ud800"',
        b'"\\u0000"',
        b"\\",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xf0\x9f",
    ),
    *(b'"../../x"', b'"a/b"', b'"\xcc\x81"', b"\r", b"\n", b"\xe2\x80\xa8", b"#", b"'", b'"'),
)
"""Words that readers stumble over."""

_NESTS = ((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"a.", b"b=1"))
_DEPTHS = (2, 40, 300, 1500)


def mutate(content: bytes, max_size: int, seed: int, tokens: Sequence[bytes] = ()) -> bytes:
    """Return a file that is near to this one.

    Args:
        content: The file.
        max_size: Bytes that the result may have.
        seed: What decides it.
        tokens: Words of such files, beside `EXTREMES`.
    """
    source = random.Random(seed)
    for _ in range(source.choice((1, 1, 1, 2, 3, 6))):
        content = source.choice(_MUTATIONS)(content, source, tokens)[:max_size]
    return content


def _replace_word(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    words = _WORDS.findall(content) or [b""]
    words[source.randrange(len(words))] = source.choice((*EXTREMES, *tokens))
    return b"".join(words)


def _copy_word(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    words = _WORDS.findall(content) or [b""]
    words[source.randrange(len(words))] = source.choice(words)
    return b"".join(words)


def _cut_words(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    words = _WORDS.findall(content)
    start = source.randrange(len(words) + 1)
    return b"".join(words[:start] + words[start + source.choice((1, 1, 2, 3, 8)) :])


def _repeat_words(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    words = _WORDS.findall(content)
    start = source.randrange(len(words) + 1)
    part = words[start : start + source.choice((1, 2, 4, 16, 64))]
    return b"".join(words[:start] + part * source.choice((2, 2, 3, 200)) + words[start:])


def _nest(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    words = _WORDS.findall(content) or [b""]
    place, depth = source.randrange(len(words)), source.choice(_DEPTHS)
    begin, end = source.choice(_NESTS)
    words[place] = begin * depth + words[place] + end * depth
    return b"".join(words)


def _insert(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    place = source.randrange(len(content) + 1)
    return content[:place] + source.choice((*EXTREMES, *tokens)) + content[place:]


def _change_byte(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    if not content:
        return bytes([source.randrange(256)])
    place = source.randrange(len(content))
    return content[:place] + bytes([source.randrange(256)]) + content[place + 1 :]


def _truncate(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    return content[: source.randrange(len(content) + 1)]


def _recode(content: bytes, source: random.Random, tokens: Sequence[bytes]) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(
        source.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1")), "replace"
    )


_MUTATIONS = (
    *(_replace_word, _replace_word, _replace_word, _copy_word, _cut_words, _repeat_words),
    *(_nest, _insert, _change_byte, _truncate, _recode),
)
