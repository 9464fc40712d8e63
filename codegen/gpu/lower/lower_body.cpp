#include "codegen/gpu/lower/lower_body.h"

#include "codegen/gpu/lower/block_lowerings.h"
#include "codegen/gpu/lower/row_lowering.h"
#include "codegen/gpu/lower/tile_lowering.h"

namespace smelt::gpu {

LoweredBody lower_body(const Kernel& kernel, const Expr& block) {
  LoweringContext context(kernel, block);
  BlockLowerings lowerings(context);
  context.out.declare(Scalar::index, "range", cast(variable("range_", Scalar::int64), Scalar::index));
  context.names.declare_dims(context.out);
  if (context.shape.is_reduced())
    TileLowering(context, lowerings).lower();
  else
    RowLowering(context, lowerings).lower();
  return {context.names, context.out.body(), lowerings.addresses.alignment_conditions(),
          context.shared.floats, context.shared.ints};
}

}  // namespace smelt::gpu
