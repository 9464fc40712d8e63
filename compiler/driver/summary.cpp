#include "compiler/driver/summary.h"

#include "runtime/base/packed_format.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/plan_costs.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

int64_t bytes_of(const Module& module, const Value& value) {
  return bytes_at_bounds(module.symbols, element_count(value.shape()), value.dtype());
}

bool launches(const Node& node) {
  const OpInfo& row = info(node.op());
  return !row.has(Trait::leaf) && !row.has(Trait::view) && !row.has(Trait::effect);
}

/// A broadcast operand is read once, at its own size.
int64_t bytes_moved(const Module& module, const Node& node) {
  int64_t bytes = 0;
  for (const Value* operand : node.operands()) {
    const Node* source = operand->node();
    bytes += bytes_of(module, source->is(Op::broadcast) ? *source->operand(0) : *operand);
  }
  for (const auto& result : node.results()) bytes += bytes_of(module, *result);
  return bytes;
}

EntrySummary unfused(const Graph& graph) {
  EntrySummary row{.entry = graph.name};
  for (const auto& node : graph.nodes()) {
    if (!launches(*node) || node->is(Op::matmul)) continue;
    ++row.launches_before;
    row.bytes_before += bytes_moved(graph.module(), *node);
  }
  return row;
}

int64_t gemm_bytes(const Program& program, const GemmStep& gemm) {
  Dim times = 1;
  for (const auto& batch : gemm.batch) times *= batch.extent;
  const Dim read = times * (gemm.m * gemm.k + gemm.k * gemm.n), written = times * gemm.m * gemm.n;
  return bytes_at_bounds(program.symbols, read, gemm.dtype) +
         bytes_at_bounds(program.symbols, written * (gemm.beta != 0 ? 2 : 1), gemm.result_dtype);
}

/// Returns the bytes that the template around an attention's body reads and writes, without the rows, which
/// are small.
int64_t attention_bytes(const Program& program, const Kernel& kernel) {
  const AttentionKernel& a = *kernel.attention;
  int64_t bytes = 0;
  for (const AttentionKernel::Matrix& matrix : a.matrices)
    bytes += bytes_at_bounds(
        program.symbols,
        a.batch * (matrix.of_keys ? a.keys * a.key_heads : a.queries * a.heads) * Dim(a.width),
        kernel.params[static_cast<size_t>(matrix.param)].dtype);
  return bytes;
}

/// The operands of a matmul.
int64_t operand_bytes(const Program& program, const Kernel& kernel) {
  const GemmKernel& gemm = *kernel.gemm;
  if (gemm.packed) {
    const Dim codes = floor_div(gemm.n * gemm.k * find_packed_format(gemm.packed->format)->bits, 8);
    const Dim scales = gemm.n * floor_div(gemm.k, gemm.packed->group);
    return bytes_at_bounds(program.symbols, codes, DType::u8) +
           bytes_at_bounds(program.symbols, scales + (gemm.is_staged() ? Dim(0) : gemm.m * gemm.k),
                           DType::bf16);
  }
  const DType dtype = kernel.params[static_cast<size_t>(gemm.b.param)].dtype;
  return bytes_at_bounds(program.symbols, (gemm.is_staged() ? Dim(0) : gemm.m * gemm.k) + gemm.n * gemm.k,
                         dtype);
}

/// Returns whether a param is a tile, which stays in a processor's cache.
bool is_tile(const Kernel& kernel, int param) {
  return kernel.attention && static_cast<size_t>(param) >= kernel.arguments();
}

/// Every param at the elements its accesses can reach, each once.
int64_t kernel_bytes(const Program& program, const Kernel& kernel) {
  std::vector<int64_t> reach(kernel.params.size() * 2);
  for (const Instruction& i : kernel.instructions) {
    if (i.access.param < 0 || is_tile(kernel, i.access.param)) continue;
    Dim elements = 1;
    for (size_t axis = 0; axis < i.access.strides.size(); ++axis)
      if (!i.access.strides[axis].is_zero()) elements *= kernel.axes[axis].extent;
    const bool write = i.kind != Instruction::Kind::load;
    int64_t& most = reach[i.access.param * 2 + write];
    most = std::max(most, bytes_at_bounds(program.symbols, elements, kernel.params[i.access.param].dtype));
  }
  int64_t bytes = kernel.attention ? attention_bytes(program, kernel) : 0;
  if (kernel.gemm) bytes += operand_bytes(program, kernel);
  for (const Kernel& first : kernel.before) bytes += kernel_bytes(program, first);
  for (int64_t part : reach) bytes += part;
  return bytes * kernel.copies;
}

/// Every operand once, but for scratch memory.
int64_t operand_bytes(const Program& program, const Step& step) {
  Dim bytes;
  for (const StepPlace& place : places(step)) {
    if (place.use == PlaceUse::scratch) continue;
    Dim touched = size_of(program.buffers[static_cast<size_t>(place.ref->buffer)].dtype);
    for (const Walk& walk : place.walks) touched *= walk.extent;
    bytes += touched;
  }
  return program.symbols.upper(bytes);
}

}  // namespace

std::vector<EntrySummary> summarise_unfused(const Module& module) {
  std::vector<EntrySummary> rows;
  for (const auto& graph : module.graphs) rows.push_back(unfused(*graph));
  return rows;
}

int64_t step_bytes(const Program& program, const Step& step) {
  return visit_step(
      step, [&](const KernelStep& launch) { return kernel_bytes(program, program.kernels[launch.kernel]); },
      [&](const GemmStep& gemm) { return gemm_bytes(program, gemm); },
      [&](const auto&) { return operand_bytes(program, step); });
}

std::vector<StateSize> state_sizes(const Program& program) {
  std::vector<StateSize> sizes;
  for (const State& state : program.states) {
    const Shape& whole = state.whole.empty() ? state.shape : state.whole;
    sizes.push_back({state.name, state.role, str(Type{state.dtype, state.shape}),
                     bytes_at_bounds(program.symbols, element_count(state.shape), state.dtype),
                     bytes_at_bounds(program.symbols, element_count(whole), state.dtype)});
    StateSize& size = sizes.back();
    size.host_bytes = std::max<int64_t>(0, state.resident) * size_of(state.dtype);
  }
  return sizes;
}

void summarise_program(const Program& program, std::vector<EntrySummary>& rows) {
  for (const PlanEntry& entry : program.entries)
    for (EntrySummary& row : rows) {
      if (row.entry != entry.name) continue;
      const HostTraffic traffic = host_traffic(entry, program.states, program.buffers, program.symbols);
      row.from_host = traffic.in, row.to_host = traffic.out;
      for (const Step& step : entry.steps) {
        if (!is_first_way(step)) continue;
        if (std::holds_alternative<CollectiveStep>(step.what)) {
          ++row.collectives;
          row.collective_bytes += step_bytes(program, step);
        } else if (std::holds_alternative<GemmStep>(step.what)) {
          ++row.gemms;
          row.gemm_bytes += step_bytes(program, step);
        } else {
          ++row.launches_after;
          row.bytes_after += step_bytes(program, step);
        }
      }
    }
}

}  // namespace smelt
