#include "compiler/report/report_data.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "compiler/report/text_pool.h"

namespace smelt {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool has_lines(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\n') != std::string::npos;
}

bool is_table(const Json& value) {
  return value.is_array() && value.size() > 1 &&
         std::ranges::all_of(value, [](const Json& row) { return row.is_object(); });
}

class Compactor {
 public:
  /// Notes the lines of all texts: `data` outlives this.
  void count(const Json& value) {
    if (has_lines(value))
      for (const std::string_view line : lines_of(value.get_ref<const std::string&>())) ++uses_[line];
    if (value.is_structured())
      for (const Json& part : value) count(part);
  }

  Json packed(const Json& value) {
    if (has_lines(value)) return packed_text(value.get_ref<const std::string&>());
    if (is_table(value)) return packed_table(value);
    Json result = value.is_structured() ? Json(value.type()) : value;
    if (value.is_array())
      for (const Json& part : value) result.push_back(packed(part));
    if (value.is_object())
      for (const auto& [name, part] : value.items()) result[name] = packed(part);
    return result;
  }

  Json lines() { return lines_.take(); }

 private:
  /// Returns a text in parts; consecutive lines that occur only here stay together.
  Json packed_text(const std::string& text) {
    Json parts = Json::array();
    for (const std::string_view line : lines_of(text)) {
      const bool is_shared = uses_.at(line) > 1 && line.size() > kNumberSize;
      if (is_shared)
        parts.push_back(lines_.add(line));
      else if (!parts.empty() && parts.back().is_string())
        parts.back().get_ref<std::string&>().append("\n").append(line);
      else
        parts.push_back(line);
    }
    return {{"lines", std::move(parts)}};
  }

  Json packed_table(const Json& rows) {
    std::map<std::string, std::vector<const Json*>> columns;
    for (size_t i = 0; i < rows.size(); ++i)
      for (const auto& [name, value] : rows[i].items()) {
        columns[name].resize(rows.size());
        columns[name][i] = &value;
      }
    Json table = {{"fields", Json::array()}, {"words", Json::array()}, {"rows", Json::array()}};
    for (size_t i = 0; i < rows.size(); ++i) table["rows"].push_back(Json::array());
    for (const auto& [name, values] : columns) add_column(name, values, table);
    for (Json& row : table["rows"])
      while (!row.empty() && row.back().is_null()) row.erase(row.size() - 1);
    return table;
  }

  void add_column(const std::string& name, const std::vector<const Json*>& values, Json& table) {
    const bool words = std::ranges::all_of(values, [](const Json* value) {
      return value == nullptr || (value->is_string() && !has_lines(*value));
    });
    TextPool pool;
    for (size_t i = 0; i < values.size(); ++i)
      table["rows"][i].push_back(values[i] == nullptr ? Json()
                                 : words ? Json(pool.add(values[i]->get_ref<const std::string&>()))
                                         : packed(*values[i]));
    table["fields"].push_back(name);
    table["words"].push_back(words ? pool.take() : Json());
  }

  static constexpr size_t kNumberSize = 4;  // a shorter line takes no more than its number
  std::map<std::string_view, int> uses_;
  TextPool lines_;
};

}  // namespace

Json compact(const Json& data) {
  Compactor compactor;
  compactor.count(data);
  Json packed = compactor.packed(data);
  return {{"data", std::move(packed)}, {"lines", compactor.lines()}};
}

}  // namespace smelt
