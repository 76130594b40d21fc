"""Everything about a model that a mutation must leave as it was."""

from __future__ import annotations

import hashlib

from torch import nn


def snapshot(model: nn.Module) -> dict[str, object]:
    """Return hooks, classes, flags and the bytes of parameters and buffers, by module."""
    state: dict[str, object] = {}
    for name, module in model.named_modules():
        hooks = {key: dict(value) for key, value in vars(module).items() if "_hooks" in key}
        state[name] = (type(module), module.training, sorted(vars(module)), hooks)
    digest = hashlib.sha256()
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return state | {"state_dict": digest.hexdigest()}
