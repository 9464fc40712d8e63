#include "runtime/training/tensor_messages.h"

#include "runtime/error.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

constexpr int64_t kMostHeadBytes = 1 << 24;

/// What a message begins with: of each tensor its name, type and shape.
std::string head_of(const std::vector<const HostTensor*>& tensors) {
  Json head = Json::array();
  for (const HostTensor* t : tensors) head.push_back({t->name, name(t->dtype), t->shape});
  return head.dump();
}

HostTensor tensor_of(const Json& item, int64_t from) {
  const bool fits = item.is_array() && item.size() == 3 && item[0].is_string() && item[1].is_string();
  const auto dtype = fits ? parse_dtype(item[1].get<std::string>()) : std::nullopt;
  if (!dtype || !item[2].is_array()) fail("rank {} of the group sent a message that holds no tensors", from);
  HostTensor tensor{item[0].get<std::string>(), *dtype, {}, {}};
  for (const Json& extent : item[2]) {
    if (!extent.is_number_integer() || extent < 0)
      fail("rank {} of the group sent tensor '{}' of no shape", from, tensor.name);
    tensor.shape.push_back(extent.get<int64_t>());
  }
  tensor.bytes.resize(static_cast<size_t>(count_elements(tensor.shape) * size_of(*dtype)));
  return tensor;
}

}  // namespace

void send_tensors(Communicator& group, int64_t to, const std::vector<const HostTensor*>& tensors) {
  const std::string head = head_of(tensors);
  const int64_t bytes = std::ssize(head);
  group.send(std::as_bytes(std::span(&bytes, 1)), to);
  group.send(std::as_bytes(std::span(head)), to);
  for (const HostTensor* tensor : tensors)
    if (!tensor->bytes.empty()) group.send(tensor->bytes, to);
}

std::vector<HostTensor> receive_tensors(Communicator& group, int64_t from) {
  int64_t bytes = 0;
  group.receive(std::as_writable_bytes(std::span(&bytes, 1)), from);
  if (bytes < 0 || bytes > kMostHeadBytes)
    fail("rank {} of the group sent a message that holds no tensors", from);
  std::string head(static_cast<size_t>(bytes), '\0');
  group.receive(std::as_writable_bytes(std::span(head)), from);
  const Json items = parse_json(head, fmt::format("a message of rank {} of the group", from));
  std::vector<HostTensor> tensors;
  for (const Json& item : items) {
    tensors.push_back(tensor_of(item, from));
    if (!tensors.back().bytes.empty()) group.receive(tensors.back().bytes, from);
  }
  return tensors;
}

}  // namespace smelt
