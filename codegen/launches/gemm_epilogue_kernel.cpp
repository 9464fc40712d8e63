#include "codegen/launches/gemm_epilogue_kernel.h"

#include <algorithm>
#include <array>

#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/cuda/gemm/mma_gemm_text.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/launches/result_reader.h"
#include "codegen/scheduling/schedule.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

constexpr int64_t kPieceBytes = 16;  // that divide begins and pitches of what TMA or cp.async reads
constexpr int64_t kPairBytes = 2;    // of the bytes that mma.sync multiplies, along k
constexpr int64_t kMostSize = int64_t{1} << 30;   // of k: the template for sm_80 counts in 32 bits
constexpr int64_t kMostPitch = int64_t{1} << 23;  // of its operands: 256 pitches are counted in 32 bits
constexpr int64_t kMostSums = 8;  // of columns, for which shared memory has space next to the products

/// The matmul with contiguous rows of the result; a result with contiguous columns is transposed.
struct Product {
  GemmStep::Matrix a, b;
  Dim m, n, k, pitch;  // of the result's rows
  std::vector<GemmKernel::Batch> batch = {};
  /// Returns the number of rows of all results of the batch.
  Dim rows() const {
    Dim rows = m;
    for (const GemmKernel::Batch& axis : batch) rows *= axis.extent;
    return rows;
  }
};

bool multiplies_bytes(const GemmStep& gemm) {
  return gemm.dtype == DType::i8 && gemm.result_dtype == DType::i32 && !gemm.a_i8 && !gemm.b_i8;
}

/// Returns whether the template computes this kind of matmul: that for sm_90a computes one product, scales
/// nothing and rounds the product. Sums of bytes are never scaled.
bool is_supported(const GemmStep& gemm, const GemmEpilogueTiles& tiles) {
  if (multiplies_bytes(gemm)) return tiles.mma && gemm.alpha == 1 && gemm.beta == 0 && !gemm.bias;
  const bool halves = gemm.dtype == DType::bf16 || gemm.dtype == DType::f16;
  const bool plain = gemm.alpha == 1 && gemm.result_dtype == gemm.dtype && gemm.batch.empty();
  const bool scaled = gemm.result_dtype == gemm.dtype || gemm.result_dtype == DType::f32;
  return halves && gemm.beta == 0 && !gemm.bias && (tiles.mma ? scaled : plain);
}

std::optional<Product> product_of(const GemmStep& gemm) {
  const bool turned = !gemm.c.column_stride.is_one();
  if (turned && !gemm.c.row_stride.is_one()) return std::nullopt;
  const auto transposed = [](const GemmStep::Matrix& x) {
    return GemmStep::Matrix{x.base, x.column_stride, x.row_stride};
  };
  Product made = {gemm.a, gemm.b, gemm.m, gemm.n, gemm.k, gemm.c.row_stride};
  if (turned) made = {transposed(gemm.b), transposed(gemm.a), gemm.n, gemm.m, gemm.k, gemm.c.column_stride};
  for (const GemmStep::Batch& axis : gemm.batch)
    made.batch.push_back(
        {axis.extent, turned ? axis.b_stride : axis.a_stride, turned ? axis.a_stride : axis.b_stride});
  return made;
}

/// Returns whether the results of the batch are one below the other, so that all their rows have one pitch.
bool has_one_pitch(const GemmStep& gemm, const Product& product) {
  Dim stride = product.m * product.pitch;
  for (const GemmStep::Batch& axis : llvm::reverse(gemm.batch)) {
    if (axis.reduced || axis.c_stride != stride) return false;
    stride *= axis.extent;
  }
  return true;
}

/// Returns whether every operand of the batch begins at a multiple of the bytes that are copied at a time.
bool has_aligned_batch(const Product& product, DType dtype) {
  const int64_t unit = kPieceBytes / size_of(dtype);
  return llvm::all_of(product.batch, [&](const GemmKernel::Batch& axis) {
    return is_multiple(axis.a_stride, unit) && is_multiple(axis.b_stride, unit);
  });
}

/// Returns the operand; nothing where the template cannot read it. `rows` is the stride along m or n.
std::optional<GemmKernel::Operand> operand_of(const BufferRef& base, const Dim& rows, const Dim& k,
                                              DType dtype) {
  const int64_t unit = kPieceBytes / size_of(dtype);
  GemmKernel::Operand operand{.transposed = !k.is_one(), .pitch = k.is_one() ? rows : k};
  if (operand.transposed && !rows.is_one()) return std::nullopt;
  if (operand.pitch.is_zero() || !is_multiple(operand.pitch, unit) || !is_multiple(base.offset, unit))
    return std::nullopt;
  return operand;
}

/// Returns whether the template for sm_80 and later counts the operand's elements in 32 bits.
bool is_countable(const GemmKernel::Operand& operand, const Dim& k, const Symbols& symbols) {
  return symbols.upper(operand.pitch) < kMostPitch && symbols.upper(k) < kMostSize;
}

/// The copy engine takes no matrix without elements, and consumers wait for at least one of its copies.
bool has_extents(const Product& product, const Symbols& symbols) {
  return llvm::all_of(std::array{product.rows(), product.n, product.k},
                      [&](const Dim& extent) { return is_at_least_one(extent, symbols); });
}

/// A row of partial sums for each row of tiles.
bool takes_sums(const Program& program, const Kernel& kernel, const Product& product,
                const GemmEpilogueTiles& tiles, int64_t splits) {
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
    if (!is_column || param.partial_elements != product.n || !tiles.has_sums() || !product.batch.empty())
      return false;
    if (program.symbols.upper(ceil_div(product.m, tiles.rows())) > splits) return false;
  }
  return true;
}

/// Returns whether a block's shared memory holds the stages, and the column sums of the epilogue.
bool has_memory(const Kernel& kernel, const GemmEpilogueTiles& tiles, const DeviceModel& device) {
  const int sums = static_cast<int>(gemm_sums(kernel).size());
  return !tiles.mma || mma_shared_bytes(*tiles.mma, sums) <= device.block_shared_bytes;
}

/// Returns the matmul without its operands' parameters; nothing where the template cannot read an operand.
std::optional<GemmKernel> kernel_of(const GemmStep& gemm, const Product& product,
                                    const GemmEpilogueTiles& tiles, const Symbols& symbols) {
  const auto a = operand_of(product.a.base, product.a.row_stride, product.a.column_stride, gemm.dtype);
  const auto b = operand_of(product.b.base, product.b.column_stride, product.b.row_stride, gemm.dtype);
  if (!a || !b) return std::nullopt;
  if (gemm.dtype == DType::i8 && (a->transposed || b->transposed || !is_multiple(product.k, kPairBytes)))
    return std::nullopt;
  if (tiles.mma && !(is_countable(*a, product.k, symbols) && is_countable(*b, product.k, symbols)))
    return std::nullopt;
  return GemmKernel{.a = *a,
                    .b = *b,
                    .m = product.m,
                    .n = product.n,
                    .k = product.k,
                    .tiles = tiles.wgmma,
                    .mma = tiles.mma,
                    .batch = product.batch,
                    .alpha = gemm.alpha,
                    .rounded = gemm.result_dtype == gemm.dtype};
}

std::vector<GemmEpilogueTiles> wgmma_tiles() {
  return {{"one kernel, tiles of 128 by 128", {.columns = 128, .cluster = 2, .stages = 5}},
          {"one kernel, tiles of 128 by 192", {.columns = 192, .cluster = 2, .stages = 4}}};
}

std::vector<GemmEpilogueTiles> mma_tiles() {
  return {{.name = "one kernel, mma tiles of 128 by 128",
           .mma = {{.rows = 128,
                    .columns = 128,
                    .depth = 32,
                    .stages = 4,
                    .warp_rows = 64,
                    .warp_columns = 32,
                    .blocks = 2}}},
          {.name = "one kernel, mma tiles of 128 by 256",
           .mma = {{.rows = 128,
                    .columns = 256,
                    .depth = 32,
                    .stages = 3,
                    .warp_rows = 64,
                    .warp_columns = 64,
                    .blocks = 1}}}};
}

}  // namespace

std::vector<GemmEpilogueTiles> gemm_epilogue_tiles(const Target& target, const GemmStep& gemm) {
  const bool forced =
      target.gemm_epilogues == GemmEpilogues::mma || target.gemm_epilogues == GemmEpilogues::mma_wide;
  if (target.can.wgmma && !forced && !multiplies_bytes(gemm)) return wgmma_tiles();
  return target.can.mma_sync ? mma_tiles() : std::vector<GemmEpilogueTiles>();
}

std::optional<GemmEpilogue> gemm_epilogue(const Program& program, const GemmStep& gemm,
                                          const KernelStep& reader, const GemmEpilogueTiles& tiles, bool kept,
                                          const Target& target) {
  const auto product = is_supported(gemm, tiles) ? product_of(gemm) : std::nullopt;
  if (!product || !has_one_pitch(gemm, *product) || !has_aligned_batch(*product, gemm.dtype))
    return std::nullopt;
  ResultReader body(program, reader,
                    {gemm.c.base, product->rows(), product->n, product->pitch, gemm.result_dtype});
  body.join_uniform_blocks();
  if (!body.has_form(false) || !has_extents(*product, program.symbols) || !body.walks_result() ||
      !body.hand_result() || !takes_sums(program, body.kernel, *product, tiles, partial_splits(target)) ||
      !has_memory(body.kernel, tiles, target.device))
    return std::nullopt;
  if (kept) body.store_result();
  body.drop_result();
  body.kernel.gemm = kernel_of(gemm, *product, tiles, program.symbols);
  if (!body.kernel.gemm) return std::nullopt;
  body.kernel.gemm->a.param = body.add_operand("a", gemm.dtype, product->a.base);
  body.kernel.gemm->b.param = body.add_operand("b", gemm.dtype, product->b.base);
  body.align_params();
  body.kernel.name = "gemm_" + body.kernel.name;
  return GemmEpilogue{std::move(body.kernel), std::move(body.arguments)};
}

}  // namespace smelt
