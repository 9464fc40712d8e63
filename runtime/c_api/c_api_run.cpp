// The C interface: runs of entries, and the shapes of their results.
#include <algorithm>

#include "runtime/c_api/c_api_detail.h"
#include "runtime/c_api/structs.h"

using namespace smelt;
using namespace smelt::c_api;

namespace {

using Inputs = StructArray<const smelt_tensor>;
using Outputs = StructArray<smelt_tensor>;

DType dtype_of(const smelt_tensor& tensor) {
  if (smelt_dtype_size(tensor.dtype) == 0)
    fail("input '{}': {} is no smelt_dtype", tensor.name, tensor.dtype);
  return static_cast<DType>(tensor.dtype);
}

bool is_on_device(const smelt_tensor& tensor, const char* kind) {
  if (tensor.memory != SMELT_MEMORY_HOST && tensor.memory != SMELT_MEMORY_DEVICE)
    fail("{} '{}': memory {}, expected SMELT_MEMORY_HOST or SMELT_MEMORY_DEVICE", kind, tensor.name,
         tensor.memory);
  return tensor.memory == SMELT_MEMORY_DEVICE;
}

InputTensor input_of(const smelt_tensor& tensor) {
  required(tensor.name, "an input's name");
  if (tensor.rank < 0 || tensor.rank > SMELT_MAX_RANK)
    fail("input '{}': rank {}, expected 0 to {}", tensor.name, tensor.rank, SMELT_MAX_RANK);
  return {tensor.name,
          dtype_of(tensor),
          {tensor.shape, tensor.shape + tensor.rank},
          tensor.data,
          is_on_device(tensor, "input")};
}

std::vector<InputTensor> inputs_of(const Inputs& tensors) {
  std::vector<InputTensor> inputs;
  for (size_t i = 0; i < tensors.size(); ++i) inputs.push_back(input_of(tensors.read(i)));
  return inputs;
}

void check_bytes(const Inputs& tensors, const std::vector<InputTensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t elements = count_elements(inputs[i].shape);
    if (elements > INT64_MAX / size_of(inputs[i].dtype) ||
        static_cast<uint64_t>(elements * size_of(inputs[i].dtype)) > tensors.at(i).bytes)
      fail("input '{}': {} does not fit into the {} bytes given", inputs[i].name,
           describe(inputs[i].dtype, inputs[i].shape), tensors.at(i).bytes);
  }
}

size_t port_index(const PlanEntry& entry, const smelt_tensor& output) {
  const auto found = std::ranges::find(entry.outputs, required(output.name, "an output's name"), &Port::name);
  if (found == entry.outputs.end()) fail("entry '{}', output '{}': no such output", entry.name, output.name);
  return static_cast<size_t>(found - entry.outputs.begin());
}

void fill(const Port& port, const std::vector<int64_t>& shape, smelt_tensor& output) {
  if (shape.size() > SMELT_MAX_RANK)
    fail("output '{}' has rank {}, more than this interface takes", port.name, shape.size());
  output.dtype = static_cast<smelt_dtype>(port.dtype);
  output.rank = static_cast<int32_t>(shape.size());
  std::ranges::copy(shape, output.shape);
}

std::vector<OutputBuffer> buffers_of(const PlanEntry& entry, const Outputs& outputs) {
  std::vector<OutputBuffer> buffers;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const smelt_tensor output = outputs.read(i);
    port_index(entry, output);
    const size_t bytes = std::min<size_t>(output.bytes, INT64_MAX);
    buffers.push_back(
        {output.name, output.data, static_cast<int64_t>(bytes), is_on_device(output, "output")});
  }
  return buffers;
}

RunOptions options_of(const smelt_run_options* given) {
  if (!given) return {};
  const smelt_run_options read = read_struct(*given, "the run's options");
  return {.stream = read.stream, .in_place = read.in_place != 0};
}

}  // namespace

extern "C" {

smelt_status smelt_session_output_shapes(const smelt_session* session, const char* entry,
                                         const smelt_tensor* inputs, size_t input_count,
                                         smelt_tensor* outputs, size_t output_count) {
  return guarded([&] {
    const Session& s = session_of(session);
    const PlanEntry& found = s.entry(required(entry, "the entry's name"));
    const Outputs wanted(outputs, output_count, "output");
    const auto shapes = s.output_shapes(entry, inputs_of({inputs, input_count, "input"}));
    for (size_t i = 0; i < output_count; ++i) {
      const size_t port = port_index(found, wanted.at(i));
      fill(found.outputs[port], shapes[port], wanted.at(i));
      wanted.at(i).bytes =
          static_cast<size_t>(count_elements(shapes[port]) * size_of(found.outputs[port].dtype));
    }
  });
}

smelt_status smelt_session_run(smelt_session* session, const char* entry, const smelt_tensor* inputs,
                               size_t input_count, smelt_tensor* outputs, size_t output_count,
                               const smelt_run_options* options) {
  return guarded([&] {
    Session& s = session_of(session);
    const PlanEntry& found = s.entry(required(entry, "the entry's name"));
    const Inputs tensors(inputs, input_count, "input");
    const Outputs wanted(outputs, output_count, "output");
    const auto given = inputs_of(tensors);
    check_bytes(tensors, given);
    const auto shapes = s.run(entry, given, buffers_of(found, wanted), options_of(options));
    for (size_t i = 0; i < output_count; ++i)
      fill(found.outputs[port_index(found, wanted.at(i))], shapes[i], wanted.at(i));
  });
}

}  // extern "C"
