#include "runtime/engine/training/stage_messages.h"

#include <algorithm>
#include <set>

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

constexpr int64_t kMostTextBytes = 1 << 24;

std::string_view prefix_of(StageMessage what) {
  return what == StageMessage::gradients ? "gradients" : "values";
}

/// Return the parts at the two ends of the boundary before `part`.
int64_t sending_part(int64_t part, StageMessage what) {
  return what == StageMessage::gradients ? part : part - 1;
}
int64_t receiving_part(int64_t part, StageMessage what) {
  return what == StageMessage::gradients ? part - 1 : part;
}

std::string type_of(const Port& port) { return fmt::format("{}{}", name(port.dtype), str(port.shape)); }

void send_text(Communicator& group, const std::string& text, int64_t to) {
  const int64_t bytes = std::ssize(text);
  group.send(std::as_bytes(std::span(&bytes, 1)), to);
  group.send(std::as_bytes(std::span(text)), to);
}

std::string receive_text(Communicator& group, int64_t from) {
  int64_t bytes = 0;
  group.receive(std::as_writable_bytes(std::span(&bytes, 1)), from);
  if (bytes < 0 || bytes > kMostTextBytes) fail("stage {} sent no list of tensors", from);
  std::string text(static_cast<size_t>(bytes), '\0');
  group.receive(std::as_writable_bytes(std::span(text)), from);
  return text;
}

/// [["values.1.0", "bf16[B,T,768]"], ..]
std::string list_text(const std::vector<Port>& ports) {
  Json list = Json::array();
  for (const Port& port : ports) list.push_back({port.name, type_of(port)});
  return list.dump();
}

void add_crossing(std::vector<Port>& found, const std::vector<Port>& ports, StageMessage what, int64_t part) {
  for (const Port& port : ports)
    if (crosses_boundary(port.name, prefix_of(what), part) &&
        std::ranges::find(found, port.name, &Port::name) == found.end())
      found.push_back(port);
}

/// Returns those ports in `made` that the other stage reads, in its order.
std::vector<Port> asked_for(const std::vector<Port>& made, const Json& asked, int64_t own, int64_t other) {
  std::vector<Port> sent;
  for (const Json& item : asked) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_string())
      fail("stage {} sent no list of tensors", other);
    const auto wanted = item[0].get<std::string>(), type = item[1].get<std::string>();
    const auto port = std::ranges::find(made, wanted, &Port::name);
    if (port == made.end())
      fail("stage {} reads '{}' ({}), which the plan of stage {} does not make: compile both from one model",
           other, wanted, type, own);
    if (type_of(*port) != type)
      fail(
          "'{}' is {} in the plan of stage {}, which makes it, and {} in that of stage {}: compile both "
          "alike",
          wanted, type_of(*port), own, type, other);
    sent.push_back(*port);
  }
  return sent;
}

}  // namespace

StageMessages::StageMessages(const Plan& plan, const PipelineStage& stage, Communicator& group)
    : stage_(stage) {
  make_lists(plan);
  for (const auto& [boundary, ports] : read_)
    send_text(group, list_text(ports), sending_part(boundary.first, boundary.second) % stage_.stages);
  for (auto& [boundary, ports] : made_) agree(boundary, group);
}

void StageMessages::make_lists(const Plan& plan) {
  for (int64_t part = 1; part < stage_.parts(); ++part)
    for (const auto what : {StageMessage::values, StageMessage::gradients, StageMessage::evaluation}) {
      const Boundary boundary = {part, what};
      if (sending_part(part, what) % stage_.stages == stage_.stage)
        made_[boundary] = made_for(plan, boundary);
      if (receiving_part(part, what) % stage_.stages == stage_.stage)
        read_[boundary] = read_from(plan, boundary);
    }
}

std::vector<Port> StageMessages::made_for(const Plan& plan, const Boundary& boundary) const {
  const auto& [part, what] = boundary;
  const char* entries[] = {"forward", "backward", "evaluate"};
  std::vector<Port> found;
  const auto name = part_entry(entries[static_cast<size_t>(what)], sending_part(part, what));
  if (const PlanEntry* entry = plan.find_entry(name)) add_crossing(found, entry->outputs, what, part);
  return found;
}

/// Backward may read what forward does not.
std::vector<Port> StageMessages::read_from(const Plan& plan, const Boundary& boundary) const {
  const auto& [part, what] = boundary;
  const int64_t reader = receiving_part(part, what);
  std::vector<Port> found;
  for (const char* entry : {"forward", "backward", "evaluate"}) {
    if ((what == StageMessage::evaluation) != (std::string_view(entry) == "evaluate")) continue;
    if (const PlanEntry* reads = plan.find_entry(part_entry(entry, reader)))
      add_crossing(found, reads->inputs, what, part);
  }
  return found;
}

void StageMessages::agree(const Boundary& boundary, Communicator& group) {
  const int64_t other = receiving_part(boundary.first, boundary.second) % stage_.stages;
  const Json asked = parse_json(receive_text(group, other), fmt::format("a message of stage {}", other));
  std::vector<Port>& ports = made_.at(boundary);
  ports = asked_for(ports, asked, stage_.stage, other);
}

const std::vector<Port>& StageMessages::across(StageMessage what, int64_t part) const {
  const auto made = made_.find({part, what});
  return made != made_.end() ? made->second : read_.at({part, what});
}

std::vector<std::vector<int64_t>> StageMessages::bytes_between(const Plan& plan, int64_t from,
                                                               int64_t to) const {
  std::vector<std::vector<int64_t>> messages;
  for (const auto* lists : {&made_, &read_})
    for (const auto& [boundary, ports] : *lists) {
      const auto& [part, what] = boundary;
      if (sending_part(part, what) % stage_.stages != from ||
          receiving_part(part, what) % stage_.stages != to)
        continue;
      std::vector<int64_t>& bytes = messages.emplace_back();
      for (const Port& port : ports) bytes.push_back(plan.buffers[static_cast<size_t>(port.buffer)].bytes);
    }
  return messages;
}

std::vector<std::pair<int64_t, int64_t>> message_links(const PipelineStage& stage) {
  std::set<std::pair<int64_t, int64_t>> links;
  for (int64_t part = 1; part < stage.parts(); ++part) {
    const int64_t before = (part - 1) % stage.stages, behind = part % stage.stages;
    links.insert({before, behind}), links.insert({behind, before});
  }
  return {links.begin(), links.end()};
}

}  // namespace smelt
