// The C interface: sessions.
#include <cstring>

#include "runtime/c_api/c_api_detail.h"
#include "runtime/c_api/structs.h"

using namespace smelt;
using namespace smelt::c_api;

namespace {

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

static_assert(SMELT_MEMORY_DEVICE == static_cast<int>(MemoryKind::device));
static_assert(SMELT_MEMORY_PINNED == static_cast<int>(MemoryKind::pinned));

std::shared_ptr<const Allocator> allocator_of(const smelt_allocator* given) {
  if (!given) return nullptr;
  const smelt_allocator functions = read_struct(*given, "the allocator");
  required(functions.allocate, "the allocator's allocate"),
      required(functions.release, "the allocator's release");
  return std::make_shared<const Allocator>(Allocator{
      [functions](MemoryKind kind, size_t bytes, size_t alignment) {
        return functions.allocate(functions.user, static_cast<smelt_memory>(kind), bytes, alignment);
      },
      [functions](MemoryKind kind, void* memory, size_t bytes) {
        functions.release(functions.user, static_cast<smelt_memory>(kind), memory, bytes);
      }});
}

SessionOptions options_of(const smelt_session_options* given) {
  SessionOptions options;
  if (!given) return options;
  const smelt_session_options read = read_struct(*given, "the session's options");
  if (read.device < 0) fail("device {}: expected 0 (any), or 1 + the number of a GPU", read.device);
  options.threads = read.threads, options.seed = read.seed, options.device = read.device - 1;
  options.allocator = allocator_of(read.allocator);
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

smelt_status smelt_session_synchronize(smelt_session* session) {
  return guarded([&] { session_of(session).synchronize(); });
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
