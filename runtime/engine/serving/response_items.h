// The field `input` of POST /v1/responses, as messages of a chat.
#pragma once

#include <nlohmann/json.hpp>

namespace smelt {

/// Returns the messages of a chat for the input: a text, which is a message of the user, or a list of items,
/// which are messages, calls of functions and their results. Calls that follow each other become one message
/// of the assistant. Calls after a message of the assistant become a part of that message. The role
/// `developer` becomes `system`. Throws ApiError naming `input` and the path of a wrong or unsupported value.
nlohmann::ordered_json messages_of_input(const nlohmann::ordered_json& input);

}  // namespace smelt
