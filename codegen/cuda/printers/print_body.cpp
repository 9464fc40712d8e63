#include "codegen/cuda/printers/print_body.h"

#include "codegen/cuda/printers/block_printers.h"
#include "codegen/cuda/printers/row_printer.h"
#include "codegen/cuda/printers/tile_printer.h"

namespace smelt {

CudaBody print_body(const Kernel& kernel, const std::string& block) {
  CudaContext context(kernel, block);
  BlockPrinters printers(context);
  context.out.indent();
  context.out.line("const Index range = (Index)range_;");
  context.names.declare_dims(context.out);
  if (context.shape.is_reduced())
    TilePrinter(context, printers).print();
  else
    RowPrinter(context, printers).print();
  return {&kernel,
          context.names,
          context.out.text(),
          printers.addresses.alignment_conditions(),
          context.shared.floats,
          context.shared.ints};
}

}  // namespace smelt
