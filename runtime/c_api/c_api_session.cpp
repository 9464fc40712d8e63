// The C interface: sessions.
#include <algorithm>
#include <cstring>

#include "runtime/c_api/c_api_detail.h"

using namespace smelt;
using namespace smelt::c_api;

namespace {

Session& session_of(smelt_session* handle) { return *required(handle, "the session")->session; }
const Session& session_of(const smelt_session* handle) { return *required(handle, "the session")->session; }

DType dtype_of(const smelt_tensor& tensor) {
  if (smelt_dtype_size(tensor.dtype) == 0)
    fail("input '{}': {} is no smelt_dtype", tensor.name, static_cast<int>(tensor.dtype));
  return static_cast<DType>(tensor.dtype);
}

InputTensor input_of(const smelt_tensor& tensor) {
  required(tensor.name, "an input's name");
  if (tensor.rank < 0 || tensor.rank > SMELT_MAX_RANK)
    fail("input '{}': rank {}, expected 0 to {}", tensor.name, tensor.rank, SMELT_MAX_RANK);
  return {tensor.name, dtype_of(tensor), {tensor.shape, tensor.shape + tensor.rank}, tensor.data};
}

std::vector<InputTensor> inputs_of(const smelt_tensor* tensors, size_t count) {
  if (count > 0) required(tensors, "the list of inputs");
  std::vector<InputTensor> inputs;
  for (size_t i = 0; i < count; ++i) inputs.push_back(input_of(tensors[i]));
  return inputs;
}

void check_bytes(const smelt_tensor* tensors, const std::vector<InputTensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t elements = count_elements(inputs[i].shape);
    if (elements > INT64_MAX / size_of(inputs[i].dtype) ||
        static_cast<uint64_t>(elements * size_of(inputs[i].dtype)) > tensors[i].bytes)
      fail("input '{}': {} does not fit into the {} bytes given", inputs[i].name,
           describe(inputs[i].dtype, inputs[i].shape), tensors[i].bytes);
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

std::span<const std::byte> part_of(std::span<const std::byte> state, DType dtype, const char* name,
                                   int64_t offset, size_t bytes) {
  const auto size = static_cast<size_t>(size_of(dtype)), elements = state.size() / size;
  if (bytes % size != 0 || offset < 0 || static_cast<size_t>(offset) > elements ||
      bytes / size > elements - static_cast<size_t>(offset))
    fail("state '{}': {} bytes from element {} are no part of its {} elements of {} bytes", name, bytes,
         offset, elements, size);
  return state.subspan(static_cast<size_t>(offset) * size, bytes);
}

/// Checked memory of a part of a state.
std::span<const std::byte> state_part(const Session& session, const char* name, int64_t offset,
                                      size_t bytes) {
  const auto state = session.state(required(name, "the state's name"));
  return part_of(state, session.plan().find_state(name)->dtype, name, offset, bytes);
}

SessionOptions options_of(const smelt_session_options* given) {
  SessionOptions options;
  if (!given) return options;
  if (given->device < 0) fail("device {}: expected 0 (any), or 1 + the number of a GPU", given->device);
  options.threads = given->threads, options.seed = given->seed, options.device = given->device - 1;
  return options;
}

smelt_session* handle_of(std::unique_ptr<Session> session) {
  auto handle = std::make_unique<smelt_session>();
  handle->session = std::move(session);
  return handle.release();
}

}  // namespace

extern "C" {

smelt_status smelt_session_create(const smelt_plan* plan, const smelt_session_options* options,
                                  smelt_session** session) {
  return guarded([&] {
    required(session, "session");
    *session = handle_of(std::make_unique<Session>(required(plan, "the plan")->plan, options_of(options)));
  });
}

smelt_status smelt_session_share(smelt_session* session, const smelt_session_options* options,
                                 smelt_session** shared) {
  return guarded([&] {
    required(shared, "shared");
    *shared = handle_of(session_of(session).share(options_of(options)));
  });
}

void smelt_session_free(smelt_session* session) { delete session; }

smelt_status smelt_session_load_weights(smelt_session* session, const char* path) {
  return guarded([&] { session_of(session).load_weights(std::filesystem::path(required(path, "path"))); });
}

smelt_status smelt_session_save_weights(const smelt_session* session, const char* path) {
  return guarded([&] { session_of(session).save_weights(required(path, "path")); });
}

smelt_status smelt_session_initialize(smelt_session* session, uint32_t seed) {
  return guarded([&] { session_of(session).initialize(seed); });
}

smelt_status smelt_session_output_shapes(const smelt_session* session, const char* entry,
                                         const smelt_tensor* inputs, size_t input_count,
                                         smelt_tensor* outputs, size_t output_count) {
  return guarded([&] {
    const Session& s = session_of(session);
    const PlanEntry& found = s.entry(required(entry, "the entry's name"));
    const auto shapes = s.output_shapes(entry, inputs_of(inputs, input_count));
    if (output_count > 0) required(outputs, "the list of outputs");
    for (size_t i = 0; i < output_count; ++i) {
      const size_t port = port_index(found, outputs[i]);
      fill(found.outputs[port], shapes[port], outputs[i]);
      outputs[i].bytes =
          static_cast<size_t>(count_elements(shapes[port]) * size_of(found.outputs[port].dtype));
    }
  });
}

smelt_status smelt_session_run(smelt_session* session, const char* entry, const smelt_tensor* inputs,
                               size_t input_count, smelt_tensor* outputs, size_t output_count) {
  return guarded([&] {
    Session& s = session_of(session);
    const PlanEntry& found = s.entry(required(entry, "the entry's name"));
    const auto given = inputs_of(inputs, input_count);
    check_bytes(inputs, given);
    if (output_count > 0) required(outputs, "the list of outputs");
    std::vector<OutputBuffer> wanted;
    for (size_t i = 0; i < output_count; ++i) {
      port_index(found, outputs[i]);
      const size_t bytes = std::min<size_t>(outputs[i].bytes, INT64_MAX);
      wanted.push_back({outputs[i].name, outputs[i].data, static_cast<int64_t>(bytes)});
    }
    const auto shapes = s.run(entry, given, wanted);
    for (size_t i = 0; i < output_count; ++i)
      fill(found.outputs[port_index(found, outputs[i])], shapes[i], outputs[i]);
  });
}

smelt_status smelt_session_set_random(smelt_session* session, uint32_t seed, uint32_t step,
                                      uint32_t micro_step) {
  return guarded([&] {
    if (micro_step > 0xFFFF) fail("micro_step {}: expected 0 to 65535", micro_step);
    session_of(session).set_random(seed, step, micro_step);
  });
}

smelt_status smelt_session_read_state(const smelt_session* session, const char* name, int64_t offset,
                                      void* to, size_t bytes) {
  return guarded([&] {
    const auto from = state_part(session_of(session), name, offset, bytes);
    if (bytes > 0) std::memcpy(required(to, "the memory to copy to"), from.data(), bytes);
  });
}

smelt_status smelt_session_write_state(smelt_session* session, const char* name, int64_t offset,
                                       const void* from, size_t bytes) {
  return guarded([&] {
    const auto to = state_part(session_of(session), name, offset, bytes);
    const auto begin = static_cast<size_t>(to.data() - session_of(session).state(name).data());
    if (bytes > 0)
      std::memcpy(session_of(session).state(name).data() + begin, required(from, "the memory to copy from"),
                  bytes);
  });
}

}  // extern "C"
