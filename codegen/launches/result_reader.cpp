#include "codegen/launches/result_reader.h"

#include <numeric>

#include "codegen/kernel_passes/kernel_passes.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// Templates count rows, columns and tiles in 32 bits.
constexpr int64_t kMostRows = int64_t{1} << 30;
constexpr int64_t kMostAlignment = 16;

bool computes(const Instruction& x) {
  return x.kind != Kind::reduce && x.kind != Kind::result && x.kind != Kind::handed;
}

/// Returns whether the value is the same in all rows, if its operands are.
bool is_uniform(const Instruction& x) {
  if (x.kind == Kind::load)
    return x.access.computed < 0 && x.predicate < 0 &&
           llvm::all_of(x.access.strides, [](const Dim& stride) { return stride.is_zero(); });
  return x.kind == Kind::constant || x.kind == Kind::scalar ||
         (x.kind == Kind::convert && x.operands.size() == 1);
}

}  // namespace

ResultReader::ResultReader(const Program& program, const KernelStep& reader, const ProductShape& product)
    : kernel(program.kernels[static_cast<size_t>(reader.kernel)]),
      arguments(reader.arguments),
      program_(program),
      product_(product) {}

bool ResultReader::has_form(bool row_blocks) const {
  if (kernel.has_template() || kernel.copies != 1 || !kernel.tail.empty() || !kernel.beside.empty() ||
      kernel.row_predicate >= 0 || kernel.axes.empty())
    return false;
  const bool has_axes = llvm::all_of(llvm::enumerate(kernel.axes), [&](const auto& axis) {
    const bool last = axis.index() + 1 == kernel.axes.size();
    return axis.value().kind == (last ? AxisKind::column : AxisKind::parallel);
  });
  const auto scopes = [&](KernelBlock::Scope scope) {
    return llvm::count_if(kernel.blocks, [&](const KernelBlock& block) { return block.scope == scope; });
  };
  const bool has_blocks = scopes(KernelBlock::Scope::column) == 1 &&
                          scopes(KernelBlock::Scope::reduced) == 0 &&
                          (row_blocks || kernel.blocks.size() == 1);
  return has_axes && has_blocks && llvm::all_of(kernel.instructions, computes);
}

void ResultReader::join_uniform_blocks() {
  const auto is_instruction_uniform = [&](int id) {
    return is_uniform(kernel.instructions[static_cast<size_t>(id)]);
  };
  std::vector<int> moved;
  while (kernel.blocks.size() > 1 && kernel.blocks.front().scope == KernelBlock::Scope::row &&
         llvm::all_of(kernel.blocks.front().instructions, is_instruction_uniform)) {
    llvm::append_range(moved, kernel.blocks.front().instructions);
    kernel.blocks.erase(kernel.blocks.begin());
  }
  std::vector<int>& rest = kernel.blocks.front().instructions;
  rest.insert(rest.begin(), moved.begin(), moved.end());
}

bool ResultReader::walks_result() {
  collapse_axes(kernel);
  split_single_axis();
  Dim rows = 1;
  for (size_t i = 0; i + 1 < kernel.axes.size(); ++i) rows *= kernel.axes[i].extent;
  const bool counted =
      program_.symbols.upper(product_.m) < kMostRows && program_.symbols.upper(product_.n) < kMostRows;
  return rows == product_.m && kernel.axes.back().extent == product_.n && counted;
}

/// Splits the axis of a kernel that iterates over all elements with one axis into rows and columns.
void ResultReader::split_single_axis() {
  KernelAxis& columns = kernel.axes.back();
  if (kernel.axes.size() != 1 || columns.extent != product_.m * product_.n) return;
  const bool asks = llvm::any_of(kernel.instructions, [](const Instruction& x) {
    return x.kind == Kind::index || x.kind == Kind::random || x.kind == Kind::accumulate;
  });
  if (asks || product_.m.is_one()) return;
  columns.extent = product_.n;
  kernel.axes.insert(kernel.axes.begin(), KernelAxis{.name = "row", .extent = product_.m});
  for (Instruction& x : kernel.instructions)
    if (!x.access.strides.empty())
      x.access.strides.insert(x.access.strides.begin(), x.access.strides.back() * product_.n);
}

bool ResultReader::is_result(const Access& access) const {
  if (access.param < 0) return false;
  return arguments[static_cast<size_t>(access.param)].buffer == product_.base.buffer;
}

/// Returns the part in which the current element is read; nothing where it is another element.
std::optional<int> ResultReader::part_of(const Access& access) const {
  const Dim place =
      arguments[static_cast<size_t>(access.param)].offset + access.offset - product_.base.offset;
  if (access.computed >= 0 || !access.strides.back().is_one()) return std::nullopt;
  Dim stride = product_.pitch;
  for (size_t i = kernel.axes.size() - 1; i-- > 0;) {
    if (!kernel.axes[i].extent.is_one() && access.strides[i] != stride) return std::nullopt;
    stride *= kernel.axes[i].extent;
  }
  for (int part = 0; part < product_.parts; ++part)
    if (place == product_.n * part) return part;
  return std::nullopt;
}

bool ResultReader::hand_result() {
  bool found = false;
  for (Instruction& x : kernel.instructions) {
    if (!is_result(x.access)) continue;
    const auto part = x.kind == Kind::load && x.predicate < 0 ? part_of(x.access) : std::nullopt;
    if (!part) return false;
    if (*part == 0 || !found) result_ = x.access;
    found = true;
    x = {.kind = Kind::handed, .dtype = x.dtype, .slot = *part};
  }
  return found;
}

void ResultReader::store_result() {
  const auto handed =
      llvm::find_if(kernel.instructions, [](const Instruction& x) { return x.kind == Kind::handed; });
  const int value = static_cast<int>(handed - kernel.instructions.begin());
  KernelParam& param = kernel.params[static_cast<size_t>(result_.param)];
  param.output = true, param.input = false;
  kernel.blocks.back().instructions.push_back(static_cast<int>(kernel.instructions.size()));
  kernel.instructions.push_back(
      {.kind = Kind::store, .dtype = product_.dtype, .operands = {value}, .access = result_});
}

/// The parts may have a parameter each.
void ResultReader::drop_result() {
  for (size_t param = kernel.params.size(); param-- > 0;) {
    if (arguments[param].buffer != product_.base.buffer || kernel.params[param].output) continue;
    const auto at = static_cast<std::ptrdiff_t>(param);
    kernel.params.erase(kernel.params.begin() + at), arguments.erase(arguments.begin() + at);
    for (Instruction& x : kernel.instructions) x.access.param -= x.access.param > static_cast<int>(param);
  }
}

int ResultReader::add_operand(std::string name, DType dtype, const BufferRef& base) {
  kernel.params.push_back({.name = std::move(name), .dtype = dtype});
  arguments.push_back(base);
  return static_cast<int>(kernel.params.size()) - 1;
}

void ResultReader::align_params() {
  for (size_t i = 0; i < kernel.params.size(); ++i)
    kernel.params[i].alignment = alignment_of(arguments[i], kernel.params[i].dtype);
}

bool is_multiple(const Dim& dim, int64_t divisor) {
  return llvm::all_of(dim.terms(), [&](const Dim::Term& term) { return term.coefficient % divisor == 0; });
}

int64_t alignment_of(const BufferRef& argument, DType dtype) {
  int64_t bytes = kMostAlignment;
  for (const Dim::Term& term : argument.offset.terms())
    bytes = std::gcd(bytes, term.coefficient * int64_t{size_of(dtype)});
  return bytes;
}

}  // namespace smelt
