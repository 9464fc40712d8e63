#include "frontend/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "frontend/blocks/adapters.h"
#include "frontend/blocks/position_tables.h"
#include "frontend/model_checks.h"
#include "frontend/parameter_names.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/gguf/gguf_file.h"
#include "runtime/plan/activation_bound.h"

namespace smelt {
namespace {

std::vector<std::string> spellings(const Module::Parameter& parameter) {
  return parameter.checkpoint_names.empty() ? std::vector{parameter.name} : parameter.checkpoint_names;
}

const TensorView* find_tensor(const Module::Parameter& parameter, const Checkpoint& weights) {
  for (const std::string& name : spellings(parameter))
    if (const TensorView* tensor = weights.find(name)) return tensor;
  return nullptr;
}

/// Empty where the tensor is right for the parameter.
std::string problem_with(const Module::Parameter& parameter, const TensorView* tensor) {
  const std::string expected = fmt::format("floats [{}]", fmt::join(checkpoint_shape(parameter), ","));
  if (!tensor)
    return fmt::format("{}: missing, expected {}", fmt::join(spellings(parameter), " or "), expected);
  if (is_float(tensor->dtype) && tensor->shape == checkpoint_shape(parameter)) return "";
  return fmt::format("{}: {}, expected {}", tensor->name, describe(*tensor), expected);
}

/// Adds the tensor of the parameter, and the base tensor that an adapter's tensor replaces.
void add_used(const Module::Parameter& parameter, const Checkpoint& weights,
              std::set<const TensorView*>& used) {
  used.insert(find_tensor(parameter, weights));
  const std::vector<std::string> names = spellings(parameter);
  if (!llvm::StringRef(names.front()).starts_with(kAdapterPrefix)) return;
  for (const std::string& name : names) used.insert(weights.find(name));
}

constexpr std::string_view kBaseLayer = ".base_layer";

bool is_base_layer(std::string_view name) {
  return name.starts_with(kAdapterPrefix) && name.find(kBaseLayer) != name.npos;
}

bool have_same_values(const TensorView& a, const TensorView& b) {
  if (a.shape != b.shape || !is_float(a.dtype) || !is_float(b.dtype)) return false;
  if (a.dtype == b.dtype) return have_equal_elements(a, b);
  return read_floats(a) == read_floats(b);
}

/// Returns the tolerance between a stored and a computed sine: rounding to the type, for an angle in f32.
double sine_tolerance(DType dtype) {
  return dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-10 : 0x1p-12;
}

/// The description's "ignored_tensors"; a graph in text form may have no description.
std::vector<std::string> ignored_patterns(const Module& module) {
  if (module.description.empty()) return {};
  const Json json = parse_json(module.description, "the model's description");
  const Json* list = find_path(json, "ignored_tensors");
  return list && list->is_array() ? list->get<std::vector<std::string>>() : std::vector<std::string>();
}

/// Returns the tensors that no parameter uses.
std::vector<const TensorView*> unexpected(const Module& module, const Checkpoint& weights,
                                          const std::set<const TensorView*>& used) {
  const std::vector<std::string> patterns = ignored_patterns(module);
  std::vector<const TensorView*> found;
  for (const TensorView& tensor : weights.tensors()) {
    const bool ignored = llvm::any_of(
        patterns, [&](const std::string& pattern) { return matches_pattern(tensor.name, pattern); });
    const bool is_added = bounds_a_weight(tensor.name, weights);  // by passes
    if (!used.contains(&tensor) && !ignored && !is_added && !repeats_base(tensor, weights))
      found.push_back(&tensor);
  }
  return found;
}

std::string problem_with_unexpected(const TensorView& tensor) {
  if (is_base_layer(tensor.name))
    return fmt::format("{}: {}, of other values than the base model has: it is of another one", tensor.name,
                       describe(tensor));
  return fmt::format("{}: {}, which the model has no place for", tensor.name, describe(tensor));
}

/// Returns whether the tensor changes what the model computes.
bool must_be_used(const TensorView& tensor, const Checkpoint& weights) {
  return tensor.name.starts_with(kAdapterPrefix) || is_gguf_file(weights.path());
}

}  // namespace

bool bounds_a_weight(std::string_view name, const Checkpoint& weights) {
  if (!is_activation_bound(name)) return false;
  const std::string stem(name.substr(0, name.size() - kBoundSuffix.size()));
  return weights.find(stem + ".weight") || weights.find(stem);
}

std::vector<int64_t> checkpoint_shape(const Module::Parameter& parameter) {
  std::vector<int64_t> shape;
  for (const Dim& dim : parameter.type.shape) shape.push_back(dim.evaluate({}));
  if (parameter.stacked && shape.size() > 1) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  if (parameter.transposed) std::reverse(shape.begin(), shape.end());
  return shape;
}

std::vector<std::string> check_weights(const Module& module, const Checkpoint& weights,
                                       const MayLack& may_lack) {
  std::vector<SpecProblem> problems;
  std::set<const TensorView*> used;
  size_t missing = 0;
  for (const Module::Parameter& parameter : module.parameters) {
    const TensorView* tensor = find_tensor(parameter, weights);
    if (!tensor && may_lack && may_lack(parameter.name)) continue;
    add_used(parameter, weights, used);
    missing += tensor ? 0 : 1;
    if (std::string text = problem_with(parameter, tensor); !text.empty())
      problems.push_back({"", std::move(text)});
  }
  if (2 * missing > module.parameters.size())
    problems.insert(problems.begin(), {"",
                                       "most parameters are missing: the weights are of another architecture "
                                       "than the description"});
  const std::vector<const TensorView*> others = unexpected(module, weights, used);
  const bool all = !problems.empty();
  std::vector<std::string> names;
  for (const TensorView* tensor : others) {
    names.push_back(tensor->name);
    if (all || must_be_used(*tensor, weights)) problems.push_back({"", problem_with_unexpected(*tensor)});
  }
  if (!problems.empty()) fail_with_problems(weights.path().string(), problems);
  return names;
}

std::vector<std::string> head_parameters(const TransformerSpec& spec) {
  std::vector<std::string> roles(std::begin(kHeadRoles), std::end(kHeadRoles));
  roles.emplace_back("pooler");
  const ParameterNames names(spec);
  std::vector<std::string> result;
  for (const std::string& role : roles)
    for (const char* kind : {"weight", "bias"}) result.push_back(names.parameter({role}, kind).name);
  return result;
}

void untie_stored_head(TransformerSpec& spec, const Checkpoint& weights) {
  const bool masked = fills_masks(spec);
  if (!spec.head.tied || (!masked && spec.head.kind != HeadKind::lm)) return;
  const ParameterNames names(spec);
  const auto stored = [&](const char* role) -> const TensorView* {
    for (const std::string& name : names.parameter({role}, "weight").checkpoint_names)
      if (const TensorView* tensor = weights.find(name)) return tensor;
    return nullptr;
  };
  const TensorView *table = stored("embedding.tokens"), *head = stored(masked ? "mlm.decoder" : "head");
  if (!table || !head || table->shape != head->shape) return;
  spec.head.tied = have_equal_elements(*table, *head);
}

bool repeats_base(const TensorView& tensor, const Checkpoint& weights) {
  if (!is_base_layer(tensor.name)) return false;
  std::string name = tensor.name.substr(kAdapterPrefix.size());
  name.erase(name.find(kBaseLayer), kBaseLayer.size());
  const TensorView* base = weights.find(name);
  if (base) return have_same_values(tensor, *base);
  return llvm::any_of(weights.tensors(), [&](const TensorView& other) {  // a head that is the embeddings
    return &other != &tensor && !is_base_layer(other.name) && have_same_values(tensor, other);
  });
}

void require_computed_positions(const TransformerSpec& spec, const Checkpoint& weights) {
  if (spec.positions.kind != PositionKind::sinusoidal) return;
  for (const TensorView& tensor : weights.tensors()) {
    if (!tensor.name.ends_with("embed_positions.weight") || !is_float(tensor.dtype)) continue;
    const bool is_table = tensor.shape.size() == 2 && tensor.shape[1] == spec.hidden;
    const std::vector<float> stored = read_floats(tensor);
    const std::vector<double> computed = position_table(spec, is_table ? tensor.shape[0] : 0);
    const auto near = [&](float a, double b) {
      return std::abs(a - b) <= sine_tolerance(tensor.dtype) + 1e-4;
    };
    if (!is_table || !std::ranges::equal(stored, computed, near))
      fail_with(
          Status::invalid_file,
          "{}: {}: {} with other values than the sines and cosines that the model computes: positions of "
          "its own are not supported in this family",
          weights.path().string(), tensor.name, describe(tensor));
  }
}

std::vector<float> read_parameter(const Module::Parameter& parameter, const Checkpoint& weights) {
  const TensorView* tensor = find_tensor(parameter, weights);
  if (const std::string text = problem_with(parameter, tensor); !text.empty())
    fail_with(Status::invalid_file, "{}: {}", weights.path().string(), text);
  std::vector<float> stored = read_floats(*tensor);
  if (!parameter.transposed) return stored;
  const auto rows = static_cast<size_t>(tensor->shape[0]), columns = static_cast<size_t>(tensor->shape[1]);
  std::vector<float> values(stored.size());
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) values[c * rows + r] = stored[r * columns + c];
  return values;
}

}  // namespace smelt
