#include "runtime/engine/training/stored_states.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/engine/training/state_layout.h"
#include "runtime/plan/state_parts.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

std::string metadata_of(const Checkpoint& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail_with(Status::invalid_file, "'{}' is no checkpoint of a training run: its metadata has no '{}'",
              file.path().string(), key);
  return found->second;
}

std::vector<std::string> texts_of(const Checkpoint& file) {
  std::vector<std::string> texts;
  for (const char* key : kCheckpointTexts) {
    const auto found = file.metadata().find(key);
    texts.push_back(found == file.metadata().end() ? "" : found->second);
  }
  return texts;
}

void require_checksum(const Checkpoint& file, const std::string& expected) {
  if (checksum_of(texts_of(file), file.tensors()) != expected)
    fail_with(Status::invalid_file, "'{}' is damaged: its checksum does not match its contents",
              file.path().string());
}

Checkpoint open_index(const fs::path& path) {
  Checkpoint file = Checkpoint::open(path);
  for (const char* key : {"step", "trainer"}) metadata_of(file, key);
  const std::string format = metadata_of(file, "format");
  if (format != kWholeFormat && format != kIndexFormat)  // no damage: an older one must not take its place
    fail(
        "'{}': checkpoint format '{}', this Smelt reads '{}' and '{}': go on with the version that wrote it, "
        "or "
        "convert its model/ with that version (smelt export RUN -o DIR) and train from there",
        path.string(), format, kWholeFormat, kIndexFormat);
  require_checksum(file, metadata_of(file, "checksum"));
  return file;
}

/// Returns the checksums of the parts, by rank; empty: the rank wrote none.
std::vector<std::string> checksums_of_parts(const Checkpoint& index, int64_t ranks) {
  const std::string what = index.path().string() + ": metadata parts";
  const Json json = parse_json(metadata_of(index, "parts"), what);
  std::vector<std::string> checksums;
  if (json.is_array())
    for (const Json& item : json) checksums.push_back(item.is_string() ? item.get<std::string>() : "");
  if (static_cast<int64_t>(checksums.size()) != ranks)
    fail_with(Status::invalid_file, "'{}': expected the checksums of {} ranks", what, ranks);
  return checksums;
}

Checkpoint open_part(const fs::path& path, const std::string& checksum, const fs::path& index) {
  if (!fs::exists(path))
    fail_with(Status::invalid_file, "'{}' is missing: it is a part of checkpoint '{}'", path.string(),
              index.string());
  Checkpoint part = Checkpoint::open(path);
  require_checksum(part, checksum);
  return part;
}

/// The segment of `state` that has the name of the run's.
size_t tensor_number(const State& state, const TensorRun& run) {
  if (!run.segment) return 0;
  const auto& segments = state.segments;
  const auto found = std::ranges::find(segments, file_name_of(*run.segment), file_name_of);
  return static_cast<size_t>(found - segments.begin());
}

}  // namespace

int64_t StoredState::elements() const { return count_elements(whole_extents(state)); }

void StoredState::take_segments(const std::vector<Segment>& segments, const std::string& file) {
  if (segments.empty() || !state.segments.empty()) return;
  const auto whole = tensors.at(0).at(0).bytes;
  const auto width = static_cast<size_t>(size_of(state.dtype));
  state.segments = segments;
  tensors.clear();
  for (const Segment& s : segments) {
    if (s.offset < 0 || s.offset > elements() - s.elements())
      fail_with(Status::invalid_file, "'{}': tensor '{}' lies outside of its state '{}'", file, s.name,
                state.name);
    tensors.push_back({{0, whole.subspan(static_cast<size_t>(s.offset) * width,
                                         static_cast<size_t>(s.elements()) * width)}});
  }
}

std::string checksum_of(std::span<const std::string> texts, std::vector<TensorView> tensors) {
  std::ranges::sort(tensors, {}, &TensorView::name);
  Checksum sum;
  for (const std::string& text : texts) sum.add(std::as_bytes(std::span(text)));
  for (const TensorView& tensor : tensors) {
    sum.add(std::as_bytes(std::span(tensor.name)));
    sum.add(tensor.bytes);
  }
  return sum.hex();
}

fs::path checkpoint_part_path(const fs::path& index, int64_t rank, int64_t ranks) {
  fs::path path = index;
  return path.replace_extension(fmt::format(".rank-{}-of-{}.safetensors", rank, ranks));
}

StoredStates StoredStates::open(const fs::path& path) {
  StoredStates stored;
  stored.index_ = open_index(path);
  if (metadata_of(stored.index_, "format") == kWholeFormat)
    stored.add_whole();
  else
    stored.add_parts();
  return stored;
}

std::string StoredStates::text(const std::string& key) const {
  const auto found = index_.metadata().find(key);
  return found == index_.metadata().end() ? "" : found->second;
}

const StoredState* StoredStates::find(std::string_view name) const {
  const auto found = std::ranges::find(states_, name, [](const StoredState& s) { return s.state.name; });
  return found == states_.end() ? nullptr : &*found;
}

void StoredStates::add_whole() {
  for (const TensorView& tensor : index_.tensors()) {
    State state;
    state.name = tensor.name, state.dtype = tensor.dtype;
    for (const int64_t extent : tensor.shape) state.shape.emplace_back(extent);
    states_.push_back({std::move(state), {{{0, tensor.bytes}}}});
  }
}

void StoredStates::add_parts() {
  const StateLayout layout = read_state_layout(metadata_of(index_, "states"), path().string());
  for (const State& state : layout.states)
    states_.push_back(
        {state, std::vector<std::vector<StoredPiece>>(std::max<size_t>(1, state.segments.size()))});
  const int64_t ranks = layout.mesh.ranks();
  const std::vector<std::string> checksums = checksums_of_parts(index_, ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const std::string& checksum = checksums[static_cast<size_t>(rank)];
    if (!checksum.empty())
      parts_.push_back(open_part(checkpoint_part_path(path(), rank, ranks), checksum, path()));
    const std::vector<State>& own = layout.states_of(rank);
    if (rank == 0) add_rank(index_, own, layout.mesh, rank);
    if (!checksum.empty()) add_rank(parts_.back(), own, layout.mesh, rank);
  }
  for (StoredState& state : states_)
    for (auto& pieces : state.tensors) std::ranges::sort(pieces, {}, &StoredPiece::at);
}

void StoredStates::add_rank(const Checkpoint& file, const std::vector<State>& own, const Mesh& mesh,
                            int64_t rank) {
  for (const State& state : own) {
    const TensorView* tensor = file.find(state.name);
    if (!tensor) continue;
    const int64_t expected = *element_count(state.shape).constant();
    if (tensor->dtype != state.dtype || tensor->elements() != expected)
      fail_with(Status::invalid_file, "'{}': state '{}' is {}, expected {} elements of {}",
                file.path().string(), tensor->name, describe(*tensor), expected, name(state.dtype));
    StoredState& stored = *std::ranges::find(
        states_, state.name, [](const StoredState& s) -> const std::string& { return s.state.name; });
    const auto width = static_cast<size_t>(size_of(tensor->dtype));
    for (const TensorRun& run : whole_tensor_runs(state, mesh, rank))
      stored.tensors[tensor_number(stored.state, run)].push_back(
          {run.at, tensor->bytes.subspan(static_cast<size_t>(run.local) * width,
                                         static_cast<size_t>(run.elements) * width)});
  }
}

void StoredStates::copy(const StoredState& stored, size_t tensor, int64_t at, std::span<std::byte> to) const {
  const auto& pieces = stored.tensors[tensor];
  const auto width = size_of(stored.state.dtype);
  auto piece = std::ranges::upper_bound(pieces, at, {}, &StoredPiece::at);
  while (!to.empty()) {
    const int64_t skipped = piece == pieces.begin() ? 0 : (at - std::prev(piece)->at) * width;
    const auto bytes = piece == pieces.begin() ? std::span<const std::byte>() : std::prev(piece)->bytes;
    if (skipped >= static_cast<int64_t>(bytes.size()))
      fail_with(Status::invalid_file, "checkpoint '{}': no file has the elements from {} on of state '{}'{}",
                path().string(), at, stored.state.name,
                stored.state.segments.empty() ? "" : ", tensor '" + stored.state.segments[tensor].name + "'");
    const size_t count = std::min(to.size(), bytes.size() - static_cast<size_t>(skipped));
    std::memcpy(to.data(), bytes.data() + skipped, count);
    to = to.subspan(count);
    at += static_cast<int64_t>(count) / width;
    while (piece != pieces.end() && piece->at <= at) ++piece;
  }
}

}  // namespace smelt
