// The printers that RowPrinter and TilePrinter share, for the blocks of one kernel. A printer appends CUDA
// C++ code to the text of the kernel.
#pragma once

#include "codegen/cuda/printers/address_printer.h"
#include "codegen/cuda/printers/cuda_context.h"
#include "codegen/cuda/printers/instruction_printer.h"
#include "codegen/cuda/printers/prefetch_printer.h"
#include "codegen/cuda/printers/reduction_printer.h"
#include "codegen/cuda/printers/vector_printer.h"

namespace smelt {

struct BlockPrinters {
  explicit BlockPrinters(CudaContext& context)
      : addresses(context),
        reductions(context),
        prefetch(context, addresses),
        instructions(context, addresses, reductions),
        vectors(context, addresses, prefetch, instructions, reductions) {}
  BlockPrinters(const BlockPrinters&) = delete;  // its members refer to one another

  AddressPrinter addresses;
  ReductionPrinter reductions;
  PrefetchPrinter prefetch;
  InstructionPrinter instructions;
  VectorPrinter vectors;
};

}  // namespace smelt
