#include "codegen/cuda/row_text.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"

namespace smelt {
namespace {

using Condition = TemplateLaunch::Condition;

std::vector<Condition> conditions_of(RowKind rows) {
  const Condition is_short{.value = field("count"), .below = kLongRow},
      is_long{.value = field("count") * -1, .below = 1 - kLongRow},
      are_few{.value = field("rows"), .below = kManyRows},
      are_many{.value = field("rows") * -1, .below = 1 - kManyRows};
  switch (rows) {
    case RowKind::any:
      return {};
    case RowKind::short_ones:
      return {is_short};
    case RowKind::long_ones:
      return {is_long};
    case RowKind::few_long_ones:
      return {is_long, are_few};
    case RowKind::many_long_ones:
      return {is_long, are_many};
  }
  return {};
}

}  // namespace

std::string row_blocks_text(int blocks) {
  if (blocks == 1) return std::string(device::kRowsOneBlock);
  return fmt::format("constexpr int kBlocks = {};\n{}", blocks, device::kRowsCluster);
}

KernelCode kernel_of_rows(std::string name, std::string_view step, const std::string& text, int threads,
                          int blocks, RowKind rows) {
  KernelCode kernel;
  kernel.name = std::move(name);
  kernel.range = 1;  // the step says how many
  kernel.threads = threads;
  const std::string cluster =
      blocks > 1 ? fmt::format("__attribute__((cluster_dims({}, 1, 1))) ", blocks) : "";
  kernel.source =
      row_blocks_text(blocks) + with_words(text, {{"CLUSTER ", cluster}, {"KERNEL", kernel.name}});
  kernel.launch = TemplateLaunch{.step = std::string(step), .blocks = field("rows") * blocks};
  kernel.launch->conditions = conditions_of(rows);
  return kernel;
}

}  // namespace smelt
