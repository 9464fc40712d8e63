"""Images as PIL and transformers' image processors have them: the pixels that training reads of files are compared bit by bit."""

import importlib
import io
import json
import pathlib
import struct
import zlib

import numpy
import pytest

pytest.importorskip("PIL", minversion="13.0")  # which resizes tall images in another order than versions before it
pytest.importorskip("smelt")
from PIL import Image, ImageFile  # noqa: E402
from transformers.image_utils import load_image  # noqa: E402

import smelt as package  # noqa: E402

RANDOM = numpy.random.default_rng(3)
FORMATS = ["grey", "two", "palette", "palette-alpha", "colours", "alpha", "grey-alpha", "wide", "cmyk"]


def processor_of(family, **fields):
    module = importlib.import_module(f"transformers.models.{family.lower()}.image_processing_pil_{family.lower()}")
    return getattr(module, family + "ImageProcessorPil")(**fields)


def pixels(height, width, channels=3):
    """Edges and noise."""
    slopes = numpy.mgrid[0:height, 0:width].sum(0)[..., None] * numpy.arange(3, 3 + 2 * channels, 2) % 256
    return ((slopes + RANDOM.integers(0, 60, (height, width, channels))) % 256).astype(numpy.uint8)


def image_of(kind, height=37, width=53):
    colours = Image.fromarray(pixels(height, width))
    if kind == "palette-alpha":
        made = colours.quantize(60)
        made.info["transparency"] = bytes(range(60))
        return made
    if kind == "wide":
        return Image.fromarray(RANDOM.integers(0, 600, (height, width)).astype(numpy.uint16))
    return {
        "grey": lambda: colours.convert("L"),
        "two": lambda: colours.convert("1"),
        "palette": lambda: colours.quantize(13),
        "colours": lambda: colours,
        "alpha": lambda: Image.fromarray(pixels(height, width, 4)),
        "grey-alpha": lambda: Image.fromarray(pixels(height, width, 2)),
        "cmyk": lambda: colours.convert("CMYK"),
    }[kind]()


@pytest.fixture
def model(tmp_path):
    """Writes a spec of a ViT, and a preprocessor_config.json beside it."""

    def write(processor=None, size=24, channels=3):
        directory = tmp_path / f"model-{size}-{channels}"
        directory.mkdir(exist_ok=True)
        embedding = dict(image_size=size, patch_size=size // 2, channels=channels)
        spec = dict(family="vit", hidden=8, encoder=dict(layers=1, heads=2), embedding=embedding, head=dict(classes=2))
        (directory / "spec.json").write_text(json.dumps(spec))
        if processor:
            processor.save_pretrained(directory)
        return directory

    return write


def expected_of(processor, path):
    return processor(load_image(str(path)), return_tensors="np")["pixel_values"]


def check(directory, processor, *paths):
    read = package.read_images(directory, paths).numpy()
    for path, values in zip(paths, read):
        numpy.testing.assert_array_equal(values, expected_of(processor, path)[0], err_msg=str(path))


def square(size):
    return dict(height=size, width=size)


@pytest.mark.parametrize("kind", FORMATS)
def test_kinds_of_pixels(model, tmp_path, kind):
    processor = processor_of("ViT", size=square(24))
    made, paths = image_of(kind), []
    if kind != "cmyk":
        paths.append(tmp_path / "a.png")
        made.save(paths[-1])
    if kind in ("grey", "colours", "cmyk"):
        for name, options in dict(b={}, c=dict(progressive=True), d=dict(subsampling=0), e=dict(subsampling=2)).items():
            paths.append(tmp_path / f"{name}.jpg")
            made.save(paths[-1], quality=70, **({} if kind == "grey" and "subsampling" in options else options))
    check(model(processor), processor, *paths)


@pytest.mark.parametrize("resample", [1, 2, 3, 4, 5])
def test_sizes_and_filters(model, tmp_path, resample):
    processor = processor_of("ViT", size=square(24), resample=resample, image_mean=[0.485, 0.456, 0.406], image_std=[0.2, 0.3, 0.1])
    paths = []
    for height, width in [(1, 1), (24, 24), (24, 7), (5, 24), (200, 3), (23, 25), (301, 257)]:
        paths.append(tmp_path / f"{height}-{width}.png")
        Image.fromarray(pixels(height, width)).save(paths[-1])
    check(model(processor), processor, *paths)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_orientation_in_exif(model, tmp_path, orientation, ending):
    processor = processor_of("ViT", size=square(24))
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "a maker of cameras"
    path = tmp_path / f"a.{ending}"
    image_of("colours").save(path, exif=exif)
    check(model(processor), processor, path)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def interlaced(samples, kind, depth):
    """A PNG in the seven passes of Adam7. samples: [height, width, channels]."""
    rows = b""
    for y, x, step_y, step_x in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]:
        part = samples[y::step_y, x::step_x]
        if part.size:
            rows += b"".join(b"\0" + row.astype(">u2" if depth == 16 else "u1").tobytes() for row in part)
    head = struct.pack(">IIBBBBB", samples.shape[1], samples.shape[0], depth, kind, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind, channels", [(0, 1), (2, 3), (4, 2), (6, 4)])
@pytest.mark.parametrize("depth", [8, 16])
def test_interlaced_and_wide_png(model, tmp_path, kind, channels, depth):
    processor = processor_of("ViT", size=square(24))
    path = tmp_path / "a.png"
    samples = RANDOM.integers(0, 700 if depth == 16 and kind == 0 else 1 << depth, (19, 31, channels))
    path.write_bytes(interlaced(samples, kind, depth))
    check(model(processor), processor, path)


@pytest.mark.parametrize("fields", [dict(), dict(do_normalize=False), dict(do_rescale=False), dict(rescale_factor=1 / 127.5)])
def test_steps_of_processors(model, tmp_path, fields):
    paths = [tmp_path / "a.jpg", tmp_path / "b.png"]
    image_of("colours").save(paths[0])
    image_of("colours", 17, 90).save(paths[1])
    vit = processor_of("ViT", size=square(24), **fields)
    check(model(vit), vit, *paths)
    deit = processor_of("DeiT", size=square(28), crop_size=square(24), **fields)
    check(model(deit), deit, *paths)
    deit = processor_of("DeiT", size=dict(shortest_edge=30), crop_size=square(34), **fields)
    check(model(deit, 34), deit, *paths)


def test_a_number_may_be_the_shortest_edge(model, tmp_path):
    paths = [tmp_path / "a.png", tmp_path / "b.png"]
    image_of("colours").save(paths[0])
    image_of("colours", 90, 40).save(paths[1])
    directory = model()
    fields = dict(image_processor_type="DeiTImageProcessor", size=30, default_to_square=False, crop_size=24)
    (directory / "preprocessor_config.json").write_text(json.dumps(fields))
    check(directory, processor_of("DeiT", size=dict(shortest_edge=30), crop_size=square(24)), *paths)


def test_without_a_processor_the_defaults_are_those_of_vit(model, tmp_path):
    path = tmp_path / "a.png"
    image_of("colours").save(path)
    check(model(), processor_of("ViT", size=square(24)), path)


def test_a_model_of_one_channel_reads_grey(model, tmp_path):
    path = tmp_path / "a.png"
    image_of("colours").save(path)
    processor = processor_of("ViT", size=square(24), image_mean=[0.5], image_std=[0.5])
    expected = processor(load_image(str(path)).convert("L"), return_tensors="np")["pixel_values"]
    numpy.testing.assert_array_equal(package.read_images(model(processor, channels=1), [path]).numpy(), expected)


@pytest.mark.parametrize("channels", [2, 4, 16])
def test_models_of_other_channels_are_refused(model, tmp_path, channels):
    path = tmp_path / "a.png"
    image_of("grey", 200, 200).save(path)
    with pytest.raises(package.Error, match=f"the model takes images of {channels} channels: files of images have 1 or 3"):
        package.read_images(model(channels=channels), [path])


def test_one_path_is_no_list_of_files(model):
    for path in ("cat.jpg", pathlib.Path("cat.jpg")):
        with pytest.raises(TypeError, match="one path, 'cat.jpg': expected a list of paths"):
            package.read_images(model(), path)


def test_files_that_pil_refuses_are_refused(model, tmp_path):
    path, good, directory = tmp_path / "a.jpg", io.BytesIO(), model()
    image_of("colours", 200, 200).save(good, "jpeg")
    path.write_bytes(good.getvalue()[:-400])
    with pytest.raises(OSError, match="truncated"):
        assert not ImageFile.LOAD_TRUNCATED_IMAGES
        load_image(str(path))
    with pytest.raises(package.Error, match="a.jpg': JPEG: Premature end of JPEG file"):
        package.read_images(directory, [path])
    with pytest.raises(package.Error, match="none.jpg"):
        package.read_images(directory, [tmp_path / "none.jpg"])
