// Plans on disk: a fixed header, a JSON manifest, then blobs (machine code, constants) at multiples of 64
// bytes, each with a checksum; everything between them is zero. The description of a kernel in the manifest
// has a common checksum with its machine code (plan_checks.h), because steps are checked against the
// description. Checksums find damage. They do not make a plan from an untrusted source safe to run, because
// it holds machine code.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

/// Version of the format. It changes with manifests, KernelArgs and the meaning of either.
inline constexpr uint32_t kPlanFormat = 22;

/// Writes a plan to a file. `path` is replaced as a whole or not at all. Requires: the plan is valid.
void save_plan(const Plan& plan, const std::filesystem::path& path);
/// Reads and validates a plan. Every Error (invalid_file) names the file and its fault.
std::shared_ptr<const Plan> load_plan(const std::filesystem::path& path);
/// Does the same from the bytes of a file, at any alignment. `name` is the file's name in messages.
std::shared_ptr<const Plan> read_plan(std::span<const std::byte> file, std::string_view name);

/// Convert a plan to the bytes of a plan file, and back.
std::string serialize_plan(const Plan& plan);
Plan parse_plan(std::span<const std::byte> file, std::string_view file_name);

/// Returns whether a file begins like a plan.
bool is_plan_file(const std::filesystem::path& path);

}  // namespace smelt
