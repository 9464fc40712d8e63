#include "codegen/launches/gemm_epilogue_kernel.h"

#include <algorithm>
#include <array>

#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/launches/result_reader.h"
#include "codegen/scheduling/schedule.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

constexpr int64_t kMapBytes = 16;  // that divide begins and pitches of what TMA reads
constexpr int64_t kMostSums = 8;   // of columns: a block's shared memory holds them beside six stages

/// The matmul with contiguous rows of the result; a result with contiguous columns is transposed.
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

/// Returns the operand; nothing where TMA cannot read it. `rows` is the stride along m or n.
std::optional<GemmKernel::Operand> operand_of(const BufferRef& base, const Dim& rows, const Dim& k,
                                              DType dtype) {
  const int64_t unit = kMapBytes / size_of(dtype);
  GemmKernel::Operand operand{.transposed = !k.is_one(), .pitch = k.is_one() ? rows : k};
  if (operand.transposed && !rows.is_one()) return std::nullopt;
  if (operand.pitch.is_zero() || !is_multiple(operand.pitch, unit) || !is_multiple(base.offset, unit))
    return std::nullopt;
  return operand;
}

/// The copy engine takes no matrix without elements, and consumers wait for at least one of its copies.
bool has_extents(const Product& product, const Symbols& symbols) {
  return llvm::all_of(std::array{product.m, product.n, product.k},
                      [&](const Dim& extent) { return is_at_least_one(extent, symbols); });
}

/// A row of partial sums for each row of tiles.
bool takes_sums(const Program& program, const Kernel& kernel, const Product& product, const GemmTiles& tiles,
                int64_t splits) {
  const auto sums =
      llvm::count_if(kernel.instructions, [](const Instruction& x) { return x.kind == Kind::accumulate; });
  if (sums > kMostSums) return false;
  for (const Instruction& x : kernel.instructions) {
    if (x.kind != Kind::accumulate) continue;
    const bool is_column = x.access.offset.is_zero() && x.access.computed < 0 && x.predicate < 0 &&
                           x.access.strides.back().is_one() &&
                           std::all_of(
                               x.access.strides.begin(), x.access.strides.end() - 1,
                               [](const Dim& stride) { return stride.is_zero(); });
    const KernelParam& param = kernel.params[static_cast<size_t>(x.access.param)];
    if (!is_column || param.partial_elements != product.n || tiles.sharing != 1) return false;
    if (program.symbols.upper(ceil_div(product.m, tiles.rows())) > splits) return false;
  }
  return true;
}

std::optional<GemmEpilogue> body_of(const Program& program, const Product& product, const GemmStep& gemm,
                                    const KernelStep& reader, const GemmTiles& tiles, bool kept,
                                    int64_t splits) {
  ResultReader body(program, reader, {gemm.c.base, product.m, product.n, product.pitch, gemm.dtype});
  if (!body.has_form(false) || !has_extents(product, program.symbols) || !body.walks_result() ||
      !body.hand_result() || !takes_sums(program, body.kernel, product, tiles, splits))
    return std::nullopt;
  if (kept) body.store_result();
  body.drop_result();
  const auto a = operand_of(product.a.base, product.a.row_stride, product.a.column_stride, gemm.dtype);
  const auto b = operand_of(product.b.base, product.b.column_stride, product.b.row_stride, gemm.dtype);
  if (!a || !b) return std::nullopt;
  GemmKernel made{.a = *a, .b = *b, .m = product.m, .n = product.n, .k = product.k, .tiles = tiles};
  made.a.param = body.add_operand("a", gemm.dtype, product.a.base);
  made.b.param = body.add_operand("b", gemm.dtype, product.b.base);
  body.kernel.gemm = std::move(made);
  body.align_params();
  body.kernel.name = "gemm_" + body.kernel.name;
  return GemmEpilogue{std::move(body.kernel), std::move(body.arguments)};
}

}  // namespace

const std::vector<GemmEpilogueTiles>& gemm_epilogue_tiles() {
  static const std::vector<GemmEpilogueTiles> kTiles = {
      {"one kernel, tiles of 128 by 128 in turns",
       {.row_tiles = 2, .columns = 128, .sharing = 1, .cluster = 2, .stages = 6}},
      {"one kernel, tiles of 128 by 256",
       {.row_tiles = 1, .columns = 256, .sharing = 2, .cluster = 2, .stages = 4}}};
  return kTiles;
}

std::optional<GemmEpilogue> gemm_epilogue(const Program& program, const GemmStep& gemm,
                                          const KernelStep& reader, const GemmTiles& tiles, bool kept,
                                          const Target& target) {
  const auto product = product_of(gemm);
  if (!product) return std::nullopt;
  return body_of(program, *product, gemm, reader, tiles, kept, partial_splits(target));
}

}  // namespace smelt
