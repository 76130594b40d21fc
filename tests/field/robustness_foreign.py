"""Pickles and checkpoints of strangers, which try to run code, or are of another kind."""

from __future__ import annotations

import argparse
import os
import pickle
from collections import OrderedDict
from pathlib import Path, PurePosixPath

import torch
from torch import nn

from tests.field.robustness import Case, adds_to
from tests.field.robustness_images import photo

CASES: list[Case] = []
case = adds_to(CASES)

PICKLE = ("suites", "scores", "--suite", "a=names.pkl")


class Harmful:
    """Pickled, it writes a file `harm` when it is read."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch harm",)


def pickled(folder: Path, content: object) -> None:
    (folder / "names.pkl").write_bytes(
        content if isinstance(content, bytes) else pickle.dumps(content)
    )


@case("a pickle that runs a command", *PICKLE)
def pickle_of_code(folder: Path) -> None:
    pickled(folder, [PurePosixPath("a.jpg"), Harmful()])


@case("a pickle that reaches os.system through pathlib", *PICKLE)
def pickle_through_pathlib(folder: Path) -> None:
    pickled(folder, b"\x80\x04](\x8c\x07pathlib\x8c\x09os.system\x93\x8c\x0atouch harm\x85Re.")


@case("a pickle with a persistent id", *PICKLE)
def pickle_of_ids(folder: Path) -> None:
    pickled(folder, b"]Pevil\na.")


@case("a pickle with an extension code", *PICKLE)
def pickle_of_extensions(folder: Path) -> None:
    pickled(folder, b"\x80\x04]\x82\x01a.")


@case("a pickle whose paths double 60 times", *PICKLE)
def pickle_that_doubles(folder: Path) -> None:
    named = b"cpathlib\nPosixPath\n"
    start = b"\x80\x04](" + named + b"\x8c\x01a\x85Rq\x00"
    pickled(folder, start + (named + b"h\x00h\x00\x86Rq\x00") * 60 + b"e.")


@case("a pickle of lists in lists, 10,000 deep", *PICKLE)
def pickle_of_lists(folder: Path) -> None:
    pickled(folder, b"\x80\x04" + b"]" * 10_000 + b"a" * 9_999 + b".")


@case("a pickle of a dict", *PICKLE)
def pickle_of_dict(folder: Path) -> None:
    pickled(folder, {"a.jpg": 1})


@case("a file that is no pickle", *PICKLE, vague=r"(?<=of paths \().*(?=\))")
def no_pickle(folder: Path) -> None:
    pickled(folder, b"a.jpg\nb.jpg\n")


CHECKPOINT = (
    *("run", "--model", "ssdlite320_mobilenet_v3_large", "--weights", "model.pt"),
    *("--images", "photos"),
)


def saved(folder: Path, content: object) -> None:
    photo(folder)
    torch.save(content, folder / "model.pt")


@case("a checkpoint that runs a command", *CHECKPOINT)
def checkpoint_of_code(folder: Path) -> None:
    saved(folder, {"model": {"a.weight": Harmful()}})


@case("a pickled model in place of its weights", *CHECKPOINT)
def pickled_model(folder: Path) -> None:
    saved(folder, nn.Sequential(nn.Conv2d(3, 4, 1)))


@case("a text file in place of a checkpoint", *CHECKPOINT)
def text_as_checkpoint(folder: Path) -> None:
    photo(folder)
    (folder / "model.pt").write_text("epoch,loss\n1,0.5\n")


@case("a checkpoint cut off in the middle", *CHECKPOINT, vague=r"(?<=got: ).*(?=; save)")
def cut_checkpoint(folder: Path) -> None:
    saved(folder, {"a.weight": torch.zeros(100)})
    content = (folder / "model.pt").read_bytes()
    (folder / "model.pt").write_bytes(content[:500])


@case("a checkpoint of one number that claims a million classes", *CHECKPOINT)
def expanded_checkpoint(folder: Path) -> None:
    name = "head.classification_head.module_list.0.1.weight"
    saved(folder, {name: torch.zeros(1).expand(10**6, 672, 1, 1)})


@case("a checkpoint without weights", *CHECKPOINT)
def options_alone(folder: Path) -> None:
    saved(folder, {"epoch": 3, "args": argparse.Namespace(lr=0.1)})


@case(
    "weights of another architecture",
    *CHECKPOINT,
    vague=r"(?<=mobilenet_v3_large; ).*(?=; name)",
)
def other_architecture(folder: Path) -> None:
    saved(folder, OrderedDict({"conv.weight": torch.zeros(3)}))


@case("a checkpoint that is not there", *CHECKPOINT)
def no_checkpoint(folder: Path) -> None:
    photo(folder)


@case("an experiment file with code", "run", "experiment.toml")
def toml_with_code(folder: Path) -> None:
    photo(folder)
    text = "images = 'photos'\npasses = \"__import__('os').system('touch harm')\"\n"
    (folder / "experiment.toml").write_text(text)


@case(
    "code as a model's argument",
    *("run", "--images", "photos", "--model", "ssdlite320_mobilenet_v3_large"),
    *("--model-arg", "num_classes=__import__('os').system('touch harm')"),
    vague=r"(?<=harm'\)\"\): ).*",
)
def argument_with_code(folder: Path) -> None:
    photo(folder)
