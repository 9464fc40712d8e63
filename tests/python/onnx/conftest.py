"""What the tests of smelt.onnx share."""

import numpy


def pytest_addoption(parser):
    parser.addoption("--all-cases", action="store_true", help="all of onnx's cases (about two minutes), not a sample")


def reference(model, inputs):
    from onnx.reference import ReferenceEvaluator

    return dict(zip([port.name for port in model.graph.output], ReferenceEvaluator(model).run(None, inputs)))


def compared(model, inputs, rtol=2e-5, atol=2e-6, session=None, **options):
    """The results, which agree with those of onnx's reference."""
    import smelt.onnx

    session = session or smelt.onnx.compile_model(model, no_plan_cache=True, **options).session()
    found = session.run(inputs)
    for name, expected in reference(model, inputs).items():
        expected = numpy.asarray(expected)
        assert found[name].dtype == expected.dtype and found[name].shape == expected.shape, name
        wide = numpy.float64 if expected.dtype.kind in "fV" else expected.dtype
        numpy.testing.assert_allclose(found[name].astype(wide), expected.astype(wide), rtol, atol, err_msg=name)
    return found
