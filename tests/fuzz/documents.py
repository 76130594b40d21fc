"""Files for readers: valid ones of every kind, and such as a careless or hostile tool writes."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import tomli_w
from hypothesis import strategies as st

from scoring.rows import COLUMNS

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
words = st.from_regex(r"[a-zA-Z][a-z0-9 ._-]{0,10}[a-z]", fullmatch=True)
numbers = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
shares = st.floats(0, 1)

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers() | st.sampled_from([0, -1, 2**63, -(2**63) - 1, 10**400]),
    st.floats() | st.sampled_from([1e308, 5e-324, -0.0]),
    st.text(max_size=4) | st.sampled_from(["", "../x", "\0", "\ud800", "NaN", "a" * 5000]),
    st.lists(st.none() | st.integers(-2, 2), max_size=5),
    st.dictionaries(st.text(max_size=2), st.integers(-2, 2), max_size=2),
    st.integers(1, 2000).map(lambda depth: nested(depth)),
)
"""Values that belong nowhere."""


def nested(depth: int) -> Any:
    """Return lists in each other; beyond 500 as a text of brackets, for json.dumps has a limit."""
    value: Any = 0
    for _ in range(min(depth, 500)):
        value = [value]
    return value


@st.composite
def detections(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the object of a prediction file."""
    n_classes = draw(st.sampled_from([1, 2, 3, 17]))
    return draw(
        st.dictionaries(
            names,
            st.fixed_dictionaries(
                {
                    "box": st.lists(numbers, min_size=4, max_size=4),
                    "label": st.integers(-3, 90) | names,
                    "logit": st.lists(shares, min_size=n_classes, max_size=n_classes),
                },
                optional={"score": shares, "more": st.lists(numbers, max_size=2)},
            ),
            max_size=3,
        )
    )


curtailed = st.fixed_dictionaries(
    {
        "kinds": st.sampled_from(["miss_ghost", "miss", "ghost", "all"]),
        "rule": st.sampled_from(["any", "significant"]),
        "critical_count": st.integers(1, 4),
    }
)
_settings = st.fixed_dictionaries(
    {
        "model": st.fixed_dictionaries(
            {}, optional={"scores": st.sampled_from([None, "given", "softmax", "one_hot"])}
        ),
        "passes": st.integers(1, 50),
    },
    optional={"curtail": curtailed.map(lambda said: said | {"per_mutant": True}) | st.none()},
)
_operators = st.dictionaries(
    names,
    st.fixed_dictionaries({"tags": st.lists(words, max_size=3)}, optional={"sites": st.just([])}),
    max_size=2,
)
_images = st.dictionaries(names, st.fixed_dictionaries({"stem": names}), max_size=3)
manifests = st.fixed_dictionaries(
    {
        "format": st.just(1),
        "models": st.dictionaries(
            names,
            st.fixed_dictionaries(
                {
                    "settings": _settings,
                    "operators": _operators,
                    "suites": st.dictionaries(names, _images, max_size=2),
                },
                optional={"original_is_deterministic": st.booleans()},
            ),
            max_size=2,
        ),
    }
)

_units = st.fixed_dictionaries(
    {key: names for key in ("model", "suite", "image", "operator", "tag")}
)
entries = st.fixed_dictionaries(
    {
        "unit": _units,
        "status": st.sampled_from(["done", "runtime_error", "unreadable_image", "dropped"]),
        "configuration": words,
        "stem": names,
    },
    optional={"sha256": st.lists(words, max_size=2), "seconds": shares, "message": names},
)

facts = st.integers(1, 20).flatmap(
    lambda passes: st.fixed_dictionaries(
        {"rules": words, "passes": st.just(passes)},
        optional={
            "scores": st.sampled_from(["softmax", "sigmoid"]),
            "equivalent": st.lists(words, max_size=3),
            "fewer_passes": st.dictionaries(
                words, st.dictionaries(names, st.integers(0, passes), max_size=2), max_size=2
            ),
            "curtailed": st.none() | curtailed,
        },
    )
)


@st.composite
def coco_datasets(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the images and categories of a COCO data set."""
    files = draw(st.lists(words, min_size=1, max_size=4, unique_by=str.casefold))
    ids = draw(
        st.lists(st.integers(-5, 99) | words, min_size=len(files), max_size=len(files), unique=True)
    )
    categories = draw(st.lists(st.integers(0, 90), min_size=1, max_size=3, unique=True))
    return {
        "images": [
            {"id": number, "file_name": f"{i}{name}.jpg", "width": draw(st.integers(1, 9))}
            for i, (number, name) in enumerate(zip(ids, files, strict=True))
        ],
        "categories": [{"id": number, "name": draw(names)} for number in categories],
    }


image_sets = st.lists(words.filter(lambda name: ".." not in name), max_size=3, unique=True).map(
    lambda listed: ["photos/a.png", *(f"{name}.png" for name in listed)]
)


def as_entries(listed: list[str]) -> dict[str, Any]:
    """Return a COCO data set of these images."""
    return {"images": [{"file_name": name} for name in listed]}


def as_coco(listed: list[str]) -> bytes:
    """Return the same as a file."""
    return json.dumps(as_entries(listed)).encode()


coco_results = st.lists(
    st.fixed_dictionaries(
        {
            "image_id": st.sampled_from([42, "b"]),
            "category_id": st.sampled_from([90, 1]),
            "bbox": st.lists(numbers, min_size=4, max_size=4),
            "score": shares,
            "class_probs": st.lists(shares, min_size=3, max_size=3),
        }
    ),
    max_size=4,
)


@st.composite
def changed(draw: st.DrawFn, documents: st.SearchStrategy[Any]) -> bytes:
    """Draw a JSON document of which a value, key or piece of text is not as it should be."""
    document = copy.deepcopy(draw(documents))
    for _ in range(draw(st.integers(0, 2))):
        document = _changed_once(draw, document)
    text = json.dumps(document, ensure_ascii=draw(st.booleans()))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32"]))
    content = text.encode(encoding, "surrogatepass")
    if draw(st.booleans()):
        return content
    start = draw(st.integers(0, len(content)))
    return (
        content[:start] + draw(st.binary(max_size=2)) + content[start + draw(st.integers(0, 2)) :]
    )


def _changed_once(draw: st.DrawFn, document: Any) -> Any:
    places = list(_places(document))
    if not places:
        return draw(odd)
    holder, key = draw(st.sampled_from(places))
    what = draw(st.sampled_from(["replace", "replace", "drop", "add", "rename"]))
    if what == "drop":
        del holder[key]
    elif what == "replace":
        holder[key] = draw(odd)
    elif isinstance(holder, dict):
        name = draw(st.text(max_size=3))
        holder[name] = holder.pop(key) if what == "rename" else draw(odd)
    else:
        holder.insert(key, draw(odd))
    return document


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield every container with each key or index of it, from the outside in."""
    if isinstance(value, dict):
        keys: Iterable[Any] = list(value)
    else:
        keys = range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        # Beyond a few levels every place is like the others.
        if depth < 8:
            yield from _places(value[key], depth + 1)


def as_json(documents: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Return documents as JSON files."""
    return documents.map(lambda document: json.dumps(document).encode())


def as_lines(documents: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Return several one-line files as one of lines."""
    return st.lists(documents, max_size=3).map(lambda lines: b"".join(b"%s\n" % x for x in lines))


_KINDS: list[Callable[[str], Any]] = [PurePosixPath, PureWindowsPath, str]
pickles = st.builds(
    lambda listed, kind, protocol, container: pickle.dumps(container(map(kind, listed)), protocol),
    st.lists(names.filter(bool), min_size=1, max_size=5),
    st.sampled_from(_KINDS),
    st.integers(0, pickle.HIGHEST_PROTOCOL),
    st.sampled_from([list, tuple]),
)
foreign_pickles = st.builds(
    pickle.dumps,
    st.recursive(
        st.none() | st.integers() | names | st.binary(max_size=3) | names.map(PurePosixPath),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(names, inner, max_size=2)
        ),
        max_leaves=8,
    ),
    st.integers(0, pickle.HIGHEST_PROTOCOL),
)

experiments = st.fixed_dictionaries(
    {},
    optional={
        "out": names,
        "passes": st.integers(1, 40),
        "seed": st.integers(0, 2**63 - 1),
        "score_threshold": shares,
        "classes": st.lists(st.integers(0, 90), min_size=1, max_size=3),
        "sites": words | st.lists(words, min_size=1, max_size=2),
        "names": st.sampled_from(["stem", "path"]),
        "operators": st.fixed_dictionaries(
            {},
            optional={
                "mc_dropout": st.fixed_dictionaries({"rates": st.just([0.1, 0.2])}),
                "mc_dropblock": st.fixed_dictionaries({"blocks": st.just([3])}),
            },
        ),
        "model": st.fixed_dictionaries(
            {"weights": words}, optional={"args": st.dictionaries(words, numbers, max_size=2)}
        ),
    },
)
as_toml = experiments.map(lambda values: tomli_w.dumps(values).encode())


@st.composite
def changed_toml(draw: st.DrawFn) -> bytes:
    """Draw an experiment file of which a value is of another kind, or a piece of text another."""
    document = copy.deepcopy(draw(experiments))
    places = list(_places(document))
    plain = st.integers() | st.floats() | st.text(max_size=4) | st.booleans()
    if places:
        holder, key = draw(st.sampled_from(places))
        holder[key] = draw(plain | st.lists(plain, max_size=2) | st.dictionaries(words, plain))
    content = tomli_w.dumps(document).encode("utf-8", "replace")
    start = draw(st.integers(0, len(content)))
    return content[:start] + draw(st.binary(max_size=1)) + content[start:]


tables = st.lists(
    st.tuples(names, st.lists(shares, min_size=37, max_size=37), st.integers(0, 10)), max_size=3
)


def as_table(rows: list[tuple[str, list[float], int]]) -> bytes:
    """Return rows of a mutant's CSV."""
    lines = [",".join(["test_suite", *COLUMNS])]
    for stem, values, count in rows:
        cells = [
            str(count) if column.endswith("_count") and column.startswith("[img") else repr(value)
            for column, value in zip(COLUMNS, values, strict=True)
        ]
        quoted = stem.replace('"', '""')
        lines.append(",".join([f'"{quoted}"', *cells]))
    return "\n".join([*lines, ""]).encode()


yolo_rows = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.lists(shares, min_size=5, max_size=5),
        st.lists(shares, min_size=3, max_size=3),
    ),
    max_size=4,
)


def as_yolo(rows: list[tuple[int, list[float], list[float]]]) -> bytes:
    """Return lines of a YOLO text file with class vectors."""
    return "".join(
        f"{label} {' '.join(map(repr, [*box, *vector]))}\n" for label, box, vector in rows
    ).encode()


@st.composite
def spoilt(draw: st.DrawFn, contents: st.SearchStrategy[bytes]) -> bytes:
    """Draw a file of words of which one is another, or is cut."""
    content = draw(contents)
    start = draw(st.integers(0, len(content)))
    piece = draw(
        st.binary(max_size=3)
        | st.sampled_from([b"nan", b"1e999", b"\n", b",", b'"', b"-1", b"\xff", b" ", b"1_0"])
    )
    return content[:start] + piece + content[start + draw(st.integers(0, 3)) :]
