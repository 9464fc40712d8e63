// The two JSON texts in a plan file: the manifest, and the description of the model.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

// ---- plan_model.cpp
// Plan::model describes the model of a plan as JSON.

/// Parses Plan::model. Returns an object, or null for an empty text. Checks the types of known members, such
/// as "vocab_size", "eos_token_id" and "spec". Unknown members may have any type. Throws Error (invalid_file)
/// with the name of a member that has a wrong type.
nlohmann::json read_plan_model(std::string_view text);

// ---- the manifest
// The manifest is the JSON part of a plan file. It has all fields of the plan except constants and machine
// code, which are stored in blobs and are referenced by the blob's number.

/// The manifest of a plan and the blobs to which it refers.
struct Manifest {
  nlohmann::json json;
  /// Views of the plan's constants and machine code; the index is the blob's number.
  std::vector<std::span<const std::byte>> blobs;
};
/// Returns the manifest of a plan. Requires: the plan outlives the result.
Manifest write_manifest(const Plan& plan);

/// Reads a manifest that write_manifest has written. Checks the types and ranges of JSON values; validate()
/// checks the plan. Throws Error (invalid_file), which names `file_name` and the path of the value, such as
/// "entries[2].steps[17].what.m".
Plan read_manifest(const nlohmann::json& json, std::span<const std::span<const std::byte>> blobs,
                   std::string_view file_name);

}  // namespace smelt
