#include "codegen/cuda/gemm/emit_gemm.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/body_arguments.h"
#include "codegen/cuda/printers/print_statements.h"
#include "codegen/gpu/lower/block_lowerings.h"
#include "codegen/kernel_passes/vector_alignment.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

class GemmEpiloguePrinter {
 public:
  explicit GemmEpiloguePrinter(const Kernel& kernel)
      : kernel_(kernel), block_(kernel.blocks.front()), names_(kernel), sums_(gemm_sums(kernel)) {
    for (const int id : block_.instructions)
      if (kernel.instructions[static_cast<size_t>(id)].form == Form::early) early_.push_back(id);
  }

  std::string run() const { return body_arguments(kernel_, names_) + types() + load() + body() + sum(); }

 private:
  // ---- types

  std::string memory_type(int id) const {
    const int param = kernel_.instructions[static_cast<size_t>(id)].access.param;
    return std::string(cuda_memory_type(kernel_.params[static_cast<size_t>(param)].dtype));
  }

  /// Returns the struct of early loads: vectors in their layout in memory.
  std::string types() const {
    std::string text = "struct BodyLoads {\n";
    for (const int id : early_)
      text += moves_along_rows(id) ? fmt::format("  alignas(16) {} early{}[kLaneRows][{}];\n",
                                                 memory_type(id), id, kGemmVector)
                                   : fmt::format("  Same<{}> early{};\n", memory_type(id), id);
    return text + "};\n\n";
  }

  bool moves_along_rows(int id) const {
    const KernelShape shape(kernel_);
    return std::ranges::any_of(shape.parallel, [&](int axis) { return shape.moves(id, axis); });
  }

  // ---- functions

  std::string function(const std::string& head, const std::string& text) const {
    return body_function(kernel_, names_, head, text);
  }

  /// The rows of a lane.
  static void open_row(gpu::LoweringContext& context, const gpu::Expr& k) {
    const gpu::Expr first = gpu::variable("first", gpu::Scalar::int32),
                    rows = gpu::variable("rows", gpu::Scalar::int32);
    const gpu::Expr row =
        context.out.declare(gpu::Scalar::index, "row", first + gpu::call("row_of", {k}, gpu::Scalar::int32));
    context.out.open_if(row < rows && context.column() < columns());
    context.declare_indices(row, context.shape.parallel);
  }

  static gpu::Expr columns() { return gpu::variable("columns", gpu::Scalar::int32); }

  std::string load() const {
    gpu::LoweringContext context(kernel_, 0);
    const gpu::AddressLowering addresses(context);
    set_column(context);
    context.out.where(context.column() >= columns(), [&] { context.out.leave(); });
    for (const int id : early_)
      if (!moves_along_rows(id)) load_early(context, addresses, id, early_loads(id, ".columns"));
    const gpu::Expr k = context.out.open_unrolled("k", kernel_.gemm->lane_rows());
    open_row(context, k);
    for (const int id : early_)
      if (moves_along_rows(id)) load_early(context, addresses, id, gpu::element(early_loads(id, ""), k));
    context.out.close();
    context.out.close();
    return function(
        "SM void body_load(const BodyArguments& body, int first, int rows, Index c, int columns, "
        "BodyLoads& loads)",
        print(context.out.body(), 1));
  }

  /// Returns a member of BodyLoads, or an array that is a member of that member.
  gpu::Expr early_loads(int id, const char* member) const {
    const KernelParam& param =
        kernel_.params[static_cast<size_t>(kernel_.instructions[static_cast<size_t>(id)].access.param)];
    return gpu::variable(fmt::format("loads.early{}{}", id, member), gpu::Type::stored(param.dtype).array(2));
  }

  static void load_early(gpu::LoweringContext& context, const gpu::AddressLowering& addresses, int id,
                         const gpu::Expr& to) {
    context.out.call("sm_load_early", {to, addresses.vector_without_start(id)});
  }

  static void set_column(gpu::LoweringContext& context) {
    context.place.indices[static_cast<size_t>(context.shape.inner)] = context.column();
  }

  std::string body() const {
    return function(
        "template <class Take>\nSM void body_run(const BodyArguments& body, int first, int rows, Index c, "
        "int columns, const BodyLoads& loads, Take take, int group, int wg, int warp, int lane, unsigned "
        "scratch)",
        early_names() + print(rows_of_lane(), 1) + add_lanes());
  }

  std::string early_names() const {
    std::string text = "  constexpr bool aligned = false;  // what is so at some sizes only\n";
    for (const int id : early_) text += fmt::format("  const auto& early{0} = loads.early{0};\n", id);
    return text;
  }

  /// Returns the code of a lane's rows.
  gpu::Body rows_of_lane() const {
    gpu::LoweringContext context(kernel_, 0);
    gpu::BlockLowerings lowerings(context);
    set_column(context);
    for (const int id : sums_)
      context.out.declare_array(gpu::Scalar::real, fmt::format("sum{}", id), {1, kGemmVector}, true);
    const gpu::Expr k = context.out.open_unrolled("k", kernel_.gemm->lane_rows());
    const gpu::Expr handed = context.out.declare_array(gpu::Scalar::real, "handed", {kGemmVector});
    context.out.call("take", {k, handed});
    open_row(context, k);
    lower_row(context, lowerings, gpu::element(handed, context.element()));
    context.out.close();
    context.out.close();
    return context.out.body();
  }

  void lower_row(gpu::LoweringContext& context, gpu::BlockLowerings& lowerings,
                 const gpu::Expr& handed) const {
    for (const int id : block_.instructions)
      if (kernel_.instructions[static_cast<size_t>(id)].kind == Kind::handed) context.set_value(id, handed);
    const BlockNest nest = context.shape.nest_of(block_);
    lowerings.instructions.lower_depth(nest, 0);
    lowerings.vectors.begin_block();
    lowerings.addresses.declare_starts(nest);
    lowerings.vectors.declare_loads(nest);
    lowerings.vectors.lower_loads(nest);
    lowerings.vectors.lower_vector(nest, 0);
  }

  std::string add_lanes() const {
    std::string text;
    for (size_t i = 0; i < sums_.size(); ++i)
      text += fmt::format("  add_lanes(sum{}[0], group, lane, sums_of_warp(scratch, {}, wg, warp));\n",
                          sums_[i], i);
    return text;
  }

  /// Returns the function for one tile of rows: the sums go to its row of the partial sums. The last tile
  /// clears the rows after its own.
  std::string sum() const {
    std::string text;
    for (size_t i = 0; i < sums_.size(); ++i) {
      const Instruction& x = kernel_.instructions[static_cast<size_t>(sums_[i])];
      text += fmt::format(
          "  add_warps({}, {}, tile, tiles, column, columns, thread, sums_of_warp(scratch, {}, wg, 0));\n",
          names_.params()[static_cast<size_t>(x.access.param)], kernel_.schedule.splits, i);
    }
    return function(
        "SM void body_sum(const BodyArguments& body, int tile, int tiles, int column, int columns, int wg, "
        "int thread, unsigned scratch)",
        text);
  }

  const Kernel& kernel_;
  const KernelBlock& block_;
  const gpu::KernelNames names_;
  const std::vector<int> sums_;
  std::vector<int> early_;
};

}  // namespace

std::vector<int> early_gemm_loads(const Kernel& kernel) {
  const KernelShape shape(kernel);
  std::vector<int> loads;
  for (const int id : shape.all_of(Kind::load))
    if (shape.is_vector_load(id) && shape.has_whole_vectors() &&
        vector_alignment(kernel, shape, id).when == VectorAlignment::When::always)
      loads.push_back(id);
  return loads;
}

std::vector<int> gemm_sums(const Kernel& kernel) { return KernelShape(kernel).all_of(Kind::accumulate); }

std::string print_gemm_epilogue(const Kernel& kernel) { return GemmEpiloguePrinter(kernel).run(); }

}  // namespace smelt
