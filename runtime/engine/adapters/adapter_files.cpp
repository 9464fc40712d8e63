#include "runtime/engine/adapters/adapter_files.h"

#include <fmt/ranges.h>

#include <set>

#include "runtime/base/error.h"
#include "runtime/engine/adapters/lora_config.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt {
namespace {

constexpr const char* kTensors = "adapter_model.safetensors";

/// Collects the matrices of a file, and the problems with it.
class AdapterFile {
 public:
  AdapterFile(const LoraConfig& config, const Checkpoint& file, const AdapterInterface& interface)
      : config_(config), file_(file), interface_(interface) {}

  AdapterWeights read() {
    check_config();
    fail_if_wrong();  // files with biases or modules have tensors for them
    for (const AdaptedLinear& linear : interface_.linears)
      if (LoraTargets(config_).adapts(linear.module, false)) add(linear);
    check_ranks();
    check_unused();
    fail_if_wrong();
    return std::move(weights_);
  }

 private:
  void check_config() {
    if (config_.bias != LoraConfig::Bias::none)
      problems_.push_back("bias: slots have no biases; expected \"none\", or merge the adapter");
    if (!config_.modules_to_save.empty())
      problems_.push_back(
          fmt::format("modules_to_save names {}: slots have low-rank matrices alone; expected "
                      "none, or merge the adapter",
                      fmt::join(config_.modules_to_save, ", ")));
  }

  const TensorView* find(const AdaptedLinear& linear, std::string_view matrix) const {
    for (const std::string& name : linear.names)
      if (const TensorView* found = file_.find(fmt::format("{}{}.{}", kAdapterPrefix, name, matrix)))
        return found;
    return nullptr;
  }

  /// Returns the values of a matrix; none if there is a problem with it.
  std::vector<float> values(const AdaptedLinear& linear, std::string_view matrix, int64_t rows,
                            int64_t columns) {
    const TensorView* tensor = find(linear, matrix);
    const std::string expected = fmt::format("floats [{},{}]", rows, columns);
    if (!tensor) {
      problems_.push_back(fmt::format("'{}{}.{}' is missing (expected {})", kAdapterPrefix,
                                      linear.names.empty() ? linear.module : linear.names[0], matrix,
                                      expected));
      return {};
    }
    used_.insert(tensor);
    if (tensor->shape == std::vector{rows, columns} && is_float(tensor->dtype)) return read_floats(*tensor);
    problems_.push_back(fmt::format("'{}' is {}, expected {}", tensor->name, describe(*tensor), expected));
    return {};
  }

  void add(const AdaptedLinear& linear) {
    const LoraTarget target = LoraTargets(config_).of(linear.module);
    if (target.r > interface_.rank) too_large_.push_back(fmt::format("{} ({})", linear.module, target.r));
    AdapterMatrices matrices{linear.module, target.r, values(linear, "lora_A.weight", target.r, linear.in),
                             values(linear, "lora_B.weight", linear.out, target.r)};
    for (float& value : matrices.b) value = static_cast<float>(target.scale * value);
    weights_.linears.push_back(std::move(matrices));
  }

  void check_ranks() {
    if (!too_large_.empty())
      problems_.push_back(fmt::format(
          "ranks: expected at most {}, the rank of the slots (--adapter-rank), and not those of {}",
          interface_.rank, fmt::join(too_large_, ", ")));
  }

  void check_unused() {
    if (weights_.linears.empty())
      problems_.push_back(
          fmt::format("target_modules match no linear map with a slot; there are {}", ends()));
    std::vector<std::string> unused;
    for (const TensorView& tensor : file_.tensors())
      if (!used_.contains(&tensor)) unused.push_back("'" + tensor.name + "'");
    if (!unused.empty())
      problems_.push_back(fmt::format("tensors for no linear map with a slot that target_modules match: {}",
                                      fmt::join(unused, ", ")));
  }

  void fail_if_wrong() const {
    if (!problems_.empty())
      fail_with(Status::invalid_file, "{}: {}", file_.path().string(), fmt::join(problems_, "; "));
  }

  std::string ends() const {
    std::set<std::string> ends;
    for (const AdaptedLinear& linear : interface_.linears)
      ends.insert(linear.module.substr(linear.module.rfind('.') + 1));
    return fmt::format("{}", fmt::join(ends, ", "));
  }

  const LoraConfig& config_;
  const Checkpoint& file_;
  const AdapterInterface& interface_;
  AdapterWeights weights_;
  std::set<const TensorView*> used_;
  std::vector<std::string> too_large_;  // linear maps whose rank a slot cannot hold
  std::vector<std::string> problems_;
};

}  // namespace

AdapterWeights read_adapter_files(const std::filesystem::path& directory, const AdapterInterface& interface) {
  const LoraConfig config = read_lora(directory);
  const std::filesystem::path path = directory / kTensors;
  if (!std::filesystem::exists(path))
    fail_with(Status::io, "{}: there is no {}, as PEFT writes it", directory.string(), kTensors);
  const Checkpoint file = Checkpoint::open(path);
  return AdapterFile(config, file, interface).read();
}

}  // namespace smelt
