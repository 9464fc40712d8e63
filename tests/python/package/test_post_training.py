"""examples/post_training.py: rewards rise, because the batch writes with the weights that the trainer has just learned."""

import importlib.util
import pathlib

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "post_training.py"


def test_rewards_rise():
    spec = importlib.util.spec_from_file_location("post_training", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rounds = list(example.post_train(9, 256, 2e-3))
    rewards, losses, versions = zip(*rounds)
    assert versions == tuple(range(1, 10))
    assert rewards[-1] > 3 * rewards[0]
    assert losses[-1] < losses[0] - 0.5
