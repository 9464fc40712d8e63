// The batches of `smelt serve --replicas N`: N sessions of one plan, each on its own GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "compiler/cli/shared/model.h"
#include "compiler/server/batch_service.h"
#include "runtime/engine/serving/request_batch.h"

namespace smelt::cli {

/// Function that makes the batch of a session. It may be called by several threads at the same time.
using MakeBatch = std::function<std::unique_ptr<RequestBatch>(Session&)>;

class ServedBatches {
 public:
  /// Makes the batch of `first`, which must outlive this object. Then opens `replicas` - 1 sessions with the
  /// same weights and makes their batches, all at the same time. They use the kernel variants that the first
  /// has chosen by measurement, so that an answer does not depend on the replica. A plan for GPUs has replica
  /// number i on GPU i, counted from SMELT_DEVICE. Throws Error if a GPU is missing.
  ServedBatches(const Model& model, const WeightFlags& flags, Session& first, size_t replicas,
                const MakeBatch& make);

  server::BatchService& service() { return *service_; }

 private:
  std::vector<std::unique_ptr<Session>> sessions_;  // of all replicas but the first
  std::unique_ptr<server::BatchService> service_;
};

}  // namespace smelt::cli
