#include "runtime/engine/weights/gguf/gguf_architecture.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace smelt {
namespace {

std::string architecture_names() {
  std::set<std::string_view> names;
  for (const GgufArchitecture& each : gguf_architectures()) names.insert(each.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

GgufMetadata::GgufMetadata(const GgufContents& file, std::string_view file_name)
    : file_(file), name_(file_name) {
  const Json* name = find("general.architecture");
  if (!name || !name->is_string())
    refuse("general.architecture is {}: expected one of {}", name ? brief(*name) : "missing",
           architecture_names());
  const auto& given = name->get_ref<const std::string&>();
  prefix_ = given + ".";
  for (const GgufArchitecture& each : gguf_architectures())
    if (!architecture_ && each.name == given && (each.only_with.empty() || own(each.only_with)))
      architecture_ = &each;
  if (!architecture_)
    refuse("general.architecture {} is not read: expected one of {}", brief(*name), architecture_names());
  if (const Json* parts = find("split.count"); parts && *parts != 0 && *parts != 1)
    refuse(
        "one of {} parts of a model: expected the whole (llama-gguf-split --merge FIRST_PART OUT makes it)",
        brief(*parts));
}

const Json* GgufMetadata::find(std::string_view key) const {
  const auto found = file_.metadata.find(key);
  return found == file_.metadata.end() ? nullptr : &*found;
}

const Json* GgufMetadata::own(std::string_view key) const { return find(prefix_ + std::string(key)); }

int64_t GgufMetadata::count(std::string_view key, int64_t otherwise) const {
  constexpr int64_t kMost = int64_t{1} << 40;
  const Json* value = own(key);
  if (!value) return otherwise;
  if (!value->is_number_integer() || *value < 1 || *value > kMost)
    refuse("{}{} is {}: expected an integer of at least 1", prefix_, key, brief(*value));
  return value->get<int64_t>();
}

int64_t GgufMetadata::count(std::string_view key) const {
  if (!own(key)) refuse("{}{} is missing: expected an integer of at least 1", prefix_, key);
  return count(key, 0);
}

const TensorView* GgufMetadata::tensor(std::string_view name) const {
  const auto found = std::ranges::find(file_.tensors, name, &TensorView::name);
  return found == file_.tensors.end() ? nullptr : &*found;
}

}  // namespace smelt
