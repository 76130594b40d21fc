"""Train the built-in demo detectors on drawn scenes, measure them, and write their weights.

    python scripts/train_demo_detectors.py --detector demo_fasterrcnn --out runners/builtin/weights

The same command twice on one machine writes the same bytes. Needs the extra `dev` for the
evaluator.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runners.builtin.models import build, builtin_names
from runners.builtin.scenes import Scene, draw_scene

IMAGES = 2400
EPOCHS = 12
BATCH = 8
LEARNING_RATE = 2e-3
SEED = 0
# Of four training scenes two are plain, one is mildly dark and one mildly full: the detectors are
# to be good on `plain`, weaker on `dim` and `crowded`, blind on neither.
TRAINING_STYLES = ("plain", "dusk", "plain", "busy")

HELD_OUT_STYLES = ("plain", "dim", "crowded")
HELD_OUT_SEED = 100_000
HELD_OUT_IMAGES = 300


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--detector", choices=builtin_names(), action="append")
    parser.add_argument("--out", type=Path, default=Path("runners/builtin/weights"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--held-out-images", type=int, default=HELD_OUT_IMAGES)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.detector or builtin_names():
        state = train(name, epochs=options.epochs, images=options.images)
        path = options.out / f"{name}.pt"
        write_half(state, path)
        parameters = sum(p.numel() for p in build(name).parameters())
        print(f"{name}: {parameters} parameters, {path.stat().st_size} bytes")
        if options.held_out_images:
            compare_storage(name, state, path, options.held_out_images)


def train(name: str, *, epochs: int, images: int) -> dict[str, Tensor]:
    """Return the float32 state dict of a detector trained on seeds 0 .. images - 1."""
    scenes = [draw_scene(i, TRAINING_STYLES[i % len(TRAINING_STYLES)]) for i in range(images)]
    order = np.random.default_rng(SEED)
    # The samplers inside torchvision's RPN and RoI heads draw from torch's default generator.
    torch.manual_seed(SEED)
    model = build(name).train().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    steps = images // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, epochs * steps)
    for epoch in range(epochs):
        started, total = time.monotonic(), 0.0
        shuffled = order.permutation(images)
        for step in range(steps):
            chosen = [scenes[i] for i in shuffled[step * BATCH : (step + 1) * BATCH]]
            inputs, targets = zip(*(to_training_pair(s, order) for s in chosen), strict=True)
            loss = torch.stack(list(model(list(inputs), list(targets)).values())).sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        seconds = time.monotonic() - started
        print(
            f"{name}: epoch {epoch + 1}/{epochs}, loss {total / steps:.4f}, {seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    return {key: value.contiguous() for key, value in model.state_dict().items()}


def to_training_pair(scene: Scene, rng: np.random.Generator) -> tuple[Tensor, dict[str, Tensor]]:
    """Return a scene as torchvision's training input, mirrored along each axis at even odds."""
    image, boxes = to_input(scene), torch.from_numpy(scene.boxes).float()
    for axis in (0, 1):
        if rng.random() < 0.5:
            size = image.shape[-1 - axis]
            image = image.flip(-1 - axis)
            low, high = size - boxes[:, axis + 2], size - boxes[:, axis]
            boxes = boxes.clone()
            boxes[:, axis], boxes[:, axis + 2] = low, high
    return image, {"boxes": boxes, "labels": torch.from_numpy(scene.labels)}


def to_input(scene: Scene) -> Tensor:
    """Return the picture as (3, H, W) float32 in 0..1."""
    return torch.from_numpy(scene.image).permute(2, 0, 1).float() / 255.0


def write_half(state: Mapping[str, Tensor], path: Path) -> None:
    """Write a state dict with its floating-point tensors as float16."""
    half = {k: v.half() if v.is_floating_point() else v for k, v in state.items()}
    torch.save(half, path)


def compare_storage(name: str, state: Mapping[str, Tensor], path: Path, count: int) -> None:
    """Print what the detector reaches on held-out scenes before and after storage as float16."""
    stored = torch.load(path, weights_only=True)
    print("| style | weights | mAP50 | mAP | recall | precision |\n|---|---|---|---|---|---|")
    for style in HELD_OUT_STYLES:
        for kind, tensors in (("float32", state), ("float16", stored)):
            model = build(name)
            model.load_state_dict(tensors)
            print(f"| {style} | {kind} | {evaluate(model.eval(), style, count)} |", flush=True)


def evaluate(model: nn.Module, style: str, count: int) -> str:
    """Return mAP50, mAP (.50:.95), and recall and precision at score .5 and IoU .5."""
    from torchmetrics.detection import MeanAveragePrecision
    from torchvision.ops import box_iou

    metric = MeanAveragePrecision(backend="faster_coco_eval")
    hits = shown = objects = 0
    for seed in range(HELD_OUT_SEED, HELD_OUT_SEED + count):
        scene = draw_scene(seed, style)
        truth = {
            "boxes": torch.from_numpy(scene.boxes).float(),
            "labels": torch.from_numpy(scene.labels),
        }
        with torch.inference_mode():
            found = model([to_input(scene)])[0]
        metric.update([found], [truth])
        sure = found["scores"] >= 0.5
        same = found["labels"][sure][:, None] == truth["labels"]
        fits = (box_iou(found["boxes"][sure], truth["boxes"]) >= 0.5) & same
        hits += int(fits.any(dim=0).sum())
        shown += int(sure.sum())
        objects += len(scene.labels)
    values = metric.compute()
    recall, precision = hits / objects, hits / max(shown, 1)
    return f"{values['map_50']:.3f} | {values['map']:.3f} | {recall:.3f} | {precision:.3f}"


if __name__ == "__main__":
    main()
