#include "ir/windows.h"

#include "runtime/error.h"

namespace smelt {
namespace {

using AttributeMap = std::map<std::string, Attribute, std::less<>>;

/// The list of an attribute, `count` times `otherwise` where it is not given.
std::vector<int64_t> numbers(const AttributeMap& attributes, std::string_view name, size_t count,
                             int64_t otherwise) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return std::vector<int64_t>(count, otherwise);
  const auto* list = std::get_if<std::vector<int64_t>>(&found->second);
  if (!list) fail("conv: attribute '{}' must be a list of integers", name);
  if (list->size() != count)
    fail("conv: attribute '{}' has {} numbers, expected {}", name, list->size(), count);
  for (const int64_t number : *list)
    if (number < otherwise)
      fail("conv: attribute '{}' has {}, expected at least {}", name, number, otherwise);
  return *list;
}

}  // namespace

Windows windows_of(const Node& node) {
  const auto number = [&](std::string_view name) { return node.has(name) ? node.int_attr(name) : 1; };
  return {node.int_attr("axis"), node.int_attr("size"), number("step"), number("dilation")};
}

Dim window_count(const Dim& elements, const Windows& windows) {
  const Dim reach = Dim(windows.size - 1) * windows.dilation + 1;
  return floor_div(elements - reach, windows.step) + 1;
}

std::vector<ConvDim> conv_dims(const Shape& weight, const AttributeMap& attributes) {
  const size_t count = weight.size() - 2;
  const auto strides = numbers(attributes, "strides", count, 1),
             dilations = numbers(attributes, "dilations", count, 1),
             pads = numbers(attributes, "pads", 2 * count, 0);
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

int64_t conv_groups(const AttributeMap& attributes) {
  const auto found = attributes.find("groups");
  if (found == attributes.end()) return 1;
  const auto* groups = std::get_if<int64_t>(&found->second);
  if (!groups || *groups < 1) fail("conv: attribute 'groups' must be an integer of at least 1");
  return *groups;
}

}  // namespace smelt
