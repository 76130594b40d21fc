"""Scores are followed through every move of data, and never guessed when the trail breaks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from runners.row_trail import BrokenTrailError, RowTrail


def test_a_rescaled_row_that_is_not_the_score_breaks_the_trail() -> None:
    logits = torch.randn(4, 3)
    with RowTrail([logits]) as trail:
        scores = logits.softmax(-1)[:, 2]
        scores[1] = 0.5
        kept = scores[torch.tensor([3, 1])]
    with pytest.raises(BrokenTrailError):
        trail.class_vectors(kept, torch.tensor([2, 2]))


@pytest.mark.parametrize(
    "move",
    [
        lambda s: s.reshape(-1)[torch.tensor([5, 0])],
        lambda s: s.view(-1).unsqueeze(0).squeeze(0)[[5, 0]],
        lambda s: torch.cat([row.unsqueeze(0) for row in s.unbind(0)]).flatten()[[5, 0]],
        lambda s: torch.cat([s[1:2], s[0:1]]).flatten()[[2, 3]],
        lambda s: torch.stack(s.split(1)).flatten().index_select(0, torch.tensor([5, 0])),
        lambda s: s.permute(1, 0).contiguous().flatten()[[5, 0]],
        lambda s: s.flatten().sort(descending=True)[0][
            s.flatten().argsort(descending=True) % 5 == 0
        ],
        lambda s: s.flatten().topk(6)[0][s.flatten().topk(6)[1] % 5 == 0],
        lambda s: (
            s.flatten()
            .sort(0, True)
            .values.masked_select(s.flatten().argsort(descending=True) % 5 == 0)
        ),
        lambda s: (s * 0.5).sqrt().flatten()[[5, 0]],
        lambda s: (torch.tensor([[2.0], [3.0]]) * s).flatten()[[5, 0]],
    ],
)
def test_moves_are_followed_to_their_rows(move: Callable[[Tensor], Tensor]) -> None:
    logits = torch.tensor([[0.1, 0.9, -0.3], [0.4, -2.0, 0.7]])
    with RowTrail([logits]) as trail:
        kept = move(torch.sigmoid(logits))
    vectors = trail.class_vectors(kept, torch.tensor([2, 0]))
    assert vectors.tolist() == logits.sigmoid()[[1, 0]].tolist()


def test_a_softmax_over_another_axis_is_not_taken_for_classes() -> None:
    logits = torch.randn(3, 3)
    with RowTrail([logits]) as trail:
        kept = torch.softmax(logits, 0)[:, 1]
    with pytest.raises(BrokenTrailError):
        trail.class_vectors(kept, torch.ones(3, dtype=torch.int64))


def test_a_sigmoid_of_part_of_the_classes_is_not_taken_for_a_vector() -> None:
    logits = torch.randn(3, 4)
    with RowTrail([logits]) as trail:
        kept = logits[:, 1:].sigmoid()[:, 1]
    with pytest.raises(BrokenTrailError):
        trail.class_vectors(kept, torch.ones(3, dtype=torch.int64))
