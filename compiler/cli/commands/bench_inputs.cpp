#include "compiler/cli/commands/bench_training.h"

#include <random>

#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

/// Ids that the input takes, ones for other integers (masks), a normal distribution for floats.
HostTensor random_input(const Port& port, const SymbolValues& sizes, std::mt19937& random) {
  HostTensor tensor{port.name, port.dtype, {}, {}};
  int64_t count = 1;
  for (const Dim& dim : port.shape) tensor.shape.push_back(dim.evaluate(sizes)), count *= tensor.shape.back();
  tensor.bytes.resize(static_cast<size_t>(count * size_of(port.dtype)));
  std::uniform_int_distribution<int32_t> id(0, port.ids ? static_cast<int32_t>(port.ids->below) - 1 : 0);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    if (port.dtype == DType::f32)
      reinterpret_cast<float*>(tensor.bytes.data())[i] = normal(random);
    else if (port.dtype == DType::i32)
      reinterpret_cast<int32_t*>(tensor.bytes.data())[i] = port.ids ? id(random) : 1;
    else
      fail("input '{}' is {}: the benchmark makes f32 and i32", port.name, name(port.dtype));
  }
  return tensor;
}

}  // namespace

SymbolValues largest_sizes(const Symbols& symbols) {
  SymbolValues values;
  for (const std::string& name : symbols.names()) values[name] = symbols.upper(Dim::symbol(name));
  return values;
}

std::vector<HostTensor> random_inputs(const PlanEntry& entry, const Symbols& symbols) {
  std::mt19937 random(1);
  std::vector<HostTensor> inputs;
  for (const Port& port : entry.inputs)
    if (!port.optional) inputs.push_back(random_input(port, largest_sizes(symbols), random));
  return inputs;
}

}  // namespace smelt::cli
