#include "runtime/engine/training/state_layout.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/base/tensor.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/plan/state_parts.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 56;
constexpr size_t kMostDims = 64;

Json json_of(const Segment& segment) {
  Json json = {{"name", file_name_of(segment)},
               {"offset", segment.offset},
               {"shape", segment.shape},
               {"transposed", segment.transposed}};
  if (segment.stacked) json["stacked"] = true;
  if (is_cut(segment)) json["whole"] = whole_shape(segment), json["cut"] = segment.cut;
  return json;
}

Json json_of(const State& state) {
  Json json = {{"name", state.name},         {"role", name(state.role)},
               {"dtype", name(state.dtype)}, {"shape", whole_extents(state)},
               {"cut", state.cut},           {"segments", Json::array()}};
  for (const Segment& segment : state.segments) json["segments"].push_back(json_of(segment));
  return json;
}

Json json_of(const Mesh& mesh) {
  Json axes = Json::array();
  for (const MeshAxis& axis : mesh.axes) axes.push_back({{"name", axis.name}, {"size", axis.size}});
  return axes;
}

/// Reads members of one object, whose name in messages is `what`.
class Members {
 public:
  Members(const Json& json, std::string what) : json_(json), what_(std::move(what)) {
    if (!json.is_object()) refuse("is {}: expected an object", kind_of(json));
  }

  std::string text(const char* name) const {
    const Json& value = member(name);
    if (!value.is_string()) refuse(".{} is {}: expected a string", name, brief(value));
    return value.get<std::string>();
  }
  int64_t number(const char* name) const { return number(member(name), name); }
  bool flag(const char* name) const {
    const Json& value = member(name);
    if (!value.is_boolean()) refuse(".{} is {}: expected true or false", name, brief(value));
    return value.get<bool>();
  }
  const Json& list(const char* name) const {
    const Json& value = member(name);
    if (!value.is_array()) refuse(".{} is {}: expected a list", name, brief(value));
    return value;
  }
  /// Extents of which there are not too many elements.
  std::vector<int64_t> extents(const char* name) const {
    std::vector<int64_t> extents;
    int64_t elements = 1;
    for (const Json& item : list(name)) {
      extents.push_back(number(item, name));
      if (extents.size() > kMostDims || __builtin_mul_overflow(elements, extents.back(), &elements) ||
          elements > kMostElements)
        refuse(".{} has too many elements", name);
    }
    return extents;
  }
  bool has(const char* name) const { return json_.contains(name); }
  /// Lists of axes, one a dim.
  std::vector<std::vector<std::string>> cut() const {
    std::vector<std::vector<std::string>> cut;
    for (const Json& axes : list("cut")) {
      if (!axes.is_array()) refuse(".cut has {}: expected lists", brief(axes));
      cut.push_back(texts(axes, "cut"));
    }
    return cut;
  }
  std::vector<std::string> texts(const Json& list, const char* name) const {
    std::vector<std::string> texts;
    for (const Json& item : list) {
      if (!item.is_string()) refuse(".{} has {}: expected a string", name, brief(item));
      texts.push_back(item.get<std::string>());
    }
    return texts;
  }

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(Status::invalid_file, "'{}{}", what_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const Json& member(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) refuse(".{} is missing", name);
    return *found;
  }
  int64_t number(const Json& value, const char* name) const {
    const bool fits = value.is_number_integer() && value >= 0 && value <= kMostElements;
    if (!fits) refuse(".{} has {}: expected a number from 0 to 2^56", name, brief(value));
    return value.get<int64_t>();
  }

  const Json& json_;
  std::string what_;
};

Mesh read_mesh(const Json& axes, const std::string& what) {
  Mesh mesh;
  for (const Json& axis : axes) {
    const Members members(axis, fmt::format("{}.mesh[{}]", what, mesh.axes.size()));
    mesh.axes.push_back({members.text("name"), members.number("size")});
  }
  check_mesh(mesh);
  return mesh;
}

void take_part(Segment& segment, const Mesh& mesh, const Members& members) {
  segment.whole = members.extents("whole"), segment.cut = members.cut();
  for (const std::string& fault : cut_faults(segment, mesh)) members.refuse(" {}", fault);
}

Segment read_segment(const Json& json, const Mesh& mesh, const std::string& what) {
  const Members members(json, what);
  Segment segment;
  segment.name = members.text("name");
  segment.offset = members.number("offset");
  segment.shape = members.extents("shape");
  segment.transposed = members.flag("transposed");
  if (segment.transposed && segment.shape.size() < 2) members.refuse(" is transposed: expected two dims");
  segment.stacked = members.has("stacked") && members.flag("stacked");
  if (members.has("cut")) take_part(segment, mesh, members);
  return segment;
}

/// Checks that segments are in order of their offsets, do not overlap, and are inside the state.
void require_apart(const State& state, const Members& members) {
  int64_t end = 0;
  for (const Segment& segment : state.segments) {
    if (segment.offset < end)
      members.refuse(": its segment '{}' begins inside the one before it", segment.name);
    end = segment.offset + segment.elements();
  }
  int64_t elements = 1;
  for (const int64_t extent : whole_extents(state)) elements *= extent;
  if (end > elements) members.refuse(": its segments have {} elements, it has {}", end, elements);
}

/// A rank's part of it.
void take_part(State& state, const Mesh& mesh, const Members& members) {
  state.whole = state.shape;
  if (!state.cut.empty() && state.cut.size() != state.shape.size())
    members.refuse(".cut has {} dims: expected {}", state.cut.size(), state.shape.size());
  for (size_t i = 0; i < state.cut.size(); ++i)
    for (const std::string& axis : state.cut[i]) {
      const auto found = mesh.find(axis);
      const auto part = found ? state.shape[i].divide(mesh.axes[*found].size) : std::nullopt;
      if (!part) members.refuse(".cut names '{}', which does not cut {}", axis, state.shape[i].str());
      state.shape[i] = *part;
    }
}

State read_state(const Json& json, const Mesh& mesh, const std::string& what) {
  const Members members(json, what);
  State state;
  state.name = members.text("name");
  const auto role = parse_role(members.text("role"));
  const auto dtype = parse_dtype(members.text("dtype"));
  if (!role || !dtype) members.refuse(" has no known role and type");
  state.role = *role, state.dtype = *dtype;
  for (const int64_t extent : members.extents("shape")) state.shape.emplace_back(extent);
  state.cut = members.cut();
  for (const Json& segment : members.list("segments"))
    state.segments.push_back(
        read_segment(segment, mesh, fmt::format("{}.segments[{}]", what, state.segments.size())));
  require_apart(state, members);
  take_part(state, mesh, members);
  return state;
}

/// Behind those that a flat state has; not a second time.
void append_segment(State& flat, const Segment& segment) {
  const auto is_it = [&](const Segment& s) { return file_name_of(s) == file_name_of(segment); };
  if (std::ranges::any_of(flat.segments, is_it)) return;
  int64_t end = 0;
  for (const Segment& s : flat.segments) end += count_elements(whole_shape(s));
  flat.segments.push_back(segment);
  flat.segments.back().offset = end;
  flat.shape = flat.whole = Shape{Dim(end + count_elements(whole_shape(segment)))};
}

std::vector<State> read_states(const Json& list, const Mesh& mesh, const std::string& what) {
  std::vector<State> states;
  for (const Json& state : list)
    states.push_back(read_state(state, mesh, fmt::format("{}: [{}]", what, states.size())));
  return states;
}

/// One list a stage, as many as the mesh has.
std::vector<std::vector<State>> read_stages(const Members& members, const Mesh& mesh,
                                            const std::string& what) {
  std::vector<std::vector<State>> stages;
  for (const Json& list : members.list("stages")) {
    if (!list.is_array()) members.refuse(".stages has {}: expected lists of states", brief(list));
    stages.push_back(read_states(list, mesh, fmt::format("{}: stage {}", what, stages.size())));
  }
  const auto axis = mesh.find(kStageAxis);
  if (!axis || std::ssize(stages) != mesh.axes[*axis].size)
    members.refuse(".stages has {} lists: expected one for each stage of the mesh ({})", stages.size(),
                   str(mesh));
  return stages;
}

}  // namespace

const std::string& file_name_of(const Segment& segment) {
  return segment.checkpoint_names.empty() ? segment.name : segment.checkpoint_names.front();
}

std::string state_layout(const Plan& plan) {
  Json json = {{"mesh", json_of(plan.mesh)}, {"states", Json::array()}};
  for (const State& state : plan.states)
    if (is_saved(state)) json["states"].push_back(json_of(state));
  return json.dump();
}

const std::vector<State>& StateLayout::states_of(int64_t rank) const {
  if (stages.empty()) return states;
  return stages[static_cast<size_t>(mesh.coordinates(rank)[*mesh.find(kStageAxis)])];
}

std::string join_layouts(const Mesh& mesh, const std::vector<std::string>& layouts) {
  const size_t axis = *mesh.find(kStageAxis);
  Json stages = Json::array();
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    if (mesh.coordinates(rank)[axis] == std::ssize(stages))
      stages.push_back(parse_json(layouts[static_cast<size_t>(rank)], "the layout of a stage")["states"]);
  return Json{{"mesh", json_of(mesh)}, {"stages", stages}}.dump();
}

std::vector<State> united(const std::vector<std::vector<State>>& stages) {
  std::vector<State> states;
  for (const auto& stage : stages)
    for (const State& state : stage) {
      auto known = std::ranges::find(states, state.name, &State::name);
      if (known == states.end()) {
        known = states.insert(states.end(), state);
        if (!state.segments.empty()) known->segments.clear(), known->cut.clear();
      }
      for (const Segment& segment : state.segments) append_segment(*known, segment);
    }
  return states;
}

StateLayout read_state_layout(std::string_view text, const std::string& file) {
  const std::string what = file + ": metadata states'";
  const Json json = parse_json(text, file + ": metadata states");
  const Members members(json, what);
  StateLayout layout;
  layout.mesh = read_mesh(members.list("mesh"), what);
  if (members.has("stages")) {
    layout.stages = read_stages(members, layout.mesh, what);
    layout.states = united(layout.stages);
  } else {
    layout.states = read_states(members.list("states"), layout.mesh, what);
  }
  return layout;
}

}  // namespace smelt
