// The C interface: new weights of continuous batches.
#include <limits>

#include "runtime/base/convert.h"
#include "runtime/c_api/c_api_batch.h"

using namespace smelt;
using namespace smelt::c_api;

namespace {

/// Returns the number of bytes of a tensor. Throws Error if a size is negative, or if the number overflows.
size_t weight_bytes(const smelt_tensor& tensor) {
  size_t bytes = smelt_dtype_size(tensor.dtype);
  for (int32_t i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(tensor.shape[i]), &bytes))
      fail("weight '{}': its size {} is {}, which no memory has", tensor.name, i, tensor.shape[i]);
  return bytes;
}

TensorView weight_view(const smelt_tensor& tensor) {
  required(tensor.name, "a weight's name");
  if (smelt_dtype_size(tensor.dtype) == 0)
    fail("weight '{}': {} is no smelt_dtype", tensor.name, tensor.dtype);
  if (tensor.rank < 0 || tensor.rank > SMELT_MAX_RANK)
    fail("weight '{}': rank {}, expected 0 to {}", tensor.name, tensor.rank, SMELT_MAX_RANK);
  if (tensor.memory != SMELT_MEMORY_HOST)
    fail("weight '{}': memory {}, expected SMELT_MEMORY_HOST", tensor.name, tensor.memory);
  const size_t bytes = weight_bytes(tensor);
  if (bytes > tensor.bytes)
    fail("weight '{}': it has {} bytes, and {} are given", tensor.name, bytes, tensor.bytes);
  if (bytes > 0) required(tensor.data, "a weight's data");
  return {tensor.name,
          static_cast<DType>(tensor.dtype),
          {tensor.shape, tensor.shape + tensor.rank},
          {static_cast<const std::byte*>(tensor.data), bytes}};
}

/// Returns the weights in the memory of the caller, or a copy of them if the update waits.
std::shared_ptr<const Checkpoint> weights_of_tensors(const smelt_tensor* tensors, size_t count, bool copies) {
  const StructArray<const smelt_tensor> list(tensors, count, "weight");
  std::vector<TensorView> views;
  std::vector<HostTensor> owned;
  for (size_t i = 0; i < list.size(); ++i) {
    const TensorView view = weight_view(list.read(i));
    if (copies)
      owned.push_back({view.name, view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}});
    else
      views.push_back(view);
  }
  const char* name = "the update's";
  return std::make_shared<const Checkpoint>(copies ? Checkpoint::of(std::move(owned), name)
                                                   : Checkpoint::view(std::move(views), name));
}

WeightUpdate update_of(const smelt_weight_update* given) {
  WeightUpdate update;
  if (!given) return update;
  const smelt_weight_update read = read_struct(*given, "the update");
  if (read.version > 0) update.version = read.version;
  update.keeps_prefixes = read.keeps_prefixes != 0, update.waits = read.waits != 0;
  return update;
}

}  // namespace

extern "C" {

smelt_status smelt_batch_update_weights(smelt_batch* batch, const smelt_tensor* tensors, size_t count,
                                        const smelt_weight_update* update) {
  return guarded([&] {
    required(batch, "the batch");
    WeightUpdate made = update_of(update);
    made.weights = weights_of_tensors(tensors, count, made.waits);
    batch->batch.update_weights(std::move(made));
  });
}

smelt_status smelt_batch_copy_weights(smelt_batch* batch, const smelt_session* from,
                                      const smelt_weight_update* update) {
  return guarded([&] {
    required(batch, "the batch");
    WeightUpdate made = update_of(update);
    made.weights = copied_weights(session_of(from));
    batch->batch.update_weights(std::move(made));
  });
}

}  // extern "C"
