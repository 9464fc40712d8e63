"""What the tests of all folders share: less work for the garbage collector.

PyTorch leaves some millions of objects when it is imported, which every full collection goes through again; they are
kept out of it. Collections are rarer, too, because tests live for seconds.
"""

import gc

YOUNG = 100_000
"""Objects that are made between two collections of young ones; Python's own number is 700."""


def pytest_collection_finish(session):
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)


def pytest_unconfigure(config):
    gc.unfreeze()
