// Text of an HTML page that is made of several files.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace smelt {

/// Returns `html` with each name replaced by its text. `parts`: text by name, such as "@STYLE@". Texts are
/// not searched for names.
std::string with_parts(std::string_view html, const std::map<std::string_view, std::string>& parts);

}  // namespace smelt
