"""Images and image sets as people have them, and as nobody should."""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from tests.field.robustness import Case, adds_to

CASES: list[Case] = []
case = adds_to(CASES)

PHOTOS = ("run", "--images", "photos")
PILLOW = r"(?<=got: ).*(?=; replace)"
SKIPPED = r"^skipped "


def photo(folder: Path, name: str = "photos/good.png", mode: str = "RGB") -> Path:
    """Write a small picture and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, (8, 6)).save(path)
    return path


def beside_a_good_one(folder: Path, name: str, content: bytes) -> None:
    photo(folder)
    (folder / "photos" / name).write_bytes(content)


def png_of_size(width: int, height: int) -> bytes:
    """Return a PNG that says it is that large, and holds a single row."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        sum_ = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + sum_

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * (1 + 3 * min(width, 1000)))
    parts = chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@case("a file of no bytes", *PHOTOS, vague=PILLOW)
def zero_bytes(folder: Path) -> None:
    beside_a_good_one(folder, "empty.png", b"")


@case("an image cut off in the middle", *PHOTOS, vague=PILLOW)
def truncated(folder: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    path = photo(folder)
    Image.fromarray(noise).save(path.with_name("cut.jpg"))
    content = path.with_name("cut.jpg").read_bytes()
    path.with_name("cut.jpg").write_bytes(content[: len(content) // 2])


@case("the same with --on-error stop", *PHOTOS, "--on-error", "stop", vague=PILLOW)
def truncated_and_stop(folder: Path) -> None:
    truncated(folder)


@case("a text file with an image's suffix", *PHOTOS, vague=PILLOW)
def text(folder: Path) -> None:
    beside_a_good_one(folder, "notes.jpg", b"no image at all\n")


@case(
    "PostScript with an image's suffix, which Pillow would have a program draw",
    *PHOTOS,
    vague=PILLOW,
)
def postscript(folder: Path) -> None:
    code = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(harm) (w) file closefile\n"
    beside_a_good_one(folder, "drawing.png", code)


@case("an image of more pixels than the limit", *PHOTOS)
def above_the_limit(folder: Path) -> None:
    beside_a_good_one(folder, "wide.png", png_of_size(12_500, 4_001))


@case("a decompression bomb: a few bytes that say 100,000 x 100,000", *PHOTOS)
def bomb(folder: Path) -> None:
    beside_a_good_one(folder, "bomb.png", png_of_size(100_000, 100_000))


@case("floats as pixels", *PHOTOS)
def floats(folder: Path) -> None:
    photo(folder)
    photo(folder, "photos/depth.tif", "F")


@case("32-bit integers beyond 65535", *PHOTOS)
def integers(folder: Path) -> None:
    photo(folder)
    Image.new("I", (2, 2), 70_000).save(folder / "photos" / "counts.tif")


@case("no image that can be read", *PHOTOS, vague=PILLOW)
def all_broken(folder: Path) -> None:
    beside_a_good_one(folder, "good.png", b"")


@case("a link to an image that is gone", *PHOTOS)
def broken_link(folder: Path) -> None:
    photo(folder).with_name("link.png").symlink_to("gone.png")


@case("a pipe with an image's suffix", *PHOTOS)
def pipe(folder: Path) -> None:
    os.mkfifo(photo(folder).with_name("pipe.png"))


@case(
    "grey, palette, alpha, CMYK, 16 bits, turned by EXIF, 1 x 1 and 1 x 12,000 px: all are read",
    *PHOTOS,
    shows="units",
    vague=r"run in.*",
)
def kinds_of_pixels(folder: Path) -> None:
    for mode in ("L", "LA", "P", "RGBA"):
        photo(folder, f"photos/{mode.lower()}.png", mode)
    photo(folder, "photos/cmyk.jpg", "CMYK")
    photo(folder, "photos/sixteen.png", "I;16")
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (8, 6)).save(folder / "photos" / "turned.jpg", exif=turned)
    Image.new("L", (1, 1)).save(folder / "photos" / "dot.png")
    Image.new("L", (1, 12_000)).save(folder / "photos" / "line.png")


@case(
    "1 x 12,000 px for a detector of torchvision, which scales it to nothing",
    *(*PHOTOS, "--model", "demo_retinanet", "--sites", "uamters"),
)
def line_for_torchvision(folder: Path) -> None:
    photo(folder)
    Image.new("L", (1, 12_000)).save(folder / "photos" / "line.png")


@case("a folder that is not there", *PHOTOS)
def no_folder(folder: Path) -> None:
    (folder / "foto").mkdir()


@case("a folder without images, but for hidden ones", *PHOTOS)
def hidden(folder: Path) -> None:
    photo(folder, "photos/.a.png")
    photo(folder, "photos/.thumbnails/b.png")


@case("a.jpg beside a.png", *PHOTOS)
def twins(folder: Path) -> None:
    photo(folder, "photos/a.jpg")
    photo(folder, "photos/a.png")


@case("a file that is no source of images", "run", "--images", "photos.zip")
def archive(folder: Path) -> None:
    (folder / "photos.zip").write_bytes(b"PK")


COCO = ("run", "--images", "instances.json")


def coco(folder: Path, *names: object) -> None:
    photo(folder)
    entries = [{"id": n, "file_name": name} for n, name in enumerate(names)]
    (folder / "instances.json").write_text(json.dumps({"images": entries}))


@case("COCO: broken JSON", *COCO, vague=r"(?<=broken JSON \().*(?=\))")
def coco_broken(folder: Path) -> None:
    (folder / "instances.json").write_text('{"images": [')


@case("COCO: no list of images", *COCO)
def coco_of_results(folder: Path) -> None:
    (folder / "instances.json").write_text("[]")


@case("COCO: a file_name that leads out of the folder", *COCO)
def coco_out(folder: Path) -> None:
    coco(folder, "photos/good.png", "../secret.png")


@case("COCO: an absolute file_name", *COCO)
def coco_absolute(folder: Path) -> None:
    coco(folder, "/etc/secret.png")


@case("COCO: a file_name on a drive of Windows", *COCO)
def coco_drive(folder: Path) -> None:
    coco(folder, "C:\\secret.png")


@case("COCO: a file_name with a NUL", *COCO)
def coco_nul(folder: Path) -> None:
    coco(folder, "photos/good.png\0.txt")


@case("COCO: a file_name that is a number", *COCO)
def coco_number(folder: Path) -> None:
    coco(folder, 7)


@case("COCO: an image that is there twice", *COCO)
def coco_twice(folder: Path) -> None:
    coco(folder, "photos/good.png", "photos/./good.png")


@case("COCO: none of the images is there", *COCO)
def coco_elsewhere(folder: Path) -> None:
    coco(folder, "good.png", "bad.png")


@case("COCO: one of the images is not there", *COCO)
def coco_partly(folder: Path) -> None:
    coco(folder, "photos/good.png", "photos/gone.png")


YOLO = ("run", "--images", "data.yaml")


def yolo(folder: Path, text: str) -> None:
    photo(folder, "images/val/good.png")
    (folder / "data.yaml").write_text(text)


@case("YOLO: data.yaml with a Python object", *YOLO)
def yolo_object(folder: Path) -> None:
    yolo(folder, "path: !!python/object/apply:os.system ['touch harm']\nval: images/val\n")


@case("YOLO: data.yaml nested 1,000 deep", *YOLO, vague=r"(?<=got: ).*")
def yolo_deep(folder: Path) -> None:
    yolo(folder, f"val: {'[' * 1_000}\n")


@case("YOLO: a split that leads out of the folder", *YOLO)
def yolo_out(folder: Path) -> None:
    yolo(folder, "val: ../../elsewhere\n")


@case("YOLO: a path that leads out of the folder", *YOLO)
def yolo_path_out(folder: Path) -> None:
    yolo(folder, "path: /datasets/coco\nval: images/val\n")


@case("YOLO: a split that is not there", *YOLO)
def yolo_missing(folder: Path) -> None:
    yolo(folder, "val: images/valid\n")


@case("YOLO: data.yaml without a split", *YOLO)
def yolo_no_split(folder: Path) -> None:
    yolo(folder, "names: [cat, dog]\n")


VOC_LIST = "VOC/ImageSets/Main/cat_val.txt"


@case("VOC: a list of one class", "run", "--images", VOC_LIST)
def voc_class(folder: Path) -> None:
    photo(folder, "VOC/JPEGImages/000001.jpg")
    (folder / VOC_LIST).parent.mkdir(parents=True)
    (folder / VOC_LIST).write_text("000001 -1\n")


@case("VOC: an id that leads out of the folder", "run", "--images", VOC_LIST)
def voc_out(folder: Path) -> None:
    voc_class(folder)
    (folder / VOC_LIST).write_text("../../../secret\n")


@case("a list of images that are not there", "run", "--images", "list.txt")
def list_elsewhere(folder: Path) -> None:
    photo(folder)
    (folder / "list.txt").write_text("a.png\nb.png\n")


@case("an image root for a folder", *PHOTOS, "--image-root", "photos")
def root_of_folder(folder: Path) -> None:
    photo(folder)
