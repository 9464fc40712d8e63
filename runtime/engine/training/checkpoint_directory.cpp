#include "runtime/engine/training/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "runtime/base/error.h"
#include "runtime/engine/training/stored_states.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors", kPartMark = ".rank-";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// "step-0000000012.safetensors", or where it is in parts their index.
bool is_checkpoint(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  return is_number(
      std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
}

/// The checkpoint that a file is a part of; empty: it is none.
fs::path index_of_part(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t mark = name.find(kPartMark);
  if (mark == name.npos || !name.ends_with(kSuffix)) return {};
  const fs::path index = path.parent_path() / (name.substr(0, mark) + std::string(kSuffix));
  return is_checkpoint(index) ? index : fs::path();
}

/// All files with parts of it, also of a run of another number of ranks.
std::vector<fs::path> parts_of(const fs::path& index) {
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(index.parent_path()))
    if (index_of_part(entry.path()) == index) parts.push_back(entry.path());
  return parts;
}

/// The index first: parts without it are none of a checkpoint.
void remove_checkpoint(const fs::path& index) {
  const std::vector<fs::path> parts = parts_of(index);
  fs::remove(index);
  for (const fs::path& part : parts) fs::remove(part);
}

bool is_left_over(const fs::path& path) {
  const fs::path index = index_of_part(path);
  return !index.empty() && !fs::exists(index);
}

struct Damaged {
  fs::path path;
  std::string problem;
};

fs::path rename_damaged(const fs::path& path) {
  fs::path aside = path;
  aside += ".damaged";
  fs::rename(path, aside);
  return aside;
}

void set_aside(const Damaged& file, const CheckpointDirectory::Log& log) {
  const std::vector<fs::path> parts = parts_of(file.path);
  const fs::path aside = rename_damaged(file.path);
  for (const fs::path& part : parts) rename_damaged(part);
  log(fmt::format("{}; renamed to '{}', going on with the one before it", file.problem, aside.string()));
}

}  // namespace

int64_t checkpoint_step(const fs::path& path) {
  const std::string text = path.stem().string().substr(kPrefix.size());
  int64_t step = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc{} || end != text.data() + text.size() || step < 0)
    fail_with(Status::invalid_file, "'{}': its step is '{}', expected a number", path.string(), text);
  return step;
}

fs::path checkpoint_path(const fs::path& directory, int64_t step) {
  return directory / fmt::format("{}{:010}{}", kPrefix, step, kSuffix);
}

std::vector<fs::path> list_checkpoints(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none))
    if (is_checkpoint(entry.path())) paths.push_back(entry.path());
  std::ranges::sort(paths);  // the step has leading zeros
  return paths;
}

CheckpointDirectory::CheckpointDirectory(fs::path directory, int64_t keep)
    : directory_(std::move(directory)), keep_(keep) {
  make_directories(directory_);
  remove_stale_temporaries(directory_);
  std::vector<fs::path> left_over;
  for (const auto& entry : fs::directory_iterator(directory_))
    if (is_left_over(entry.path())) left_over.push_back(entry.path());
  for (const fs::path& path : left_over) fs::remove(path);
}

fs::path CheckpointDirectory::save(const Session& session, const CheckpointInfo& info,
                                   std::span<const std::string> parts) {
  const fs::path path = checkpoint_path(directory_, info.step);
  write_checkpoint(path, session, info, parts);
  prune();
  return path;
}

void CheckpointDirectory::prune() {
  const auto paths = list();
  if (keep_ <= 0) return;
  for (size_t i = 0; i + static_cast<size_t>(keep_) < paths.size(); ++i) remove_checkpoint(paths[i]);
}

void CheckpointDirectory::remove_after(int64_t step) {
  for (const fs::path& path : list())
    if (checkpoint_step(path) > step) remove_checkpoint(path);
}

std::optional<CheckpointInfo> CheckpointDirectory::restore(Session& session, const Log& log) {
  auto paths = list();
  std::vector<Damaged> damaged;
  for (; !paths.empty(); paths.pop_back()) {
    try {
      CheckpointInfo info = read_checkpoint(paths.back(), session);
      for (const Damaged& file : damaged) set_aside(file, log);
      if (!info.warning.empty()) log(fmt::format("'{}': {}", paths.back().string(), info.warning));
      return info;
    } catch (const Error& error) {
      if (error.status() != Status::invalid_file) throw;
      damaged.push_back({paths.back(), error.what()});
    }
  }
  if (damaged.empty()) return std::nullopt;
  fail_with(Status::invalid_file,
            "'{}': none of the {} checkpoints can be read, the newest because {}; they are left as they are: "
            "move them away to begin the run anew",
            directory_.string(), damaged.size(), damaged.front().problem);
}

}  // namespace smelt
