"""Fingerprints: what a file or a model's state is, so that a change of it is noticed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from scoring.errors import DataError


@dataclass(frozen=True, slots=True)
class FileFingerprint:
    """Size in bytes and sha256 (64 hex digits) of a file's bytes."""

    size: int
    sha256: str


def fingerprint_file(path: Path) -> FileFingerprint:
    """Return size and sha256 of a file.

    Raises:
        DataError: The file cannot be read, or is none: a pipe would be waited for.
    """
    if path.exists() and not path.is_file():
        raise DataError(f"file '{path}': expected to read it, found something else than a file")
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return FileFingerprint(file.tell(), digest.hexdigest())
    except OSError as error:
        raise DataError(f"file '{path}': expected to read it, got: {error.strerror}") from error


def state_hash(model: nn.Module) -> str:
    """Return the sha256 over names, dtypes, shapes and bytes of all parameters and buffers.

    Buffers that a state_dict leaves out (`persistent=False`) count too. The device does not.
    """
    digest = hashlib.sha256()
    named = [*model.named_parameters(), *model.named_buffers()]
    for name, tensor in sorted(named, key=lambda item: item[0]):
        digest.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(_bytes_of(tensor))
    return digest.hexdigest()


def _bytes_of(tensor: Tensor) -> memoryview:
    # numpy knows no bfloat16: the bytes are read as such.
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data
