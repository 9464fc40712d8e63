// Kernels that a test builds instruction by instruction, compiles for this machine, and runs on its buffers.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "codegen/cpu/emit_llvm.h"
#ifdef SMELT_HIP_ON_HOST
#include "tests/support/hip/hip_on_host.h"
#endif
#ifdef SMELT_CUDA_ON_HOST
#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/scheduling/schedule.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"
#endif
#include "ir/kernel/kernel.h"
#include "runtime/base/philox.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/plan/plan.h"

namespace smelt::test {

/// Builder of a kernel. Each function appends an axis, a parameter, a block or an instruction. Its result is
/// the index of the axis, the parameter or the instruction. Instructions are appended to the last block.
/// Operands are indices of instructions; a predicate of -1 is no predicate.
class KernelBuilder {
 public:
  explicit KernelBuilder(std::string name) { kernel.name = std::move(name); }
  using Strides = std::vector<std::pair<int, Dim>>;  // pairs of axis and stride; other axes have stride 0

  int axis(AxisKind kind, Dim extent, int begin = -1, int end = -1) {
    kernel.axes.push_back({kind, "a", std::move(extent), begin, end});
    return static_cast<int>(kernel.axes.size()) - 1;
  }
  int parallel(Dim extent) { return axis(AxisKind::parallel, std::move(extent)); }
  int column(Dim extent) { return axis(AxisKind::column, std::move(extent)); }
  int reduced(Dim extent) { return axis(AxisKind::reduced, std::move(extent)); }

  int input(DType type = DType::f32) { return param({.name = "x", .dtype = type}); }
  int output(DType type = DType::f32) {
    return param({.name = "y", .dtype = type, .output = true, .input = false});
  }
  /// Appends a buffer of partial sums, with `elements` elements per chunk (KernelParam::partial).
  int partial(Dim elements) {
    return param(
        {.name = "p", .output = true, .input = false, .partial = true, .partial_elements = elements});
  }

  void row_block() { kernel.blocks.push_back({KernelBlock::Scope::row, {}}); }
  void column_block() { kernel.blocks.push_back({KernelBlock::Scope::column, {}}); }
  void reduced_block() { kernel.blocks.push_back({KernelBlock::Scope::reduced, {}}); }

  int number(double value, DType type = DType::f32) {
    return append({.kind = Instruction::Kind::constant, .dtype = type, .number = value});
  }
  int index(int axis) {
    return append({.kind = Instruction::Kind::index, .dtype = DType::i32, .axis = axis});
  }
  int op(ScalarOp op, std::vector<int> operands, DType type = DType::f32) {
    const DType result = info(op).flag ? DType::boolean : type;
    return append({.kind = Instruction::Kind::scalar,
                   .dtype = result,
                   .operands = std::move(operands),
                   .scalar_op = op});
  }
  int convert(int value, DType type) {
    return append({.kind = Instruction::Kind::convert, .dtype = type, .operands = {value}});
  }
  /// Appends random bits. `slot` is the index in Launch::random_ids, `axis` is the axis of columns, and
  /// `rows` are the strides of the row number.
  int random(int slot, int axis, const Strides& rows) {
    kernel.random_slots = std::max(kernel.random_slots, slot + 1);
    Instruction x{.kind = Instruction::Kind::random, .dtype = DType::i32, .slot = slot};
    x.random_axis = axis;
    x.random_strides = spread(rows);
    return append(std::move(x));
  }
  int load(int param, const Strides& strides, int predicate = -1) {
    return append({.kind = Instruction::Kind::load,
                   .dtype = kernel.params[param].dtype,
                   .access = {.param = param, .offset = 0, .strides = spread(strides)},
                   .predicate = predicate});
  }
  /// Appends a load whose address has the additional term index * stride; `index` is an instruction.
  int gather(int param, const Strides& strides, int index, Dim stride, int predicate = -1) {
    const int id = load(param, strides, predicate);
    kernel.instructions[id].access.computed = index;
    kernel.instructions[id].access.computed_stride = std::move(stride);
    return id;
  }
  int store(int param, const Strides& strides, int value, int predicate = -1) {
    const int id = load(param, strides, predicate);
    kernel.instructions[id].kind = Instruction::Kind::store;
    kernel.instructions[id].operands = {value};
    return id;
  }
  int accumulate(int param, const Strides& strides, int value) {
    const int id = store(param, strides, value);
    kernel.instructions[id].kind = Instruction::Kind::accumulate;
    return id;
  }
  int reduce(ReduceOp op, int value, DType type = DType::f32) {
    return append({.kind = Instruction::Kind::reduce, .dtype = type, .operands = {value}, .reduce_op = op});
  }
  /// Appends the second result of a reduction.
  int second(int reduce, DType type = DType::f32) {
    return append({.kind = Instruction::Kind::result, .dtype = type, .operands = {reduce}, .slot = 1});
  }

  Kernel kernel;

 private:
  int param(KernelParam param) {
    kernel.params.push_back(std::move(param));
    return static_cast<int>(kernel.params.size()) - 1;
  }
  int append(Instruction instruction) {
    kernel.instructions.push_back(std::move(instruction));
    const int id = static_cast<int>(kernel.instructions.size()) - 1;
    kernel.blocks.back().instructions.push_back(id);
    return id;
  }
  std::vector<Dim> spread(const Strides& strides) const {
    std::vector<Dim> all(kernel.axes.size(), Dim(0));
    for (const auto& [axis, stride] : strides) all[axis] = stride;
    return all;
  }
};

/// Arguments of a launch: `buffers` has one address per parameter.
struct Launch {
  std::vector<void*> buffers;
  SymbolValues symbols = {};
  int64_t chunk = 1;   // elements of Kernel::range per call
  int64_t splits = 0;  // number of calls; 0: it follows from `chunk`
  std::vector<uint32_t> random_ids = {};
  Philox random = {};
};

#ifdef SMELT_CUDA_ON_HOST

#ifdef SMELT_HIP_ON_HOST
inline constexpr HostText kKernelText = hip_host_text;
#else
inline constexpr HostText kKernelText = host_text;
#endif

/// A kernel as CUDA or HIP text that is compiled for the host. It has the interface of the other
/// CompiledKernel (below), so that the same tests can use it. Successive kernels get different bounds,
/// alignments and schedules.
class CompiledKernel {
 public:
  explicit CompiledKernel(const Kernel& kernel, const CpuTarget& = CpuTarget::host()) : kernel_(kernel) {
    static unsigned variant = 0;
    variant_ = variant++;
  }

  void launch(const Launch& launch) const {
    Kernel kernel = kernel_;
    kernel.name = "k_" + kernel.name;
    Symbols symbols;
    for (const auto& [name, value] : launch.symbols)
      symbols.bound({name}, variant_ % 3 == 0 ? value : variant_ % 3 == 1 ? value + 700 : 200000);
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      const auto address = reinterpret_cast<uintptr_t>(launch.buffers[i]);
      kernel.params[i].alignment = variant_ % 2 == 0 && address % 16 == 0 ? 16 : 0;
    }
    if (!kernel.schedule.cached.empty()) symbols = bounded_by(launch.symbols);
    if (variant_ % 2 == 1) collapse_axes(kernel);
    schedule(kernel, symbols, parse_target("sm_90"));
    if (variant_ % 4 >= 2) {  // another schedule, which a tuner might choose
      const std::vector<Schedule> all = schedule_candidates(kernel, symbols);
      take_schedule(kernel, all[variant_ * 7 % all.size()]);
    }
    if (launch.splits > 0) {
      kernel.schedule.splits = launch.splits;
      take_schedule(kernel, Schedule(kernel.schedule));
    }
    run(kernel, launch);
  }

  /// Compiles and runs a kernel with the schedule that it has.
  static void run(const Kernel& kernel, const Launch& launch, HostText text = kKernelText) {
    const SharedObject object(compile_on_host({&kernel}, text));
    const auto function = reinterpret_cast<KernelFunction>(object.symbol(kernel.name));
    std::vector<int64_t> dims;
    for (const Dim& dim : host_launch_dims(kernel)) dims.push_back(dim.evaluate(launch.symbols));
    const int64_t range = dims.back(), splits = kernel.schedule.splits;
    const int64_t chunk =
        splits > 0 ? std::max<int64_t>(1, (range + splits - 1) / splits) : kernel.schedule.grain;
    const int64_t chunks = splits > 0 ? splits : (range + chunk - 1) / chunk;
    const KernelArgs arguments = {launch.buffers.data(),
                                  dims.data(),
                                  launch.random_ids.data(),
                                  launch.random.seed,
                                  launch.random.step,
                                  launch.random.micro_step,
                                  0,
                                  chunk};
    for (int64_t i = chunks; i-- > 0;)
      function(&arguments, i * chunk, std::max(i * chunk, std::min((i + 1) * chunk, range)));
  }

 private:
  /// Returns symbols whose upper bounds are these values.
  static Symbols bounded_by(const SymbolValues& values) {
    Symbols symbols;
    for (const auto& [name, value] : values) symbols.bound({name}, value);
    return symbols;
  }

  Kernel kernel_;
  unsigned variant_ = 0;
};

#else

/// A kernel compiled by LLVM. launch() calls it chunk by chunk, the last chunk first.
class CompiledKernel {
 public:
  explicit CompiledKernel(const Kernel& kernel, const CpuTarget& target = CpuTarget::host())
      : kernel_(kernel), object_(compile_kernels({&kernel}, target)), dims_(launch_dims(kernel)) {
    function_ = reinterpret_cast<KernelFunction>(object_.symbol(kernel.name));
  }

  void launch(const Launch& launch) const {
    std::vector<int64_t> dims;
    for (const Dim& dim : dims_) dims.push_back(dim.evaluate(launch.symbols));
    const int64_t range = kernel_.range().evaluate(launch.symbols);
    const int64_t chunk =
        launch.splits > 0 ? std::max<int64_t>(1, (range + launch.splits - 1) / launch.splits) : launch.chunk;
    const int64_t chunks = launch.splits > 0 ? launch.splits : (range + chunk - 1) / chunk;
    const std::vector<uint32_t> micro_steps(launch.random_ids.size(), launch.random.micro_step);
    const KernelArgs arguments = {launch.buffers.data(),
                                  dims.data(),
                                  launch.random_ids.data(),
                                  launch.random.seed,
                                  launch.random.step,
                                  launch.random.micro_step,
                                  0,
                                  chunk,
                                  0,
                                  0,
                                  nullptr,
                                  micro_steps.data()};
    for (int64_t i = chunks; i-- > 0;)
      function_(&arguments, i * chunk, std::max(i * chunk, std::min((i + 1) * chunk, range)));
  }

 private:
  Kernel kernel_;
  SharedObject object_;
  std::vector<Dim> dims_;
  KernelFunction function_;
};

#endif  // SMELT_CUDA_ON_HOST

inline std::vector<float> random_floats(size_t count, uint32_t seed, float low = -2, float high = 2) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(engine);
  return values;
}

/// Returns norm(a - b) / norm(b). If a number is NaN, the result is NaN, so that comparisons with it are
/// false.
template <typename A, typename B>
double relative_error(const std::vector<A>& a, const std::vector<B>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += d * d;
    norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(difference / std::max(norm, 1e-300));
}

}  // namespace smelt::test
