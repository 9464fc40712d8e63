// The text of GET /metrics, which is parsed by the rules of Prometheus's format.
#include "compiler/server/metrics_text.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

namespace smelt::server {
namespace {

/// The samples of a text: by the metric's name, the value of its one label (or "") and the sample's value.
struct Samples {
  std::map<std::string, std::map<std::string, double>> values;
  std::set<std::string> described;  // names that have both HELP and TYPE

  explicit Samples(const std::string& text) {
    std::istringstream lines(text);
    std::string help;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string mark, kind, name;
      words >> mark >> kind >> name;
      if (mark != "#")
        add(line);
      else if (kind == "HELP")
        help = name;
      else if (kind == "TYPE" && name == help)
        described.insert(name);
    }
  }

  void add(const std::string& line) {
    const size_t name_end = line.find_first_of("{ ");
    const std::string name = line.substr(0, name_end);
    std::string label;
    size_t at = name_end;
    if (line[at] == '{') {
      at = line.find('"') + 1;
      for (; line[at] != '"'; ++at) {
        if (line[at] == '\\')
          ++at, label += line[at] == 'n' ? '\n' : line[at];
        else
          label += line[at];
      }
      ASSERT_EQ(line.substr(at, 3), "\"} ") << line;
      at += 2;
    }
    EXPECT_TRUE(values[name].emplace(label, std::stod(line.substr(at))).second) << line;
  }
  double sum(const std::string& name) const {
    double sum = 0;
    for (const auto& [label, value] : values.at(name)) sum += value;
    return sum;
  }
};

Samples samples_of(const AdapterMetrics& adapters) {
  return Samples(metrics_text({}, RequestTimes(), adapters, {}));
}

TEST(MetricsText, CountsOfAdaptersAreThoseThatWereAdded) {
  AdapterMetrics adapters{.store = {.slots = 5, .used_slots = 4, .loaded = 3, .loads = 9, .drops = 6}};
  const std::string names[] = {"plain", "a \"quoted\\ name", "two\nlines"};
  std::map<std::string, double> requests, tokens;
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const std::string& name = names[random() % 3];
    const size_t count = random() % 10;
    adapters.requests.add_request(name), ++requests[name];
    adapters.requests.add_tokens(name, count), tokens[name] += static_cast<double>(count);
  }
  const Samples found = samples_of(adapters);
  EXPECT_EQ(found.values.at("smelt_adapter_requests_total"), requests);
  EXPECT_EQ(found.values.at("smelt_adapter_new_tokens_total"), tokens);
  for (const auto& [name, value] : {std::pair("smelt_adapter_slots", 5),
                                    {"smelt_adapter_slots_used", 4},
                                    {"smelt_adapters_loaded", 3},
                                    {"smelt_adapter_loads_total", 9},
                                    {"smelt_adapter_drops_total", 6}}) {
    EXPECT_EQ(found.values.at(name).at(""), value) << name;
    EXPECT_TRUE(found.described.contains(name)) << name;
  }
  EXPECT_TRUE(found.described.contains("smelt_adapter_requests_total"));
}

TEST(MetricsText, NamesOfAdaptersAreBounded) {
  AdapterMetrics adapters;
  const std::string too_long(AdapterCounts::kLongestName + 1, 'n');
  adapters.requests.add_request(too_long);
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 300; ++i) {
      adapters.requests.add_request("adapter " + std::to_string(i));
      adapters.requests.add_tokens("adapter " + std::to_string(i), 2);
    }
  const Samples found = samples_of(adapters);
  const auto& requests = found.values.at("smelt_adapter_requests_total");
  EXPECT_EQ(requests.size(), AdapterCounts::kMostNames + 1);
  EXPECT_FALSE(requests.contains(too_long));
  EXPECT_EQ(requests.at("adapter 99"), 2);
  EXPECT_EQ(requests.at(""), 401);
  EXPECT_EQ(found.sum("smelt_adapter_new_tokens_total"), 1200);
}

}  // namespace
}  // namespace smelt::server
