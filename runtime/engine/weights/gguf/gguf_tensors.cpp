// Names and order of the tensors of a GGUF file.
#include <algorithm>
#include <optional>

#include "runtime/engine/weights/gguf/gguf_architecture.h"
#include "runtime/engine/weights/gguf/gguf_model.h"
#include "runtime/engine/weights/reordered_rows.h"

namespace smelt {
namespace {

constexpr std::string_view kRopeFactors = "rope_freqs.weight";  // read by gguf_config()

/// Returns the name for a stored name that is the pattern with a number; nothing for other names.
std::optional<std::string> renamed(std::string_view stored, const GgufName& row) {
  const size_t hole = row.stored.find("{}");
  if (hole == row.stored.npos)
    return stored == row.stored ? std::optional(std::string(row.name)) : std::nullopt;
  const std::string_view before = row.stored.substr(0, hole), after = row.stored.substr(hole + 2);
  if (stored.size() <= before.size() + after.size() || !stored.starts_with(before) ||
      !stored.ends_with(after))
    return std::nullopt;
  const auto number = stored.substr(hole, stored.size() - before.size() - after.size());
  if (number.find_first_not_of("0123456789") != number.npos) return std::nullopt;
  std::string name(row.name);
  return name.replace(name.find("{}"), 2, number);
}

/// Row order of a model whose heads rotate (r, r + d/2), for heads that are stored as pairs (2r, 2r + 1).
std::vector<int64_t> from_pairs(int64_t rows, int64_t heads) {
  const int64_t width = rows / heads, half = width / 2;
  std::vector<int64_t> order(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t in_head = row % width;
    order[static_cast<size_t>(row)] = row - in_head + in_head % half * 2 + in_head / half;
  }
  return order;
}

TensorView from_rotary_pairs(const GgufMetadata& metadata, const TensorView& tensor, int64_t heads) {
  const int64_t rows = tensor.shape[0];
  if (rows % (2 * heads) != 0)
    metadata.refuse("tensor '{}' has {} rows: expected {} heads of an even width", tensor.name, rows, heads);
  return reordered(tensor, from_pairs(rows, heads));
}

TensorView changed(const GgufMetadata& metadata, const TensorView& tensor, GgufName::Change change) {
  const auto heads = [&] { return metadata.count("attention.head_count"); };
  switch (change) {
    case GgufName::rotary_queries:
      return from_rotary_pairs(metadata, tensor, heads());
    case GgufName::rotary_keys:
      return from_rotary_pairs(metadata, tensor, metadata.count("attention.head_count_kv", heads()));
    case GgufName::transposed:
      return tensor.shape.size() == 2 ? transposed(tensor) : tensor;
    case GgufName::plus_one:
      return shifted(tensor, -1);
    default:
      return tensor;
  }
}

TensorView model_tensor(const GgufMetadata& metadata, const TensorView& tensor) {
  const size_t dot = tensor.name.rfind('.');
  if (dot == tensor.name.npos) return tensor;
  const std::string_view name = tensor.name, stem = name.substr(0, dot), kind = name.substr(dot);
  for (const GgufName& row : metadata.architecture().names) {
    const auto found = renamed(stem, row);
    if (!found) continue;
    TensorView result = changed(metadata, tensor, row.change);
    result.name = *found + std::string(kind);
    return result;
  }
  return tensor;
}

}  // namespace

std::vector<TensorView> gguf_model_tensors(const GgufContents& file, std::string_view file_name) {
  const GgufMetadata metadata(file, file_name);
  std::vector<TensorView> tensors;
  for (const TensorView& tensor : file.tensors)
    if (tensor.name != kRopeFactors) tensors.push_back(model_tensor(metadata, tensor));
  return tensors;
}

}  // namespace smelt
