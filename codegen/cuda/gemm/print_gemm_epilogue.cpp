#include "codegen/cuda/gemm/emit_gemm.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/body_arguments.h"
#include "codegen/cuda/printers/print_statements.h"
#include "codegen/gpu/lower/block_lowerings.h"
#include "codegen/kernel_passes/vector_alignment.h"
#include "llvm/ADT/STLExtras.h"

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

  std::string run() const {
    return body_arguments(kernel_, names_) + types() + load_columns() + load() + prefetch() + body() +
           lanes() + sum();
  }

 private:
  // ---- types

  std::string memory_type(int id) const {
    const int param = kernel_.instructions[static_cast<size_t>(id)].access.param;
    return std::string(cuda_memory_type(kernel_.params[static_cast<size_t>(param)].dtype));
  }

  /// Returns the structs of early loads, which are vectors in their layout in memory, and of column sums.
  std::string types() const {
    std::string columns, rows, sums;
    for (const int id : early_)
      moves_along_rows(id)
          ? rows += fmt::format("  alignas(16) {} early{}[1][{}];\n", memory_type(id), id, kGemmVector)
          : columns += fmt::format("  alignas(16) {} early{}[1][{}];\n", memory_type(id), id, kGemmVector);
    for (const int id : sums_) sums += fmt::format("  float sum{}[1][{}] = {{}};\n", id, kGemmVector);
    return fmt::format(
        "struct BodyColumns {{\n{}}};\nstruct BodyLoads {{\n{}}};\nstruct BodySums {{\n{}}};\n\n", columns,
        rows, sums);
  }

  bool moves_along_rows(int id) const {
    const KernelShape shape(kernel_);
    return std::ranges::any_of(shape.parallel, [&](int axis) { return shape.moves(id, axis); });
  }

  // ---- functions

  std::string function(const std::string& head, const std::string& text) const {
    return body_function(kernel_, names_, head, text);
  }

  /// Begins what is done for a row and columns that exist.
  static void open_row(gpu::LoweringContext& context) {
    const gpu::Expr number = gpu::variable("at", gpu::Scalar::int32),
                    rows = gpu::variable("rows", gpu::Scalar::int32);
    const gpu::Expr row = context.out.declare(gpu::Scalar::index, "row", number);
    context.out.open_if(row < rows && context.column() < columns());
    context.declare_indices(row, context.shape.parallel);
  }

  static gpu::Expr columns() { return gpu::variable("columns", gpu::Scalar::int32); }

  /// Returns the function that loads what is the same in all rows.
  std::string load_columns() const {
    gpu::LoweringContext context(kernel_, 0);
    set_column(context);
    context.out.where(context.column() >= columns(), [&] { context.out.leave(); });
    load_early(context, false);
    return function(
        "SM void body_columns(const BodyArguments& body, Index c, int columns, BodyColumns& loads)",
        print(context.out.body(), 1));
  }

  std::string load() const {
    gpu::LoweringContext context(kernel_, 0);
    set_column(context);
    open_row(context);
    load_early(context, true);
    context.out.close();
    return function(
        "SM void body_load(const BodyArguments& body, int at, int rows, Index c, int columns, BodyLoads& "
        "loads)",
        print(context.out.body(), 1));
  }

  /// Returns the function that fetches the lines of a later row; only the template for sm_90a has use for it.
  std::string prefetch() const {
    if (kernel_.gemm->mma) return {};
    gpu::LoweringContext context(kernel_, 0);
    const gpu::AddressLowering addresses(context);
    set_column(context);
    open_row(context);
    for (const int id : early_)
      if (moves_along_rows(id)) context.out.call("fetch_line", {addresses.vector_without_start(id)});
    context.out.close();
    return function(
        "SM void body_prefetch(const BodyArguments& body, int at, int rows, Index c, int columns)",
        print(context.out.body(), 1));
  }

  void load_early(gpu::LoweringContext& context, bool of_rows) const {
    const gpu::AddressLowering addresses(context);
    for (const int id : early_)
      if (moves_along_rows(id) == of_rows)
        context.out.call("sm_load_early", {early_loads(id), addresses.vector_without_start(id)});
  }

  /// Returns a member of BodyLoads or BodyColumns.
  gpu::Expr early_loads(int id) const {
    const KernelParam& param =
        kernel_.params[static_cast<size_t>(kernel_.instructions[static_cast<size_t>(id)].access.param)];
    return gpu::variable(fmt::format("loads.early{}[0]", id), gpu::Type::stored(param.dtype).array(1));
  }

  static void set_column(gpu::LoweringContext& context) {
    context.place.indices[static_cast<size_t>(context.shape.inner)] = context.column();
  }

  std::string body() const {
    return function(
        "SM void body_run(const BodyArguments& body, int at, int rows, Index c, int columns, "
        "const BodyColumns& same, const BodyLoads& loads, BodySums& sums, const " +
            std::string(hands_integers() ? "int" : "float") + " (&handed)[8])",
        member_names() + print(row(), 1));
  }

  /// Returns whether the elements of the product are sums of bytes.
  bool hands_integers() const {
    return llvm::any_of(kernel_.instructions,
                        [](const Instruction& x) { return x.kind == Kind::handed && x.dtype == DType::i32; });
  }

  /// Returns references by which the instructions know the members of the structs.
  std::string member_names() const {
    std::string text =
        "  constexpr bool aligned = false;  // what is so at some sizes only\n"
        "  constexpr int k = 0;             // number of the lane's vector in the row\n";
    for (const int id : early_)
      text += fmt::format("  const auto& early{0} = {1}.early{0};\n", id,
                          moves_along_rows(id) ? "loads" : "same");
    for (const int id : sums_) text += fmt::format("  auto& sum{0} = sums.sum{0};\n", id);
    return text;
  }

  /// Returns the code for eight columns of a row.
  gpu::Body row() const {
    gpu::LoweringContext context(kernel_, 0);
    gpu::BlockLowerings lowerings(context);
    set_column(context);
    open_row(context);
    const gpu::Scalar scalar = hands_integers() ? gpu::Scalar::int32 : gpu::Scalar::real;
    const gpu::Expr handed = gpu::variable("handed", gpu::Type(scalar).array(1));
    lower_row(context, lowerings, gpu::element(handed, context.element()));
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

  /// Returns the function that adds up the sums of the lanes of a warp.
  std::string lanes() const {
    std::string text;
    for (size_t i = 0; i < sums_.size(); ++i)
      text += fmt::format("  add_lanes(sums.sum{}[0], lane, sums_of_part(scratch, {}, part) + 4 * column);\n",
                          sums_[i], i);
    return fmt::format(
        "SM void body_lanes(const BodySums& sums, int column, int part, int lane, unsigned scratch) "
        "{{\n{}}}\n\n",
        text);
  }

  /// Returns the function for one tile of rows: the sums go to its row of the partial sums. The last tile
  /// clears the rows after its own.
  std::string sum() const {
    std::string text;
    for (size_t i = 0; i < sums_.size(); ++i) {
      const Instruction& x = kernel_.instructions[static_cast<size_t>(sums_[i])];
      text += fmt::format(
          "  add_warps({}, {}, tile, tiles, column, columns, thread, sums_of_part(scratch, {}, 0));\n",
          names_.params()[static_cast<size_t>(x.access.param)], kernel_.schedule.splits, i);
    }
    return function(
        "SM void body_sum(const BodyArguments& body, int tile, int tiles, int column, int columns, int "
        "thread, "
        "unsigned scratch)",
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
