// Plans on disk: a fixed header, a JSON manifest, then blobs (machine code, constants) at multiples of 64
// bytes, each with a checksum; everything between them is zero. What the manifest says of a kernel has a
// checksum together with its machine code (kernel_checksum.h): steps are checked against it. Checksums find
// damage; they do not make a plan from a stranger safe to run, as it holds machine code.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

/// Raised whenever manifests, KernelArgs or the meaning of either changes.
inline constexpr uint32_t kPlanFormat = 21;

/// Replaces `path` as a whole or not at all. The plan must be valid.
void save_plan(const Plan& plan, const std::filesystem::path& path);
/// Validated: every Error (invalid_file) names the file and what is wrong with it.
std::shared_ptr<const Plan> load_plan(const std::filesystem::path& path);
/// The same from the bytes of a file, at any alignment, which `name` stands for in messages.
std::shared_ptr<const Plan> read_plan(std::span<const std::byte> file, std::string_view name);

/// The bytes of a plan file, and back.
std::string serialize_plan(const Plan& plan);
Plan parse_plan(std::span<const std::byte> file, std::string_view file_name);

/// True where a file begins like a plan.
bool is_plan_file(const std::filesystem::path& path);

}  // namespace smelt
