// Editing of plan files for tests: a file is split into its parts, and joined again with correct checksums in
// the header. Checksums within the manifest are not updated.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt::testing {

/// The parts of a plan file.
struct PlanText {
  std::string header;
  Json root;          // the manifest, with the members "plan" and "blobs"
  std::string blobs;  // binary data, including the padding between blobs
};

inline constexpr size_t kPlanHeader = 64, kPlanAlignment = 64;

inline size_t aligned_in_plan(size_t at) {
  return (at + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

inline PlanText take_apart(const std::string& file) {
  uint64_t manifest = 0;
  std::memcpy(&manifest, file.data() + 24, sizeof manifest);
  PlanText plan{file.substr(0, kPlanHeader), parse_json(file.substr(kPlanHeader, manifest), "manifest"), ""};
  const size_t blobs = aligned_in_plan(kPlanHeader + manifest);
  if (blobs < file.size()) plan.blobs = file.substr(blobs);
  return plan;
}

inline std::string put_together(const PlanText& plan) {
  const auto sum = [](std::string_view text) {
    Checksum sum;
    sum.add(std::as_bytes(std::span(text)));
    return sum.value();
  };
  const std::string manifest = plan.root.dump();
  std::string file = plan.header + manifest;
  if (!plan.blobs.empty()) file.resize(aligned_in_plan(file.size()), '\0');
  file += plan.blobs;
  const auto put = [&](size_t at, uint64_t value) { std::memcpy(file.data() + at, &value, sizeof value); };
  put(16, file.size()), put(24, manifest.size()), put(32, sum(manifest));
  put(56, sum(std::string_view(file).substr(0, 56)));
  return file;
}

}  // namespace smelt::testing
