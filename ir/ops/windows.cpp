#include "ir/ops/windows.h"

#include "runtime/base/error.h"

namespace smelt {
namespace {

/// The list of an attribute, `count` times `otherwise` where it is not given.
std::vector<int64_t> numbers(const Attributes& attributes, AttributeName<std::vector<int64_t>> name,
                             size_t count, int64_t otherwise) {
  const auto* list = attributes.find_as(name);
  if (!list) return std::vector<int64_t>(count, otherwise);
  if (list->size() != count)
    fail("conv: attribute '{}' has {} numbers, expected {}", name.text, list->size(), count);
  return *list;
}

}  // namespace

Windows windows_of(const Node& node) {
  return {node.get(attr::axis), node.get(attr::size), node.get(attr::step), node.get(attr::dilation)};
}

Dim window_count(const Dim& elements, const Windows& windows) {
  const Dim reach = Dim(windows.size - 1) * windows.dilation + 1;
  return floor_div(elements - reach, windows.step) + 1;
}

std::vector<ConvDim> conv_dims(const Shape& weight, const Attributes& attributes) {
  const size_t count = weight.size() - 2;
  const auto strides = numbers(attributes, attr::strides, count, 1),
             dilations = numbers(attributes, attr::dilations, count, 1),
             pads = numbers(attributes, attr::pads, 2 * count, 0);
  std::vector<ConvDim> dims(count);
  for (size_t i = 0; i < count; ++i) {
    const auto size = weight[i + 2].constant();
    if (!size || *size < 1)
      fail("conv: dim {} of the weights {} is {}, expected a constant of at least 1", i + 2, str(weight),
           weight[i + 2].str());
    dims[i] = {{static_cast<int64_t>(i) + 2, *size, strides[i], dilations[i]}, pads[i], pads[count + i]};
  }
  return dims;
}

int64_t conv_groups(const Attributes& attributes) { return read(attributes, Op::conv, attr::groups); }

}  // namespace smelt
