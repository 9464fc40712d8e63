#include "codegen/cuda/gemm/emit_gemm.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/block_printers.h"
#include "codegen/cuda/printers/print_body.h"
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

  std::string function(const std::string& head, const CodeText& out) const {
    return body_function(kernel_, names_, head, out.text());
  }

  /// The rows of a lane.
  static void open_row(CudaContext& context) {
    context.out.line("const Index row = first + row_of(k);");
    context.out.open("if (row < rows && c < columns)");
    context.declare_indices("row", context.shape.parallel);
  }

  std::string load() const {
    CudaContext context(kernel_, "0");
    BlockPrinters printers(context);
    context.out.indent();
    set_column(context);
    context.out.line_if("c >= columns", "return;");
    for (const int id : early_)
      if (!moves_along_rows(id))
        context.out.line("sm_load_early(loads.early{}.columns, {});", id,
                         printers.addresses.vector_without_start(id));
    context.out.open_unrolled("k", kernel_.gemm->tiles.row_tiles * 2);
    open_row(context);
    for (const int id : early_)
      if (moves_along_rows(id))
        context.out.line("sm_load_early(loads.early{}[k], {});", id,
                         printers.addresses.vector_without_start(id));
    context.out.close();
    context.out.close();
    return function(
        "SM void body_load(const BodyArguments& body, int first, int rows, Index c, int columns, "
        "BodyLoads& loads)",
        context.out);
  }

  static void set_column(CudaContext& context) {
    context.place.indices[static_cast<size_t>(context.shape.inner)] = "c";
  }

  std::string body() const {
    CudaContext context(kernel_, "0");
    BlockPrinters printers(context);
    context.out.indent();
    context.out.line("constexpr bool aligned = false;  // what is so at some sizes only");
    for (const int id : early_) context.out.line("const auto& early{0} = loads.early{0};", id);
    for (const int id : sums_) context.out.line("float sum{}[1][{}] = {{}};", id, kGemmVector);
    context.out.open_unrolled("k", kernel_.gemm->tiles.row_tiles * 2);
    context.out.line("float handed[{}];", kGemmVector);
    context.out.line("take(k, handed);");
    open_row(context);
    print_row(context, printers);
    context.out.close();
    context.out.close();
    for (size_t i = 0; i < sums_.size(); ++i)
      context.out.line("add_lanes(sum{}[0], group, lane, sums_of_warp(scratch, {}, wg, warp));", sums_[i], i);
    return function(
        "template <class Take>\nSM void body_run(const BodyArguments& body, int first, int rows, Index c, "
        "int columns, const BodyLoads& loads, Take take, int group, int wg, int warp, int lane, unsigned "
        "scratch)",
        context.out);
  }

  void print_row(CudaContext& context, BlockPrinters& printers) const {
    for (const int id : block_.instructions)
      if (kernel_.instructions[static_cast<size_t>(id)].kind == Kind::handed)
        context.set_value(id, {"handed[j]", CudaKind::real});
    const BlockNest nest = context.shape.nest_of(block_);
    printers.instructions.print_depth(nest, 0);
    printers.vectors.begin_block();
    printers.addresses.declare_starts(nest);
    printers.vectors.declare_loads(nest, "");
    printers.vectors.print_loads(nest, "");
    printers.vectors.print_vector(nest, "0");
  }

  /// Returns the function for one tile of rows: the sums go to its row of the partial sums. The last tile
  /// clears the rows after its own.
  std::string sum() const {
    CodeText out;
    out.indent();
    for (size_t i = 0; i < sums_.size(); ++i) {
      const Instruction& x = kernel_.instructions[static_cast<size_t>(sums_[i])];
      out.line("add_warps({}, {}, tile, tiles, column, columns, thread, sums_of_warp(scratch, {}, wg, 0));",
               names_.params()[static_cast<size_t>(x.access.param)], kernel_.schedule.splits, i);
    }
    return function(
        "SM void body_sum(const BodyArguments& body, int tile, int tiles, int column, int columns, int wg, "
        "int thread, unsigned scratch)",
        out);
  }

  const Kernel& kernel_;
  const KernelBlock& block_;
  const CudaNames names_;
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
