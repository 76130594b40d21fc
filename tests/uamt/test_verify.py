"""`uamt verify`: what is whole, what is not, and that what it says to do mends it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from tests.uamt.conftest import Command
from tests.uamt.quick_experiment import BRANCH, MODEL, pictures, run_flags, unit_folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from uamt.cli import main

    folder = tmp_path_factory.mktemp("verify")
    pictures(folder / "photos", "a", "b", "c")
    assert main([str(word) for word in run_flags(folder)]) == 0
    return folder


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(whole / "out", tmp_path / "out"))


def found(uamt: Command, root: Path) -> tuple[int, list[tuple[str, str]], list[str]]:
    """Return exit code, kind and path of every problem, and what is to be done."""
    code, stdout, stderr = uamt("verify", root, "--json")
    assert stderr == ""
    said = orjson.loads(stdout)
    assert said["is_whole"] == (code == 0) == (said["problems"] == [])
    problems = [(one["kind"], one["path"]) for one in said["problems"]]
    return code, problems, said["redo"]


def below(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def test_a_whole_tree_is_said_to_be(uamt: Command, root: Path) -> None:
    code, stdout, stderr = uamt("verify", root)
    assert (code, stderr) == (0, "")
    assert stdout.splitlines()[0] == (
        f"{MODEL}: 3 images x 3 mutants (originals among them) = 9 units; 9 done; "
        f"18 files as written"
    )
    assert f"{root}: whole, and of one configuration.\nNext: uamt score {root}" in stdout
    assert found(uamt, root) == (0, [], [])


def gone(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def altered(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"8.0", b"8.5"))


@pytest.mark.parametrize(
    ("damage", "kind"), [(gone, "missing"), (emptied, "empty"), (altered, "changed")]
)
def test_a_damaged_file_is_named_and_the_command_mends_it(
    uamt: Command, root: Path, damage: Callable[[Path], None], kind: str
) -> None:
    victim = unit_folder(root, "0.5", "b") / "prediction_1.json"
    damage(victim)
    code, problems, redo = found(uamt, root)
    assert (code, problems) == (1, [(kind, below(root, victim))])
    (command,) = redo
    assert uamt(*shlex.split(command)[1:])[0] == 0
    assert found(uamt, root) == (0, [], [])


def test_units_without_a_line_and_folders_that_are_gone_are_not_run(
    uamt: Command, root: Path
) -> None:
    ledger = root / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(line for line in lines if b'"a.png"' not in line) + b'{"unit": {')
    shutil.rmtree(unit_folder(root, "0.3", "a"))
    code, problems, redo = found(uamt, root)
    assert code == 1
    assert {kind for kind, _ in problems} == {"not run"}
    assert [path for _, path in problems] == [
        below(root, unit_folder(root, tag, "a")) for tag in ("0", "0.3", "0.5")
    ]
    _, stdout, _ = uamt("verify", root)
    assert "6 done, 3 not run" in stdout
    assert "no results" in stdout
    assert "files that no line of the ledger vouches for" in stdout
    assert uamt(*shlex.split(redo[0])[1:])[0] == 0
    assert found(uamt, root)[0] == 0


def test_strays_are_named_wherever_they_lie(uamt: Command, root: Path) -> None:
    further = unit_folder(root, "0.3", "a") / "prediction_2.json"
    further.write_text("{}")
    temporary = unit_folder(root, "0.3", "b") / ".prediction_0.json.x1.tmp"
    temporary.write_text("{")
    at_top = root / ".manifest.json.x2.tmp"
    at_top.write_text("{")
    of_image = unit_folder(root, "0.3", "unknown")
    of_mutant = unit_folder(root, "0.9", "a")
    for folder in (of_image, of_mutant):
        shutil.copytree(unit_folder(root, "0.3", "c"), folder)
    of_suite = BRANCH.suite_folder(root).with_name("night")
    of_suite.mkdir()
    code, problems, redo = found(uamt, root)
    assert code == 1
    strays = {further, temporary, at_top, of_image, of_mutant, of_suite}
    assert set(problems) == {("stray", below(root, path)) for path in strays}
    assert len(problems) == len(strays)
    assert redo == [
        "delete the strays, or bring back the images that they are of and run again; "
        "'uamt score' leaves them out"
    ]


def test_results_of_another_configuration_are_told_from_the_manifest_s(
    uamt: Command, root: Path
) -> None:
    ledger = root / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    own = orjson.loads(lines[0])["configuration"].encode()
    ledger.write_bytes(b"".join([lines[0].replace(own, b"f" * 64), *lines[1:]]))
    code, problems, redo = found(uamt, root)
    assert (code, problems) == (
        1,
        [("other configuration", below(root, unit_folder(root, "0", "a")))],
    )
    assert uamt(*shlex.split(redo[0])[1:])[0] == 0
    assert found(uamt, root)[0] == 0


def test_a_manifest_that_was_edited_fits_neither_itself_nor_the_ledger(
    uamt: Command, root: Path
) -> None:
    path = root / "manifest.json"
    manifest = orjson.loads(path.read_bytes())
    manifest["models"][MODEL]["settings"]["seed"] = 7
    path.write_bytes(orjson.dumps(manifest))
    code, problems, redo = found(uamt, root)
    assert code == 1
    assert problems[0] == ("edited manifest", "manifest.json")
    assert [kind for kind, _ in problems[1:]] == ["other configuration"] * 9
    assert "put back the manifest of the run, or run into another --out" in redo


def test_a_ledger_with_too_few_passes_is_noticed(uamt: Command, root: Path) -> None:
    ledger = root / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines()
    last = orjson.loads(lines[-1])
    last["sha256"].pop()
    ledger.write_bytes(b"\n".join([*lines[:-1], orjson.dumps(last), b""]))
    code, problems, redo = found(uamt, root)
    folder = unit_folder(root, "0.5", "c")
    assert code == 1
    assert problems == [
        ("passes", below(root, folder)),
        ("stray", below(root, folder / "prediction_1.json")),
    ]
    assert uamt(*shlex.split(redo[0])[1:])[0] == 0
    assert found(uamt, root) == (0, [], [])


def test_crashes_and_unreadable_images_are_listed_and_no_fault(
    uamt: Command, tmp_path: Path
) -> None:
    pictures(tmp_path / "photos", "a", "b")
    (tmp_path / "photos" / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "photos" / "link.png").symlink_to(tmp_path / "nowhere.png")
    assert uamt(*run_flags(tmp_path))[0] == 4
    root = tmp_path / "out"
    ledger = root / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines()
    crashed = orjson.loads(
        next(line for line in lines if b'"b.png"' in line and b'"0.5"' in line)
    ) | {"status": "runtime_error", "message": "no kernel", "sha256": []}
    ledger.write_bytes(b"\n".join([*lines, orjson.dumps(crashed), b""]))
    shutil.rmtree(unit_folder(root, "0.5", "b"))
    code, stdout, _ = uamt("verify", root)
    assert code == 0
    assert "5 done, 1 crashed, 3 of unreadable images" in stdout
    assert "  runtime_error: 1 mutant on 'photos/b.png': no kernel\n" in stdout
    assert "  unreadable_image: 3 mutants on 'photos/cut.png': " in stdout
    assert "  unreadable_image: 3 mutants on 'photos/link.png': " in stdout
    code, stdout, _ = uamt("verify", root, "--json")
    listed = orjson.loads(stdout)["models"][MODEL]["without_passes"]
    assert len(listed) == 7
    assert {one["status"] for one in listed} == {"runtime_error", "unreadable_image"}


def test_a_shard_alone_is_not_whole_and_both_are(uamt: Command, tmp_path: Path) -> None:
    pictures(tmp_path / "photos", "a", "b")
    assert uamt(*run_flags(tmp_path, "--shard", "1/2"))[0] == 0
    code, problems, redo = found(uamt, tmp_path / "out")
    assert code == 1
    assert [kind for kind, _ in problems] == ["not run"] * 3
    assert redo
    assert uamt(*run_flags(tmp_path, "--shard", "2/2"))[0] == 0
    assert found(uamt, tmp_path / "out") == (0, [], [])


@pytest.mark.parametrize("further", [("--curtail",), ("--curtail", "--curtail-mutants")])
def test_curtailed_campaigns_are_whole_with_fewer_passes(
    uamt: Command, tmp_path: Path, further: tuple[str, ...]
) -> None:
    pictures(tmp_path / "photos", "a", "b", "c")
    words = (*run_flags(tmp_path, "--passes", "6"), *further)
    assert uamt(*words)[0] == 0
    assert len(list((tmp_path / "out").rglob("prediction_*.json"))) < 9 * 6
    assert found(uamt, tmp_path / "out") == (0, [], [])
    victim = unit_folder(tmp_path / "out", "0", "a") / "prediction_5.json"
    victim.unlink()
    assert found(uamt, tmp_path / "out")[1] == [("missing", below(tmp_path / "out", victim))]


def write_yolo(folder: Path, *names: str, line: str = "0 .5 .5 .5 .5 .9\n") -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.txt").write_text(line)
    return folder


def test_imported_trees_are_read_and_counted(uamt: Command, tmp_path: Path) -> None:
    pictures(tmp_path / "photos", "a", "b")
    labels = write_yolo(tmp_path / "labels", "a", "b")
    root = tmp_path / "out"
    words = ("--images", tmp_path / "photos", "--one-hot", "--n-classes", "2", "--model", "yolo")
    for tag, repeat in (("original", 2), ("0.1", 2)):
        target = ("--operator", "mc_dropout", "--tag", tag, "--repeat", repeat, "--out", root)
        assert uamt("import", "yolo", labels, *words, *target)[0] == 0
    code, stdout, _ = uamt("verify", root)
    assert code == 0
    assert "yolo: 2 images x 2 mutants (imported) = 4 units; 4 done; 8 files as written" in stdout
    folder = next(root.rglob("mc_dropout_0.1_a"))
    (folder / "prediction_1.json").unlink()
    code, problems, redo = found(uamt, root)
    assert (code, [kind for kind, _ in problems]) == (1, ["passes"])
    (folder / "prediction_0.json").write_text('{"label_0": {"box": [1, 2')
    code, problems, redo = found(uamt, root)
    assert (code, problems) == (1, [("broken", below(root, folder))])
    assert "--model yolo --replace" in redo[0]


def test_without_a_manifest_there_is_nothing_to_check_against(uamt: Command, root: Path) -> None:
    (root / "manifest.json").unlink()
    code, stdout, stderr = uamt("verify", root)
    assert (code, stdout) == (3, "")
    assert f"{root}: expected manifest.json with a list of what should be there" in stderr


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b'{"format": 1}',
        b'{"format": 1, "models": []}',
        b'{"format": 1, "models": {"net": {}}}',
        b'{"format": 1, "models": {"net": {"settings": {}, "operators": {}, "suites": []}}}',
        b'{"format": 1, "models": {"../net": {"settings": {}, "operators": {}, "suites": {}}}}',
    ],
)
def test_a_broken_manifest_is_named(uamt: Command, root: Path, broken: bytes) -> None:
    (root / "manifest.json").write_bytes(broken)
    code, stdout, stderr = uamt("verify", root)
    assert (code, stdout) == (3, "")
    assert str(root / "manifest.json") in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b'"stem": "a"', b'"stem": "../../../../a"', "'../../../../a' is no folder's name"),
        (b'"stem": "a"', b'"stem": "\\u001b[2J"', r"'\x1b[2J' holds a control character"),
        (b'"a.png"', b'"a\\n.png"', r"'a\n.png' holds a control character"),
        (b'"0.5"', b'".."', "'..' is no folder's name"),
    ],
)
def test_names_in_a_manifest_lead_nowhere_and_do_nothing(
    uamt: Command, root: Path, old: bytes, new: bytes, says: str
) -> None:
    path = root / "manifest.json"
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    for command in ("verify", "score"):
        code, _, stderr = uamt(command, root)
        assert code == 3
        assert says in stderr


def test_it_loads_no_torch(root: Path) -> None:
    script = (
        "import sys; from uamt.cli import main; code = main(sys.argv[1:]); "
        "assert not {'torch', 'pandas'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "verify", str(root)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
