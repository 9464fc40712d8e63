#include "codegen/launches/fused_small_m.h"

#include <algorithm>

#include "codegen/cuda/byte_gemm/byte_gemm_text.h"
#include "codegen/cuda/small_m/small_m.h"
#include "codegen/cuda/small_m/small_m_text.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/launches/result_reader.h"
#include "codegen/scheduling/schedule.h"
#include "codegen/scheduling/schedule_gpu.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/packed_format.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// The most bytes of A in the shared memory of a block; every block runs the prologue for all of A.
constexpr int64_t kMostStagedBytes = 9 << 10;
constexpr int kMostParts = 4;

int64_t vector_elements(DType dtype) { return 16 / size_of(dtype); }

// ---- the body

/// Returns the body that stores the result.
Kernel plain_body(const GemmStep& gemm) {
  Kernel kernel;
  kernel.name = "product";
  kernel.axes = {{AxisKind::parallel, "r0", gemm.m}, {AxisKind::column, "c0", gemm.n}};
  kernel.params = {{.name = "y0", .dtype = gemm.result_dtype, .output = true, .input = false}};
  kernel.instructions = {{.kind = Kind::handed, .dtype = gemm.result_dtype},
                         {.kind = Kind::store,
                          .dtype = gemm.result_dtype,
                          .operands = {0},
                          .access = {.param = 0, .strides = {gemm.c.row_stride, 1}}}};
  kernel.blocks = {{KernelBlock::Scope::column, {0, 1}}};
  return kernel;
}

bool stores_once_a_row(const Kernel& kernel) {
  return llvm::any_of(kernel.blocks, [&](const KernelBlock& block) {
    return block.scope == KernelBlock::Scope::row && llvm::any_of(block.instructions, [&](int id) {
             return kernel.instructions[static_cast<size_t>(id)].kind == Kind::store;
           });
  });
}

struct Body {
  Kernel kernel;
  std::vector<BufferRef> arguments;
  int parts = 1;
};

std::optional<Body> body_of(const Program& program, const GemmStep& gemm, const KernelStep& step, int parts,
                            bool kept) {
  const auto columns = gemm.n.constant().value();
  if (columns % parts != 0 || (kept && parts > 1)) return std::nullopt;
  ResultReader reader(program, step,
                      {gemm.c.base, gemm.m, columns / parts, gemm.c.row_stride, gemm.result_dtype, parts});
  const Kernel& kernel = reader.kernel;
  if (!reader.has_form(true) || stores_once_a_row(kernel) || kernel.random_slots > 0 || has_partials(kernel))
    return std::nullopt;
  if (!reader.walks_result() || !reader.hand_result()) return std::nullopt;
  if (kept) reader.store_result();
  reader.drop_result();
  return Body{std::move(reader.kernel), std::move(reader.arguments), parts};
}

std::optional<Body> any_body(const Program& program, const GemmStep& gemm, const SmallMNeighbours& around) {
  if (!around.reader) return Body{plain_body(gemm), {gemm.c.base}};
  for (int parts = 1; parts <= kMostParts; parts *= 2)
    if (auto body = body_of(program, gemm, *around.reader, parts, around.keeps_result)) return body;
  return std::nullopt;
}

// ---- the kernel before

/// A kernel of rows that makes A, changed so that its last parameter is A in shared memory.
class Stager {
 public:
  Stager(const Program& program, const KernelStep& step, const GemmStep& gemm)
      : program_(program),
        gemm_(gemm),
        kernel_(program.kernels[static_cast<size_t>(step.kernel)]),
        arguments_(step.arguments) {}

  std::optional<Body> run(bool keeps_a, const Target& target) {
    if (!has_form() || !find_a() || (target.same_bits && !has_teams_of_rows())) return std::nullopt;
    if (keeps_a)
      copy_a();
    else
      move_a();
    stride_a();
    align();
    if (reads_what_it_stores(target)) return std::nullopt;
    return Body{std::move(kernel_), std::move(arguments_)};
  }

 private:
  bool has_form() const {
    if (kernel_.has_template() || kernel_.copies != 1 || !kernel_.tail.empty() || !kernel_.beside.empty() ||
        kernel_.row_predicate >= 0 || kernel_.random_slots > 0 || has_partials(kernel_) ||
        kernel_.axes.empty())
      return false;
    Dim rows = 1;
    for (size_t i = 0; i + 1 < kernel_.axes.size(); ++i) {
      if (kernel_.axes[i].kind != AxisKind::parallel) return false;
      rows *= kernel_.axes[i].extent;
    }
    const int64_t k = gemm_.k.constant().value();
    const int64_t staged = program_.symbols.upper(gemm_.m) * staged_pitch(k) * size_of(gemm_.dtype);
    return kernel_.axes.back().kind == AxisKind::column && kernel_.axes.back().extent == gemm_.k &&
           rows == gemm_.m && staged <= kMostStagedBytes;
  }

  /// Returns whether a block has a team of fixed size for each row.
  bool has_teams_of_rows() const {
    const int64_t rows = pow2_ceil(program_.symbols.upper(gemm_.m));
    return rows * fixed_team(gemm_.k.constant().value()) <= kSmallMThreads;
  }

  /// Finds the one store of A, at the current element; there must be no other access of A.
  bool find_a() {
    for (size_t id = 0; id < kernel_.instructions.size(); ++id) {
      const Instruction& x = kernel_.instructions[id];
      if (x.access.param < 0 || argument(x.access).buffer != gemm_.a.base.buffer) continue;
      if (x.kind != Kind::store || store_ >= 0 || !is_own_element(x)) return false;
      store_ = static_cast<int>(id);
    }
    return store_ >= 0;
  }

  const BufferRef& argument(const Access& access) const {
    return arguments_[static_cast<size_t>(access.param)];
  }

  bool is_own_element(const Instruction& x) const {
    if (x.predicate >= 0 || x.access.computed >= 0 || !x.access.strides.back().is_one()) return false;
    if (argument(x.access).offset + x.access.offset != gemm_.a.base.offset) return false;
    Dim stride = gemm_.a.row_stride;
    for (size_t i = kernel_.axes.size() - 1; i-- > 0;) {
      if (!kernel_.axes[i].extent.is_one() && x.access.strides[i] != stride) return false;
      stride *= kernel_.axes[i].extent;
    }
    return kernel_.params[static_cast<size_t>(x.access.param)].dtype == gemm_.dtype;
  }

  /// A second store, to a parameter of its own.
  void copy_a() {
    Instruction copy = kernel_.instructions[static_cast<size_t>(store_)];
    const int number = static_cast<int>(kernel_.instructions.size());
    for (KernelBlock& block : kernel_.blocks) {
      const auto at = llvm::find(block.instructions, store_);
      if (at != block.instructions.end()) block.instructions.insert(at + 1, number);
    }
    kernel_.params.push_back(kernel_.params[static_cast<size_t>(copy.access.param)]);
    kernel_.params.back().name = "staged";
    copy.access.param = static_cast<int>(kernel_.params.size()) - 1;
    kernel_.instructions.push_back(std::move(copy));
    store_ = number;
  }

  /// Moves the parameter of A to the end.
  void move_a() {
    const int from = kernel_.instructions[static_cast<size_t>(store_)].access.param,
              last = static_cast<int>(kernel_.params.size()) - 1;
    std::rotate(kernel_.params.begin() + from, kernel_.params.begin() + from + 1, kernel_.params.end());
    arguments_.erase(arguments_.begin() + from);
    for (Instruction& x : kernel_.instructions) {
      int& param = x.access.param;
      param = param == from ? last : param > from ? param - 1 : param;
    }
  }

  void stride_a() {
    Access& access = kernel_.instructions[static_cast<size_t>(store_)].access;
    Dim stride = staged_pitch(gemm_.k.constant().value());
    access.offset = 0;
    for (size_t i = kernel_.axes.size() - 1; i-- > 0;) {
      access.strides[i] = kernel_.axes[i].extent.is_one() ? Dim(0) : stride;
      stride *= kernel_.axes[i].extent;
    }
  }

  void align() {
    for (size_t i = 0; i < arguments_.size(); ++i)
      kernel_.params[i].alignment = alignment_of(arguments_[i], kernel_.params[i].dtype);
    kernel_.params.back().alignment = 16;
  }

  /// Once it is scheduled: blocks that do not store it would not find it.
  bool reads_what_it_stores(const Target& target) const {
    Kernel scheduled = kernel_;
    schedule(scheduled, program_.symbols, target);
    std::vector<bool> stored(scheduled.params.size()), loaded(scheduled.params.size());
    for (const KernelBlock& block : scheduled.blocks)
      for (const int id : block.instructions) {
        const Instruction& x = scheduled.instructions[static_cast<size_t>(id)];
        if (x.kind == Kind::store) stored[static_cast<size_t>(x.access.param)] = true;
        if (x.kind == Kind::load) loaded[static_cast<size_t>(x.access.param)] = true;
      }
    for (size_t i = 0; i < stored.size(); ++i)
      if (stored[i] && loaded[i]) return true;
    return !scheduled.schedule.flat && scheduled.schedule.vectors == 0;
  }

  const Program& program_;
  const GemmStep& gemm_;
  Kernel kernel_;
  std::vector<BufferRef> arguments_;
  int store_ = -1;
};

// ---- the whole

int add(Body& body, const char* name, DType dtype, const BufferRef& argument) {
  body.kernel.params.push_back({.name = name, .dtype = dtype});
  body.arguments.push_back(argument);
  return static_cast<int>(body.kernel.params.size()) - 1;
}

/// Returns whether the matmul is of the template that multiplies bytes by any number of rows.
bool has_many_rows(const Program& program, const GemmStep& step) {
  return program.symbols.upper(step.m) > kMostSmallM;
}

SmallMTiles tiles_of(const Program& program, const GemmStep& step, int parts, bool packed,
                     const Target& target) {
  const int64_t rows = program.symbols.upper(step.m), n = step.n.constant().value(),
                k = step.k.constant().value();
  if (!has_many_rows(program, step)) return small_m_tiles(rows, n, k, parts, step.in_order, packed);
  return byte_gemm_tiles(rows, n, k, parts, target.device.multiprocessors, step.in_order);
}

/// Adds packed codes as B.
void add_packed(const DequantizeStep& step, Body& body, GemmKernel& gemm) {
  PackedOperand& packed = gemm.packed.emplace();
  packed.format = step.format;
  packed.group = step.columns.constant().value() / step.groups.constant().value();
  gemm.b = {.param = add(body, "b", DType::u8, step.codes), .pitch = step.codes_stride};
  packed.scales = add(body, "scales", step.dtype, step.scales), packed.scales_pitch = step.scales_stride;
  if (step.zeros)
    packed.zeros = add(body, "zeros", DType::i8, *step.zeros), packed.zeros_pitch = step.zeros_stride;
}

void add_gemm(const Program& program, const GemmStep& step, const DequantizeStep* packed, bool staged,
              const Target& target, Body& body) {
  GemmKernel gemm;
  gemm.m = step.m, gemm.n = step.n, gemm.k = step.k;
  gemm.few = tiles_of(program, step, body.parts, packed != nullptr, target);
  gemm.few->result_dtype = step.result_dtype;
  const DType weights = step.b_i8 ? DType::i8 : step.dtype;
  if (packed)
    add_packed(*packed, body, gemm);
  else
    gemm.b = {.param = add(body, "b", weights, step.b.base), .pitch = step.b.column_stride};
  if (!staged) gemm.a = {.param = add(body, "a", step.dtype, step.a.base), .pitch = step.a.row_stride};
  if (step.bias) gemm.few->bias = add(body, "bias", step.result_dtype, *step.bias);
  body.kernel.gemm = std::move(gemm);
}

}  // namespace

bool takes_small_m(const Program& program, const PlanEntry& entry, const GemmStep& gemm,
                   const Target& target) {
  if (!multiplies_weights(program, entry, gemm) || gemm.dtype == DType::i8) return false;
  if (has_many_rows(program, gemm) &&
      !(gemm.b_i8 && target.can.wgmma && is_at_least_one(gemm.m, program.symbols)))
    return false;
  const int64_t unit = vector_elements(gemm.b_i8 ? DType::i8 : gemm.dtype);
  for (const Dim& size : {gemm.n, gemm.k, gemm.a.row_stride, gemm.b.column_stride})
    if (!size.is_constant() || *size.constant() < 1) return false;
  const bool by_vectors = is_multiple(gemm.k, unit) && is_multiple(gemm.a.row_stride, unit) &&
                          is_multiple(gemm.b.column_stride, unit) && is_multiple(gemm.a.base.offset, unit) &&
                          is_multiple(gemm.b.base.offset, unit);
  return by_vectors && gemm.alpha == 1;
}

bool takes_packed(const Program& program, const PlanEntry& entry, const GemmStep& gemm,
                  const DequantizeStep& packed) {
  if (!multiplies_packed(program, entry, gemm, packed) || has_many_rows(program, gemm) || gemm.in_order ||
      gemm.alpha != 1)
    return false;
  for (const Dim& size : {gemm.n, gemm.k, gemm.a.row_stride, packed.groups, packed.codes_stride,
                          packed.scales_stride, packed.zeros_stride})
    if (!size.is_constant()) return false;
  PackedOperand operand;
  operand.format = packed.format, operand.group = *gemm.k.constant() / *packed.groups.constant();
  if (packed.zeros) operand.zeros = 0;
  const int64_t codes = 128 / find_packed_format(packed.format)->bits;  // in 16 bytes
  const bool pairs =
      !is_multiple(packed.groups, 2) ||
      (is_multiple(packed.scales.offset, 2) && (!packed.zeros || is_multiple(packed.zeros->offset, 2)));
  return *gemm.n.constant() >= 1 && widens(operand) && pairs && is_multiple(gemm.k, codes) &&
         is_multiple(gemm.a.row_stride, vector_elements(gemm.dtype)) &&
         is_multiple(gemm.a.base.offset, vector_elements(gemm.dtype)) &&
         is_multiple(packed.codes_stride, 16) && is_multiple(packed.codes.offset, 16);
}

std::optional<FusedSmallM> fused_small_m(const Program& program, const GemmStep& gemm,
                                         const SmallMNeighbours& around, const Target& target) {
  std::optional<Body> before;
  if (around.before) {
    if (has_many_rows(program, gemm)) return std::nullopt;
    before = Stager(program, *around.before, gemm).run(around.keeps_a, target);
    if (!before) return std::nullopt;
  }
  std::optional<Body> body = any_body(program, gemm, around);
  if (!body) return std::nullopt;
  add_gemm(program, gemm, around.packed, before.has_value(), target, *body);
  for (size_t i = 0; i < body->arguments.size(); ++i)
    body->kernel.params[i].alignment = alignment_of(body->arguments[i], body->kernel.params[i].dtype);
  FusedSmallM made{std::move(body->kernel), std::move(body->arguments)};
  made.kernel.name = (has_many_rows(program, gemm) ? "byte_gemm_" : "small_m_") + made.kernel.name;
  if (!before) return made;
  made.kernel.before = {std::move(before->kernel)};
  llvm::append_range(made.arguments, before->arguments);
  return made;
}

}  // namespace smelt
