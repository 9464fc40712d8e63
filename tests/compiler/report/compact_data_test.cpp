// What a page holds is the data in fewer bytes, and gives the data back.
#include "compiler/report/report_data.h"

#include <gtest/gtest.h>

#include "tests/compiler/report/reported_models.h"

namespace smelt {
namespace {

/// As the page's script does it.
Json unpacked(const Json& value, const Json& lines) {
  if (value.contains("lines")) {
    std::string text;
    for (const Json& part : value["lines"])
      text += (&part == &value["lines"][0] ? "" : "\n") +
              (part.is_number() ? lines[part.get<size_t>()] : part).get<std::string>();
    return text;
  }
  Json result = value.is_structured() ? Json(value.type()) : value;
  if (value.contains("rows")) {
    result = Json::array();
    for (const Json& row : value["rows"]) {
      Json object = Json::object();
      for (size_t i = 0; i < row.size(); ++i) {
        const Json& words = value["words"][i];
        if (!row[i].is_null())
          object[value["fields"][i].get<std::string>()] =
              words.is_null() ? unpacked(row[i], lines) : words[row[i].get<size_t>()];
      }
      result.push_back(std::move(object));
    }
  } else if (value.is_array()) {
    for (const Json& part : value) result.push_back(unpacked(part, lines));
  } else if (value.is_object()) {
    for (const auto& [name, part] : value.items()) result[name] = unpacked(part, lines);
  }
  return result;
}

Json there_and_back(const Json& data) {
  const Json small = compact(data);
  return unpacked(small["data"], small["lines"]);
}

TEST(CompactData, ComesBackAsItWas) {
  const Json data = Json::parse(R"({
    "rows of one": [{"a": 1}], "none": [], "mixed": [{"a": 1}, 2], "null": null, "text": "a",
    "objects": [{"a": 1, "b": "x"}, {"b": "y", "c": [{"d": "x"}, {"d": "x", "e": true}]}, {}],
    "some texts": [{"a": "x"}, {"a": 5}],
    "long": ["first\nsecond line\nthird line\n", "second line\n\nthird line", "\n", "own\nlines alone\nsecond line"],
    "objects with text": [{"t": "second line\nx"}, {"t": "y"}]})");
  EXPECT_EQ(there_and_back(data), data) << compact(data).dump(1);
}

TEST(CompactData, NamesOfFieldsAndLinesStandOnce) {
  const Json data = Json::parse(R"([{"layer": "a name", "code": "begin with it\nx = 1"},
                                    {"layer": "a name", "code": "begin with it\nx = 2"}])");
  EXPECT_EQ(compact(data)["lines"], Json::parse(R"(["begin with it"])"));
  EXPECT_EQ(compact(data)["data"], Json::parse(R"({
    "fields": ["code", "layer"], "words": [null, ["a name"]],
    "rows": [[{"lines": [0, "x = 1"]}, 0], [{"lines": [0, "x = 2"]}, 0]]})"));
}

TEST(CompactData, OfAReportIsTheReport) {
  ReportedPlan plan = testing::gpt2({"train_step"});
  add_codes(plan);
  Json data = report_data(plan, {.command = "smelt report", .times = {}});
  const Json small = compact(data);
  EXPECT_EQ(unpacked(small["data"], small["lines"]), data);
  EXPECT_LT(small.dump().size(), data.dump().size() * 9 / 10);
}

}  // namespace
}  // namespace smelt
