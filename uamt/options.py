"""Options of an experiment: one table for the TOML file, the flags and the documentation."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import ConfigError, DataError
from scoring.faults import shown
from scoring.limits import MAX_EXPERIMENT_BYTES
from scoring.reading import read_bounded
from uamt.toml_text import parse_toml


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of an experiment.

    Args:
        key: Dotted key of the TOML file.
        flag: Flag of the command line.
        shape: What a value is: `text`, `whole`, `number`, `yes`, `auto or whole`, `texts`,
            `wholes`, `numbers`, `patterns` (one text or several), `table` (of text or numbers by
            name), or a choice as `a|b`.
        help: What it does, for `--help` and the documentation.
        default: What holds without it.
        bare: What the flag says when it is given alone; None means that it needs a value.
    """

    key: str
    flag: str
    shape: str
    help: str
    default: Any = None
    bare: str | None = None


OPTIONS = (
    Option("out", "--out", "text", "folder of the experiment", "experiment"),
    Option(
        "model.name",
        "--model",
        "text",
        "a detection builder of torchvision, a built-in detector, or package.module:function",
    ),
    Option(
        "model.weights",
        "--weights",
        "text",
        "member of the weights enum (DEFAULT, COCO_V1) or a state_dict file; none: random weights",
    ),
    Option("model.folder", "--name", "text", "the model's folder name; none: the builder's name"),
    Option("model.args", "--model-arg", "table", "K=V for the builder, such as num_classes=3"),
    Option("model.one_hot", "--one-hot", "yes", "make up class vectors the model lacks", False),
    Option(
        "model.n_classes",
        "--n-classes",
        "whole",
        "label ids from 0 up, where the model cannot tell",
    ),
    Option("model.device", "--device", "text", "cpu, cuda or cuda:N", "cpu"),
    Option(
        "images",
        "--images",
        "text",
        "folder of images, COCO .json, YOLO data set, VOC folder, or .txt list (docs/images.md)",
    ),
    Option("image_root", "--image-root", "text", "folder of the images that a file lists"),
    Option(
        "suites",
        "--suites",
        "table",
        "NAME=SOURCE per suite; or 'folders': each folder in the images' folder is one",
        "one",
    ),
    Option(
        "names",
        "--names",
        "stem|path",
        "what results are named by: file name or whole path",
        "stem",
    ),
    Option("operators", "--operators", "texts", "operators to run; none: all that the sites allow"),
    Option(
        "operators.mc_dropout.rates",
        "--dropout-rates",
        "numbers",
        "MC-Dropout rates; none: the study's 9, 0.1 to 0.5",
    ),
    Option(
        "operators.mc_dropblock.rates",
        "--dropblock-rates",
        "numbers",
        "DropBlock rates; none: the study's 9",
    ),
    Option(
        "operators.mc_dropblock.blocks",
        "--blocks",
        "wholes",
        "DropBlock sizes, odd; none: 1, 3, 5, 7, 9",
    ),
    Option(
        "operators.mc_dropblock.exact_rate",
        "--exact-rate",
        "yes",
        "choose DropBlock's density so that the expected share dropped is the rate",
        False,
    ),
    Option(
        "sites",
        "--sites",
        "patterns",
        "preset (uamters, head, last, ...) or module patterns",
        "uamters",
    ),
    Option("passes", "--passes", "whole", "T, passes per image and mutant", 10),
    Option("seed", "--seed", "whole", "seed of all masks", 0),
    Option(
        "score_threshold", "--score-threshold", "number", "least score of a detection, 0 to 1", 0.5
    ),
    Option("classes", "--classes", "wholes", "label ids to keep; none: all"),
    Option(
        "chunk",
        "--chunk",
        "auto or whole",
        "passes in one batch; auto: all T or 1, whichever pays on the first image",
        "auto",
    ),
    Option("threads", "--threads", "whole", "CPU threads per worker", 1),
    Option(
        "precision",
        "--precision",
        "fp32|tf32",
        "arithmetic of float32 on CUDA: exact, or faster and coarser",
        "fp32",
    ),
    Option(
        "curtail",
        "--curtail",
        "miss_ghost|miss|ghost|all",
        "stop the passes of a mutant over an image once this kind of kill is settled; "
        "alone: miss_ghost",
        bare="miss_ghost",
    ),
    Option(
        "kill_rule",
        "--kill-rule",
        "any|significant",
        "with --curtail, what makes a kill: one changed pass, or p < .05",
        "significant",
    ),
    Option(
        "curtail_mutants",
        "--curtail-mutants",
        "yes",
        "with --curtail, drop a mutant for the rest of a suite once an image kills it",
        False,
    ),
    Option("workers", "--workers", "whole", "worker processes", 1),
    Option(
        "no_memo",
        "--no-memo",
        "yes",
        "compute every pass as a whole; the results are the same, and take longer",
        False,
    ),
    Option("shard", "--shard", "text", "I/N: this run takes part I of N of the images"),
    Option("engine", "--engine", "local|ray", "where workers run: this machine or Ray", "local"),
    Option("address", "--address", "text", "Ray cluster to join; none: one on this machine"),
    Option("gpu_fraction", "--gpu-fraction", "number", "GPUs that each Ray worker takes", 0),
    Option("on_error", "--on-error", "skip|stop", "what a bad image or a crash does", "skip"),
    Option(
        "redo_changed",
        "--redo-changed",
        "yes",
        "run again what a changed setting, model or image touches, instead of refusing it",
        False,
    ),
)
"""Every option of `uamt run`."""

TOPICS: Mapping[str, tuple[str, ...]] = {
    "the detector": tuple(option.key for option in OPTIONS if option.key.startswith("model.")),
    "the images": ("images", "image_root", "suites", "names"),
    "the mutants": (
        "operators",
        *(option.key for option in OPTIONS if option.key.startswith("operators.")),
        "sites",
        "seed",
    ),
    "passes and detections": ("passes", "score_threshold", "classes"),
    "results": ("out", "on_error", "redo_changed"),
    "time": ("workers", "threads", "chunk", "precision", "no_memo"),
    "fewer passes": ("curtail", "kill_rule", "curtail_mutants"),
    "several machines": ("shard", "engine", "address", "gpu_fraction"),
}
"""Keys of options by what they are about, in the order of the help."""

BY_KEY: Mapping[str, Option] = {option.key: option for option in OPTIONS}


def read_experiment_file(path: Path) -> dict[str, Any]:
    """Return the options of an `experiment.toml`, by dotted key; relative paths stay as written.

    Raises:
        DataError: There is no such file, or it cannot be read.
        ConfigError: It is no TOML, too large or too deep, a key is unknown, or a value has the
            wrong shape.
    """
    content = parse_toml(_read_toml(path), str(path))
    values = {}
    for key, value in _flatten(content, ""):
        if key not in BY_KEY:
            raise unknown_key(str(path), key)
        values[key] = check_value(BY_KEY[key], value, f"{path}: {key}")
    if isinstance(content.get("operators"), dict):
        # Tables name the operators to run; one without keys asks for its defaults.
        for name in content["operators"]:
            if not any(key.startswith(f"operators.{name}.") for key in BY_KEY):
                raise unknown_key(str(path), f"operators.{name}")
        values["operators"] = tuple(content["operators"])
    return values


def _read_toml(path: Path) -> str:
    if path.is_dir():
        raise ConfigError(
            f"{path}: expected an experiment file, got a folder; a folder of images is given as "
            f"'--model MODEL --images {shlex.quote(str(path))}'"
        )
    try:
        content = read_bounded(path, MAX_EXPERIMENT_BYTES, "an experiment file", may_be_pipe=True)
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(
            f"{path}: expected an experiment file, found none; without one, give --model and "
            f"--images"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: no valid TOML ({error}); images are given with --images, a model with --model"
        ) from error


_LONGEST_KEY = 80
"""Characters that are compared with the keys there are."""


def unknown_key(where: str, key: str) -> ConfigError:
    """Return the error of a key that no option has, with the nearest ones."""
    near = difflib.get_close_matches(key[:_LONGEST_KEY], BY_KEY, n=3, cutoff=0.0)
    return ConfigError(f"{where}: unknown key {shown(key)}; the nearest are {', '.join(near)}")


def _flatten(table: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = f"{above}{name}"
        is_option = key in BY_KEY and BY_KEY[key].shape == "table"
        is_above = any(known.startswith(f"{key}.") for known in BY_KEY)
        # An empty table of no such name would be passed over in silence.
        if isinstance(value, dict) and not is_option and (value or is_above):
            yield from _flatten(value, f"{key}.")
        else:
            yield key, value


_SHAPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("text", lambda v: isinstance(v, str)),
    "whole": ("a whole number", lambda v: isinstance(v, int) and not isinstance(v, bool)),
    "number": ("a number", lambda v: isinstance(v, int | float) and not isinstance(v, bool)),
    "auto or whole": (
        "auto or a whole number",
        lambda v: v == "auto" or (isinstance(v, int) and not isinstance(v, bool)),
    ),
    "yes": ("true or false", lambda v: isinstance(v, bool)),
}


_FOLDERS = "'folders' (each folder in that of the images is a suite)"


def check_value(option: Option, value: Any, where: str) -> Any:
    """Return the value of an option in its one form: a list is a tuple, one text a list of one.

    Raises:
        ConfigError: It has another shape; the message says what was expected.
    """
    shape = option.shape
    if shape in _SHAPES:
        expected, fits = _SHAPES[shape]
        if not fits(value):
            raise ConfigError(f"{where}: expected {expected}, got {shown(value)}")
        return value
    if "|" in shape:
        if value not in shape.split("|"):
            choices = " or ".join(shape.split("|"))
            raise ConfigError(f"{where}: expected {choices}, got {shown(value)}")
        return value
    if shape == "table":
        if option.key == "suites" and value in ("one", "folders"):
            return value
        if not isinstance(value, dict):
            expected = "a table of names and values"
            if option.key == "suites":
                expected = f"{_FOLDERS}, or a table of names and sources"
            raise ConfigError(f"{where}: expected {expected}, got {shown(value)}")
        if option.key == "suites" and not all(isinstance(v, str) for v in value.values()):
            raise ConfigError(f"{where}: expected a table of texts, got {shown(value)}")
        return value
    expected, fits = _SHAPES[_item_shape(option)]
    items = [value] if not isinstance(value, list | tuple) else list(value)
    if not items or not all(fits(item) for item in items):
        raise ConfigError(f"{where}: expected a list, each {expected}, got {shown(value)}")
    return items[0] if shape == "patterns" and len(items) == 1 else tuple(items)


def _item_shape(option: Option) -> str:
    return "text" if option.shape == "patterns" else option.shape.removesuffix("s")


_NO_COMMA = re.compile(r"[^,]+")
_PATTERN = re.compile(r"(?:\{[^{}]*\}|[^,])+")


def parse_flag(option: Option, texts: Sequence[str] | bool) -> Any:
    """Return the value of a flag, which may be given several times and hold commas.

    A comma within the braces of a pattern belongs to the pattern.

    Raises:
        ConfigError: The text does not fit the option's shape.
    """
    if isinstance(texts, bool):
        return texts
    if option.shape == "table":
        return _parse_table(option, texts)
    shape = _item_shape(option)
    if option.shape in _SHAPES or "|" in option.shape:
        return check_value(option, _parse_one(option.flag, shape, texts[-1]), option.flag)
    between = _PATTERN if option.shape == "patterns" else _NO_COMMA
    parts = [part.strip() for text in texts for part in between.findall(text) if part.strip()]
    values = [_parse_one(option.flag, shape, part) for part in parts]
    return check_value(option, values, option.flag)


def as_flags(values: Mapping[str, Any]) -> str:
    """Return options as they are typed.

    Args:
        values: By dotted key; None and False are left out.

    Example:
        >>> as_flags({"model.name": "mine:build", "seed": None, "images": "my photos/"})
        "--model mine:build --images 'my photos/'"
    """
    words = []
    for option in OPTIONS:
        value = values.get(option.key)
        if value is None or value is False:
            continue
        if value is True:
            words.append(option.flag)
        elif isinstance(value, Mapping):
            words += [word for k, v in value.items() for word in (option.flag, f"{k}={v}")]
        elif isinstance(value, tuple):
            words += [option.flag, ",".join(map(str, value))]
        else:
            words += [option.flag, str(value)]
    return shlex.join(words)


def _parse_one(flag: str, shape: str, text: str) -> Any:
    if shape == "auto or whole" and text == "auto":
        return text
    convert = {"whole": int, "auto or whole": int, "number": float}.get(shape, str)
    try:
        return convert(text)
    except ValueError:
        expected = _SHAPES[shape][0]
        raise ConfigError(f"{flag}: expected {expected}, got {text!r}") from None


def _parse_table(option: Option, texts: Sequence[str]) -> Any:
    if option.key == "suites" and len(texts) == 1 and texts[0] in ("one", "folders"):
        return texts[0]
    table = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            expected = "NAME=VALUE"
            if option.key == "suites":
                expected = f"{_FOLDERS}, or NAME=SOURCE for each suite"
            raise ConfigError(f"{option.flag}: expected {expected}, got {text!r}")
        table[name] = value
    return table
