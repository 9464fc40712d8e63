// Reader and writer of plan files. A file consists of a fixed header, a JSON manifest, and blobs (machine
// code and constants) at multiples of 64 bytes with zeros between them. Each part has a checksum. In
// addition, each kernel has one checksum over both its description and its machine code (plan_checks.h).
// Validation checks the steps against the descriptions of kernels, so this checksum ensures that the
// description belongs to the machine code. Checksums find damage. They do not make a plan from an untrusted
// source safe to run, because a plan contains machine code.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

/// Version of the format. It changes when the manifest, KernelArgs or the meaning of either changes.
inline constexpr uint32_t kPlanFormat = 26;

/// Validates a plan and writes it to a file. `path` is replaced as a whole or not at all. Throws Error if the
/// plan is not valid, or the file cannot be written.
void save_plan(const Plan& plan, const std::filesystem::path& path);
/// Reads and validates a plan. Throws Error, which names the file and its fault.
std::shared_ptr<const Plan> load_plan(const std::filesystem::path& path);
/// Does the same for a file in memory, at any alignment. `name` is the file's name in messages.
std::shared_ptr<const Plan> read_plan(std::span<const std::byte> file, std::string_view name);

/// Convert a plan to the bytes of a plan file, and back. Both validate the plan.
std::string serialize_plan(const Plan& plan);
Plan parse_plan(std::span<const std::byte> file, std::string_view file_name);

/// Returns whether `path` is a regular file that begins with the first bytes of a plan file.
bool is_plan_file(const std::filesystem::path& path);

}  // namespace smelt
