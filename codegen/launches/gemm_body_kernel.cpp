#include "codegen/launches/gemm_body_kernel.h"

#include <algorithm>
#include <numeric>

#include "codegen/kernel_passes/collapse_axes.h"
#include "codegen/scheduling/schedule.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

constexpr int64_t kMapBytes = 16;  // that divide begins and pitches of what TMA reads
/// The template counts rows, columns and tiles in 32 bits.
constexpr int64_t kMostRows = int64_t{1} << 30;
constexpr int64_t kMostSums = 8;  // of columns: a block's shared memory holds them beside six stages

/// The matmul with columns that lie together: of a result whose rows do, the transposed one.
struct Product {
  GemmStep::Matrix a, b;
  Dim m, n, k, pitch;  // of the result's rows
};

std::optional<Product> product_of(const GemmStep& gemm) {
  if (!gemm.batch.empty() || gemm.alpha != 1 || gemm.beta != 0 || gemm.bias ||
      gemm.dtype != gemm.result_dtype)
    return std::nullopt;
  if (gemm.dtype != DType::bf16 && gemm.dtype != DType::f16) return std::nullopt;
  if (gemm.c.column_stride.is_one())
    return Product{gemm.a, gemm.b, gemm.m, gemm.n, gemm.k, gemm.c.row_stride};
  if (!gemm.c.row_stride.is_one()) return std::nullopt;
  const auto turned = [](const GemmStep::Matrix& x) {
    return GemmStep::Matrix{x.base, x.column_stride, x.row_stride};
  };
  return Product{turned(gemm.b), turned(gemm.a), gemm.n, gemm.m, gemm.k, gemm.c.column_stride};
}

bool is_multiple(const Dim& dim, int64_t divisor) {
  return llvm::all_of(dim.terms(), [&](const Dim::Term& term) { return term.coefficient % divisor == 0; });
}

/// Nothing where TMA cannot read it. `rows` is the stride along m or n.
std::optional<GemmKernel::Operand> operand_of(const BufferRef& base, const Dim& rows, const Dim& k,
                                              DType dtype) {
  const int64_t unit = kMapBytes / size_of(dtype);
  GemmKernel::Operand operand{.transposed = !k.is_one(), .pitch = k.is_one() ? rows : k};
  if (operand.transposed && !rows.is_one()) return std::nullopt;
  if (operand.pitch.is_zero() || !is_multiple(operand.pitch, unit) || !is_multiple(base.offset, unit))
    return std::nullopt;
  return operand;
}

class BodyMaker {
 public:
  BodyMaker(const Program& program, const Product& product, const GemmStep& gemm, const KernelStep& reader)
      : program_(program),
        product_(product),
        gemm_(gemm),
        kernel_(program.kernels[static_cast<size_t>(reader.kernel)]),
        arguments_(reader.arguments) {}

  std::optional<GemmBody> run(const GemmTiles& tiles, bool kept, int64_t splits) {
    if (!has_form() || !has_extents()) return std::nullopt;
    collapse_axes(kernel_);
    split_single_axis();
    if (!walks_result() || !hand_result() || !takes_sums(tiles, splits)) return std::nullopt;
    if (kept) store_result();
    drop_result();
    const auto a = operand_of(product_.a.base, product_.a.row_stride, product_.a.column_stride, gemm_.dtype);
    const auto b = operand_of(product_.b.base, product_.b.column_stride, product_.b.row_stride, gemm_.dtype);
    if (!a || !b) return std::nullopt;
    GemmKernel& made = kernel_.gemm.emplace();
    made.a = *a, made.b = *b, made.m = product_.m, made.n = product_.n, made.k = product_.k,
    made.tiles = tiles;
    made.a.param = add_operand("a", product_.a.base), made.b.param = add_operand("b", product_.b.base);
    align_params();
    kernel_.name = "gemm_" + kernel_.name;
    return GemmBody{std::move(kernel_), std::move(arguments_)};
  }

 private:
  Instruction& instruction(int id) { return kernel_.instructions[static_cast<size_t>(id)]; }
  KernelAxis& columns() { return kernel_.axes.back(); }

  /// One block of column code along one column axis, and rows.
  bool has_form() const {
    if (kernel_.has_template() || kernel_.copies != 1 || !kernel_.tail.empty() || kernel_.row_predicate >= 0)
      return false;
    if (kernel_.blocks.size() != 1 || kernel_.blocks[0].scope != KernelBlock::Scope::column) return false;
    const bool has_axes = llvm::all_of(llvm::enumerate(kernel_.axes), [&](const auto& axis) {
      const bool last = axis.index() + 1 == kernel_.axes.size();
      return axis.value().kind == (last ? AxisKind::column : AxisKind::parallel);
    });
    const bool computes = llvm::none_of(kernel_.instructions, [](const Instruction& x) {
      return x.kind == Kind::reduce || x.kind == Kind::result || x.kind == Kind::handed;
    });
    return has_axes && !kernel_.axes.empty() && computes;
  }

  /// The copy engine takes no matrix without elements, and consumers wait for at least one of its copies.
  bool has_extents() const {
    return is_at_least_one(product_.m) && is_at_least_one(product_.n) && is_at_least_one(product_.k);
  }

  /// A kernel that walks all elements as one gets rows.
  void split_single_axis() {
    if (kernel_.axes.size() != 1 || columns().extent != product_.m * product_.n) return;
    const bool asks = llvm::any_of(kernel_.instructions, [](const Instruction& x) {
      return x.kind == Kind::index || x.kind == Kind::random || x.kind == Kind::accumulate;
    });
    if (asks || product_.m.is_one()) return;
    columns().extent = product_.n;
    kernel_.axes.insert(kernel_.axes.begin(), KernelAxis{.name = "row", .extent = product_.m});
    for (Instruction& x : kernel_.instructions)
      if (!x.access.strides.empty())
        x.access.strides.insert(x.access.strides.begin(), x.access.strides.back() * product_.n);
  }

  /// Whether rows and columns are the result's.
  bool walks_result() {
    Dim rows = 1;
    for (size_t i = 0; i + 1 < kernel_.axes.size(); ++i) rows *= kernel_.axes[i].extent;
    const bool counted =
        program_.symbols.upper(product_.m) < kMostRows && program_.symbols.upper(product_.n) < kMostRows;
    return rows == product_.m && columns().extent == product_.n && counted;
  }

  bool is_result(const Access& access) const {
    if (access.param < 0) return false;
    return arguments_[static_cast<size_t>(access.param)].buffer == gemm_.c.base.buffer;
  }

  /// Of the element at hand.
  bool is_own_element(const Access& access) const {
    const BufferRef& argument = arguments_[static_cast<size_t>(access.param)];
    if (argument.offset + access.offset != gemm_.c.base.offset || access.computed >= 0) return false;
    Dim stride = product_.pitch;
    if (!access.strides.back().is_one()) return false;
    for (size_t i = kernel_.axes.size() - 1; i-- > 0;) {
      if (!kernel_.axes[i].extent.is_one() && access.strides[i] != stride) return false;
      stride *= kernel_.axes[i].extent;
    }
    return true;
  }

  /// Loads of the result become what the template hands.
  bool hand_result() {
    bool found = false;
    for (Instruction& x : kernel_.instructions) {
      if (!is_result(x.access)) continue;
      if (x.kind != Kind::load || x.predicate >= 0 || !is_own_element(x.access)) return false;
      if (found && x.access.param != result_.param) return false;
      result_ = x.access, found = true;
      x = {.kind = Kind::handed, .dtype = x.dtype};
    }
    return found;
  }

  /// A row of partial sums for each row of tiles.
  bool takes_sums(const GemmTiles& tiles, int64_t splits) {
    const auto sums =
        llvm::count_if(kernel_.instructions, [](const Instruction& x) { return x.kind == Kind::accumulate; });
    if (sums > kMostSums) return false;
    for (const Instruction& x : kernel_.instructions) {
      if (x.kind != Kind::accumulate) continue;
      const bool is_column = x.access.offset.is_zero() && x.access.computed < 0 && x.predicate < 0 &&
                             x.access.strides.back().is_one() &&
                             std::all_of(
                                 x.access.strides.begin(), x.access.strides.end() - 1,
                                 [](const Dim& stride) { return stride.is_zero(); });
      const KernelParam& param = kernel_.params[static_cast<size_t>(x.access.param)];
      if (!is_column || param.partial_elements != product_.n || tiles.sharing != 1) return false;
      if (program_.symbols.upper(ceil_div(product_.m, tiles.rows())) > splits) return false;
    }
    return true;
  }

  void store_result() {
    const auto handed =
        llvm::find_if(kernel_.instructions, [](const Instruction& x) { return x.kind == Kind::handed; });
    const int value = static_cast<int>(handed - kernel_.instructions.begin());
    KernelParam& param = kernel_.params[static_cast<size_t>(result_.param)];
    param.output = true, param.input = false;
    kernel_.blocks[0].instructions.push_back(static_cast<int>(kernel_.instructions.size()));
    kernel_.instructions.push_back(
        {.kind = Kind::store, .dtype = gemm_.dtype, .operands = {value}, .access = result_});
  }

  /// The parameter goes where nothing stores it.
  void drop_result() {
    const int param = result_.param;
    if (kernel_.params[static_cast<size_t>(param)].output) return;
    kernel_.params.erase(kernel_.params.begin() + param), arguments_.erase(arguments_.begin() + param);
    for (Instruction& x : kernel_.instructions) x.access.param -= x.access.param > param;
  }

  int add_operand(std::string name, const BufferRef& base) {
    kernel_.params.push_back({.name = std::move(name), .dtype = gemm_.dtype});
    arguments_.push_back(base);
    return static_cast<int>(kernel_.params.size()) - 1;
  }

  /// Bytes that every argument's address is a multiple of: buffers begin at multiples of 256.
  void align_params() {
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const int64_t size = size_of(kernel_.params[i].dtype);
      int64_t bytes = kMapBytes;
      for (const Dim::Term& term : arguments_[i].offset.terms())
        bytes = std::gcd(bytes, term.coefficient * size);
      kernel_.params[i].alignment = bytes;
    }
  }

  const Program& program_;
  const Product& product_;
  const GemmStep& gemm_;
  Kernel kernel_;
  std::vector<BufferRef> arguments_;
  Access result_;
};

}  // namespace

const std::vector<GemmBodyTiles>& gemm_body_tiles() {
  static const std::vector<GemmBodyTiles> kTiles = {
      {"one kernel, tiles of 128 by 128 in turns",
       {.row_tiles = 2, .columns = 128, .sharing = 1, .cluster = 2, .stages = 6}},
      {"one kernel, tiles of 128 by 256",
       {.row_tiles = 1, .columns = 256, .sharing = 2, .cluster = 2, .stages = 4}}};
  return kTiles;
}

std::optional<GemmBody> gemm_body(const Program& program, const GemmStep& gemm, const KernelStep& reader,
                                  const GemmTiles& tiles, bool kept, const Target& target) {
  const auto product = product_of(gemm);
  if (!product) return std::nullopt;
  return BodyMaker(program, *product, gemm, reader).run(tiles, kept, partial_splits(target));
}

}  // namespace smelt
