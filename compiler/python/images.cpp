#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "compiler/cli/shared/image_folders.h"
#include "compiler/python/bindings.h"
#include "compiler/python/calls.h"
#include "runtime/session/batch.h"

namespace smelt::python {
namespace {

HostTensor read_images(const std::string& path, const std::vector<std::string>& files) {
  return released([&] {
    const cli::Model model = cli::open_model(path, {});
    const auto shape = cli::image_shape(model);
    if (!shape) fail("'{}' takes no images: expected a model with the input pixel_values", path);
    std::vector<ImageFile> found;
    for (const std::string& file : files) found.push_back(find_image_file(file, 0));
    const std::vector<int64_t> sizes = {std::ssize(files), shape->channels, shape->height, shape->width};
    const auto bytes = static_cast<size_t>(count_elements(sizes)) * sizeof(float);
    HostTensor tensor{"pixel_values", DType::f32, sizes, std::vector<std::byte>(bytes)};
    read_image_files(
        found, image_processor_of(cli::image_directory(model), shape->channels, shape->height, shape->width),
        *shape, {reinterpret_cast<float*>(tensor.bytes.data()), bytes / sizeof(float)});
    return tensor;
  });
}

}  // namespace

void bind_images(nb::module_& module) {
  module.def("read_images", read_images, nb::arg("path"), nb::arg("files"));
}

}  // namespace smelt::python
