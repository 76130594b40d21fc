"""The built-in scenes, detectors and suites: what the demo and the other tests stand on."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torchvision.models.detection import FasterRCNN, RetinaNet
from torchvision.ops import box_iou

from runners import builtin
from runners.builtin import SUITE_NAMES, draw_suite, suite_root, suites
from runners.builtin.models import LABEL_NAMES, build, builtin_names, load_builtin, weights_path
from runners.builtin.scenes import (
    SHAPE_NAMES,
    SIZE_PX,
    STYLES,
    Scene,
    distance_field,
    draw_scene,
)
from scoring.errors import ConfigError, DataError

MEGABYTE = 1_000_000
ROOT = Path(__file__).resolve().parents[2]


def read_png(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        assert picture.mode == "RGB"
        return np.array(picture)


def to_input(image: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(image).permute(2, 0, 1).float() / 255.0


def recall_at_half(model: nn.Module, scenes: list[Scene]) -> float:
    hits = objects = 0
    for scene in scenes:
        with torch.inference_mode():
            found = model([to_input(scene.image)])[0]
        sure = found["scores"] >= 0.5
        overlap = box_iou(torch.from_numpy(scene.boxes).float(), found["boxes"][sure])
        same = torch.from_numpy(scene.labels)[:, None] == found["labels"][sure]
        hits += int(((overlap >= 0.5) & same).any(dim=1).sum())
        objects += len(scene.labels)
    return hits / objects


@pytest.fixture(scope="module", params=builtin_names())
def loaded(request: pytest.FixtureRequest) -> tuple[str, nn.Module]:
    return request.param, load_builtin(request.param)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "scripts" / "train_demo_detectors.py"
    spec = importlib.util.spec_from_file_location("train_demo_detectors", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestScenes:
    @pytest.mark.parametrize("style", STYLES)
    def test_equal_seeds_draw_equal_scenes(self, style: str) -> None:
        first, second = draw_scene(5, style), draw_scene(5, style)
        np.testing.assert_array_equal(first.image, second.image)
        np.testing.assert_array_equal(first.boxes, second.boxes)
        np.testing.assert_array_equal(first.labels, second.labels)

    def test_seed_and_style_both_change_the_picture(self) -> None:
        pictures = [draw_scene(5), draw_scene(6), draw_scene(5, "dim"), draw_scene(5, "crowded")]
        assert len({scene.image.tobytes() for scene in pictures}) == 4

    def test_drawing_leaves_the_global_random_state_alone(self) -> None:
        before = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
        draw_scene(5)
        after = np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
        np.testing.assert_array_equal(before, after)

    @pytest.mark.parametrize("style", STYLES)
    def test_values_have_the_documented_shapes_and_ranges(self, style: str) -> None:
        low, high = STYLES[style].objects
        for seed in range(4):
            scene = draw_scene(seed, style)
            assert scene.image.shape == (SIZE_PX, SIZE_PX, 3)
            assert scene.image.dtype == np.uint8
            assert scene.boxes.shape == (len(scene.labels), 4)
            assert low <= len(scene.labels) <= high
            assert set(scene.labels.tolist()) <= {1, 2, 3, 4}
            assert (scene.boxes[:, :2] < scene.boxes[:, 2:]).all()
            assert scene.boxes.min() >= 0
            assert scene.boxes.max() <= SIZE_PX

    def test_dim_is_darker_than_plain(self) -> None:
        plain, dim = (np.mean([draw_scene(i, s).image for i in range(6)]) for s in ("plain", "dim"))
        assert dim < plain / 2

    def test_crowded_holds_more_and_smaller_objects_than_plain(self) -> None:
        plain, crowded = ([draw_scene(i, s) for i in range(6)] for s in ("plain", "crowded"))
        assert min(len(s.labels) for s in crowded) > max(len(s.labels) for s in plain)
        sides = [
            np.median(np.concatenate([s.boxes[:, 2] - s.boxes[:, 0] for s in scenes]))
            for scenes in (plain, crowded)
        ]
        assert sides[1] < 0.75 * sides[0]

    @pytest.mark.parametrize("style", ["plain", "crowded"])
    def test_boxes_are_tight_around_what_repainting_a_sticker_changes(
        self, style: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each sticker alone is left out of the picture; the pixels that differ are its extent."""
        from runners.builtin import scenes

        def as_drawn(rng: object, canvas: np.ndarray, numbers: object) -> np.ndarray:
            return np.rint(canvas).astype(np.uint8)

        monkeypatch.setattr(scenes, "_photograph", as_drawn)
        # Hard edges make "visible" a plain comparison of pixels.
        monkeypatch.setattr(scenes, "_cover", lambda distance: (distance < 0.0).astype(np.float64))
        paste = scenes._paste
        whole = draw_scene(11, style)
        for left_out, box in enumerate(whole.boxes):
            calls = iter(range(len(whole.boxes)))

            def paste_others(canvas: np.ndarray, sticker: object, calls=calls, skip=left_out):
                if next(calls) != skip:
                    paste(canvas, sticker)

            monkeypatch.setattr(scenes, "_paste", paste_others)
            changed = (draw_scene(11, style).image != whole.image).any(axis=2)
            monkeypatch.setattr(scenes, "_paste", paste)
            rows, columns = np.nonzero(changed)
            extent = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            assert box.tolist() == extent

    @pytest.mark.parametrize(
        ("shape", "area"),
        [
            ("circle", np.pi),
            ("square", 2.0),
            ("triangle", 3.0 * np.sqrt(3.0) / 4.0),
            ("star", 5.0 * np.sin(np.pi / 5) * np.cos(2 * np.pi / 5) / np.cos(np.pi / 5)),
        ],
    )
    def test_shapes_have_the_area_of_their_geometry(self, shape: str, area: float) -> None:
        """Polygon areas for circumradius 1; the star's inner radius is cos 72 / cos 36."""
        radius = 80.0
        x, y = np.meshgrid(np.arange(-100.0, 100.0) + 0.5, np.arange(-100.0, 100.0) + 0.5)
        # Turned, so that no edge runs along a row of pixel centres.
        dx, dy = x * np.cos(0.3) + y * np.sin(0.3), y * np.cos(0.3) - x * np.sin(0.3)
        inside = distance_field(shape, radius, dx, dy) < 0
        assert inside.sum() / radius**2 == pytest.approx(area, rel=0.01)

    def test_unknown_style_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="'fog'"):
            draw_scene(0, "fog")

    def test_negative_seed_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="-1"):
            draw_scene(-1)


class TestSuites:
    def test_three_suites_of_twelve(self) -> None:
        assert tuple(suites()) == SUITE_NAMES
        assert [len(list(folder.iterdir())) for folder in suites().values()] == [12, 12, 12]

    @pytest.mark.parametrize("name", SUITE_NAMES)
    def test_committed_pixels_are_what_the_program_draws(self, name: str) -> None:
        drawn = draw_suite(name)
        assert sorted(path.name for path in suites()[name].iterdir()) == sorted(drawn)
        for file_name, scene in drawn.items():
            np.testing.assert_array_equal(read_png(suites()[name] / file_name), scene.image)

    def test_files_stay_under_three_megabytes_together(self) -> None:
        assert sum(p.stat().st_size for p in suite_root().glob("*/*.png")) < 3 * MEGABYTE

    def test_a_missing_suite_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(builtin, "suite_root", lambda: tmp_path)
        with pytest.raises(DataError, match="'plain'"):
            suites()


class TestDetectors:
    def test_label_names_put_the_background_first(self) -> None:
        assert ("background", *SHAPE_NAMES) == LABEL_NAMES

    def test_loads_in_eval_mode_as_float32_on_the_cpu(self, loaded: tuple[str, nn.Module]) -> None:
        _, model = loaded
        assert not any(module.training for module in model.modules())
        assert {(p.dtype, p.device.type) for p in model.parameters()} == {(torch.float32, "cpu")}

    def test_is_a_stock_torchvision_detector(self, loaded: tuple[str, nn.Module]) -> None:
        name, model = loaded
        expected = {"demo_fasterrcnn": FasterRCNN, "demo_retinanet": RetinaNet}[name]
        assert type(model) is expected

    def test_module_names_are_those_of_the_large_models(
        self, loaded: tuple[str, nn.Module]
    ) -> None:
        name, model = loaded
        modules = dict(model.named_modules())
        levels = 4 if name == "demo_fasterrcnn" else 3
        for level in range(levels):
            assert f"backbone.fpn.inner_blocks.{level}" in modules
            assert f"backbone.fpn.layer_blocks.{level}" in modules
        assert f"backbone.fpn.inner_blocks.{levels}" not in modules
        assert [child for child, _ in model.backbone.body.named_children()][-1] == "layer4"
        heads = {
            "demo_fasterrcnn": ["roi_heads.box_head.fc6", "roi_heads.box_head.fc7"],
            "demo_retinanet": [
                f"head.{part}_head.conv.{i}"
                for part in ("classification", "regression")
                for i in range(4)
            ],
        }
        assert set(heads[name]) <= set(modules)

    def test_parameter_count_stays_small(self, loaded: tuple[str, nn.Module]) -> None:
        name, model = loaded
        expected = {"demo_fasterrcnn": 575_864, "demo_retinanet": 514_651}
        assert sum(p.numel() for p in model.parameters()) == expected[name]

    @pytest.mark.parametrize("name", builtin_names())
    def test_weights_are_finite_float16_in_a_small_file(self, name: str) -> None:
        path = weights_path(name)
        assert path.stat().st_size < 1.5 * MEGABYTE
        for key, value in torch.load(path, weights_only=True).items():
            if key.endswith("num_batches_tracked"):
                assert value.dtype == torch.int64
            else:
                assert value.dtype == torch.float16, key
                assert torch.isfinite(value).all(), key

    @pytest.mark.parametrize("name", builtin_names())
    def test_building_and_loading_leave_the_global_random_state_alone(self, name: str) -> None:
        before = torch.random.get_rng_state()
        build(name)
        load_builtin(name)
        assert torch.equal(before, torch.random.get_rng_state())

    def test_finds_most_objects_of_plain(self, loaded: tuple[str, nn.Module]) -> None:
        _, model = loaded
        assert recall_at_half(model, list(draw_suite("plain").values())) >= 0.9

    def test_is_weaker_on_dim_and_crowded_but_not_blind(
        self, loaded: tuple[str, nn.Module]
    ) -> None:
        _, model = loaded
        plain, dim, crowded = (
            recall_at_half(model, list(draw_suite(name).values()))
            for name in ("plain", "dim", "crowded")
        )
        assert 0.2 < dim < plain
        assert 0.2 < crowded < plain

    def test_unknown_name_is_refused_with_the_names_there_are(self) -> None:
        for function in (build, weights_path, load_builtin):
            with pytest.raises(ConfigError, match="demo_fasterrcnn"):
                function("demo_yolo")

    def test_missing_weights_are_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("runners.builtin.models.weights_path", lambda name: tmp_path / "x.pt")
        with pytest.raises(DataError, match="demo_retinanet"):
            load_builtin("demo_retinanet")


class TestTraining:
    @pytest.mark.parametrize("name", builtin_names())
    def test_same_command_twice_writes_the_same_bytes(
        self, name: str, script: ModuleType, tmp_path: Path
    ) -> None:
        threads = torch.get_num_threads()
        written = []
        for run in ("a", "b"):
            out = tmp_path / run
            script.main(
                f"--detector {name} --out {out} --epochs 1 --images 16 --held-out-images 0".split()
            )
            written.append((out / f"{name}.pt").read_bytes())
        torch.set_num_threads(threads)
        assert written[0] == written[1]

    def test_mirrored_boxes_frame_the_same_pixels(self, script: ModuleType) -> None:
        """A lone white rectangle stays inside its box whichever axes are mirrored."""
        image = np.zeros((SIZE_PX, SIZE_PX, 3), dtype=np.uint8)
        image[20:50, 30:90] = 255
        scene = Scene(image, np.array([[30.0, 20.0, 90.0, 50.0]]), np.array([1]))
        rng = np.random.default_rng(0)
        seen = set()
        for _ in range(64):
            mirrored, target = script.to_training_pair(scene, rng)
            x1, y1, x2, y2 = target["boxes"][0].int().tolist()
            seen.add((x1, y1))
            assert mirrored[:, y1:y2, x1:x2].min() == 1.0
            assert mirrored.sum() == 3 * 30 * 60
        assert len(seen) == 4
