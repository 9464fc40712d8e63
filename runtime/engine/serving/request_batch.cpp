#include "runtime/engine/serving/request_batch.h"

#include "runtime/base/error.h"

namespace smelt {

void RequestBatch::update_weights(WeightUpdate /*update*/) {
  fail("new weights: a batch of whole texts takes none");
}

}  // namespace smelt
