// Plan::model: the description of a plan's model for hosts that read weights, data and tokens.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace smelt {

/// Returns an object whose known members ("vocab_size", "eos_token_id", "spec", ...) have their types, or
/// null for an empty text. Unknown members may hold anything. Throws Error (invalid_file) naming the member.
nlohmann::json read_plan_model(std::string_view text);

}  // namespace smelt
